#!/usr/bin/python3
"""`--plugin`: the example, what it records, how verify takes it, and every way to get it wrong.

Environment: PERP, PERP_SOURCE, PERP_CC, PERP_CFLAGS.
"""
import os
import shlex
import shutil
import subprocess

from _cli import PERP, SOURCE, main, test

SCENE = """{"dimension": 2, "gravity": [0, -9.81], "step": 0.01, "duration": 0.5,
  "bodies": [{"name": "rod", "mass": 1, "inertia": 0.1, "position": [0.5, 0]}],
  "joints": [{"name": "hinge", "type": "revolute", "a": "world", "b": "rod", "at": [0, 0]}]}"""

PUSH = """
static perp_status push(void* user, perp_sim* sim)
{
    const double force[3] = {3.0, 0.0, 0.0};
    (void)user;
    return perp_sim_apply_wrench(sim, 0, force, NULL);
}
PERP_PLUGIN(plugin)
{
    plugin->step = push;
    return PERP_OK;
}
"""


def perp(*words):
    return subprocess.run([PERP, *words], capture_output=True, text=True, timeout=120)


def build(name, code=None, flags=()):
    """A shared library from an example or from code; returns its file name."""
    path = os.path.join(SOURCE, "examples", f"{name}.c")
    if code is not None:
        path = f"{name}.c"
        with open(path, "w", encoding="utf-8") as f:
            f.write('#include "perp/plugin.h"\n' + code)
    library = f"lib{name}.so"
    subprocess.run([os.environ.get("PERP_CC", "cc"), *shlex.split(os.environ.get("PERP_CFLAGS", "")),
                    "-std=c17", "-Wall", "-Wextra", "-Werror", *flags, "-shared", "-fPIC", path,
                    "-I", os.path.join(SOURCE, "include"), "-o", library], check=True)
    return library


def scene():
    with open("scene.json", "w", encoding="utf-8") as f:
        f.write(SCENE)
    return "scene.json"


@test
def the_example_records_the_joint_error_of_every_step():
    library = build("plugin_joint_error")
    run = perp("run", scene(), "--plugin", f"{library}:error.dat", "--quiet")
    assert run.returncode == 0, run.stderr
    with open("error.dat", encoding="utf-8") as f:
        rows = [line.split() for line in f]
    assert rows[0] == ["t", "distance", "angle"]
    assert len(rows) == 1 + 51, len(rows)
    assert [float(row[0]) for row in rows[1:]] == [round(0.01 * i, 9) for i in range(51)]
    assert 0 < max(float(row[1]) for row in rows[1:]) < 1e-3
    if shutil.which("gnuplot"):
        plot = subprocess.run(
            ["gnuplot", "-e",
             "set terminal svg; set output 'e.svg'; set logscale y; set key autotitle columnhead; "
             "plot for [i=2:2] 'error.dat' using 1:i with lines"], capture_output=True, text=True)
        assert plot.returncode == 0 and os.path.getsize("e.svg") > 1000, plot.stderr


@test
def a_path_with_a_slash_and_a_default_argument_work():
    library = build("plugin_joint_error")
    run = perp("run", scene(), "--plugin", os.path.abspath(library), "--quiet")
    assert run.returncode == 0, run.stderr
    assert os.path.exists("joint_error.dat")


@test
def two_plugins_are_called_one_after_the_other():
    push, error = build("push", PUSH), build("plugin_joint_error")
    run = perp("run", scene(), "--plugin", push, "--plugin", f"{error}:e.dat", "--json")
    assert run.returncode == 0, run.stderr
    alone = perp("run", scene(), "--json")
    assert run.stdout != alone.stdout
    assert os.path.exists("e.dat")


@test
def verify_says_that_a_recording_had_a_plugin_and_takes_it_again():
    push = build("push", PUSH)
    assert perp("run", scene(), "--plugin", push, "--out", "r.h5", "--quiet").returncode == 0
    without = perp("verify", "r.h5")
    assert without.returncode == 3
    assert "recorded with user code (libpush.so)" in without.stdout, without.stdout
    assert "give that plugin to verify too" in without.stdout
    with_it = perp("verify", "r.h5", "--plugin", push)
    assert with_it.returncode == 0, with_it.stdout + with_it.stderr
    assert "a second run gives the same bits" in with_it.stdout
    assert "the second run checked them" in with_it.stdout
    # a recording without a plugin needs none
    assert perp("run", scene(), "--out", "s.h5", "--quiet").returncode == 0
    assert perp("verify", "s.h5").returncode == 0
    assert perp("verify", "s.h5", "--plugin", push).returncode == 3  # this one pushes


