#!/usr/bin/env python3
"""Parameters, measures, stops and quantities on the command line: run, check, resume, verify, plot, export."""
import json
import math
import os

from _cli import main, perp, test

THROW = {
    "name": "throw", "dimension": 2, "gravity": [0, "-g"], "step": 0.01, "duration": 2,
    "friction": {"default": "mu"},
    "parameters": {"v": 5, "angle": "pi/4", "g": 9.81, "R": 0.1, "mu": 0.3},
    "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
        {"name": "ball", "mass": 1, "inertia": "0.5*R^2", "position": [0, "R + 0.02"],
         "velocity": ["v*cos(angle)", "v*sin(angle)"], "shapes": [{"type": "circle", "radius": "R"}]}],
    "measures": {
        "range": "ball.position.x", "top": {"max": "ball.position.y - R"},
        "apex": {"first_time": "ball.velocity.y < 0"}, "push": {"integral": "contact.ground.ball.normal"},
        "gap": {"min": "distance.ground.ball"}, "slip": {"max": "contact.ground.ball.slip"},
        "mean": {"mean": "energy.kinetic"}, "lost": "ledger.change",
        "worst": {"max": "certificate.dynamics"},
        "drift": {"mean": "ball.velocity.x", "over": "0.07/1", "every": 0.1},
        "pushes": {"integral": "contact.ground.ball.normal", "over": 0.033},
        "error": {"sum": "(ball.position.x - drift*t)^2 + pushes", "every": 0.1}},
    "stop": [{"name": "stopped", "when": "t > 1.2 and ball.position.x > 3"}],
}


def write(name, **changes):
    with open(name, "w", encoding="utf-8") as file:
        json.dump({**THROW, **changes}, file)
    return name


def run(*args, status=0):
    return perp("run", *args, "--json", status=status).json


VARIANTS = {
    "plain": {}, "odd": {"duration": 1.1873}, "every": {"record": {"every": 7}},
    "anitescu": {"stepper": "anitescu-potra"}, "implicit": {"stepper": "implicit"},
    "bounce": {"restitution": 0.6, "record": {"every": 3}},
    "adaptive": {"step": {"error": 1e-4, "max": 0.05}},
    "adaptive-bounce": {"step": {"error": 1e-4, "max": 0.05}, "restitution": 0.6, "record": {"every": 4}},
}


@test
def a_continued_run_has_the_measures_of_an_uninterrupted_one():
    for name, changes in VARIANTS.items():
        scene = write("a.json", **changes)
        whole = run(scene, "--out", "whole.h5")
        assert set(whole["measures"]) == set(THROW["measures"]), name
        assert whole["outcome"] in ("stopped", "end"), name
        for time in ("0.2", "0.77"):
            again = run("--resume", f"whole.h5@{time}", "--out", "again.h5")
            assert again["measures"] == whole["measures"], (name, time, again["measures"], whole["measures"])
            assert again["outcome"] == whole["outcome"], name
            assert "measures_from" not in again
        for recording in ("whole.h5", "again.h5"):
            assert "a second run gives the same bits" in perp("verify", recording).out, name


@test
def a_closed_form_comes_out_with_any_parameters():
    scene = write("a.json", stop=[{"name": "down", "when": "ball.velocity.y < 0 and ball.position.y < R + 0.02"}])
    for v, angle in ((5, math.pi / 4), (8, 1.0), (3, 0.4)):
        result = run(scene, "--param", f"v={v}", "--param", f"angle={angle!r}", "--step", "0.0005")
        assert result["outcome"] == "down" and result["parameters"]["v"] == v
        m, g = result["measures"], 9.81
        assert abs(m["apex"] - v * math.sin(angle) / g) < 1e-9, m
        assert abs(m["top"] - 0.02 - (v * math.sin(angle)) ** 2 / (2 * g)) < 2e-3, m
        assert abs(m["range"] - v * v * math.sin(2 * angle) / g) < 1e-2, m
        assert m["push"] == 0 and m["worst"] <= 1e-8 and m["gap"] > 0


@test
def the_sum_of_two_ways_to_change_a_scene_is_in_the_recording():
    scene = write("a.json")
    result = run(scene, "--param", "v=4", "--set", "/parameters/angle=\"pi/3\"", "--set", "/bodies/1/mass=\"v/2\"",
                 "--param", "g=v*2", "--duration", "0.3", "--out", "r.h5")
    assert result["parameters"] == {"v": 4, "angle": math.pi / 3, "g": 8, "R": 0.1, "mu": 0.3}, result["parameters"]
    again = run("--resume", "r.h5@0", "--duration", "0.3")
    assert again["measures"] == result["measures"]
    text = perp("run", scene, "--param", "v=4", "--duration", "0.3").out
    assert "parameters     v 4" in text and "measures" in text and "  range " in text, text
    assert "outcome" not in text
    text = perp("run", scene).out
    assert "outcome        stopped at t = 1.21" in text, text


@test
def check_lists_what_a_scene_measures():
    scene = write("a.json", parameters={**THROW["parameters"], "spare": 7})
    result = perp("check", scene, "--json", "--param", "v=6")
    assert result.json["parameters"]["v"] == 6 and result.json["unused_parameters"] == ["spare"]
    assert "/parameters/spare: nothing in the scene uses this parameter" in result.err
    assert result.json["gravity"] == [0, -9.81]
    assert result.json["measures"]["top"] == {"kind": "max", "expression": "ball.position.y - R",
                                              "at_start": result.json["measures"]["top"]["at_start"]}
    assert abs(result.json["measures"]["top"]["at_start"] - 0.02) < 1e-12
    assert result.json["measures"]["push"]["at_start"] is None
    assert result.json["stop"] == [{"name": "stopped", "when": THROW["stop"][0]["when"]}]
    text = perp("check", scene).out
    for word in ("spare 7 (not used)", "first_time", "contact.ground.ball.slip", "stopped"):
        assert word in text, (word, text)
    assert "spare" in perp("run", scene, "--duration", "0.1").err
    assert perp("run", scene, "--duration", "0.1", "--quiet").err == ""


