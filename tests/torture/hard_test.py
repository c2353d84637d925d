"""Scenes of the torture machine in which a step failed, or searched for long: they run to their end."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

try:
    import h5py  # noqa: F401
except ImportError:
    print("skipped: python3-h5py is not installed")
    sys.exit(77)

import _generator  # noqa: E402
import _runner  # noqa: E402

SEEDS = (
    (4500656, "links with rows that repeat each other: newton from zero, not from the last impulses"),
    (5004853, "the same with eight joints"),
    (5000958, "72 contacts with polygons between five bodies: newton from zero, or pivot"),
)


def run(seed):
    scene, _, _ = _generator.make(seed)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "scene.json"), "w") as file:
            json.dump(scene, file)
        done = subprocess.run([_runner.perp_path(), "run", "scene.json", "--out", "r.h5", "--json"], cwd=folder,
                              text=True, capture_output=True)
        return done.returncode == 0, done.stderr


failed = 0
for seed, why in SEEDS:
    well, message = run(seed)
    print("ok" if well else "FAIL", seed, why)
    if not well:
        failed += 1
        print(message, file=sys.stderr)
print(f"torture/hard: {len(SEEDS) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
