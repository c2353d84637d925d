"""The coefficient of friction from a measured slide, by golden section over rollouts.

(perp.estimate is not built yet; with one unknown a search over perp.rollout does it.)
"""
import csv
import os
import perp

with open(os.path.join(os.path.dirname(__file__), "slide.csv"), newline="") as file:
    data = [(float(row["t"]), float(row["x"])) for row in csv.DictReader(file)]
box = {"dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": data[-1][0],
       "parameters": {"mu": 0.3}, "friction": {"default": "mu"},
       "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                  {"name": "box", "mass": 1, "position": [0, 0.1], "velocity": [1.5, 0],
                   "shapes": [{"type": "box", "size": [0.3, 0.2]}]}]}


def misfit(*mus):
    runs = perp.rollout(box, {"mu": mus}, observe=["box.position.x"])
    return [sum((run[round(t / 0.005)][0] - x) ** 2 for t, x in data) for run in (r.tolist() for r in runs.observed)]


low, high, ratio = 0.05, 1.0, 0.6180339887498949
while high - low > 1e-5:
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = misfit(a, b)
    low, high = (low, b) if fa < fb else (a, high)
print(f"mu = {(low + high) / 2:.4f} (the data were made with 0.237 and noise of 1 mm)")
