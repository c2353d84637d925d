"""The everyday scenes of ../shared/gallery, where that is, for ten seconds: no failed step, all on their sides."""
import os
import subprocess
import sys

PERP = os.environ.get("PERP", "perp")
SOURCE = os.environ.get("PERP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = os.path.join(SOURCE, "..", "shared", "gallery")

if not os.path.isdir(FOLDER):
    print("skipped: no folder ../shared/gallery")
    sys.exit(77)
done = subprocess.run([os.path.join(SOURCE, "scripts", "run-gallery"), FOLDER, "--perp", PERP,
                       "--limit", "20", "--contact", "auto"], check=False)
print(f"gallery_slow: {int(done.returncode == 0)} passed, {int(done.returncode != 0)} failed")
sys.exit(done.returncode)
