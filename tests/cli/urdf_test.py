"""Robots: `perp import`, `perp check` and `perp run` of URDF files; the corpus in tests/cli/urdf.

A bad file says in its first comment what the message must contain.
"""
import glob
import json
import math
import os
import re
import shutil

from _cli import SOURCE, main, perp, test

CORPUS = os.path.join(SOURCE, "tests", "cli", "urdf")
GOOD = sorted(glob.glob(os.path.join(CORPUS, "good", "*.urdf")))
BAD = sorted(glob.glob(os.path.join(CORPUS, "bad", "*.urdf")))
PACKAGE = {"package.urdf": ("--package", os.path.join(CORPUS, "good", "meshes"))}


def options(path):
    return PACKAGE.get(os.path.basename(path), ())


def good(name):
    return os.path.join(CORPUS, "good", name + ".urdf")


def imported(name, *args):
    perp("import", good(name), "-o", "robot.json", *args)
    with open("robot.json") as file:
        scene = json.load(file)
    return scene, {b["name"]: b for b in scene["bodies"]}, {j["name"]: j for j in scene["joints"]}


def near(a, b, tolerance=1e-14):
    assert len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b)), (a, b)


@test
def the_corpus_is_there():
    assert len(GOOD) >= 15 and len(BAD) >= 50, (len(GOOD), len(BAD))


@test
def every_good_robot_is_checked_and_runs_and_its_scene_runs_alike():
    for path in GOOD:
        perp("check", path, *options(path))
        direct = perp("run", path, "--duration", "0.05", "--json", *options(path)).json
        assert direct["status"] == "ok" and direct["certificate"]["joints"] < 1e-8, path
        assert direct["joint_error"]["max"] < 1e-3, (path, direct["joint_error"])
        perp("import", path, "-o", "robot.json", *options(path))
        scene = perp("run", "robot.json", "--duration", "0.05", "--json").json
        assert scene["bodies"] == direct["bodies"], path


@test
def every_bad_robot_is_refused_with_its_line():
    for path in BAD:
        with open(path, "rb") as file:
            expected = re.match(rb"<!-- expect: (.*?) -->", file.read()).group(1).decode()
        for verb in ("check", "run", "import"):
            result = perp(verb, path, status=2)
            name = os.path.basename(path)
            assert f"{name}: {expected}" in result.err, (name, result.err)
            assert result.err.startswith("perp: ") and result.err.count("\n") == 1, result.err
            assert result.out == "" and os.listdir(".") == []


@test
def poses_of_three_joints_are_those_worked_out_by_hand():
    # one: at (0,0,1), turned by 90 degrees about z: its x is world y, its y is world -x.
    # two: at the end of one, (0,1,1), turned further by 90 degrees about its own x (world y):
    #      its y is world z, its z is one's -y, which is world x.
    # three: 0.5 + 0.25 along two's y (the limit nearest 0): (0,1,1.75).
    scene, bodies, joints = imported("fk")
    near(bodies["one"]["position"], [0, 0.5, 1])
    near(bodies["two"]["position"], [0, 1, 1.25])
    near(bodies["three"]["position"], [0, 1, 1.75])
    h = math.sqrt(0.5)
    near(bodies["one"]["orientation"], [h, 0, 0, h])
    near(bodies["two"]["orientation"], [0.5, 0.5, 0.5, 0.5])
    near(joints["a"]["at"], [0, 0, 1])
    near(joints["b"]["at"], [0, 1, 1])
    near(joints["c"]["at"], [0, 1, 1.75])
    near(joints["a"]["axis"], [0, 0, 1])
    near(joints["b"]["axis"], [0, 0, 1])
    near(joints["c"]["axis"], [0, 0, 1])
    assert joints["c"]["start"] == 0.25 and "start" not in joints["a"]
    assert joints["a"]["limits"] == [-1, 1] and "limits" not in joints["b"]
    # the inertia of one is given in axes turned by 90 degrees about z: x and y change places
    near([x for row in bodies["one"]["inertia"] for x in row], [0.2, 0, 0, 0, 0.1, 0, 0, 0, 0.25])
    # that of two by 45 degrees about x: R diag(0.03, 0.07) R' has 0.05 twice and -0.02 beside it
    near([x for row in bodies["two"]["inertia"] for x in row],
         [0.05, 0, 0, 0, 0.05, -0.02, 0, -0.02, 0.05])
    # shapes are placed from the centre of mass: both are at it
    for name in ("one", "two"):
        assert "position" not in bodies[name]["shapes"][0], bodies[name]
    near(bodies["one"]["shapes"][0]["orientation"], [h, 0, h, 0])


