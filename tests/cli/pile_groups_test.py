#!/usr/bin/env python3
"""A pile of boxes with groups of contacts, of more than 300 rows: the same bits with one and two threads and
after a pause, and verify agrees."""
import json
import random

import h5py
from _cli import main, perp, test

STEP, STEPS, PAUSE = 0.005, 12, 5


def write_pile(path="pile.json"):
    draw = random.Random(4).random
    bodies = [{"name": "floor", "type": "static", "shapes": [
        {"type": "box", "size": [4, 4, 0.5], "position": [0, 0, -0.25]}]}]
    for i in range(6):
        bodies.append({
            "name": f"b{i}", "mass": 1 + draw(), "velocity": [0, 0, -0.5],
            "position": [0.131 * (i % 2) + 0.03 * draw(), 0.03 * draw(), 0.0505 + 0.102 * (i // 2)],
            "angular_velocity": [6 * draw() - 3 for _ in range(3)],
            "shapes": [{"type": "box", "size": [0.1, 0.1, 0.1]}]})
    with open(path, "w") as file:
        json.dump({"gravity": [0, 0, -9.81], "step": STEP, "duration": STEP * STEPS, "margin": 0.02,
                   "contact": "peg", "friction": {"cone": "quadratic", "default": 0.5},
                   "bodies": bodies}, file)
    return path


def states(path):
    """Positions, velocities and impulses by step."""
    with h5py.File(path) as file:
        steps, offset = file["step"][()], file["contacts/offset"][()]
        q, v, p = (file[name][()] for name in ("state/q", "state/v", "contacts/impulse"))
        return {int(s): (q[k].tobytes(), v[k].tobytes(), p[offset[k]:offset[k + 1]].tobytes())
                for k, s in enumerate(steps)}


@test
def a_pile_has_the_same_bits_with_threads_and_after_a_pause_and_verifies():
    scene = write_pile()
    perp("run", scene, "--quiet", "--threads", 1, "--out", "one.h5")
    perp("run", scene, "--quiet", "--threads", 2, "--out", "two.h5")
    whole = states("one.h5")
    assert len(whole) == STEPS + 1 and whole == states("two.h5")
    with h5py.File("one.h5") as file:  # candidates of three rows each
        assert sum(3 * n > 300 for n in file["solver/candidates"][()]) >= 3
    pause = f"one.h5@{PAUSE * STEP}"
    perp("run", scene, "--quiet", "--resume", pause, "--out", "rest.h5")
    rest = states("rest.h5")
    assert max(rest) == STEPS and len(rest) >= STEPS - PAUSE
    for step, state in rest.items():
        assert state == whole[step], f"step {step} differs after a pause"
    for recording in ("one.h5", "rest.h5"):
        perp("verify", recording)


main("pile_groups")