@test
def bad_parameters_are_bad_input():
    scene = write("a.json")
    for args, hint in [
            (("--param", "w=1"), "there is no parameter 'w'"), (("--param", "anglee=1"), "did you mean 'angle'?"),
            (("--param", "v"), "expected NAME=VALUE"), (("--param", "=1"), "expected NAME=VALUE"),
            (("--param", "/bodies/1/mass=1"), "--set /bodies/1/mass=1"), (("--set", "v=1"), "--param v=1"),
            (("--param", "v=fast"), "/parameters/v: expression 'fast'"), (("--param", "v=nan"), "/parameters/v"),
            (("--param", "v=1/0"), "must be a finite number, got inf"), (("--param", "v=[1]"), "/parameters/v"),
            (("--param", "R=-1"), "/bodies/1/"), (("--param", "g=v", "--param", "v=g"), "depends on itself")]:
        for verb in ("run", "check", "forces"):
            said = perp(verb, scene, *args, status=2).err
            assert hint in said, (verb, args, said)
    assert "the scene has none" in perp("check", write("b.json", parameters={}), "--param", "v=1", status=2).err


@test
def a_run_that_ended_at_its_stop_is_not_continued():
    scene = write("a.json")
    run(scene, "--out", "r.h5")
    said = perp("run", "--resume", "r.h5", status=2).err
    assert "by its stop 'stopped'" in said and "--set /stop=[]" in said, said
    further = perp("run", "--resume", "r.h5", "--set", "/stop=[]", "--json", "--out", "s.h5")
    assert further.json["outcome"] == "end" and further.json["measures_from"] > 1.2
    assert "they begin at t = 1.2" in further.err, further.err
    assert "same bits" in perp("verify", "s.h5").out
    assert perp("verify", "r.h5", "--json").json["finished"] is True
    nan = perp("run", scene, "--set", '/stop=[{"name": "s", "when": "sqrt(0.105 - t) > 1"}]', "--json", "--out", "n.h5",
               status=3)
    assert nan.json["status"] == "failed" and "stop/0/when" in nan.json["message"], nan.json
    assert nan.json["outcome"] is None and abs(nan.json["time"] - 0.11) < 1e-12


@test
def plot_export_and_list_have_the_same_names():
    scene = write("a.json")
    run(scene, "--out", "r.h5")
    names = perp("list", "quantities", scene, "--names").out.split()
    assert "ball.position.x" in names and "energy.total" in names and "ball.position.z" not in names
    listed = perp("list", "quantities", scene, "--json").json["quantities"]
    assert [q["name"] for q in listed] == names
    assert perp("list", "quantities", status=2).err and perp("list", "steppers", scene, status=2).err
    extra = ["distance.ground.ball", "contact.ground.ball.slip", "contact.ball.ground"]
    table = perp("export", "r.h5", *names, *extra, "--json").json
    assert table["columns"][:2] == ["time", "step"] and table["columns"][2:2 + len(names)] == names
    assert "contact.ball.ground.force.x" in table["columns"]
    rows, column = table["rows"], {name: i for i, name in enumerate(table["columns"])}
    result = run(scene)
    assert rows[-1][column["ball.position.x"]] == result["measures"]["range"]
    assert max(row[column["ball.position.y"]] - 0.1 for row in rows) == result["measures"]["top"]
    assert min(row[column["distance.ground.ball"]] for row in rows) == result["measures"]["gap"]
    assert max(row[column["contact.ground.ball.slip"]] for row in rows) == result["measures"]["slip"]
    assert abs(rows[-1][column["ledger.change"]] - result["measures"]["lost"]) < 1e-12
    impulse = sum(row[column["contact.ball.ground.normal"]] * 0.01 for row in rows)
    assert abs(impulse - result["measures"]["push"]) < 1e-9 * impulse
    for verb in (("export", "r.h5"), ("plot", "r.h5")):
        assert "did you mean 'ball.position.x'?" in perp(*verb, "bal.position.x", status=2).err
        assert "did you mean 'distance.ball.ground'?" in perp(*verb, "distance.ball.grund", status=2).err
        assert "did you mean 'contact.ground.ball.normal'?" in perp(*verb, "contact.ground.bal.normal", status=2).err
    perp("plot", "r.h5", "distance.ground.ball", "contact.ground.ball", "ball.force", "-o", "f.svg")
    assert os.path.getsize("f.svg") > 1000


URDF = """<robot name="arm"><link name="base"/><link name="left-link"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><parent link="base"/><child link="left-link"/><axis xyz="0 1 0"/></joint></robot>"""


@test
def robots_have_parameters_and_measures_too():
    with open("arm.urdf", "w", encoding="utf-8") as file:
        file.write(URDF)
    args = ("arm.urdf", "--set", '/parameters={"w": 1}', "--set", "/duration=\"w/4\"", "--param", "w=2",
            "--set", '/measures={"q": "elbow.coordinate", "v": {"max": "[left-link].angular_velocity.y"}}',
            "--set", '/controllers=[{"type": "pd", "joint": "elbow", "kp": "w", "kd": 1, "target": "w"}]')
    result = run(*args, "--out", "r.h5")
    assert abs(result["time"] - 0.5) < 1e-12 and result["measures"]["q"] > 0 and result["measures"]["v"] > 0
    assert "same bits" in perp("verify", "r.h5").out
    assert run("--resume", "r.h5@0.1")["measures"] == result["measures"]


main("measures_test")
