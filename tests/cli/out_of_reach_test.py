"""Links that joint limits keep apart: `perp check` counts them, and runs of every kind verify and resume."""
import json

from _cli import main, perp, test


def write(path="arms.json", length=1.0, wide=0.6, **changes):
    """A beam that falls, with two arms that swing at its ends, and one beside the first."""
    def arm(name, x, y):
        return {"name": name, "mass": 1, "inertia": [length**2 * i for i in (0.02, 0.02, 0.004)],
                "position": [length * x, length * y, length * 0.75],
                "shapes": [{"type": "box", "size": [length * s for s in (0.1, 0.1, 0.4)]}]}

    def hinge(name, x, y):
        return {"name": name + "-hinge", "type": "revolute", "a": "beam", "b": name, "axis": [0, 1, 0],
                "at": [length * x, length * y, length * 0.95], "limits": [-wide, wide]}

    beam = {"name": "beam", "mass": 3, "inertia": [length**2 * i for i in (0.1, 0.6, 0.6)],
            "position": [0, 0, length * 1.1], "shapes": [{"type": "box", "size": [length * s for s in (1.6, 0.4, 0.1)]}]}
    floor = {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}
    at = {"left": (-0.7, 0.1), "near": (-0.5, 0.1), "right": (0.7, 0)}
    scene = {"gravity": [0, 0, -10 * length], "step": 0.005, "duration": 0.5, "friction": {"default": 0.3},
             "bodies": [floor, beam] + [arm(n, *p) for n, p in at.items()],
             "joints": [hinge(n, *p) for n, p in at.items()], **changes}
    scene["bodies"][1]["angular_velocity"] = [0.5, 0.3, 0.2]
    with open(path, "w") as file:
        json.dump(scene, file)
    return path


@test
def check_counts_the_pairs_that_cannot_meet():
    result = perp("check", write(), "--json").json
    assert result["pairs_out_of_reach"] == 2, result["pairs_out_of_reach"]  # left and near with right
    assert "2 of these pairs cannot meet within the limits of their joints" in perp("check", "arms.json").out
    # also in millimetres
    assert perp("check", write(length=1000.0), "--json").json["pairs_out_of_reach"] == 2
    # limits that let the arms meet, and none at all
    with open(write(), encoding="utf-8") as file:
        scene = json.load(file)
    for joint in scene["joints"]:
        del joint["limits"]
        joint["at"][0] *= 0.6
    for body in scene["bodies"][2:]:
        body["position"][0] *= 0.6
    with open("free.json", "w") as file:
        json.dump(scene, file)
    assert perp("check", "free.json", "--json").json["pairs_out_of_reach"] == 0
    assert "cannot meet" not in perp("check", "free.json").out


@test
def runs_with_pairs_out_of_reach_verify_and_resume():
    kinds = ({}, {"restitution": 0.5}, {"joint_correction": True}, {"contact": "peg"}, {"stepper": "implicit"},
             {"stepper": "geometric-implicit"}, {"step": {"error": 1e-3}})
    for changes in kinds:
        write(**changes)
        perp("run", "arms.json", "--out", "all.h5")
        text = perp("verify", "all.h5").out
        assert "gives the same bits" in text and "BAD" not in text, (changes, text)
    write()
    whole = perp("run", "arms.json", "--json", "--out", "all.h5").json
    perp("run", "arms.json", "--duration", "0.3", "--out", "part.h5")
    rest = perp("run", "--resume", "part.h5", "--duration", "0.5", "--json", "--out", "rest.h5").json
    assert whole["bodies"] == rest["bodies"]


main("out_of_reach")
