"""Scenes made of others: include, copies, configuration; meshes as hulls, and the cache of pieces."""
import json
import math
import os

from _cli import main, perp, test

ARM = {
    "gravity": [0, 0, -9.81], "step": 0.005, "duration": 0.2, "friction": {"default": 0.3},
    "bodies": [
        {"name": "l1", "mass": 1, "inertia": [0.01, 0.02, 0.02], "position": [0.5, 0, 0],
         "shapes": [{"type": "box", "size": [0.8, 0.1, 0.1]}]},
        {"name": "l2", "mass": 1, "inertia": [0.01, 0.02, 0.02], "position": [1.5, 0, 0],
         "shapes": [{"type": "box", "size": [0.8, 0.1, 0.1]}], "ignores": ["l1"]}],
    "joints": [
        {"name": "j1", "type": "revolute", "a": "world", "b": "l1", "at": [0, 0, 0], "axis": [0, 0, 1],
         "limits": [-3, 3]},
        {"name": "j2", "type": "revolute", "a": "l1", "b": "l2", "at": [1, 0, 0], "axis": [0, 1, 0]}],
    "controllers": [{"name": "c", "type": "pid", "joint": "j1", "kp": 10, "kd": 1, "target": 0}]}


def write(name, scene):
    with open(name, "w") as file:
        json.dump(scene, file)


def bodies(name, *args):
    return perp("run", name, "--duration", "1e-9", "--step", "1e-9", "--json", *args).json["bodies"]


def near(a, b):
    assert len(a) == len(b) and all(abs(x - y) < 1e-7 for x, y in zip(a, b)), (a, b)


@test
def a_configuration_moves_the_links_and_is_what_the_joints_read():
    # j1 by 90 degrees: the arm lies along y; j2 by 90 degrees about its axis, which is now -x: down
    for at in ({"at": [1, 0, 0]}, {"at_a": [0.5, 0, 0], "at_b": [-0.5, 0, 0]}):
        arm = json.loads(json.dumps(ARM))
        arm["joints"][1].pop("at")
        arm["joints"][1].update(at)
        arm["configuration"] = {"j2": "quarter", "j1": "quarter"}
        arm["parameters"] = {"quarter": math.pi / 2}
        write("arm.json", arm)
        b = bodies("arm.json")
        near(b["l1"]["position"], [0, 0.5, 0])
        near(b["l2"]["position"], [0, 1, -0.5])
        b = bodies("arm.json", "--param", "quarter=0")
        near(b["l2"]["position"], [1.5, 0, 0])
    perp("run", "arm.json", "--out", "a.h5")
    perp("verify", "a.h5")
    first = perp("export", "a.h5", "j1.coordinate").out.splitlines()[1]
    assert abs(float(first.split(",")[-1]) - math.pi / 2) < 1e-15
    half = perp("run", "--resume", "a.h5@0.1", "--json").json["bodies"]
    assert half == perp("run", "arm.json", "--json").json["bodies"]


@test
def a_scene_is_included_twice_with_prefix_pose_and_configuration():
    write("arm.json", ARM)
    write("two.json", {
        "step": 0.005, "duration": 0.1, "bodies": [{"name": "o", "type": "static"}],
        "include": [
            {"file": "arm.json", "prefix": "left/", "position": [0, 2, 0],
             "configuration": {"j1": math.pi / 2}},
            {"file": "arm.json", "prefix": "right/", "position": [5, 0, 0],
             "axis_angle": [0, 0, 1, math.pi]}],
        "configuration": {"right/j2": math.pi / 2}})
    b = bodies("two.json")
    near(b["left/l1"]["position"], [0, 2.5, 0])
    near(b["left/l2"]["position"], [0, 3.5, 0])
    near(b["right/l1"]["position"], [4.5, 0, 0])
    near(b["right/l2"]["position"], [4, 0, -0.5])
    checked = perp("check", "two.json", "--json").json
    assert [j["name"] for j in checked["joints"]] == ["left/j1", "left/j2", "right/j1", "right/j2"]
    assert {x["joint"] for x in checked["controllers"]} == {"left/j1", "right/j1"}
    assert all(x["friction"] == 0.3 for x in checked["bodies"] if x["name"] != "o")
    perp("run", "two.json", "--out", "t.h5")
    os.remove("arm.json")
    perp("verify", "t.h5")  # the recording needs no other file


@test
def a_robot_is_included():
    with open("r.urdf", "w") as file:
        file.write('<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="0.01" '
                   'ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link><joint name="j" '
                   'type="continuous"><parent link="base"/><child link="a"/><origin xyz="1 0 0"/></joint></robot>')
    write("s.json", {"step": 0.01, "duration": 0.1, "include": [{"file": "r.urdf", "prefix": "r.",
                                                                 "position": [0, 0, 2]}]})
    near(bodies("s.json")["r.a"]["position"], [1, 0, 2])


