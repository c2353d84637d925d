"""Controllers: feed-forward of gravity against the closed form, trajectories from CSV files."""
import json
import math
import os

from _cli import main, perp, test

G = 9.81


def controllers(kp, kd, targets, **more):
    return [{"type": "pd", "joint": name, "kp": kp, "kd": kd, "target": target, **more}
            for name, target in targets.items()]


def arm(control, swapped=False, **changes):
    """Two rods of 1 m and 0.5 m in the plane x z that turn about -y, and a slide along the second one.
    Angles count from the x axis upward; swapped: the second joint has its bodies the other way round."""
    def rod(name, x, mass, size):
        return {"name": name, "mass": mass, "position": [x, 0, 0], "collides_with": [],
                "shapes": [{"type": "box", "size": [size, 0.05, 0.05]}]}
    second = {"a": "lower", "b": "upper", "axis": [0, -1, 0]} if swapped else \
        {"a": "upper", "b": "lower", "axis": [0, -1, 0]}
    return {"gravity": [0, 0, -G], "step": 0.004, "duration": 4,
            "bodies": [rod("upper", 0.5, 3, 1), rod("lower", 1.25, 2, 0.5), rod("tool", 1.6, 0.7, 0.1)],
            "joints": [{"name": "shoulder", "type": "revolute", "a": "world", "b": "upper", "at": [0, 0, 0],
                        "axis": [0, -1, 0]},
                       {"name": "elbow", "type": "revolute", "at": [1, 0, 0], **second},
                       {"name": "slide", "type": "prismatic", "a": "lower", "b": "tool", "at": [1.6, 0, 0],
                        "axis": [1, 0, 0]}],
            "measures": {f"{n}_{what}": q for n in ("shoulder", "elbow", "slide")
                         for what, q in (("at", f"{n}.coordinate"), ("effort", f"controller.{n}.effort"))},
            "controllers": control, **changes}


def weights(a, b, s):
    """Efforts that hold the arm at the angles a, a + b and the slide at s."""
    c1, c12, s12 = math.cos(a), math.cos(a + b), math.sin(a + b)
    second = 2 * G * 0.25 * c12 + 0.7 * G * (0.6 + s) * c12
    return 3 * G * 0.5 * c1 + (2 + 0.7) * G * c1 + second, second, 0.7 * G * s12


def run(scene, *more):
    with open("scene.json", "w") as file:
        json.dump(scene, file)
    return perp("run", "scene.json", "--json", *more).json


TARGET = {"shoulder": 0.4, "elbow": -1.1, "slide": 0.05}


@test
def a_held_arm_has_no_steady_error():
    for swapped in (False, True):
        sign = -1 if swapped else 1
        target = {**TARGET, "elbow": sign * TARGET["elbow"]}
        m = run(arm(controllers(400, 60, target, feed_forward="gravity"), swapped), "-o", "r.h5")["measures"]
        want = weights(*TARGET.values())
        for name, effort, s in zip(TARGET, want, (1, sign, 1)):
            assert abs(m[f"{name}_at"] - target[name]) < 1e-9, (name, m)
            assert abs(m[f"{name}_effort"] - s * effort) < 1e-7, (name, m, want)
        perp("verify", "r.h5")
        # without it, the springs of the controllers are stretched by the weights
        m = run(arm(controllers(400, 60, target), swapped))["measures"]
        at = [s * m[f"{n}_at"] for n, s in zip(TARGET, (1, sign, 1))]
        for name, x, effort, s in zip(TARGET, at, weights(*at), (1, sign, 1)):
            assert abs(400 * (s * target[name] - x) - effort) < 1e-5, (name, m)
        assert abs(at[0] - TARGET["shoulder"]) > 0.05


