"""Gears under the contact model `auto`: teeth of one gear pass those of the other, turn after turn.

Straight teeth, not involutes: the ratio of the speeds varies within a tooth, that of the turns cannot."""
import json
import math

from _cli import main, perp, test


def outline(teeth, module):
    """Root and tip of each tooth at 0.3 and 0.12 of the pitch from its middle."""
    root, tip = (0.5 * teeth - 1.0) * module, (0.5 * teeth + 0.8) * module
    corners = [(root, -0.3), (tip, -0.12), (tip, 0.12), (root, 0.3)]
    return [[r * math.cos(2 * math.pi * (k + w) / teeth), r * math.sin(2 * math.pi * (k + w) / teeth)]
            for k in range(teeth) for r, w in corners]


def mesh(points, height):
    n = len(points)
    vertices = [p + [z] for z in (-0.5 * height, 0.5 * height) for p in points]
    faces = [[i, (i + 1) % n, n + (i + 1) % n, n + i] for i in range(n)]
    core = []
    for k in range(0, n, 4):
        faces += [[n + k, n + k + 1, n + k + 2, n + k + 3], [k + 3, k + 2, k + 1, k]]
        core += [k, k + 3]
    return vertices, faces + [[n + i for i in core], core[::-1]]


def gears(first, second, module, dimension=2, speed=3.0, damping=1.0, **changes):
    """The second gear has a gap where the first has a tooth. Returns the angles turned, in turns."""
    distance, gap = 0.5 * (first + second) * module, math.pi / second if second % 2 == 0 else 0.0
    radius, zero = 0.5 * second * module, [0] * (dimension - 2)
    inertia = 0.5 * math.pi * 10 * radius**4 * (3 * module if dimension == 3 else 1)

    def body(name, teeth, x, angle):
        points = outline(teeth, module)
        if dimension == 2:
            return {"name": name, "density": 10, "position": [x, 0], "angle": angle,
                    "shapes": [{"type": "polygon", "vertices": points}]}
        vertices, faces = mesh(points, 3 * module)
        return {"name": name, "density": 10, "position": [x, 0, 0],
                "axis_angle": [0, 0, 1, angle],
                "shapes": [{"type": "mesh", "vertices": vertices, "faces": faces,
                            "decompose": True}]}

    motor = {"type": "velocity", "target": f"{speed}*min(t,1)",
             "max_effort": inertia * abs(speed) * (500 + 10 * damping)}
    joints = [{"name": "drive", "type": "revolute", "a": "world", "b": "pinion",
               "at": [0, 0] + zero, "motor": motor},
              {"name": "axle", "type": "revolute", "a": "world", "b": "wheel",
               "at": [distance, 0] + zero, "damping": inertia * damping}]
    if dimension == 3:
        for joint in joints:
            joint["axis"] = [0, 0, 1]
    scene = {"name": "gears", "dimension": dimension, "gravity": [0, 0] + zero, "step": 0.005,
             "duration": 5, "contact": "auto", "friction": {"default": 0.1}, "joints": joints,
             "bodies": [body("pinion", first, 0, 0), body("wheel", second, distance, gap)],
             **changes}
    with open("scene.json", "w") as file:
        json.dump(scene, file)
    result = perp("run", "scene.json", "--json").json
    assert result["contact"] == "peg" and result["status"] == "ok", result["status"]
    assert result["solver_failures"] == 0 and result.get("contact_fallbacks", 0) == 0
    assert result["crossings"] == 0, result["crossings"]
    a, b = result["bodies"]["pinion"], result["bodies"]["wheel"]
    if dimension == 2:
        return a["angle"] / (2 * math.pi), (b["angle"] - gap) / (2 * math.pi)
    turn = [2 * math.atan2(x["orientation"][3], x["orientation"][0]) / (2 * math.pi)
            for x in (a, b)]
    return turn[0], turn[1] - gap / (2 * math.pi)


def check(first, second, module, **changes):
    """No tooth is skipped, and the driven gear has turned."""
    a, b = gears(first, second, module, **changes)
    assert abs(a) > 1.0, a
    assert abs(a * first + b * second) < 0.25, (a * first, b * second)


@test
def planar_gears_of_any_ratio_size_and_step_turn():
    check(12, 24, 0.01, step=0.002)
    check(9, 30, 0.001, step=0.01, friction={"default": 0.6})
    check(20, 10, 0.3, speed=-2.5, joint_correction=True)
    check(8, 15, 0.02, friction={"default": 0}, damping=0.0)
    check(16, 16, 0.05, friction={"default": 0.3, "cone": "polygon"}, joint_correction=True)


@test
def decomposed_meshes_turn_too():
    for first, second, changes in ((8, 16, {}), (12, 12, {"joint_correction": True,
                                                          "friction": {"default": 0.6}})):
        a, b = gears(first, second, 0.01, dimension=3, duration=2, **changes)
        teeth = a * first + b * second  # angles are known up to whole turns
        assert abs(teeth - round(teeth)) < 0.25, teeth


main("gears")
