"""What the tests of the Python package share: counting, scenes, other processes.

The last line of a test is `NAME: N passed, N failed`; exit status 77: skipped.
"""
import os
import subprocess
import sys
import tempfile
import traceback

SOURCE = os.environ.get("PERP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
SANITIZED = "sanitize" in os.environ.get("PERP_CFLAGS", "")

try:
    if "numpy" not in sys.modules:  # None there: a test of what works without it
        import numpy  # noqa: F401
    import perp  # noqa: F401
except ModuleNotFoundError as error:
    print(f"skipped: {error}: the Python package was not built, or python3-numpy is missing")
    sys.exit(77)

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def main(name):
    passed = failed = 0
    for function in TESTS:
        if sys.argv[1:] and not any(word in function.__name__ for word in sys.argv[1:]):
            continue
        here = os.getcwd()
        try:
            with tempfile.TemporaryDirectory(dir=here) as scratch:
                os.chdir(scratch)
                try:
                    function()
                finally:
                    os.chdir(here)
            passed += 1
            print("ok", function.__name__)
        except Exception:
            failed += 1
            print("FAIL", function.__name__)
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    print(f"{name}: {passed} passed, {failed} failed")
    sys.stdout.flush()
    sys.exit(1 if failed or not passed else 0)


def raises(kind, function, *args, **keywords):
    """The exception that a call raises."""
    try:
        function(*args, **keywords)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def python(code, status=0, **environment):
    """Another Python: what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def scene(name):
    return os.path.join(SOURCE, "scenes", name + ".json")


def slide(**changes):
    """A box slides over the ground with friction mu: x = v^2 / (2 mu g) in the end."""
    return {"dimension": 2, "gravity": [0, -9.81], "step": 0.01, "duration": 1,
            "parameters": {"mu": 0.3, "v": 1.0}, "friction": {"default": "mu"},
            "bodies": [{"name": "ground", "type": "static",
                        "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                       {"name": "box", "mass": 1, "position": [0, 0.1], "velocity": ["v", 0],
                        "shapes": [{"type": "box", "size": [0.3, 0.2]}]}],
            "measures": {"x": "box.position.x"}, **changes}


def box(**changes):
    """A box at rest on the ground, in space."""
    return {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 100, "friction": {"default": 0.5},
            "bodies": [{"name": "ground", "type": "static",
                        "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
                       {"name": "box", "mass": 1, "position": [0, 0, 0.1],
                        "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]}], **changes}
