#!/usr/bin/env python3
"""Every built-in scene in metres and kilograms, in millimetres and grams, and in kilometres and
tonnes: the same motion to 1e-9 of the scene's size and speed. Where rounding decides, in units that
do not round: the same motion to the bit. The scenes are rescaled here, key by
key, by the dimension of each quantity; nothing of perp is used for that."""
import copy
import glob
import json
import os
import re
import subprocess
import sys

PERP, SOURCE = os.environ["PERP"], os.environ["PERP_SOURCE"]
FULL = "PERP_TEST_FULL" in os.environ  # both other units for every scene, not one of them: make test-slow
TOLERANCE = 1e-9
# Scenes in which a step's problem has several solutions (a wall of bricks is struck; four wheels land
# at once and press against each other through their axles; two fingers hold a can by four points):
# rounding may choose between them, and the motion after that has nothing left to agree on. Seen by
# `perp run SCENE --save-problems DIR:step=N`, then `perp solve --max-iter 3000` on that problem:
#   w14-rolling-cart, step 36: `--solver newton --set sweeps=0` and `--solver newton-bodies --set
#   regularisation=0.5`, both `--tolerance 1e-14`: residuals 1e-15 and 5e-15, velocities 0.3 apart
#   w14-arm, step 505: `--solver newton-bodies` and `--solver interior-point`, both `--tolerance 1e-12`:
#   residuals 7e-13 and 4e-13, velocities 5e-3 apart
# w14-icosahedra and bouncing-balls are here for another reason: tumbling and rolling multiply rounding to
# 9e-8, bounces to 1.3e-9.
# Units of a power of two do not round. Every number is then the same number times a power of two, and
# so is every decision that does not compare metres with radians: here the motion is the same to the
# last bit.
SEVERAL_SOLUTIONS = {"bouncing-balls", "demo", "w14-rolling-cart", "w14-arm", "w14-icosahedra"}
# lemke compares entries of metres with entries of radians, so that here not even a power of two is exact.
# Compared up to the first step with several solutions (the box slides on four corners with a polygon
# cone; step 58, `--solver pivot` and `--solver interior-point`, both `--tolerance 1e-12`: residuals 8e-17
# and 3e-13, velocities 1e-4 apart).
UNIQUE_UNTIL = {"n04-box-on-floor": 0.5}
UNITS = ((1e3, 1e3), (1e-3, 1e-3))
EXACT_UNITS = ((2.0 ** 10, 2.0 ** 10), (2.0 ** -10, 2.0 ** -10))

# exponents of length and mass; time is not rescaled
DIMENSION = {"position": (1, 0), "size": (1, 0), "radius": (1, 0), "length": (1, 0),
             "offset": (1, 0), "velocity": (1, 0), "gravity": (1, 0), "at": (1, 0),
             "surface_velocity": (1, 0), "mass": (0, 1), "density": (-3, 1), "inertia": (2, 1),
             "force": (1, 1), "torque": (2, 1), "margin": (1, 0), "at_a": (1, 0), "at_b": (1, 0),
             "rest": (1, 0), "max_deflection": (1, 0), "spacing": (1, 0), "stiffness": (0, 1), "damping": (0, 1),
             "linear": (0, 1), "angular": (2, 1), "max_speed": (1, 0),
             "tripod": (1, 0), "load": (1, 1), "vertices": (1, 0)}  # linear, angular: drag
# of joints and their controllers: coordinate, effort, and effort per coordinate
TURN = ((0, 0), (2, 1), (2, 1))
TRAVEL = ((1, 0), (1, 1), (0, 1))
PLANAR = {"density": (-2, 1)}


def strip(text):
    return re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda m: m.group(1) or "", text)


def times(value, factor):
    if isinstance(value, list):
        return [times(v, factor) for v in value]
    if isinstance(value, str):
        return f"({value})*{factor!r}"
    if isinstance(value, dict):  # a curve through points
        return {**value, "points": [[t, x * factor] for t, x in value["points"]]}
    return value * factor


