"""The coefficient of friction and the start speed of a box from a measured slide."""
import os
import perp

box = {"dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": 1,
       "parameters": {"mu": 0.3, "speed": 1.5}, "friction": {"default": "mu"},
       "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                  {"name": "box", "mass": 1, "position": [0, 0.1], "velocity": ["speed", 0],
                   "shapes": [{"type": "box", "size": [0.3, 0.2]}]}]}
fit = perp.estimate({"scene": box, "data": os.path.join(os.path.dirname(__file__), "slide.csv"), "time": "t",
                     "observe": {"x": "box.position.x"}, "noise": {"x": 0.001},
                     "unknown": {"mu": {"start": 0.3, "bounds": [0, 1]}, "speed": {"start": 1, "bounds": [0, 5]}}})
for name, (low, high) in fit.intervals.items():
    print(f"{name} = {fit.values[name]:.4f}, 95 % interval [{low:.4f}, {high:.4f}]")
print("the data were made with mu = 0.237, a speed of 1.5 m/s and noise of 1 mm")
