"""Gears and armature together with restitution, adaptive steps, contact models, resume and verify."""
import json

from _cli import main, perp, test


def scene(**more):
    """A geared pair of levers, one with an armature, and a ball that falls on one of them."""
    return {
        "gravity": [0, 0, -9.81], "step": 0.004, "duration": 0.5, "friction": {"default": 0.3},
        "bodies": [
            {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
            {"name": "left", "mass": 1, "inertia": [0.02, 0.02, 0.02], "position": [-0.5, 0, 1],
             "shapes": [{"type": "box", "size": [0.8, 0.1, 0.05]}]},
            {"name": "right", "mass": 0.7, "inertia": [0.02, 0.02, 0.02], "position": [0.5, 0, 1],
             "shapes": [{"type": "box", "size": [0.8, 0.1, 0.05]}]},
            {"name": "ball", "density": 800, "position": [-0.7, 0.01, 1.3],
             "shapes": [{"type": "sphere", "radius": 0.06}]}],
        "joints": [
            {"name": "l", "type": "revolute", "a": "world", "b": "left", "at": [-0.5, 0, 1], "axis": [0, 1, 0],
             "armature": 0.05, "limits": [-0.6, 0.6]},
            {"name": "r", "type": "revolute", "a": "world", "b": "right", "at": [0.5, 0, 1], "axis": [0, 1, 0]},
            {"name": "gear", "type": "gear", "joints": ["l", "r"], "ratio": -0.5}],
        **more}


SOFT = {"stiffness": 40, "damping": 0.5}
VARIANTS = {
    "plain": {},
    "bounces": {"restitution": {"e": 0.6}},
    "newton": {"restitution": {"e": 0.4}, "contact": "standard"},
    "adaptive": {"step": {"error": 1e-4, "max": 0.02}},
    "odd": {"duration": 0.4321, "joint_correction": True},
}


def write(name, tree):
    with open(name, "w") as f:
        json.dump(tree, f)


@test
def geared_levers_with_armature_verify_and_resume_in_every_setting():
    for name, more in VARIANTS.items():
        for soft in (False, True):
            tree = scene(**more)
            if soft:
                tree["joints"][2].update(SOFT)
            write("s.json", tree)
            done = perp("run", "s.json", "--out", "whole.h5", "--json").json
            assert done["status"] == "ok", (name, soft, done)
            energy = done["energy_ledger"]
            size = abs(done["energy"]["initial_total"]) + 1
            assert abs(energy["unexplained"]) <= 1e-7 * size, (name, soft, energy)
            perp("verify", "whole.h5")
            rest = perp("run", "--resume", "whole.h5@0.2", "--duration", repr(tree["duration"]), "--json").json
            assert rest["energy"]["total"] == done["energy"]["total"], (name, soft, rest["energy"], done["energy"])


@test
def the_gear_holds_through_impacts():
    for more, room in (({"joint_correction": True}, 1e-9), ({"step": {"error": 1e-4, "max": 0.02}}, 1e-3)):
        write("s.json", scene(restitution={"e": 0.6}, **more))
        perp("run", "s.json", "--out", "g.h5", "--quiet")
        rows = [line.split(",") for line in perp("export", "g.h5", "l.coordinate", "r.coordinate").out.split()]
        assert len(rows) > 20
        for _, _, left, right in rows[1:]:
            assert abs(float(right) + 0.5 * float(left)) < room, (left, right)
        assert max(abs(float(row[2])) for row in rows[1:]) > 0.1


main("robot_features")
