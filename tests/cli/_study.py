"""What the tests of studies share: a scene, studies, and the table of a database."""
import json
import os
import sqlite3
import subprocess
import time

from _cli import PERP

# A box slides over the ground; far: it came past 0.6 m. 25 steps, about 0.3 ms.
SCENE = {
    "name": "slide", "dimension": 2, "gravity": [0, -9.81], "step": 0.02, "duration": 0.5,
    "parameters": {"mu": 0.3, "v": 2, "h": 0.1},
    "friction": {"default": "mu"},
    "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1], "offset": 0}]},
        {"name": "box", "mass": 1, "position": [0, "h"], "velocity": ["v", 0],
         "shapes": [{"type": "box", "size": [0.3, 0.2]}]}],
    "measures": {"x": "box.position.x", "speed": {"max": "box.velocity.x"},
                 "near": {"first_time": "box.position.x > 0.55"}},
    "stop": [{"name": "far", "when": "box.position.x > 0.6"}],
}
STUDY = {
    "name": "slide-map", "scene": "scene.json",
    "vary": {"h": {"grid": [0.1, 0.3, 4]}, "v": {"grid": [0, 3, 5]}, "mu": {"uniform": [0.1, 0.9]},
             "/bodies/1/mass": {"normal": [1, 0.1]}},
    "sample": {"method": "latin-hypercube", "trials": 6, "seed": 7},
}


def write(name, value):
    with open(name, "w", encoding="utf-8") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))
    return name


def study(scene=SCENE, /, **change):
    """Writes scene.json and study.json; returns the latter's name."""
    write("scene.json", scene)
    return write("study.json", {**STUDY, **change})


def perp(*words, timeout=120, **more):
    return subprocess.run([PERP, *words], capture_output=True, text=True, timeout=timeout, **more)


def good(*words, **more):
    done = perp(*words, **more)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done


def wait_for_rows(database, process):
    """Until the process has stored a run: then it also listens to signals, however busy the machine is."""
    while process.poll() is None:
        try:
            if os.path.exists(database) and rows(database):
                return
        except sqlite3.OperationalError:  # no table yet
            pass
        time.sleep(0.01)


def rows(database, columns="*"):
    with sqlite3.connect(database) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(r) for r in connection.execute(f"SELECT {columns} FROM runs ORDER BY id")]


def table(database):
    """All that must not depend on how the runs were distributed: every column but the seconds, with all bits."""
    found = rows(database)
    for row in found:
        del row["seconds"]
        if row["status"] in ("timeout", "crashed"):
            row.update({k: None for k in ("certificate", "energy_error", "steps", "message", "recording")})
    return [{k: v.hex() if isinstance(v, float) else v for k, v in row.items()} for row in found]


def has_mpi():
    return os.path.exists(os.path.join(os.path.dirname(PERP), "perp-mpi.so")) and subprocess.run(
        ["sh", "-c", "command -v mpirun"], capture_output=True, check=False).returncode == 0


MPI = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader,tcp"}
