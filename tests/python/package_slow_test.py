"""The package from its sources: an sdist builds in an empty folder, without a network and without pip fetching
anything, to a wheel that needs libc and libm alone and works in every Python from 3.11 on that is found here."""
from _helper import SANITIZED, SOURCE, main, test

import glob
import os
import re
import subprocess
import sys
import tarfile

if SANITIZED:
    print("skipped: the package does not depend on sanitizers; the plain build tests it")
    sys.exit(77)
try:
    import setuptools  # noqa: F401
    import wheel  # noqa: F401
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-setuptools python3-wheel)")
    sys.exit(77)

ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("PYTHONPATH", "PIP_"))}
ENVIRONMENT.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore",
                   http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")


def run(*command, folder=None, **environment):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=850, cwd=folder,
                          env={**ENVIRONMENT, **environment})
    assert done.returncode == 0, " ".join(map(str, command)) + "\n" + done.stdout + done.stderr
    return done.stdout


def pythons():
    """Every CPython from 3.11 on."""
    places = glob.glob("/usr/bin/python3.[0-9]*") + glob.glob("/usr/local/bin/python3.[0-9]*") + \
        glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3.[0-9]*"))
    found = {}
    for place in sorted(places):
        match = re.search(r"python3\.(\d+)$", place)
        if match and int(match[1]) >= 11:
            found.setdefault(os.path.realpath(place), place)
    return list(found.values())


USE = """
import sys
import perp
scene = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.2, "friction": {"default": 0.5},
         "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
                    {"name": "box", "mass": 1, "position": [0, 0, 0.1],
                     "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]}]}
sim = perp.Sim(scene).run()
recording = perp.run(scene, out="r.h5")
assert recording.verify()["same_bits"] and len(recording) == 21
assert perp.rollout(scene, {"/friction/default": [0.1, 0.2]}, jobs=2).status == ["ok", "ok"]
assert perp.solve([[2, 1], [1, 2]], [-4, 1]).z[0] == 2.0
assert len(perp.sweep({"scene": scene, "vary": {"/friction/default": {"grid": [0, 1, 3]}}}, "s.db")) == 3
print(perp.__file__, sim.body("box").position[2])
"""


@test
def an_sdist_builds_to_a_wheel_for_all_pythons():
    run(sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", os.getcwd(), "sdist", "--dist-dir",
        os.path.join(os.getcwd(), "sdist"), folder=SOURCE)
    with tarfile.open(glob.glob("sdist/*.tar.gz")[0]) as archive:
        archive.extractall("empty")
    sources = glob.glob("empty/*")[0]
    assert not os.path.exists(os.path.join(sources, "tests")) and not os.path.exists(os.path.join(sources, "build"))
    # with pip's isolation: as `pip install .` does; unoptimised, to be quick
    run(sys.executable, "-m", "venv", "build-env")
    run("build-env/bin/python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "wheels", os.path.abspath(sources),
        PERP_PYTHON_STATIC="1", CMAKE_ARGS="-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0")
    wheel = glob.glob("wheels/*.whl")[0]
    run(sys.executable, os.path.join(SOURCE, "scripts", "check-wheel"), wheel)
    found = pythons()
    assert found
    for number, python in enumerate(found):
        folder = os.path.abspath(f"env{number}")
        run(python, "-m", "venv", folder)
        run(f"{folder}/bin/python", "-m", "pip", "install", "--no-deps", wheel)
        os.mkdir(f"work{number}")
        out = run(f"{folder}/bin/python", "-c", USE, folder=f"work{number}")
        assert folder in out and float(out.split()[-1]) > 0.0999, out
        print("works in", python)


main("package_test")
