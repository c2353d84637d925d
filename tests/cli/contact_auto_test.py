"""The contact model `auto`: which model it stands for, and that it is that model to the bit."""
import json

from _cli import h5py, main, perp, test

PLATE = {"name": "plate", "type": "static", "position": [0, 0, -0.5],
         "shapes": [{"type": "box", "size": [4, 4, 1]}]}
PLANE = {"name": "plane", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}
CUBE = {"name": "cube", "density": 1000, "position": [0, 0, 0.3], "velocity": [1, 0.2, -1],
        "axis_angle": [1, 2, 3, 0.4], "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]}
BALL = {"name": "ball", "mass": 1, "position": [1, 0, 0.3],
        "shapes": [{"type": "sphere", "radius": 0.1}]}


def write(bodies, path="scene.json", **changes):
    scene = {"name": "choice", "gravity": [0, 0, -9.81], "step": 0.005, "duration": 0.3,
             "contact": "auto", "friction": {"default": 0.4}, "bodies": bodies, **changes}
    with open(path, "w") as file:
        json.dump(scene, file)
    return path


def hashes(path):
    with h5py.File(path, "r") as file:
        return file["state/q"][()].tobytes(), file["state/v"][()].tobytes()


def chosen(bodies, **changes):
    answer = perp("check", write(bodies, **changes), "--json").json
    assert answer["contact_choice"]["asked"] == "auto"
    return answer["contact"], answer["contact_choice"]["reason"]


@test
def check_names_the_model_and_the_reason():
    assert chosen([PLATE, CUBE]) == ("peg", "bodies with corners meet")
    assert chosen([PLATE, BALL])[0] == "peg"
    assert chosen([PLANE, CUBE, BALL])[0] == "peg"
    assert chosen([PLANE, BALL]) == ("standard", "no two bodies with corners meet")
    assert chosen([PLANE, CUBE])[0] == "standard"
    # the rim of a cylinder counts as a corner; smooth bodies have none
    rod = dict(BALL, name="rod", shapes=[{"type": "cylinder", "radius": 0.1, "length": 0.2}])
    egg = dict(BALL, name="egg", position=[2, 0, 0.3],
               shapes=[{"type": "ellipsoid", "radii": [0.1, 0.2, 0.1]}])
    assert chosen([PLATE, rod])[0] == chosen([PLATE, egg])[0] == "peg"
    assert chosen([PLANE, rod, egg])[0] == "peg"
    assert chosen([PLANE, rod])[0] == chosen([PLANE, egg, BALL])[0] == "standard"
    # static plates do not meet each other
    apart = dict(PLATE, name="apart", position=[9, 0, -0.5])
    assert chosen([PLATE, apart])[0] == "standard"
    assert chosen([PLATE, CUBE], stepper="anitescu-potra")[0] == "standard"
    assert chosen([PLATE, CUBE], step={"error": 1e-4})[0] == "peg"
    assert chosen([PLATE, CUBE], restitution=0.5)[0] == "peg"
    soft = dict(CUBE, compliance={"stiffness": 1e5, "max_deflection": 0.01})
    assert chosen([PLANE, soft], stepper="compliant")[0] == "standard"
    # a cube on two hinges closes a loop through the world, one on a single hinge does not
    hinge = {"name": "a", "type": "revolute", "a": "world", "b": "cube", "at": [0, 0, 0.3], "axis": [0, 1, 0]}
    other = dict(hinge, name="b", at=[0, 0.1, 0.3])
    assert chosen([PLATE, CUBE], joints=[hinge])[0] == "peg"
    assert chosen([PLATE, CUBE], joints=[hinge, other]) == ("standard", "joints close a loop")
    text = perp("check", write([PLATE, CUBE])).out
    assert "contact auto: peg (bodies with corners meet)" in text, text


@test
def check_names_the_direction_of_joints_and_the_reason():
    hinge = {"name": "a", "type": "revolute", "a": "world", "b": "cube", "at": [0, 0, 0.3], "axis": [0, 1, 0]}
    for changes, line in (({}, "direction auto: middle (an open mechanism whose bodies meet nothing)"),
                          ({"stepper": "implicit"}, "direction auto: start (for the stepper 'stewart-trinkle' only)"),
                          ({"joint_direction": "start"}, "direction start"),
                          ({"joint_direction": "middle"}, "direction middle")):
        text = perp("check", write([CUBE], joints=[hinge], **changes)).out
        assert f"  joints         {line}\n" in text, text
    assert "direction" not in perp("check", write([CUBE])).out


@test
def a_named_model_is_no_choice():
    answer = perp("check", write([PLATE, CUBE], contact="standard"), "--json").json
    assert answer["contact"] == "standard" and "contact_choice" not in answer


@test
def the_run_has_the_bits_of_the_model_it_stands_for():
    for bodies, model in (([PLATE, CUBE, BALL], "peg"), ([PLANE, BALL], "standard")):
        for stepper in ("stewart-trinkle", "implicit", "geometric-implicit"):
            final = perp("run", write(bodies), "--stepper", stepper, "--out", "a.h5", "--json").json
            assert final["status"] == "ok" and final["contact"] == model, final
            perp("run", write(bodies, contact=model), "--stepper", stepper, "--out", "b.h5",
                 "--quiet")
            assert hashes("a.h5") == hashes("b.h5")
            text = perp("verify", "a.h5").out
            assert "gives the same bits" in text and "BAD" not in text, text


@test
def a_run_with_auto_continues_from_the_middle():
    perp("run", write([PLATE, CUBE]), "--out", "whole.h5", "--quiet")
    perp("run", write([PLATE, CUBE]), "--duration", "0.15", "--out", "half.h5", "--quiet")
    perp("run", "scene.json", "--resume", "half.h5", "--out", "rest.h5", "--quiet")
    with h5py.File("whole.h5", "r") as whole, h5py.File("rest.h5", "r") as rest:
        assert (whole["state/q"][-1] == rest["state/q"][-1]).all()
        assert (whole["state/v"][-1] == rest["state/v"][-1]).all()


@test
def forces_takes_auto_as_standard():
    still = dict(CUBE, velocity=[0, 0, 0], position=[0, 0, 0.1], axis_angle=[0, 0, 1, 0])
    asked = perp("forces", write([PLATE, still]), "--json").json
    named = perp("forces", write([PLATE, still], contact="standard"), "--json").json
    assert asked["contacts"] == named["contacts"] and len(asked["contacts"]) == 4


@test
def other_verbs_name_the_model_in_use():
    perp("run", write([PLATE, CUBE]), "--out", "a.h5", "--quiet")
    side = perp("compare", "a.h5", "a.h5", "--json").json
    assert side["a"]["contact"] == "peg" and side["b"]["contact"] == "peg", side["a"]
    assert ", peg, quadratic friction" in perp("run", "scene.json").out


main("contact_auto")
