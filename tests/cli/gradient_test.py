"""`perp gradient`: text, JSON, the check by differences, and what it refuses."""
from _cli import main, perp, test, write_scene

FLOOR = {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}


def throw(**changes):
    """A ball that flies, lands and slides."""
    return write_scene(
        step=0.01, duration=0.5, tolerance=1e-12, gravity=[0, 0, -10], friction={"default": "mu"},
        parameters={"mu": 0.2, "speed": 2.0}, forces=[],
        bodies=[FLOOR, {"name": "ball", "mass": 1, "position": [0, 0, 0.3], "velocity": ["speed", 0, 0],
                        "shapes": [{"type": "sphere", "radius": 0.1}]}],
        measures={"x": "ball.position.x"}, **changes)


@test
def gradient_prints_derivatives_and_their_check():
    scene = throw()
    answer = perp("gradient", scene, "--of", "x", "--by", "speed,mu", "--check", "--json").json
    assert answer["status"] == "ok" and list(answer["gradient"]) == ["speed", "mu"], answer
    assert answer["flagged"]["steps"] == 0 and answer["flagged"]["of"] == 50, answer
    for name, check in answer["check"].items():
        assert check["disagreement"] < 1e-6, (name, check)
    text = perp("gradient", scene, "--of", "x", "--by", "speed,mu").out
    assert "no step of 50 is flagged" in text and "speed" in text, text


@test
def forward_adjoint_and_pointers_agree():
    scene = throw()
    names = "speed,/bodies/1/mass,/bodies/1/shapes/0/radius"
    adjoint = perp("gradient", scene, "--of", "x", "--by", names, "--json").json["gradient"]
    forward = perp("gradient", scene, "--of", "x", "--by", names, "--forward", "--json").json["gradient"]
    for name, value in adjoint.items():
        assert abs(value - forward[name]) <= 1e-10, (name, value, forward)


@test
def a_direction_gives_the_one_sided_derivative():
    """A block that is pulled by exactly mu m g: it slides with less friction only."""
    scene = write_scene(
        dimension=2, step=0.01, duration=0.1, tolerance=1e-12, gravity=[3, -10], friction={"default": "mu"},
        parameters={"mu": 0.3, "v": 0}, forces=[],
        bodies=[{"name": "floor", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                {"name": "b", "mass": 1, "inertia": 1, "shapes": [{"type": "particle"}], "velocity": ["v", 0]}],
        measures={"x": "b.position.x"})
    for direction, expected in (("mu=1", 0.0), ("mu=-1", 0.055), ("mu=-1,v=0.5", 0.105), ("mu=0.2,v=0.05", 0.0004)):
        answer = perp("gradient", scene, "--of", "x", "--direction", direction, "--json").json
        assert abs(answer["derivative"] - expected) < 1e-9, (direction, answer)
        assert answer["flagged"]["steps"] == 0 and answer["flagged"]["one_sided"] > 0, answer
    assert "one-sided derivative" in perp("gradient", scene, "--of", "x", "--direction", "mu=1").out
    for bad in ("mu", "mu=x", "=1", "mu=inf", ""):
        assert "NAME=NUMBER" in perp("gradient", scene, "--of", "x", "--direction", bad, status=2).err, bad
    assert "--by" in perp("gradient", scene, "--of", "x", "--direction", "mu=1", "--by", "mu", status=2).err


@test
def a_smoothed_gradient_prints_its_bias():
    scene = throw()
    exact = perp("gradient", scene, "--of", "x", "--by", "mu,speed", "--json").json
    assert "smoothed" not in exact, exact
    answer = perp("gradient", scene, "--of", "x", "--by", "mu,speed", "--smooth", "1e-3", "--check", "--json").json
    smoothed = answer["smoothed"]
    assert list(answer["gradient"]) == ["mu", "speed"] and answer["flagged"]["steps"] == 0, answer
    assert all(check["disagreement"] < 1e-6 for check in answer["check"].values()), answer["check"]
    assert smoothed["kappa"] == 1e-3 and smoothed["value"] == answer["value"], smoothed
    assert smoothed["exact_value"] == exact["value"] and smoothed["exact_gradient"] == exact["gradient"], smoothed
    assert smoothed["bias"] == answer["value"] - exact["value"] and 0 < abs(smoothed["bias"]) < 1e-3, smoothed
    for name, bias in smoothed["gradient_bias"].items():
        assert bias == answer["gradient"][name] - exact["gradient"][name] and 0 < abs(bias) < 1e-2, smoothed
    text = perp("gradient", scene, "--of", "x", "--by", "mu,speed", "--smooth", "1e-3").out
    assert "bias" in text and "derivative of the run" in text, text
    for bad in ("0", "-1", "1e-9", "2", "nan", "inf", "x", "1e-3x", ""):
        answer = perp("gradient", scene, "--of", "x", "--by", "mu", "--smooth", bad, status=2)
        assert "barrier parameter from 1e-8 to 1" in answer.err, (bad, answer.err)
    assert "--smooth" in perp("gradient", scene, "--of", "x", "--direction", "mu=1", "--smooth", "1e-3", status=2).err
    groups = perp("gradient", throw(contact="peg"), "--of", "x", "--by", "mu", "--smooth", "1e-3", status=2).err
    assert "'peg'" in groups and "'standard'" in groups, groups


@test
def gradient_names_what_it_refuses():
    scene = throw()
    assert "--of MEASURE" in perp("gradient", scene, status=2).err
    assert "no measure 'y'" in perp("gradient", scene, "--of", "y", "--by", "mu", status=2).err
    unknown = perp("gradient", scene, "--of", "x", "--by", "nu", status=2).err
    assert "nu" in unknown and unknown.count(scene) == 1, unknown
    assert "not both" in perp("gradient", scene, "--of", "x", "--by", "mu", "--forward", "--adjoint", status=2).err
    other = throw(stepper="implicit")
    answer = perp("gradient", other, "--of", "x", "--by", "mu", "--json", status=2)
    assert answer.json["status"] == "bad-input" and "implicit" in answer.json["message"], answer.json


main("gradient")
