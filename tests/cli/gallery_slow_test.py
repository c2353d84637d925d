"""The everyday scenes of ../shared/gallery, where that is, for ten seconds: no failed step, all on their sides.
A run that the limit ends counts as far as it came."""
from _gallery import run

run("gallery_slow", "--limit", "5")  # scripts/run-gallery without a limit is the whole study
