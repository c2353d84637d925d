"""A box on slopes of 0 to 40 degrees: how far it slides in a second, and where friction holds it."""
import math
import perp

box = {"gravity": ["g*sin(a)", "-g*cos(a)"], "dimension": 2, "step": 0.01, "duration": 1,
       "parameters": {"a": 0, "g": 9.81}, "friction": {"default": 0.4}, "measures": {"way": "box.position.x"},
       "bodies": [{"name": "slope", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                  {"name": "box", "mass": 1, "position": [0, 0.1], "shapes": [{"type": "box", "size": [0.4, 0.2]}]}]}
degrees = list(range(0, 41, 2))
result = perp.rollout(box, {"a": [math.radians(d) for d in degrees]})
for d, way in zip(degrees, result.measures["way"]):
    print(f"{d:3d} degrees: {way:.6f} m")
try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    pyplot.plot(degrees, result.measures["way"], "o-")
    pyplot.axvline(math.degrees(math.atan(0.4)), linestyle=":", label="friction angle")
    pyplot.xlabel("slope in degrees"), pyplot.ylabel("way in a second"), pyplot.legend()
    pyplot.savefig("slope.png")
except ImportError:
    print("(no plot: matplotlib is not installed)")