@test
def copies_are_spaced_listed_or_random():
    ball = {"name": "b", "mass": 1, "position": [1, 0, 0], "shapes": [{"type": "sphere", "radius": 0.1}]}
    write("c.json", {"parameters": {"n": 3}, "step": 0.01, "duration": 1, "bodies": [
        {**ball, "copies": {"count": "n", "spacing": [0, 1, 0]}},
        {**ball, "name": "p", "copies": {"positions": [[5, 0, 0], [0, 0, 5]]}},
        {**ball, "name": "r", "copies": {"count": 3, "random": {"low": [9, 0, 0], "high": [10, 9, 9],
                                                                "seed": 2}}}]})
    b = bodies("c.json")
    assert list(b) == ["b.0", "b.1", "b.2", "p.0", "p.1", "r.0", "r.1", "r.2"]
    near(b["b.2"]["position"], [1, 2, 0])
    near(b["p.1"]["position"], [1, 0, 5])
    assert all(10 <= b[f"r.{i}"]["position"][0] <= 11 for i in range(3))
    assert bodies("c.json")["r.1"] == b["r.1"] and b["r.0"] != b["r.1"]
    assert len(bodies("c.json", "--param", "n=1")) == 6


@test
def mistakes_are_refused_with_their_place():
    for change, message in (
            ({"configuration": {"j9": 1}}, "/configuration/j9: there is no joint"),
            ({"configuration": {"j1": 4}}, "/joints/0/limits: the coordinate is 4"),
            ({"configuration": 3}, "/configuration: must be an object"),
            ({"include": [{"file": "s.json"}]}, "/include/0/file: included deeper than 8 levels"),
            ({"include": [{"file": "s.json", "prefx": "a"}]}, "/include/0"),
            ({"include": [{"file": "nowhere.json"}]}, "nowhere.json: cannot open"),
            ({"include": [{"prefix": "a"}]}, "/include/0")):
        write("s.json", {**ARM, **change})
        result = perp("check", "s.json", status=2)
        assert message in result.err, (message, result.err)
    ball = {"name": "b", "mass": 1, "shapes": [{"type": "sphere", "radius": 0.1}]}
    for copies in ({"count": 2}, {"count": -1, "spacing": [1, 0, 0]}, {"count": 1.5, "spacing": [1, 0, 0]},
                   {"count": 2, "spacing": [1, 0, 0], "positions": [[0, 0, 0]]}, {"positions": [[1, 2]]}):
        write("s.json", {"bodies": [{**ball, "copies": copies}]})
        assert "/bodies/0/copies" in perp("check", "s.json", status=2).err
    loop = json.loads(json.dumps(ARM))
    loop["joints"].append({"name": "j3", "type": "spherical", "a": "l2", "b": "world", "at": [2, 0, 0]})
    write("s.json", {**loop, "configuration": {"j1": 0.1}})
    assert "/configuration/j1: the joint is part of a loop" in perp("check", "s.json", status=2).err


def stairs(n):
    """A prism whose outline has n notches: not convex, 4 n + ... triangles."""
    outline = [(0, 0), (n, 0)]
    for i in range(n):
        outline += [(n - i, 1 + i), (n - i - 1, 1 + i)]
    m = len(outline)
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in outline]
    lines += [f"f {1 + i} {1 + (i + 1) % m} {1 + m + (i + 1) % m} {1 + m + i}" for i in range(m)]
    # the outline is star-shaped about its first corner
    lines += [f"f 1 {i + 1} {i}" for i in range(2, m)]
    lines += [f"f {1 + m} {m + i} {m + i + 1}" for i in range(2, m)]
    return "\n".join(lines) + "\n"


@test
def pieces_are_cached_and_a_damaged_file_is_written_anew():
    os.environ["PERP_CACHE"] = os.path.join(os.getcwd(), "deep", "cache")
    with open("stairs.obj", "w") as file:
        file.write(stairs(14))
    write("m.json", {"step": 0.01, "duration": 0.02, "gravity": [0, 0, -1], "bodies": [
        {"name": "m", "mass": 1, "shapes": [{"type": "mesh", "file": "stairs.obj", "decompose": True}]}]})
    first = perp("run", "m.json", "--json").json["bodies"]
    kept = os.listdir("deep/cache")
    assert len(kept) == 1, kept
    path = os.path.join("deep/cache", kept[0])
    with open(path, "rb") as file:
        good = file.read()
    assert perp("run", "m.json", "--json").json["bodies"] == first
    for bad in (b"", good[:100], good[:-1], good[:500] + bytes([good[500] ^ 1]) + good[501:],
                bytes([good[0] ^ 1]) + good[1:]):
        with open(path, "wb") as file:
            file.write(bad)
        assert perp("run", "m.json", "--json").json["bodies"] == first
        with open(path, "rb") as file:
            assert file.read() == good
    os.environ["PERP_CACHE"] = ""
    assert perp("run", "m.json", "--json").json["bodies"] == first
    del os.environ["PERP_CACHE"]


