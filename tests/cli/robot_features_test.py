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


def driven(**more):
    """A lever with a motor and one with a controller, both with velocity limits, and a ball that falls on one."""
    tree = scene(**more)
    del tree["joints"][2]
    tree["joints"][0].update(velocity_limit=1.2, motor={"type": "effort", "target": "4*sin(9*t)"}, damping=0.1)
    tree["joints"][1].update(velocity_limit=0.8)
    tree["controllers"] = [{"type": "pid", "joint": "r", "kp": 60, "ki": 20, "kd": 2, "target": 0.7, "max_effort": 6}]
    return tree


def check_run(name, tree):
    """whole.h5: its energy is explained, it verifies, and a run resumed in it ends with the same energy."""
    write("s.json", tree)
    done = perp("run", "s.json", "--out", "whole.h5", "--json").json
    assert done["status"] == "ok", (name, done)
    size = abs(done["energy"]["initial_total"]) + 1
    assert abs(done["energy_ledger"]["unexplained"]) <= 1e-7 * size, (name, done["energy_ledger"])
    perp("verify", "whole.h5")
    rest = perp("run", "--resume", "whole.h5@0.2", "--duration", repr(tree["duration"]), "--json").json
    assert rest["energy"]["total"] == done["energy"]["total"], (name, rest["energy"], done["energy"])


@test
def velocity_limits_verify_and_resume_in_every_setting():
    for name, more in VARIANTS.items():
        tree = driven(**more)
        check_run(name, tree)
        rows = [line.split(",") for line in perp("export", "whole.h5", "l.rate", "r.rate", "l.effort", "r.effort",
                                                 "controller.r.effort").out.split()][1:]
        assert max(abs(float(row[3])) for row in rows) <= 0.8 * (1 + 1e-6), name  # nothing else drives this one
        assert max(float(row[3]) for row in rows) > 0.79, name
        assert max(abs(float(row[-1])) for row in rows) <= 6 * (1 + 1e-9), name


@test
def a_velocity_limit_is_in_check_import_and_the_text_of_a_recording():
    write("s.json", driven())
    assert "velocity limit 1.2" in perp("check", "s.json").out
    assert perp("check", "s.json", "--json").json["joints"][1]["velocity_limit"] == 0.8
    tree = driven()
    tree["joints"][1]["type"] = "spherical"
    write("bad.json", tree)
    bad = perp("check", "bad.json", status=2)
    assert "/joints/1/velocity_limit" in bad.err, bad.err


@test
def gradients_with_velocity_limits_are_those_of_differences():
    for kind, push in (("effort", -8.0), ("position", -2.0), ("velocity", -3.0)):
        tree = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.4, "tolerance": 1e-12,
                "parameters": {"push": push, "v": 1.1, "d": 0.05, "m": 1.0},
                "bodies": [{"name": "lever", "mass": "m", "inertia": [0.02, 0.03, 0.04], "position": [0.3, 0, 0]}],
                "joints": [{"name": "j", "type": "revolute", "a": "world", "b": "lever", "at": [0, 0, 0],
                            "axis": [0, 1, 0], "velocity_limit": "v", "damping": "d",
                            "motor": {"type": kind, "target": "push", "max_effort": 30}}],
                "measures": {"end": "j.coordinate"}}
        write("g.json", tree)
        answer = perp("gradient", "g.json", "--of", "end", "--by", "push,v,d,m", "--check", "--json").json
        for name, check in answer["check"].items():
            assert abs(check["difference"] - answer["gradient"][name]) < 1e-7, (kind, name, answer)
        assert abs(answer["gradient"]["v"]) > 0.1, (kind, answer)  # the limit takes part
    tree["joints"][0].pop("motor")
    tree["controllers"] = [{"type": "pd", "joint": "j", "kp": 10, "kd": 1, "target": "push"}]
    write("g.json", tree)
    beyond = perp("gradient", "g.json", "--of", "end", "--by", "v", "--check", "--json").json
    assert beyond["flagged"]["steps"] > 0, beyond  # two parallel rows: which of them acts is a rule
    assert abs(beyond["check"]["v"]["difference"] - beyond["gradient"]["v"]) < 1e-7, beyond


def on_frames(**more):
    """A lever on three hinges and one on a slide and a hinge, with laws on their coordinates, which falls on a floor."""
    def frame(name, x):
        return {"name": name, "massless": True, "position": [x, 0, 1]}

    def joint(name, kind, a, b, x, axis, **laws):
        return {"name": name, "type": kind, "a": a, "b": b, "at": [x, 0, 1], "axis": axis, **laws}
    tree = scene(**more)
    tree["bodies"] += [frame("f", -0.1), frame("g", -0.1), frame("h", 0.1)]
    tree["bodies"][1]["inertia"], tree["bodies"][2]["inertia"] = [0.02, 0.05, 0.06], [0.02, 0.05, 0.06]
    tree["joints"] = [
        joint("x", "revolute", "world", "f", -0.1, [1, 0, 0], damping=0.05),
        joint("y", "revolute", "f", "g", -0.1, [0, 1, 0], limits=[-0.9, 0.3], armature=0.02),
        joint("z", "revolute", "g", "left", -0.1, [0, 0, 1], friction=0.1),
        joint("slide", "prismatic", "h", "world", 0.1, [0, 0, 1], limits=[-0.1, 0.1]),
        joint("hinge", "revolute", "h", "right", 0.1, [0, 1, 0], motor={"type": "velocity", "target": 1, "max_effort": 3})]
    tree["controllers"] = [{"type": "pd", "joint": "z", "kp": 5, "kd": 0.1, "target": 0.3}]
    return tree


@test
def joints_on_massless_bodies_verify_and_resume_in_every_setting():
    for name, more in {**VARIANTS, "implicit": {"stepper": "implicit"}, "geometric": {"stepper": "geometric-implicit"}}.items():
        tree = on_frames(**more)
        check_run(name, tree)


main("robot_features")