@test
def it_works_in_the_plane_and_on_bodies():
    scene = {"dimension": 2, "gravity": [0, -G], "step": 0.005, "duration": 6, "bodies": [
        {"name": "rod", "mass": 2, "inertia": 0.1, "position": [0.5, 0]},
        {"name": "lift", "mass": 3, "inertia": 1, "position": [3, 0]}],
        "joints": [{"name": "pivot", "type": "revolute", "a": "rod", "b": "world", "at": [0, 0]}],
        "measures": {"angle": "rod.angle", "height": "lift.position.y",
                     "effort": "controller.pivot.effort"},
        "controllers": controllers(100, 20, {"pivot": -0.3}, feed_forward="gravity") + [
            {"type": "pd", "body": "lift", "axis": [0, 2], "kp": 200, "kd": 50, "target": 0.5,
             "feed_forward": "gravity"}]}
    m = run(scene)["measures"]
    assert abs(m["angle"] - 0.3) < 1e-9 and abs(m["height"] - 0.5) < 1e-9, m
    assert abs(m["effort"] + 2 * G * 0.5 * math.cos(0.3)) < 1e-8, m


@test
def the_limit_cuts_the_sum():
    m = run(arm(controllers(400, 60, TARGET, feed_forward="gravity", max_effort=5)))["measures"]
    assert abs(m["shoulder_effort"]) <= 5 + 1e-9


@test
def steppers_adaptive_steps_and_resume():
    for changes in ({"stepper": "stewart-trinkle"}, {"stepper": "anitescu-potra"},
                    {"duration": 3.9997}, {"step": {"error": 1e-5}}):
        whole = run(arm(controllers(400, 60, TARGET, feed_forward="gravity"), **changes), "-o", "r.h5")
        for name in TARGET:
            assert abs(whole["measures"][f"{name}_at"] - TARGET[name]) < 1e-8, (changes, whole["measures"])
        perp("verify", "r.h5")
        assert perp("run", "--resume", "r.h5@1.2", "--json").json["bodies"] == whole["bodies"], changes


@test
def what_cannot_be_fed_forward_is_refused():
    loop = arm(controllers(400, 60, TARGET, feed_forward="gravity"))
    loop["joints"].append({"name": "tie", "type": "spherical", "a": "world", "b": "lower", "at": [1.5, 0, 0]})
    for scene, message in [
        (loop, "/controllers/0/feed_forward: joint 'shoulder' is part of a loop of joints"),
        (arm(controllers(1, 1, TARGET, feed_forward="magic")),
         "/controllers/0/feed_forward: must be gravity or none, got 'magic'"),
    ]:
        with open("bad.json", "w") as file:
            json.dump(scene, file)
        assert message in perp("check", "bad.json", status=2).err, message


CSV = """# made by hand
time, shoulder, elbow, "slide", elbow.velocity
0, 0, 0, 0, 0.2     # start
1, 0.5, 0.3, 0.02, -0.4

2, 0.2; -0.1, 0.05, 0
"""


def write_csv(text=CSV):
    os.makedirs("there", exist_ok=True)
    with open("there/moves.csv", "w") as file:
        file.write(text)


def follow(**more):
    return [{"type": "pd", "joint": n, "kp": 4e4, "kd": 4e3, "trajectory": {"table": "there/moves.csv", **more},
             "feed_forward": "gravity"} for n in TARGET]


@test
def a_trajectory_is_the_curve_of_its_column():
    write_csv()
    control = follow()
    same = [{**c, "target": t} for c, t in zip(follow(), (
        "cubic(t, 0,0, 1,0.5, 2,0.2)",
        # the cubics with the given rates
        "if(t < 1, 0.2*t + (3*0.3 - 0.4 + 0.4)*t^2 + (0.2 - 0.4 - 0.6)*t^3, "
        "if(t < 2, 0.3 - 0.4*(t-1) + (-1.2 + 0.8)*(t-1)^2 + (-0.4 + 0.8)*(t-1)^3, -0.1))",
        {"points": [[0, 0], [1, 0.02], [2, 0.05]], "interpolation": "cubic"}))]
    for c in same:
        del c["trajectory"]
    scene = arm(control, duration=2.5)
    a, b = run(scene, "-o", "r.h5"), run(arm(same, duration=2.5))
    for name in TARGET:
        x, y = a["measures"][f"{name}_at"], b["measures"][f"{name}_at"]
        assert abs(x - y) < 1e-12, (name, x, y)
    assert abs(a["measures"]["elbow_at"] + 0.1) < 1e-3
    os.remove("there/moves.csv")  # the recording has the rows
    perp("verify", "r.h5")
    assert perp("run", "--resume", "r.h5@1.1", "--json").json["bodies"] == a["bodies"]


