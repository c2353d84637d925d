"""Meshes in scenes: found beside the scene, weighed, kept by the recording, refused with a place."""
import json
import os

from _cli import main, perp, test

CUBE = """8
-1 -1 -1
1 -1 -1
-1 1 -1
1 1 -1
-1 -1 1
1 -1 1
-1 1 1
1 1 1
6
1 3 4 2
5 6 8 7
1 2 6 5
3 7 8 4
1 5 7 3
2 4 8 6
"""

# an L: the outline below, then above
ANGLE = """12
0 0 0
2 0 0
2 1 0
1 1 0
1 2 0
0 2 0
0 0 1
2 0 1
2 1 1
1 1 1
1 2 1
0 2 1
8
1 6 5 4 3 2
7 8 9 10 11 12
1 2 8 7
2 3 9 8
3 4 10 9
4 5 11 10
5 6 12 11
6 1 7 12
"""


def write(shape, path="there/scene.json", text=CUBE, **body):
    os.makedirs("there/meshes", exist_ok=True)
    with open("there/meshes/cube.poly", "w") as file:
        file.write(text)
    scene = {"gravity": [0, 0, -9.81], "duration": 0.1, "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
        {"name": "body", "position": [0, 0, 3], "density": 2, "shapes": [shape], **body}]}
    with open(path, "w") as file:
        json.dump(scene, file)
    return path


MESH = {"type": "mesh", "file": "meshes/cube.poly", "scale": [0.5, 1, 2], "collides": False}


@test
def a_mesh_is_found_beside_its_scene_and_weighed():
    body = perp("check", write(MESH), "--json").json["bodies"][1]
    assert abs(body["mass"] - 16) < 1e-13
    for got, want in zip(body["inertia"], [16 / 3 * 5, 0, 0, 0, 16 / 3 * 4.25, 0, 0, 0, 16 / 3 * 1.25]):
        assert abs(got - want) < 1e-12, body
    box = perp("check", write({"type": "box", "size": [1, 2, 4], "collides": False}), "--json").json
    assert abs(box["bodies"][1]["mass"] - body["mass"]) < 1e-13


@test
def a_mesh_falls_through_the_ground_because_it_was_said_to():
    scene = write({**MESH, "scale": 0.1})
    end = perp("run", scene, "--json", "--duration", "1").json
    assert end["bodies"]["body"]["position"][2] < -1.5 and end["contacts"]["max"] == 0


@test
def a_recording_holds_the_mesh():
    first = perp("run", write(MESH), "--json", "-o", "r.h5").json
    os.remove("there/meshes/cube.poly")
    perp("verify", "r.h5")
    again = perp("run", "--resume", "r.h5@0.05", "--json").json
    assert again["bodies"] == first["bodies"]
    result = perp("run", "there/scene.json", status=2)
    assert "/bodies/1/shapes/0/file: there/meshes/cube.poly: cannot open" in result.err


@test
def bad_meshes_are_refused_with_the_place():
    for shape, text, message in [
        ({"type": "mesh", "file": "meshes/cube.poly"}, ANGLE,
         "/bodies/1/shapes/0/type: meshes/cube.poly is not convex: say \"decompose\": true"),
        (MESH, CUBE.replace("1 3 4 2\n", "1 3 4\n"),
         "/bodies/1/shapes/0/file: there/meshes/cube.poly: the surface is not closed: a hole of 3 edges, "
         "0.82 of the size at the edge from (1, 1, -1) to (-1, -1, -1); holes of at most 8 edges and 5 % of "
         "the size are filled: close it, or say \"convex\": true"),
        (MESH, CUBE.replace("1 3 4 2", "1 3 4 9"),
         "/bodies/1/shapes/0/file: there/meshes/cube.poly: line 11: expected the number of a vertex"),
        ({**MESH, "scale": 0}, CUBE, "/bodies/1/shapes/0/scale: must not be 0"),
        ({**MESH, "file": "cube.ply"}, CUBE, "this kind of mesh cannot be read"),
        ({**MESH, "vertices": []}, CUBE, "give a file, or vertices and faces, not both"),
        ({"type": "mesh", "collides": False}, CUBE, "vertices"),
    ]:
        result = perp("check", write(shape, text=text), status=2)
        assert message in result.err and "there/scene.json: /" in result.err, (message, result.err)


@test
def faces_are_turned_with_a_notice():
    good = perp("check", write(MESH), "--json").json["bodies"][1]
    for text, count in [(CUBE.replace("1 3 4 2", "2 4 3 1"), 2), (CUBE.replace("1 3 4 2", "2 4 3 1")
                        .replace("5 6 8 7", "7 8 6 5").replace("1 2 6 5", "5 6 2 1")
                        .replace("3 7 8 4", "4 8 7 3"), 8)]:
        result = perp("check", write(MESH, text=text), "--json")
        assert f"meshes/cube.poly: {count} of 12 faces turned so that they face outward" in result.err, result.err
        assert result.json["bodies"][1]["inertia"] == good["inertia"]


@test
def a_repaired_mesh_runs_resumes_and_verifies():
    scene = write({"type": "mesh", "file": "meshes/cube.poly", "scale": 0.5}, text=CUBE.replace("1 3 4 2", "2 4 3 1"))
    first = perp("run", scene, "--json", "-o", "t.h5", "--duration", "1").json
    os.remove("there/meshes/cube.poly")
    perp("verify", "t.h5")
    assert perp("run", "--resume", "t.h5@0.5", "--json").json["bodies"] == first["bodies"]


@test
def an_open_mesh_is_taken_as_its_hull():
    shape = {"type": "mesh", "file": "meshes/cube.poly", "convex": True}
    body = perp("check", write(shape, text=CUBE.replace("1 3 4 2\n", "1 3 4\n")), "--json").json["bodies"][1]
    assert abs(body["mass"] - 16) < 1e-13, body


@test
def an_open_mesh_may_be_a_picture():
    shape = {**MESH, "visual": True}
    del shape["collides"]
    ball = {"type": "sphere", "radius": 1}
    scene = write(shape, text=CUBE.replace("1 3 4 2\n", "1 3 4\n"))
    with open(scene) as file:
        document = json.load(file)
    document["bodies"][1]["shapes"].append(ball)
    with open(scene, "w") as file:
        json.dump(document, file)
    mass = perp("check", scene, "--json").json["bodies"][1]["mass"]
    assert abs(mass - 2 * 4.1887902047863905) < 1e-13


@test
def a_mesh_that_is_not_convex_is_cut_and_still_one_shape():
    shape = {"type": "mesh", "file": "meshes/cube.poly", "decompose": True}
    body = perp("check", write(shape, text=ANGLE), "--json").json["bodies"][1]
    assert body["shapes"] == ["mesh"] and abs(body["mass"] - 6) < 1e-13, body


main("mesh")