def rescale(node, L, M, planar):
    if isinstance(node, list):
        return [rescale(v, L, M, planar) for v in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key == "acceleration":  # sinusoids: only amplitudes along the axes have a length
            for wave in value.get("linear", []):
                if wave:
                    wave["amplitude"] *= L
            out[key] = value
            continue
        dimension = (PLANAR if planar else {}).get(key) or DIMENSION.get(key)
        if dimension:
            out[key] = times(value, L ** dimension[0] * M ** dimension[1])
        else:
            out[key] = rescale(value, L, M, planar)
    return out


def rescale_joint(joint, kind, L, M):
    """What of a joint, its motor or its controller depends on whether it turns or travels."""
    coordinate, effort, gain = kind
    keys = {"limits": coordinate, "start": coordinate, "target": coordinate, "friction": effort,
            "max_effort": effort, "damping": gain, "kp": gain, "ki": gain, "kd": gain}
    for key, (l, m) in keys.items():
        if key in joint:
            joint[key] = times(joint[key], L ** l * M ** m)
    if "motor" in joint:
        rescale_joint(joint["motor"], kind, L, M)


def rescale_scene(scene, L, M, planar):
    joints, controllers = scene.pop("joints", []), scene.pop("controllers", [])
    out = rescale(scene, L, M, planar)
    kinds = {}
    for joint in joints:
        kinds[joint["name"]] = TRAVEL if joint["type"] == "prismatic" else TURN
        rescale_joint(joint, kinds[joint["name"]], L, M)
        for key in ("at", "at_a", "at_b", "length"):
            if key in joint:
                joint[key] = times(joint[key], L)
    for controller in controllers:
        rescale_joint(controller, kinds[controller["joint"]], L, M)
    return {**out, "joints": joints, "controllers": controllers}


def run(scene, name):
    with open(name, "w") as f:
        json.dump(scene, f)
    done = subprocess.run([PERP, "run", name, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout[:300])
    return json.loads(done.stdout)


def compare(a, b, L):
    """Largest difference relative to the scene's size and speed."""
    size = max([abs(x) for s in a["bodies"].values() for x in s["position"]] + [1e-300])
    speed = max([abs(x) for s in a["bodies"].values() for x in s["velocity"]] + [size])
    turn = max([abs(x) for s in a["bodies"].values()
                for x in flat(s["angular_velocity"])] + [1.0])
    worst = 0.0
    for name, s in a["bodies"].items():
        o = b["bodies"][name]
        for x, y in zip(s["position"], o["position"]):
            worst = max(worst, abs(y / L - x) / size)
        for x, y in zip(s["velocity"], o["velocity"]):
            worst = max(worst, abs(y / L - x) / speed)
        for x, y in zip(flat(s["angular_velocity"]), flat(o["angular_velocity"])):
            worst = max(worst, abs(y - x) / turn)
    return worst


def flat(x):
    return x if isinstance(x, list) else [x]


def main():
    passed = failed = 0
    for number, path in enumerate(sorted(glob.glob(os.path.join(SOURCE, "scenes", "*.json")))):
        name = os.path.splitext(os.path.basename(path))[0]
        several = name in SEVERAL_SOLUTIONS
        with open(path) as f:
            scene = json.loads(strip(f.read()))
        scene["duration"] = UNIQUE_UNTIL.get(name, scene["duration"])
        planar = scene.get("dimension", 3) == 2
        try:
            here = run(scene, f"{name}.json")
            units = EXACT_UNITS if several else UNITS
            for L, M in units if FULL else units[number % 2:number % 2 + 1]:
                there = run(rescale_scene(copy.deepcopy(scene), L, M, planar), f"{name}-{L:g}.json")
                worst = compare(here, there, L)
                ok = worst <= (0.0 if several else TOLERANCE)
                print(f"{'ok' if ok else 'FAIL'} {name} with lengths x {L:g}, masses x {M:g}: "
                      f"difference {worst:.1e}")
                passed, failed = passed + ok, failed + (not ok)
        except (RuntimeError, KeyError, ValueError) as error:
            print(f"FAIL {name}: {error}")
            failed += 1
    print(f"units_test: {passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
