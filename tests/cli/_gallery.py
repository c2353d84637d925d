"""Runs scripts/run-gallery over ../shared/gallery, where that is, as one test case."""
import os
import subprocess
import sys

PERP = os.environ.get("PERP", "perp")
SOURCE = os.environ.get("PERP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = os.path.join(SOURCE, "..", "shared", "gallery")


def run(name, *arguments):
    if not os.path.isdir(FOLDER):
        print("skipped: no folder ../shared/gallery")
        sys.exit(77)
    done = subprocess.run([os.path.join(SOURCE, "scripts", "run-gallery"), FOLDER, "--perp", PERP,
                           "--contact", "auto", *arguments], check=False)
    print(f"{name}: {int(done.returncode == 0)} passed, {int(done.returncode != 0)} failed")
    sys.exit(done.returncode)
