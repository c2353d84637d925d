"""The everyday scenes of ../shared/gallery, where that is: their first moments."""
from _gallery import run

# the limit ends the runs of very large scenes in order
run("gallery", "--duration", "0.3", "--limit", "1")