@test
def joints_keep_what_was_said_of_them():
    scene, bodies, joints = imported("all-joints")
    assert {n: j["type"] for n, j in joints.items()} == {
        "j1": "revolute", "j2": "revolute", "j3": "prismatic", "j4": "fixed", "j5": "planar"}
    assert joints["j1"]["limits"] == [-1, 1] and joints["j1"]["damping"] == 0.1
    assert joints["j1"]["friction"] == 0.2
    assert joints["j1"]["motor"] == {"type": "effort", "target": 0, "max_effort": 5}
    assert "limits" not in joints["j2"] and joints["j2"]["motor"]["max_effort"] == 5
    assert joints["j4"]["a"] == "rev" and joints["j4"]["b"] == "fix"
    assert all(j["a"] == "world" for n, j in joints.items() if n != "j4")
    assert set(bodies) == {"rev", "con", "pri", "fix", "pla", "flo"}  # base: nothing to touch or see
    near(bodies["flo"]["position"], [5, 0, 0])


@test
def links_without_mass_give_their_shapes_to_a_neighbour():
    scene, bodies, joints = imported("massless")
    assert all(b["type"] == "static" for b in scene["bodies"])  # all fixed to the world
    scene, bodies, joints = imported("massless", "--floating")
    assert set(bodies) == {"base_link", "head"} and list(joints) == ["f3"]
    assert joints["f3"]["type"] == "fixed"
    assert [s["type"] for s in bodies["base_link"]["shapes"]] == ["box", "sphere"]
    near(bodies["base_link"]["shapes"][1]["position"], [0, 0, 0.1])
    near(bodies["head"]["shapes"][0]["position"], [0.1, 0, 0])
    near(bodies["head"]["shapes"][0]["orientation"], [math.cos(0.15), 0, math.sin(0.15), 0])


@test
def pictures_and_colours_come_along():
    scene, bodies, joints = imported("geometry")
    shapes = bodies["a"]["shapes"]
    assert [s["type"] for s in shapes] == ["box", "cylinder", "sphere", "capsule"]
    assert [s.get("visual", False) for s in shapes] == [False, False, False, True]
    assert shapes[0]["size"] == [0.1, 0.2, 0.3]
    scene, bodies, joints = imported("materials")
    assert bodies["base"]["color"] == [1, 0, 0] and bodies["a"]["color"] == [0, 0.5, 0.25]
    assert "color" not in bodies["b"]


@test
def meshes_are_found_and_written_into_the_scene():
    result = perp("import", good("mesh"), "-o", "robot.json")
    assert "cube.dae" in result.err and "collide" not in result.err
    with open("robot.json") as file:
        shape = json.load(file)["bodies"][0]["shapes"]
    assert len(shape) == 2 and shape[0]["visual"] is True
    assert shape[1]["type"] == "mesh" and "visual" not in shape[1] and "decompose" not in shape[1]
    assert shape[0]["source"] == "meshes/cube.obj" and len(shape[0]["faces"]) == 12
    near(shape[0]["vertices"][0], [-0.05, -0.05, -0.05])
    assert CORPUS not in json.dumps(shape) and os.path.realpath(CORPUS) not in json.dumps(shape)
    result = perp("check", good("package"), status=2)
    assert "was not found; say where the package is: --package DIR" in result.err
    # a folder that holds the package as a folder
    os.makedirs("all/elsewhere")
    shutil.copy(os.path.join(CORPUS, "good/meshes/cube.obj"), "all/elsewhere")
    perp("check", good("package"), "--package", "all")


@test
def a_recording_of_a_robot_with_meshes_needs_no_other_file():
    shutil.copytree(os.path.join(CORPUS, "good"), "here")
    first = perp("run", "here/mesh.urdf", "--duration", "0.1", "--json", "-o", "r.h5").json
    shutil.rmtree("here")
    perp("verify", "r.h5")
    again = perp("run", "--resume", "r.h5@0.05", "--duration", "0.1", "--json").json
    assert again["bodies"] == first["bodies"]


