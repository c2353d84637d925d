#!/usr/bin/env python3
"""perp estimate, method mpec: it agrees with shooting, in metres and millimetres, with gaps, other rates and unknown scales; what it refuses."""
import json
import os
import random
import subprocess
import sys

PERP = os.environ.get("PERP", "perp")
failed = 0


def check(held, what):
    global failed
    if not held:
        failed += 1
        print("FAIL", what)


def estimate(study, *arguments):
    with open("study.json", "w") as f:
        json.dump(study, f)
    result = subprocess.run([PERP, "estimate", "study.json", "--json", "--jobs", "1", *arguments],
                            capture_output=True, text=True)
    return result.returncode, json.loads(result.stdout)


# The particle of [B09 7.6.1]: h = 0.05, mu = 0.2, pulled by 5 N, from a height of 3 m; the scheme's own recursion.
def scene(unit):
    return {"dimension": 2, "gravity": [0, -9.81 * unit], "step": 0.05, "duration": 3, "parameters": {"mu": 0.5},
            "friction": {"default": "mu"},
            "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                       {"name": "p", "mass": 1, "position": [0, 3 * unit], "shapes": [{"type": "particle"}]}],
            "forces": [{"type": "wrench", "body": "p", "force": [5 * unit, 0]}]}


def positions(mu=0.2, h=0.05, steps=60):
    x, y, vx, vy = 0.0, 3.0, 0.0, 0.0
    yield x, y
    for _ in range(steps):
        free = vy - 9.81 * h
        vy = free if y + h * free >= 0 else -y / h
        normal = vy - free
        slide = vx + 5 * h
        vx = max(0.0, slide - mu * normal)
        x, y = x + h * vx, y + h * vy
        yield x, y


def write(unit, noise, scale=1.0, offset=0.0):
    generator = random.Random(7)
    with open("scene.json", "w") as f:
        json.dump(scene(unit), f)
    with open("data.csv", "w") as f:
        f.write("t,x,y\n")
        for i, (x, y) in enumerate(positions()):
            row = [unit * (scale * value + offset + noise * generator.gauss(0, 1)) for value in (x, y)]
            f.write("%.17g,%s,%.17g\n" % (0.05 * i, "" if i == 7 else "%.17g" % row[0], row[1]))


def study(method, unit, noise, **more):
    return {"scene": "scene.json", "data": "data.csv", "time": "t", "start": "scene", "method": method,
            "observe": {"x": "p.position.x", "y": "p.position.y"}, "noise": {"x": unit * noise, "y": unit * noise},
            "unknown": {"mu": {"start": 1, "bounds": [0, 1]}}, **more}


write(1.0, 0.01)
status, first = estimate(study("mpec", 1.0, 0.01))
if status == 2 and "coinor-libipopt-dev" in first.get("message", ""):
    print("built without Ipopt, and says so")
    sys.exit(failed != 0)
check(status == 0 and first["status"] == "converged", f"mpec: {first}")
mu = first["estimates"]["mu"]
check(abs(mu["value"] - 0.2) <= 4 * mu["standard_deviation"], f"mu {mu}")
check(first["iterations"] <= 443 and first["mpec"]["simulation_difference"] <= 1e-6, first["mpec"])
shooting = estimate(study("shooting", 1.0, 0.01))[1]["estimates"]["mu"]
check(abs(mu["value"] - shooting["value"]) <= 1e-6, f"shooting {shooting}")
check(abs(mu["standard_deviation"] / shooting["standard_deviation"] - 1) <= 1e-3, f"intervals {shooting}")

# A file ipopt.opt of the folder has no effect.
with open("ipopt.opt", "w") as f:
    f.write("max_iter 1\nprint_level 5\n")
check(estimate(study("mpec", 1.0, 0.01))[1]["estimates"]["mu"] == mu, "ipopt.opt is not read")

# The start estimated.
both = [estimate({**study(m, 1.0, 0.01), "unknown": {"mu": {"start": 1, "bounds": [0, 1]}, "initial": ["p"]}})[1]["estimates"]["mu"]
        for m in ("mpec", "shooting")]
check(abs(both[0]["value"] - both[1]["value"]) <= 1e-6, f"start estimated {both}")

# Millimetres.
write(1000.0, 0.01)
status, small = estimate(study("mpec", 1000.0, 0.01))
check(status == 0 and abs(small["estimates"]["mu"]["value"] - mu["value"]) <= 1e-8, f"millimetres {small.get('estimates')}")

# A sensor with unknown scale and offset.
write(1.0, 0.001, scale=2.0, offset=0.5)
sensed = study("mpec", 1.0, 0.001)
sensed["observe"] = {c: {"quantity": f"p.position.{c}", "column": c, "sensor": {"scale": "s", "offset": ["o"]}} for c in "xy"}
sensed["unknown"].update({"s": {"start": 1, "bounds": [0.1, 10]}, "o": {"start": 0, "bounds": [-2, 2]}})
status, answer = estimate(sensed)
if status == 0:
    found = {name: answer["estimates"][name]["value"] for name in ("mu", "s", "o")}
    check(abs(found["mu"] - 0.2) < 1e-3 and abs(found["s"] - 2) < 1e-3 and abs(found["o"] - 0.5) < 1e-2, f"sensor {found}")
else:
    check(False, f"sensor {answer}")

# What is refused is named.
write(1.0, 0.01)
for change, word in ((lambda s: s.update({"restitution": {"default": 0.5}}), "restitution"),
                     (lambda s: s.update({"stepper": "anitescu-potra"}), "stepper")):
    other = scene(1.0)
    change(other)
    with open("scene.json", "w") as f:
        json.dump(other, f)
    status, answer = estimate(study("mpec", 1.0, 0.01))
    check(status == 2 and word in answer["message"], f"{word}: {status} {answer.get('message')}")
with open("scene.json", "w") as f:
    json.dump(scene(1.0), f)
status, answer = estimate(study("mpec", 1.0, 0.01, loss="huber"))
check(status == 2 and "squares" in answer["message"], f"loss: {answer.get('message')}")
sys.exit(failed != 0)