@test
def a_convex_mesh_is_its_hull_and_may_be_open():
    with open("stairs.obj", "w") as file:
        file.write("\n".join(stairs(3).splitlines()[:-1]) + "\n")  # one face is missing
    shape = {"type": "mesh", "file": "stairs.obj"}
    scene = {"step": 0.01, "duration": 0.02, "bodies": [{"name": "m", "density": 2, "shapes": [shape]}]}
    write("m.json", scene)
    assert "not closed" in perp("check", "m.json", status=2).err
    shape["convex"] = True
    write("m.json", scene)
    mass = perp("check", "m.json", "--json").json["bodies"][0]["mass"]
    # the hull of (0,0), (3,0), (3,1), (1,3), (0,3): 9 less the corner of 2
    assert abs(mass - 2 * 7) < 1e-9, mass
    shape["decompose"] = True
    write("m.json", scene)
    assert "not both" in perp("check", "m.json", status=2).err


@test
def messages_name_the_place_in_the_file():
    ball = {"name": "b", "density": 1000, "shapes": [{"type": "sphere", "radius": 0.1}]}
    bad = {**ball, "shapes": [{"type": "sphere", "radius": -1}], "copies": {"count": 3, "spacing": [1, 0, 0]}}
    write("s.json", {"bodies": [ball, {**bad, "name": "c"}]})
    assert "s.json: /bodies/1/shapes/0/radius: copy 0: " in perp("check", "s.json", status=2).err
    write("one.json", {"bodies": [ball, {**ball, "name": "c"}]})
    write("two.json", {"bodies": [{**ball, "copies": {"count": 2, "spacing": [1, 0, 0]}}, {**ball, "name": "c"}],
                       "include": [{"file": "one.json"}]})
    assert "two.json: /include/0: one.json: /bodies/1/name: 'c' is already" in perp("check", "two.json", status=2).err
    write("three.json", {"bodies": [{**ball, "name": "p.c"}], "include": [{"file": "one.json", "prefix": "q."},
                                                                          {"file": "one.json", "prefix": "p."}]})
    assert "three.json: /include/1: one.json: /bodies/1/name: " in perp("check", "three.json", status=2).err


@test
def ten_thousand_copies_are_checked():
    ball = {"name": "b", "density": 1000, "shapes": [{"type": "sphere", "radius": 0.1}]}
    write("s.json", {"bodies": [{**ball, "copies": {"count": 10000, "spacing": [1, 0, 0]}}]})
    assert "... and more" in perp("check", "s.json").out


@test
def parameters_of_configuration_copies_and_include_are_differentiated_and_checked():
    ball = {"name": "b", "mass": 1, "position": [1, 0, 2], "velocity": [0, 0, 0], "shapes": [{"type": "sphere", "radius": 0.1}]}
    base = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.2, "tolerance": 1e-12, "parameters": {"p": 0.3}}
    joint = {"name": "j", "type": "revolute", "a": "world", "b": "b", "at": [0, 0, 2], "axis": [0, 1, 0]}
    os.makedirs("below", exist_ok=True)
    write("below/part.json", {**base, "parameters": {}, "bodies": [ball], "joints": [joint]})
    for scene, of in (({"bodies": [ball], "joints": [joint], "configuration": {"j": "p"}}, "b.position.x"),
                      ({"bodies": [{**ball, "copies": {"count": 2, "spacing": ["p", 0, 0]}}]}, "b.1.position.x"),
                      ({"include": [{"file": "part.json", "position": ["p", 0, 0], "configuration": {"j": "p"}}]},
                       "b.position.x")):
        write("below/whole.json", {**base, **scene, "measures": {"m": of}})
        found = perp("gradient", "below/whole.json", "--of", "m", "--by", "p", "--check", "--json").json
        there = perp("run", "below/whole.json", "--param", "p=0.301", "--json").json["measures"]["m"]
        here = perp("run", "below/whole.json", "--param", "p=0.299", "--json").json["measures"]["m"]
        slope, checked = found["gradient"]["p"], found["check"]["p"]["difference"]
        assert abs(slope) > 0.1 and abs(slope - checked) < 1e-7, (of, slope, checked)
        assert abs(slope - (there - here) / 0.002) < 1e-4, (of, slope, there, here)


@test
def a_notice_of_a_robot_that_is_included_many_times_is_printed_once():
    link = '<link name="%s"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    with open("arm.urdf", "w") as file:
        file.write('<robot name="r">' + link % "base" + link % "a" + '<joint name="j" type="revolute"><parent link="base"/>'
                   '<child link="a"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint><gazebo/></robot>')
    write("many.json", {"step": 0.01, "duration": 0.02,
                        "include": [{"file": "arm.urdf", "prefix": f"{i}/", "position": [i, 0, 0]} for i in range(5)]})
    done = perp("run", "many.json")
    assert done.err.count("warning") == 1 and "<gazebo>" in done.err, done.err


main("include")