@test
def columns_and_interpolation_are_chosen():
    write_csv()
    scene = arm(follow(column="shoulder", interpolation="linear"), duration=0.5)
    at = run(scene)["measures"]
    assert all(abs(at[f"{n}_at"] - 0.25) < 1e-2 for n in ("shoulder", "elbow")), at
    scene["parameters"] = {"gain": 100}
    scene["controllers"][0]["kp"] = "gain"
    with open("scene.json", "w") as file:
        json.dump(scene, file)
    soft = perp("run", "scene.json", "--json").json["measures"]["shoulder_at"]
    stiff = perp("run", "scene.json", "--json", "--param", "gain=4e4").json["measures"]["shoulder_at"]
    assert stiff == at["shoulder_at"] != soft


@test
def a_bad_file_is_refused_with_its_line():
    for text, message in [
        ("", "there/moves.csv:0: there is no line of column names"),
        ("x, shoulder\n", "there/moves.csv:1: the first column must be named 't' or 'time', got 'x'"),
        ("t, wrist\n0, 1\n", "there/moves.csv:1: there is no column named 'shoulder'"),
        ("t, shoulder, shoulder\n", "there/moves.csv:1: the column 'shoulder' stands there twice"),
        ("t, shoulder\n# none\n", "there/moves.csv:2: there are no rows"),
        ("t, shoulder\n0, 1\n\n0.5, x\n", "there/moves.csv:4: column 2 must be a finite number, got 'x'"),
        ("t, shoulder\n0, nan\n", "there/moves.csv:2: column 2 must be a finite number"),
        ("t, shoulder\n0, 1\n1, 2, 3\n", "there/moves.csv:3: must have 2 columns like the line of names, got 3"),
        ("t, shoulder\n0, 1\n0, 2\n", "there/moves.csv:3: times must ascend, got 0 after 0"),
        (None, "there/moves.csv: cannot open"),
    ]:
        write_csv(text or "")
        if text is None:
            os.remove("there/moves.csv")
        with open("scene.json", "w") as file:
            json.dump(arm(follow()), file)
        err = perp("check", "scene.json", status=2).err
        assert message in err and "scene.json: /controllers/0/trajectory/table" in err, (message, err)
    write_csv()
    for change, message in [
        ({"target": 1}, "/controllers/0/trajectory: give a target or a trajectory, not both"),
        ({"trajectory": {"table": [[0, 1], [0, 2]]}}, "/controllers/0/trajectory/table/1: times must ascend"),
        ({"trajectory": {"table": [[0, 1, 2, 3]]}}, "/controllers/0/trajectory/table: must have 2 columns"),
        ({"trajectory": {"table": [[0, 1]], "column": "x"}}, "/controllers/0/trajectory/column: is for a table in"),
        ({"trajectory": {"table": [[0, 1, 2]], "interpolation": "linear"}}, "is interpolated by cubics"),
        ({"trajectory": {"table": [[0, 1]], "interpolation": "x"}}, "must be linear, cubic or quintic"),
    ]:
        with open("scene.json", "w") as file:
            json.dump(arm([{**follow()[0], **change}], measures={}), file)
        err = perp("check", "scene.json", status=2).err
        assert message in err, (message, err)


main("feed_forward")
