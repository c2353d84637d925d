"""Middle steps of a body that rolls: check, run, verify, resume, save, gradient."""
import json

from _cli import h5py, main, perp, test

FLOOR = {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}
EGG = {"name": "egg", "mass": 1, "position": [0, 0, 0.25], "velocity": [0.5, 0, 0], "angular_velocity": ["w", 4, 1],
       "shapes": [{"type": "ellipsoid", "radii": [0.12, 0.15, 0.18]}]}
ROLLING = -4


def write(name="egg.json", bodies=(FLOOR, EGG), **settings):
    scene = {"step": 0.0097, "duration": 1, "gravity": [0, 0, -9.81], "friction": {"default": 0.6},
             "parameters": {"w": 3}, "measures": {"way": "egg.position.x"}, "bodies": list(bodies), **settings}
    with open(name, "w") as f:
        json.dump(scene, f)
    return name


def kinds(recording):
    with h5py.File(recording) as f:
        scene = f["scene"][()]
        return f["solver/corrections"][1:], f["state/q"][()], json.loads(scene if isinstance(scene, (bytes, str)) else
                                                                         scene.tobytes())


@test
def check_names_the_direction_of_contacts_and_the_reason():
    text = perp("check", write()).out
    assert "  rolling        contacts auto: middle (smooth bodies that may roll alone)\n" in text, text
    ball = {"name": "egg", "mass": 1, "position": [0, 0, 1], "shapes": [{"type": "sphere", "radius": 0.1}]}
    for change, reason in (({"bodies": [FLOOR, ball]}, "a ball"),
                           ({"bodies": [FLOOR] + [dict(EGG, name=f"b{i}", position=[i, 0, 0.25]) for i in range(17)],
                             "measures": {}}, "many bodies"),
                           ({"stepper": "implicit"}, "for the stepper 'stewart-trinkle' only"),
                           ({"contact_direction": "start"}, None)):
        answer = perp("check", write(**change), "--json").json
        assert answer["contact_direction"] == "start", answer
        assert answer.get("contact_direction_choice", {}).get("reason") == reason, answer
    answer = perp("check", write(contact_direction="end"), status=2)
    assert "/contact_direction: must be auto, start or middle, got 'end'" in answer.err, answer.err


@test
def a_run_is_verified_and_resumed_with_the_same_bits():
    perp("run", write(), "--out", "egg.h5")
    steps, q, scene = kinds("egg.h5")
    assert scene["contact_direction"] == "auto"
    assert (steps == ROLLING).sum() > 60 and (steps == 0).sum() > 5, steps  # it falls first
    answer = perp("verify", "egg.h5", "--json").json
    assert answer["status"] == "ok" and answer["laws_checked"] == len(steps) and answer["ledger"]["holds"], answer
    perp("run", "--resume", "egg.h5@0.6", "--out", "rest.h5")
    rest = kinds("rest.h5")[1]
    assert rest.tobytes() == q[-len(rest):].tobytes()


@test
def a_scene_that_names_the_start_has_it():
    perp("run", write(contact_direction="start"), "--out", "old.h5")
    steps, _, scene = kinds("old.h5")
    assert (steps == 0).all() and scene["contact_direction"] == "start"
    assert perp("verify", "old.h5", "--json").json["same_bits"]


@test
def derivatives_are_those_of_the_steps_of_the_run():
    run = perp("run", write(), "--out", "egg.h5", "--json").json
    answer = perp("gradient", write(), "--of", "way", "--by", "w", "--check", "--json").json
    there = perp("gradient", write(contact_direction="start"), "--of", "way", "--by", "w", "--json").json
    assert answer["value"] == run["measures"]["way"] != there["value"], (answer, run, there)
    assert answer["check"]["w"]["disagreement"] < 1e-6 and answer["flagged"]["steps"] == 0, answer
    named = perp("gradient", write(contact_direction="middle"), "--of", "way", "--by", "w", "--json").json
    assert named["gradient"] == answer["gradient"], (named, answer)


main("rolling")