@test
def what_is_not_simulated_is_said_once():
    result = perp("check", good("extensions"))
    lines = [line for line in result.err.splitlines() if "not read" in line]
    assert len(lines) == 1, result.err
    for tag in ("gazebo", "transmission", "ros2_control", "calibration", "safety_controller"):
        assert f"<{tag}>" in lines[0], lines
    assert "do not collide" not in perp("check", good("static-chain")).err


@test
def velocity_limits_become_those_of_drives():
    scene, bodies, joints = imported("extensions")
    limits = {name: joint.get("velocity_limit") for name, joint in joints.items()}
    assert any(limits.values()), limits


@test
def neighbours_and_rigid_groups_do_not_collide_and_others_do():
    scene, bodies, joints = imported("static-chain")
    assert bodies["column"]["type"] == "static" and "mass" not in bodies["column"]
    assert bodies["arm"]["ignores"] == ["table"]  # column: the joint says it
    assert "ignores" not in bodies["hand"]
    scene, bodies, joints = imported("fk")
    assert "ignores" not in bodies["three"] and "ignores" not in bodies["two"]
    scene, bodies, joints = imported("fk", "--no-self-collision")
    assert sorted(bodies["three"]["ignores"]) == ["base", "one"]


@test
def a_robot_floats_when_asked_to():
    fixed = perp("run", good("floating-base"), "--duration", "0.5", "--json").json
    free = perp("run", good("floating-base"), "--duration", "0.5", "--json", "--floating").json
    assert fixed["bodies"]["trunk"]["position"] == [0, 0, 0]
    # the scheme falls by g h^2 (1 + 2 + ... + n): exactly g t (t + h) / 2
    fall = 9.81 * 0.5 * 0.505 / 2
    total = 3 * free["bodies"]["trunk"]["position"][2] + free["bodies"]["leg"]["position"][2]
    assert abs(total - (3 * 0 - 0.3) + 4 * fall) < 1e-9, total
    result = perp("run", good("one-link").replace(".urdf", ".json"), "--floating", status=2)
    assert "--floating is for robots" in result.err


@test
def import_speaks_and_refuses():
    result = perp("import", good("pendulum"))
    assert json.loads(result.out)["name"] == "r" and result.err == ""
    assert perp("import", good("pendulum"), "-o", "-").out == result.out
    assert perp("import", good("pendulum"), "--out", "a.json", "--json").json == {
        "status": "ok", "scene": "r", "file": "a.json", "bodies": 1, "joints": 1}
    assert "a.json: 1 bodies, 1 joints" in perp("import", good("pendulum"), "-o", "a.json").out
    shutil.copy(good("pendulum"), "p.urdf")
    assert "is the robot itself" in perp("import", "p.urdf", "-o", "p.urdf", status=2).err
    assert "cannot write" in perp("import", "p.urdf", "-o", "no/where.json", status=2).err
    assert "cannot open" in perp("import", "none.urdf", status=2).err
    scene = json.loads(perp("import", "p.urdf", "--step", "0.1", "--set", "/name=x").out)
    assert scene["step"] == 0.1 and scene["name"] == "x"


@test
def a_joint_that_mimics_another_is_geared_to_it():
    scene, bodies, joints = imported("mimic")
    gears = [j for j in scene["joints"] if j["type"] == "gear"]
    assert [(g["joints"], g["ratio"], g["offset"]) for g in gears] == [
        (["j_left", "j_right"], 1, 0), (["j_right", "j_thumb"], -5, 0.2)], gears
    # the limit nearest to 0 of the first, and what follows from it
    assert joints["j_left"]["start"] == joints["j_right"]["start"] == 0.01
    assert abs(joints["j_thumb"]["start"] - 0.15) < 1e-15
    near(bodies["right"]["position"], [-0.07, 0, 0.05])
    for options in ((), ("--floating", "--floor"), ("--set", "/joint_correction=true")):
        perp("run", good("mimic"), "--out", "m.h5", "--set", "/joints/1/motor/target=2",
             "--duration", "0.4", *options)
        perp("verify", "m.h5")
        rows = perp("export", "m.h5", "j_left.coordinate", "j_right.coordinate",
                    "j_thumb.coordinate").out.splitlines()
        last = [float(x) for x in rows[-1].split(",")]
        left, right, thumb = last[-3:]
        assert abs(left - right) < 1e-9 and abs(thumb - (0.2 - 5 * right)) < 1e-9, last
        assert left > 0.02
        end = [perp("run", "--resume", f"m.h5@{t}", "--duration", "0.4", "--json").json["bodies"]
               for t in (0.2, 0.3)]
        assert end[0] == end[1]


