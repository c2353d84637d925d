"""The everyday scenes of ../shared/gallery, where that is: their first moments."""
import os
import subprocess
import sys

PERP = os.environ.get("PERP", "perp")
SOURCE = os.environ.get("PERP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = os.path.join(SOURCE, "..", "shared", "gallery")

if not os.path.isdir(FOLDER):
    print("skipped: no folder ../shared/gallery")
    sys.exit(77)
# the limit ends the runs of very large scenes in order
done = subprocess.run([os.path.join(SOURCE, "scripts", "run-gallery"), FOLDER, "--perp", PERP,
                       "--duration", "0.3", "--limit", "1", "--contact", "auto"],
                      check=False)
print(f"gallery: {int(done.returncode == 0)} passed, {int(done.returncode != 0)} failed")
sys.exit(done.returncode)
