"""What the tests of the command line share: running perp, scenes to run, counting.

The last line of a test is `NAME: N passed, N failed`; the exit status is 0 if none failed.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import traceback

if importlib.util.find_spec("h5py") is None:
    print("skipped: python3-h5py is not installed")
    sys.exit(77)

PERP = os.environ.get("PERP", "perp")
SOURCE = os.environ.get("PERP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
FULL = "PERP_TEST_FULL" in os.environ  # all repetitions: make test-slow
TESTS = []


def __getattr__(name):
    """`from _cli import h5py`, for the tests that read recordings themselves: importing it takes 0.2 s."""
    if name == "h5py":
        return importlib.import_module(name)
    raise AttributeError(name)


def test(function):
    TESTS.append(function)
    return function


def main(name):
    passed = failed = 0
    wanted = sys.argv[1:]
    for function in TESTS:
        if wanted and not any(word in function.__name__ for word in wanted):
            continue
        here = os.getcwd()
        before = sum(os.times()[:4])
        try:
            with tempfile.TemporaryDirectory(dir=here) as scratch:
                os.chdir(scratch)
                try:
                    function()
                finally:
                    os.chdir(here)
            passed += 1
            print(f"ok {function.__name__} ({sum(os.times()[:4]) - before:.2f} s of CPU)")
        except Exception:  # a failed assertion, or anything else
            failed += 1
            print("FAIL", function.__name__)
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    print(f"{name}: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)


def perp(*args, status=0, timeout=120, **options):
    """Runs perp; status: what its exit status must be (None: anything)."""
    done = subprocess.run([PERP, *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, **options)
    result = Result(done)
    assert status is None or result.status == status, (
        f"perp {' '.join(map(str, args))}: exit status {result.status}, expected {status}\n"
        f"{result.out}{result.err}")
    # HDF5's own complaints must never reach a user.
    assert "HDF5-DIAG" not in result.err, result.err
    return result


def write_scene(path="scene.json", **changes):
    """Three balls and the ground: rolling, sliding, bumping; a wrench that varies in time."""
    scene = {
        "name": "three-balls", "dimension": 3, "gravity": [0, 0, -9.81],
        "step": 0.005, "duration": 1.0,
        "friction": {"cone": "polygon", "directions": 6, "default": 0.3},
        "bodies": [
            {"name": "ground", "type": "static",
             "shapes": [{"type": "plane", "normal": [0, 0, 1], "offset": 0}]},
            {"name": "a", "type": "dynamic", "mass": 1, "inertia": [0.4, 0.4, 0.4],
             "position": [0, 0, 1], "velocity": [2, 0.3, 0],
             "shapes": [{"type": "sphere", "radius": 1}]},
            {"name": "b", "type": "dynamic", "mass": 2, "inertia": [0.2, 0.2, 0.2],
             "position": [2.4, 0, 0.7], "shapes": [{"type": "sphere", "radius": 0.5}]},
            {"name": "c", "type": "dynamic", "mass": 0.5, "inertia": [0.05, 0.05, 0.05],
             "position": [0.2, 0.1, 3], "shapes": [{"type": "sphere", "radius": 0.5}]},
        ],
        "forces": [{"type": "wrench", "body": "b", "force": ["3*sin(5*t)", 0, 0]}],
    }
    scene.update(changes)
    with open(path, "w") as file:
        json.dump(scene, file)
    return path


def write_planar(path="planar.json", **changes):
    scene = {
        "name": "planar", "dimension": 2, "gravity": [0, -9.81], "step": 0.01, "duration": 0.5,
        "friction": {"cone": "polygon", "default": 0.5},
        "bodies": [
            {"name": "floor", "type": "static",
             "shapes": [{"type": "halfplane", "normal": [0, 1], "offset": 0}]},
            {"name": "disc", "type": "dynamic", "mass": 1, "inertia": 0.5, "position": [0, 1.2],
             "velocity": [1, 0], "shapes": [{"type": "circle", "radius": 1}]},
        ],
    }
    scene.update(changes)
    with open(path, "w") as file:
        json.dump(scene, file)
    return path
