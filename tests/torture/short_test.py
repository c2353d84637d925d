"""A short run of the torture machine: scenes of a fixed range, none wrong, slow or crashed."""
import os
import subprocess
import sys

try:
    import h5py  # noqa: F401
except ImportError:
    print("skipped: python3-h5py is not installed")
    sys.exit(77)

FIRST, RUNS = 117, 80 if "PERP_TEST_FULL" in os.environ else 45  # `make torture` runs many more
HERE = os.path.dirname(os.path.abspath(__file__))

done = subprocess.run([sys.executable, os.path.join(HERE, "torture"), "--first", str(FIRST), "--runs",
                       str(RUNS), "--no-shrink", "--out", "torture"], text=True, capture_output=True)
print(done.stdout)
print(done.stderr, file=sys.stderr)
failed = done.returncode != 0
print(f"torture/short: {0 if failed else RUNS} passed, {1 if failed else 0} failed")
sys.exit(1 if failed else 0)
