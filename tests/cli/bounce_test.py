"""Impacts, adaptive steps and `perp forces` through the command line and in recordings."""
import json
import math

from _cli import h5py, main, perp, test

import numpy

FLOOR = {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}


def write(path="scene.json", **changes):
    ball = {"name": "ball", "mass": 1, "position": [0, 0, 1.1], "velocity": [0.5, 0, 0],
            "shapes": [{"type": "sphere", "radius": 0.1}]}
    scene = {"name": "bounce", "gravity": [0, 0, -10], "step": 0.002, "duration": 1.2,
             "restitution": 0.5, "friction": {"default": 0.3}, "bodies": [FLOOR, ball], **changes}
    with open(path, "w") as file:
        json.dump(scene, file)
    return path


def verified(path):
    text = perp("verify", path).out
    assert "gives the same bits" in text and "BAD" not in text, text
    return text


@test
def impacts_are_frames_of_no_duration_that_verify():
    for law in ("newton", "poisson"):
        for stepper in ("stewart-trinkle", "anitescu-potra"):
            final = perp("run", write(restitution={"law": law, "e": 0.5}), "--stepper", stepper,
                         "--json", "--out", "r.h5").json
            assert final["steps"] == 600 and final["impacts"]["count"] >= 3, final
            assert final["impacts"]["reduced"] == 0
            text = verified("r.h5")
            steps = final["steps"] + final["impacts"]["count"]
            assert f"{steps} of {steps} steps" in text, text
            with h5py.File("r.h5", "r") as file:
                kind, time = file["solver/impact"][:, 0], file["time"][()]
                q, v = file["state/q"][()], file["state/v"][()]
                assert file.attrs["impacts"] == 2
                for k in numpy.nonzero(kind)[0]:
                    assert time[k] == time[k - 1] and (q[k] == q[k - 1]).all()
                    assert (v[k] != v[k - 1]).any()
                assert set(kind) == ({0, 1} if law == "newton" else {0, 2, 3})
                assert (numpy.diff(time)[kind[1:] == 0] > 0).all()


@test
def a_scene_that_does_not_bounce_records_what_it_always_did():
    perp("run", write(restitution=0, duration=0.1), "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r") as file:
        assert "solver/impact" not in file and "adaptive" not in file
        assert "impacts" not in file.attrs and "adaptive" not in file.attrs


@test
def a_run_continues_from_an_impact_with_the_same_bits():
    for changes in ({"restitution": {"law": "poisson", "e": 0.7}},
                    {"step": {"error": 1e-4}}):
        scene = write(**changes)
        perp("run", scene, "--quiet", "--out", "whole.h5")
        with h5py.File("whole.h5", "r") as file:
            kind, time = file["solver/impact"][:, 0], file["time"][()]
            q, v = file["state/q"][()], file["state/v"][()]
        at = time[numpy.nonzero(kind)[0][0]]
        perp("run", "--resume", f"whole.h5@{at:.17g}", "--quiet", "--out", "rest.h5")
        with h5py.File("rest.h5", "r") as file:
            n = len(file["time"])
            assert n > 10 and (file["state/q"][()] == q[-n:]).all()
            assert (file["state/v"][()] == v[-n:]).all() and (file["time"][()] == time[-n:]).all()
        verified("rest.h5")
        together = perp("compare", "whole.h5", "rest.h5", "--json").json
        assert together["bodies"]["ball"]["distance"]["max"] == 0, together


@test
def an_adaptive_step_is_recorded_with_its_times():
    final = perp("run", write(step={"error": 1e-5}), "--json", "--out", "r.h5").json
    with h5py.File("r.h5", "r") as file:
        time, kind, clock = file["time"][()], file["solver/impact"][:, 0], file["adaptive/clock"][()]
        assert final["steps"] == clock[-1, 2] and len(time) == 1 + final["steps"] + kind.astype(bool).sum()
        assert time[-1] == 1.2 and len(set(numpy.diff(time))) > 20
        went = kind[1:] == 0
        assert numpy.allclose(numpy.diff(time)[went], clock[1:, 1][went], rtol=0, atol=0)
        first = time[numpy.nonzero(kind)[0][0]]
        assert abs(first - math.sqrt(0.2)) < 1e-10
    text = verified("r.h5")
    assert "laws hold to" in text, text
    perp("replay", "r.h5", "-o", "r.html")
    perp("export", "r.h5", "--csv")
    perp("run", write(step={"error": 1e-5}, record={"every": 7}), "--quiet", "--out", "s.h5")
    verified("s.h5")
    text = perp("check", "scene.json").out
    assert "adaptive step, error 1e-05" in text, text
    # fixed and adaptive recordings do not continue each other
    message = perp("run", write(), "--resume", "r.h5@0.3", "--quiet", status=2).err
    assert "adaptive" in message, message


@test
def check_shows_the_restitution_of_every_pair():
    scene = write(bodies=[{**FLOOR, "restitution": 0.81}, {
        "name": "ball", "mass": 1, "position": [0, 0, 1.1], "restitution": 0.25,
        "shapes": [{"type": "sphere", "radius": 0.1}]}])
    pair = perp("check", scene, "--json").json["pairs"][0]
    assert abs(pair["restitution"] - 0.45) < 1e-15, pair
    assert "0.45" in perp("check", scene).out and "newton impacts" in perp("check", scene).out


@test
def forces_prints_contacts_and_accelerations():
    scene = write(bodies=[FLOOR, {"name": "ball", "mass": 2, "position": [0, 0, 0.1], "velocity": [1, 0, 0],
                                  "shapes": [{"type": "sphere", "radius": 0.1}]}])
    answer = perp("forces", scene, "--json").json
    assert answer["status"] == "ok" and answer["existence"] == "one", answer
    contact = answer["contacts"][0]
    assert contact["state"] == "sliding" and contact["a"] == "floor" and contact["b"] == "ball"
    assert numpy.allclose(contact["force"], [20, -6, 0]), contact
    assert numpy.allclose(answer["bodies"]["ball"]["acceleration"], [-3, 0, 0])
    text = perp("forces", scene).out
    assert "sliding" in text and "one solution" in text and "20" in text, text


@test
def forces_says_where_there_are_none():
    angle, mu = 0.9, 2.5
    x, y, r = 0.5 * math.cos(angle), -0.5 * math.sin(angle), 0.001
    rod = {"name": "rod", "mass": 1, "inertia": 1 / 12, "position": [0, -y + r], "velocity": [3, 0],
           "shapes": [{"type": "circle", "radius": r, "position": [x, y]}]}
    floor = {"name": "floor", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]}
    scene = write(dimension=2, gravity=[0, -9.81], friction={"default": mu}, restitution=0, bodies=[floor, rod])
    answer = perp("forces", scene, "--json", status=3).json
    assert answer["existence"] == "none" and answer["solutions"] == 0, answer
    assert answer["contacts"][0]["force"] is None
    assert "no solution (Painleve)" in perp("forces", scene, status=3).out
    message = perp("forces", "soft-landing", status=2).err
    assert "soft layers" in message and "use the stepper" not in message, message
    message = perp("forces", "controlled-arm", status=2).err
    assert "do not exist at the level of accelerations yet" in message, message


main("bounce")