@test
def what_a_file_lacks_is_given_with_one_notice_or_refused_by_strict():
    result = perp("import", good("repaired"), "-o", "r.json")
    assert result.err.count("perp: warning") == 1, result.err
    assert "a 7.7 %" in result.err and "frame 0.0005" in result.err and "point" in result.err
    with open("r.json") as file:
        bodies = {b["name"]: b for b in json.load(file)["bodies"]}
    # the excess of 0.06 is shared: 0.12, 0.12, 0.24
    near([bodies["a"]["inertia"][i][i] for i in range(3)], [0.12, 0.12, 0.24], 1e-9)
    near([bodies["rod"]["inertia"][i][i] for i in range(3)], [0.1, 0.1, 1e-5], 1e-9)
    near([bodies["point"]["inertia"][i][i] for i in range(3)], [0.4 * 0.5 * 0.025**2] * 3, 1e-12)
    assert bodies["frame"]["mass"] == 0.0005
    result = perp("check", good("repaired"), "--strict", status=2)
    assert "refused by --strict" in result.err and "frame" in result.err
    perp("check", good("pendulum"), "--strict")


@test
def links_that_overlap_at_the_start_do_not_collide():
    scene, bodies, joints = imported("overlapping")
    assert bodies["b"]["ignores"] == ["base"] and "ignores" not in bodies["c"]
    result = perp("run", good("overlapping"), "--duration", "0.1")
    assert "1 pair of links overlaps at the start and does not collide: base and b" in result.err


@test
def a_floor_is_below_the_lowest_point():
    scene, bodies, joints = imported("mimic", "--floor", "--floating")
    assert bodies["floor"]["type"] == "static" and abs(bodies["floor"]["position"][2] + 0.01) < 1e-9
    end = perp("run", good("mimic"), "--floor", "--floating", "--duration", "0.5", "--json").json
    assert abs(end["bodies"]["palm"]["position"][2]) < 1e-3, end["bodies"]["palm"]


@test
def packages_are_found_by_the_environment_and_beside_the_robot():
    os.makedirs("ws/share/elsewhere")
    shutil.copy(os.path.join(CORPUS, "good/meshes/cube.obj"), "ws/share/elsewhere")
    here = os.getcwd()
    for name, value in (("ROS_PACKAGE_PATH", f"/nowhere:{here}/ws/share"),
                        ("ROS_PACKAGE_PATH", f"{here}/ws/share/elsewhere/"),
                        ("AMENT_PREFIX_PATH", f"{here}/ws")):
        os.environ[name] = value
        perp("check", good("package"))
        del os.environ[name]
    os.makedirs("ws/share/other/urdf")
    shutil.copy(good("package"), "ws/share/other/urdf/robot.urdf")
    perp("check", "ws/share/other/urdf/robot.urdf")
    with open("ws/share/other/urdf/robot.urdf") as file:
        text = file.read()
    for path in ("model://elsewhere/cube.obj", "../../elsewhere/cube.obj",
                 f"{here}/ws/share/elsewhere/cube.obj", f"file://{here}/ws/share/elsewhere/cube.obj"):
        with open("ws/share/other/urdf/robot.urdf", "w") as file:
            file.write(text.replace("package://elsewhere/cube.obj", path))
        perp("check", "ws/share/other/urdf/robot.urdf")


@test
def a_pendulum_swings_with_its_period():
    # a point-like bob 1 m below the pivot, released at a small angle: T = 2 pi sqrt((m l^2 + I) / m g l)
    period = 2 * math.pi * math.sqrt(1.01 / 9.81)
    perp("import", good("pendulum"), "-o", "p.json")
    with open("p.json") as file:
        scene = json.load(file)
    scene["bodies"][0]["angular_velocity"] = [0, 0.01, 0]
    scene["bodies"][0]["velocity"] = [-0.01, 0, 0]
    scene["step"], scene["duration"] = 0.0005, period
    with open("p.json", "w") as file:
        json.dump(scene, file)
    end = perp("run", "p.json", "--json").json["bodies"]["bob"]
    assert abs(end["position"][0]) < 2e-5 and end["velocity"][0] < -0.0095, end


main("urdf")
