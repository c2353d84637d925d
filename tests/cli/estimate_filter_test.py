#!/usr/bin/env python3
"""perp estimate, methods particle-filter and moving-window: the same bits for any number of jobs, series, errors."""
import json
import os
import subprocess
import sys

PERP = os.environ.get("PERP", "perp")
failed = 0


def check(held, what):
    global failed
    if not held:
        failed += 1
        print("FAIL", what)


def run(study, *arguments):
    with open("study.json", "w") as f:
        json.dump(study, f)
    return subprocess.run([PERP, "estimate", "study.json", *arguments], capture_output=True, text=True)


def estimate(study, jobs):
    result = run(study, "--json", "--jobs", str(jobs))
    check(result.returncode == 0, f"{study['method']}, {jobs} jobs: {result.stderr}")
    return json.loads(result.stdout)


# A block on a table, pulled; mu 0.3; positions at 20 Hz by the closed form of the scheme, errors of a fixed pattern.
SCENE = {
    "dimension": 2, "gravity": [0, 0], "step": 0.05, "duration": 2, "parameters": {"mu": 0.5},
    "bodies": [{"name": "block", "mass": 1, "inertia": 0.01, "velocity": [0.5, 0],
                "shapes": [{"type": "box", "size": [0.2, 0.1]}],
                "support": {"tripod": [[0.1, 0], [-0.05, 0.04], [-0.05, -0.04]], "mu": "mu"}}],
    "forces": [{"type": "wrench", "body": "block", "force": [3, 0]}]}
with open("scene.json", "w") as f:
    json.dump(SCENE, f)
acceleration, h = 3 - 0.3 * 9.81, 0.05
with open("data.csv", "w") as f:
    f.write("t,x\n")
    for i in range(25):
        t = i * h
        error = 0.004 * ((i * 7919) % 13 - 6) / 6
        f.write(f"{t},{0.5 * t + 0.5 * acceleration * t * (t + h) + error!r}\n")
BASE = {"scene": "scene.json", "data": "data.csv", "time": "t", "start": "scene",
        "observe": {"x": "block.position.x"}, "noise": 0.003, "seed": 3,
        "unknown": {"mu": {"start": 0.5, "bounds": [0, 1]}}}

FILTER = dict(BASE, method="particle-filter", particles=60)
WALK = dict(FILTER, process_noise={"mu": 0.05, "block.velocity": 0.01})
for study in (FILTER, WALK):
    first = estimate(study, 1)
    for jobs in (2, 8):
        check(estimate(study, jobs) == first, f"{jobs} jobs give another result")
    other = estimate(dict(study, seed=4), 1)
    check(other["estimates"] != first["estimates"], "another seed gives the same particles")
    mu = first["estimates"]["mu"]
    check(abs(mu["value"] - 0.3) < 0.02, f"mu {mu['value']}")
    check(mu["interval"][0] < mu["value"] < mu["interval"][1], "the value is outside its interval")
    series = first["series"][0]
    check(len(series["time"]) == 25 and len(series["mu"]["value"]) == 25, "a series of 25 rows")
    check(series["mu"]["value"][-1] == mu["value"], "the answer is the last of the series")
    check(all(0 <= x <= 1 for key in ("value", "low", "high") for x in series["mu"][key]), "bounds")
    check(len(first["filtered"][0]["x"]["value"]) == 25, "predicted columns")

# The start of a window is unknown; x alone says nothing of y and the angle, which have priors then.
WINDOW = dict(BASE, method="moving-window", window=12,
              unknown=dict(BASE["unknown"], initial={"block": {"rotation": 0, "angular_velocity": 0}}))
windows = estimate(WINDOW, 2)
check(abs(windows["estimates"]["mu"]["value"] - 0.3) < 0.03, f"windows: {windows['estimates']}")
check(len(windows["series"][0]["time"]) > 10, "windows: series")

for study, words in (
        (dict(FILTER, unknown={"mu": {"start": 0.5}}), ["study.json", "/unknown/mu", "bounds"]),
        (dict(FILTER, process_noise={"nu": 1}), ["/process_noise/nu"]),
        (dict(FILTER, options={"thresold": 0.2}), ["/options/thresold", "threshold"]),
        (dict(BASE, method="moving-window", window=5), ["/unknown/initial"]),
        (dict(WINDOW, window=2), ["/window", "at least"])):
    result = run(study)
    check(result.returncode == 2, f"{words}: exit status {result.returncode}")
    check(all(word in result.stderr for word in words), f"{words}: {result.stderr}")
# a model that cannot follow: the block is nailed down
result = run(dict(FILTER, noise=1e-9, unknown={"mu": {"start": 0.9, "bounds": [0.8, 1]}},
                  process_noise={"mu": 0.001}))
check(result.returncode in (0, 3), f"a scene that cannot follow: exit status {result.returncode}")
sys.exit(1 if failed else 0)