@test
def a_run_is_continued_with_its_plugin():
    push = build("push", PUSH)
    assert perp("run", scene(), "--plugin", push, "--out", "whole.h5", "--quiet").returncode == 0
    run = perp("run", "--resume", "whole.h5@0.2", "--plugin", push, "--out", "rest.h5", "--json")
    whole = perp("run", scene(), "--plugin", push, "--json")
    assert run.returncode == 0, run.stderr
    import json
    assert json.loads(run.stdout)["bodies"] == json.loads(whole.stdout)["bodies"]
    assert perp("verify", "rest.h5", "--plugin", push).returncode == 0


@test
def a_plugin_may_bring_a_solver():
    code = open(os.path.join(SOURCE, "examples", "own_solver.c"), encoding="utf-8").read()
    code = code[:code.index("int main")]
    registration = [line for line in code.splitlines() if "const perp_method " in line and "=" in line]
    name = registration[0].split("perp_method")[1].split("=")[0].strip()
    library = build("solver", code + f"""
PERP_PLUGIN(plugin)
{{
    return perp_register_method(plugin->context, &{name});
}}
""", flags=("-Wno-unused",))
    scene_path = os.path.join(SOURCE, "scenes", "hello.json")
    solver = code.split('.name = "')[1].split('"')[0]
    assert perp("run", scene_path, "--solver", solver, "--quiet").returncode == 2
    run = perp("run", scene_path, "--solver", solver, "--friction", "none", "--plugin", library, "--quiet")
    assert run.returncode == 0, run.stderr


@test
def what_is_wrong_is_said_with_its_remedy():
    scene()
    with open("text.so", "w", encoding="utf-8") as f:
        f.write("not a library")
    build("empty", "int nothing;\n")
    build("old", "const int perp_plugin_version = 99;\n"
                 "perp_status perp_plugin_init(perp_plugin* p);\n"
                 "perp_status perp_plugin_init(perp_plugin* p) { (void)p; return PERP_OK; }\n")
    build("half", "const int perp_plugin_version = PERP_PLUGIN_VERSION;\n")
    build("refuses", """
#include <string.h>
PERP_PLUGIN(plugin)
{
    strcpy(plugin->message, "the moon is not full");
    return PERP_ERROR_INPUT;
}
""")
    build("late", """
#include <string.h>
static perp_status start(void* user, perp_sim* sim)
{
    (void)sim;
    strcpy(((perp_plugin*)user)->message, "no such body: moon");
    return PERP_ERROR_INPUT;
}
PERP_PLUGIN(plugin)
{
    plugin->user = plugin;
    plugin->start = start;
    return PERP_OK;
}
""")
    for word, remedy in [
            ("nothing.so", "./nothing.so cannot be read: give the path of a shared library"),
            ("text.so", "./text.so is not a shared library that can be loaded here"),
            ("libempty.so", "has no perp_plugin_version: define the entry with PERP_PLUGIN"),
            ("libhalf.so", "has no perp_plugin_init: define the entry with PERP_PLUGIN"),
            ("libold.so", "was made for version 99 of perp/plugin.h, this perp has 1: compile it again"),
            ("librefuses.so", "the moon is not full"),
            ("liblate.so", "no such body: moon")]:
        run = perp("run", "scene.json", "--plugin", word)
        assert run.returncode == 2, (word, run.returncode)
        assert remedy in run.stderr, (word, run.stderr)
        assert run.stderr.count("\n") == 1, run.stderr
    run = perp("verify", "r.h5", "--plugin", "nothing.so")
    assert run.returncode == 2


@test
def a_plugin_that_fails_in_a_step_stops_the_run():
    library = build("stops", """
#include <string.h>
static perp_status step(void* user, perp_sim* sim)
{
    if (perp_sim_step_count(sim) < 10) {
        return PERP_OK;
    }
    strcpy(((perp_plugin*)user)->message, "enough");
    return PERP_ERROR_INPUT;
}
PERP_PLUGIN(plugin)
{
    plugin->user = plugin;
    plugin->step = step;
    return PERP_OK;
}
""")
    run = perp("run", scene(), "--plugin", library)
    assert run.returncode == 3 and "enough" in run.stderr, (run.returncode, run.stderr)


if __name__ == "__main__":
    main("plugin_test")
