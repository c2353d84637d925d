#!/usr/bin/python3
"""The published schema and the program agree.

Every scene of scenes/ is valid; the schema is a schema; a list of bad documents is refused by both
the schema and `perp check`, and a list of good ones accepted by both.
Environment: PERP (the binary), PERP_SOURCE (the source directory).
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

SOURCE = os.environ.get("PERP_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PERP = os.environ.get("PERP", os.path.join(SOURCE, "build/release/perp"))

passed = failed = 0


def check(held, what):
    global passed, failed
    if held:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}")


def strip_comments(text):
    """// comments outside strings."""
    out, i, in_string = [], 0, False
    while i < len(text):
        c = text[i]
        if in_string and c == "\\":
            out.append(text[i:i + 2])
            i += 2
            continue
        if c == '"':
            in_string = not in_string
        if not in_string and text.startswith("//", i):
            while i < len(text) and text[i] != "\n":
                i += 1
            continue
        out.append(c)
        i += 1
    return "".join(out)


def perp_check(document):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scene.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(document, f)
        return subprocess.run([PERP, "check", path], capture_output=True, text=True, timeout=60)


GOOD = {
    "gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.1,
    "friction": {"directions": 4, "default": 0.2, "pairs": [{"a": "ball", "b": "ground", "mu": 0.1}]},
    "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
        {"name": "ball", "mass": 1, "position": [0, 0, 2], "shapes": [{"type": "sphere", "radius": 1}]},
        {"name": "mover", "type": "kinematic", "motion": {"position": ["9 + sin(t)", 0, 1]},
         "shapes": [{"type": "box", "size": [1, 1, 1]}]},
    ],
    "forces": [{"type": "wrench", "body": "ball", "force": [0, "t", 0]}],
}
PLANAR = {
    "dimension": 2, "gravity": [0, -9.81], "duration": 0.1,
    "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
        {"name": "disc", "mass": 1, "inertia": 0.5, "position": [0, 2], "angle": 9,
         "angular_velocity": 1, "shapes": [{"type": "circle", "radius": 1}]},
    ],
}

REMOVE = object()


def edit(base, pointer, value):
    """A copy of base with the value at the pointer set, or removed."""
    document = copy.deepcopy(base)
    *path, last = pointer.strip("/").split("/")
    node = document
    for token in path:
        node = node[int(token)] if isinstance(node, list) else node[token]
    if value is REMOVE:
        del node[last]
    elif isinstance(node, list):
        node[int(last)] = value
    else:
        node[last] = value
    return document


TETRAHEDRON = {"type": "mesh", "collides": False,
               "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
               "faces": [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]}

SUPPORT = {"tripod": [[1, 0], [-1, 1], [-1, -1]], "mu": 0.5}

ACCEPTED = [
    (GOOD, "/step", "0.1/2"), (GOOD, "/restitution", "0.5"), (GOOD, "/bodies/1/mass", "2*pi"), (GOOD, "/parameters", {}),
    (GOOD, "/parameters", {"a": 1, "b_2": "a/2"}), (GOOD, "/measures", {"x y": "1 + t", "z": {"max": "energy.total"}}),
    (GOOD, "/stop", [{"name": "late", "when": "t > 3"}]), (GOOD, "/measures", {}), (GOOD, "/stop", []),
    (GOOD, "/bodies/1/ignores", ["ground"]), (GOOD, "/bodies/1/shapes/0", TETRAHEDRON),
    (GOOD, "/bodies/1/shapes/0", {**TETRAHEDRON, "decompose": True}),
    (GOOD, "/bodies/1/shapes/0", {**TETRAHEDRON, "type": "polyhedron", "collides": False}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "collides": False,
                                  "vertices": TETRAHEDRON["vertices"]}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "solid": "icosahedron", "radius": 1,
                                  "collides": False}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "solid": "prism", "radius": 1, "sides": 5,
                                  "length": 2, "visual": True}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "solid": "block", "size": [1, 2, 3],
                                  "collides": False}),
    (GOOD, "/bodies/2/shapes/0", {"type": "cylinder", "radius": 1, "length": 0.5}),
    (GOOD, "/bodies/2/shapes/0", {"type": "ellipsoid", "radii": [1, 2, 3]}),
    (GOOD, "/bodies/2/shapes/0", {"type": "superquadric", "radii": [1, 2, 3], "exponents": [4, 1.5]}),
    (GOOD, "/bodies/1/shapes/0/collides", False), (GOOD, "/bodies/1/shapes/0/visual", False),
    (GOOD, "/bodies/2/shapes/0/visual", True),
    (GOOD, "/bodies/2/shapes/0", {**TETRAHEDRON, "faces": [[0, 1, 2]], "visual": True,
                                  "source": "a.stl"}),
    (GOOD, "/description", "words"), (GOOD, "/$schema", "x"), (GOOD, "/friction/cone", "none"),
    (GOOD, "/friction/cone", "polygon"), (GOOD, "/friction/cone", "quadratic"),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_r": 0.1, "default": 0.2}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_t": 0.5, "e_o": 2, "e_r": 0.1}),
    (GOOD, "/rotation", "linear"), (GOOD, "/margin", 0), (GOOD, "/allow_overlap", True),
    (GOOD, "/joint_correction", False), (GOOD, "/joint_correction", True), (GOOD, "/joints", []), (GOOD, "/restitution", 0), (GOOD, "/step", {"error": 1e-3}), (GOOD, "/step", {"error": 1e-3, "initial": 0.01, "min": 1e-6, "max": 0.05}), (GOOD, "/restitution", 0.5), (GOOD, "/restitution", {"law": "poisson", "e": 1}),
    (GOOD, "/restitution", {"e": 0.2}), (GOOD, "/bodies/1/restitution", 1), (GOOD, "/friction/pairs/0/restitution", 0.3),
    (GOOD, "/record", {"every": 10}), (GOOD, "/solver", {"type": "lemke"}),
    (GOOD, "/stepper", {"type": "stewart-trinkle"}), (GOOD, "/bodies/1/color", "#00ff7f"),
    (GOOD, "/bodies/1/color", [0, 0.5, 1]), (GOOD, "/bodies/1/inertia", [1, 1, 1]),
    (GOOD, "/bodies/1/inertia", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    (GOOD, "/bodies/1/orientation", [2, 0, 0, 0]), (GOOD, "/bodies/1/axis_angle", [0, 0, 1, 3]),
    (GOOD, "/bodies/1/collides_with", []), (GOOD, "/bodies/1/gravity", [0, 0, 0]),
    (GOOD, "/bodies/1/surface_velocity", ["t", 0, 1]),
    (GOOD, "/bodies/1/shapes/0/surface_velocity", [0, "2*t", 1]),
    (GOOD, "/bodies/1/shapes/0/friction", 0.5),
    (GOOD, "/bodies/2/motion", {"velocity": [0, 0, "t"]}),
    (GOOD, "/bodies/2/motion", {"axis_angle": [0, 0, 1, "t"], "position": [9, 0, 0]}),
    (GOOD, "/bodies/2/motion", {"table": [[0, 9, 0, 0], [1, 9, 0, 1]], "interpolation": "cubic"}),
    (GOOD, "/bodies/2/motion", {"table": [[0, 9, 0, 0, 1, 0, 0, 0]], "max_angular_speed": 1}),
    (GOOD, "/bodies/2/motion", {"position": [{"points": [[0, 9], [1, 10]]}, 0, 0], "max_speed": 2}),
    (GOOD, "/forces", [{"type": "spring", "a": "world", "b": "ball", "at_a": [0, 0, 3], "stiffness": 12,
                        "damping": 1, "rest": 0, "isotropic": True, "implicit": False},
                       {"type": "drag", "body": "ball", "linear": 1, "angular": 2}]),
    (GOOD, "/controllers", [{"type": "pid", "name": "c", "body": "ball", "axis": [1, 0, 0], "kp": 1,
                             "ki": 2, "kd": 3, "target": "cubic(t, 0,0, 1,1)", "max_effort": 5}]),
    (PLANAR, "/forces", [{"type": "spring", "a": "ground", "b": "disc", "at_a": [0, 3], "damping": 1}]),
    (PLANAR, "/controllers", [{"type": "pd", "body": "disc", "axis": [1, 0], "kd": 1,
                               "target": {"points": [[0, 0], [1, 2]], "interpolation": "quintic"}}]),
    (PLANAR, "/bodies/1/velocity", [1, 2]), (PLANAR, "/friction", {"cone": "quadratic"}),
    (PLANAR, "/bodies/1/shapes/0/angle", 1),
    (PLANAR, "/bodies/1/support", SUPPORT), (PLANAR, "/bodies/1/support", {**SUPPORT, "mu": [0.1, 0, 1]}),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "gravity": 1.6}),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "load": 3}), (PLANAR, "/contact", "disjunctive"),
]

HINGE = {"name": "j", "type": "revolute", "a": "world", "b": "ball", "at": [0, 0, 0], "axis": [0, 1, 0]}
PIN = {"name": "j", "type": "revolute", "a": "world", "b": "disc", "at": [0, 0]}


def with_joint(base, joint, **change):
    joint = {**joint, **change}
    return (base, "/joints", [{k: v for k, v in joint.items() if v is not REMOVE}])


ACCEPTED += [
    with_joint(GOOD, HINGE), with_joint(GOOD, HINGE, limits=[-1, 2]), with_joint(PLANAR, PIN),
    with_joint(GOOD, HINGE, limits=[None, 2], start=1, friction=1, damping=2, collide=True),
    with_joint(GOOD, HINGE, motor={"type": "position", "target": "sin(t)", "max_effort": 3}),
    with_joint(GOOD, HINGE, motor={"type": "velocity", "target": 1}),
    with_joint(GOOD, HINGE, at=REMOVE, at_a=[0, 0, 2], at_b=[0, 0, 0]),
    with_joint(GOOD, HINGE, type="spherical", axis=REMOVE), with_joint(GOOD, HINGE, type="planar"),
    with_joint(GOOD, HINGE, type="cylindrical"), with_joint(GOOD, HINGE, type="fixed", at=REMOVE),
    with_joint(GOOD, HINGE, type="universal", axis2=[0, 0, 3]),
    with_joint(GOOD, HINGE, type="rope", at=REMOVE, length=3),
    with_joint(GOOD, HINGE, type="rope", at=REMOVE, at_a=[0, 0, 0], at_b=[0, 0, 0]),
    with_joint(PLANAR, PIN, type="prismatic", axis=[1, 1]), with_joint(PLANAR, PIN, type="fixed"),
]

REFUSED = [
    with_joint(GOOD, HINGE, name=REMOVE), with_joint(GOOD, HINGE, type="hinge"),
    with_joint(GOOD, HINGE, a=REMOVE), with_joint(GOOD, HINGE, at=REMOVE),
    with_joint(GOOD, HINGE, axis=REMOVE), with_joint(GOOD, HINGE, at_a=[0, 0, 0]),
    with_joint(GOOD, HINGE, at=REMOVE, at_a=[0, 0, 0]), with_joint(GOOD, HINGE, at=[0, 0]),
    with_joint(GOOD, HINGE, friction=-1), with_joint(GOOD, HINGE, damping=-1),
    with_joint(GOOD, HINGE, limits=[1]), with_joint(GOOD, HINGE, limits=["a", 1]),
    with_joint(GOOD, HINGE, motor={"type": "position"}), with_joint(GOOD, HINGE, motor={}),
    with_joint(GOOD, HINGE, motor={"type": "torque", "target": 1}),
    with_joint(GOOD, HINGE, motor={"type": "position", "target": 1, "max_effort": -1}),
    with_joint(GOOD, HINGE, type="spherical", limits=[-1, 1]), with_joint(GOOD, HINGE, colour=1),
    with_joint(GOOD, HINGE, type="spherical", friction=1), with_joint(GOOD, HINGE, collide=1),
    with_joint(GOOD, HINGE, type="rope"), with_joint(GOOD, HINGE, type="rope", at=REMOVE, length=0),
    with_joint(PLANAR, PIN, type="spherical"), with_joint(PLANAR, PIN, type="prismatic"),
    with_joint(PLANAR, PIN, at=[0, 0, 0]),
    (GOOD, "/bodies", REMOVE), (GOOD, "/bodies", []), (GOOD, "/bodies", {}), (GOOD, "/nam", "x"),
    (GOOD, "/parameters", {"t": 1}), (GOOD, "/parameters", {"2a": 1}), (GOOD, "/parameters", []),
    (GOOD, "/parameters", {"a": True}), (GOOD, "/measures", {"x": 1}), (GOOD, "/measures", {"x": {}}), (GOOD, "/measures", []),
    (GOOD, "/measures", {"x": {"max": "1", "min": "1"}}), (GOOD, "/measures", {"x": {"sum": "1"}}),
    (GOOD, "/measures", {"x": {"mean": "1", "every": 1}}), (GOOD, "/measures", {"x": {"max": "1", "over": 1}}),
    (GOOD, "/measures", {"x": {"most": "1"}}), (GOOD, "/measures", {"": "1"}),
    (GOOD, "/stop", {}), (GOOD, "/stop", [{"name": "a"}]), (GOOD, "/stop", [{"name": "end", "when": "1"}]),
    (GOOD, "/stop", [{"name": "a", "when": 1}]), (GOOD, "/stop", [{"name": "a", "when": "1", "then": 2}]),
    (GOOD, "/name", 1), (GOOD, "/dimension", 4), (GOOD, "/dimension", "3"), (GOOD, "/step", 0),
    (GOOD, "/step", -1), (GOOD, "/step", True), (GOOD, "/step", {"error": 0}), (GOOD, "/step", {"max": 1}), (GOOD, "/step", {"error": 1e-3, "largest": 1}),
    (GOOD, "/duration", 0), (GOOD, "/gravity", [0, -9.81]), (GOOD, "/gravity", 9.81),
    (GOOD, "/gravity", [0, 0, None]), (GOOD, "/stepper", 1), (GOOD, "/solver", {}),
    (GOOD, "/solver", {"type": "lemke", "tol": None}), (GOOD, "/contact", {"type": "standard", "x": 1}),
    (GOOD, "/friction", 0.5), (GOOD, "/friction/cone", "square"), (GOOD, "/friction/directions", 2),
    (GOOD, "/friction/directions", 3.5), (GOOD, "/friction/directions", 1001),
    (GOOD, "/friction/default", -1), (GOOD, "/friction/mu", 1), (GOOD, "/friction/e_t", 1),
    (GOOD, "/friction/e_r", 1), (GOOD, "/friction/cone", "ellipsoid"), (GOOD, "/friction/cone", 1),
    (GOOD, "/friction", {"cone": "quadratic", "e_o": 1}),
    (GOOD, "/friction", {"cone": "polygon", "e_r": 1}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_t": 1, "e_o": 1}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_r": 0}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_r": -1}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_r": []}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_r": 1, "e_t": 0}),
    (GOOD, "/friction", {"cone": "ellipsoid", "e_r": 1, "e_o": -1}),
    (GOOD, "/friction/pairs/0/mu", -0.1), (GOOD, "/friction/pairs/0/directions", 2),
    (GOOD, "/friction/pairs/0/a", REMOVE), (GOOD, "/restitution", 1.5), (GOOD, "/restitution", {"law": "newton"}),
    (GOOD, "/restitution", {"law": "hooke", "e": 1}), (GOOD, "/restitution", {"e": -1}), (GOOD, "/restitution", True),
    (GOOD, "/controllers", [{}]), (GOOD, "/controllers", [{"type": "pd", "body": "ball", "axis": [1, 0, 0], "kp": 1}]),
    (GOOD, "/controllers", [{"type": "pd", "body": "ball", "kp": 1, "target": 0}]),
    (GOOD, "/controllers", [{"type": "pd", "body": "ball", "axis": [0, 0, 0], "kp": 1, "target": 0}]),
    (GOOD, "/controllers", [{"type": "pd", "body": "ball", "axis": [1, 0, 0], "kp": 0, "target": 0}]),
    (GOOD, "/controllers", [{"type": "pd", "body": "ball", "axis": [1, 0, 0], "kp": 1, "ki": 1, "target": 0}]),
    (GOOD, "/controllers", [{"type": "pid", "body": "ball", "axis": [1, 0, 0], "kp": 1, "target": {"points": []}}]),
    (GOOD, "/forces", [{"type": "spring", "a": "world", "b": "ball"}]),
    (GOOD, "/forces", [{"type": "spring", "a": "world", "stiffness": 1}]),
    (GOOD, "/forces", [{"type": "spring", "a": "world", "b": "ball", "stiffness": -1}]),
    (GOOD, "/forces", [{"type": "spring", "a": "world", "b": "ball", "stiffness": 1, "at_a": [0, 0]}]),
    (GOOD, "/forces", [{"type": "drag", "body": "ball", "linear": -1}]),
    (GOOD, "/forces", [{"type": "drag", "linear": 1}]),
    (GOOD, "/bodies/2/motion", {"table": []}), (GOOD, "/bodies/2/motion", {"table": [[0, 1]]}),
    (GOOD, "/bodies/2/motion", {"max_speed": 1}),
    (GOOD, "/bodies/2/motion", {"position": [0, 0, 0], "max_speed": 0}),
    (GOOD, "/bodies/2/motion", {"table": [[0, 1, 2, 3]], "interpolation": "x"}), (GOOD, "/joint_correction", 1),
    (GOOD, "/rotation", "cubic"),
    (GOOD, "/margin", -1), (GOOD, "/tolerance", 0), (GOOD, "/allow_overlap", 1),
    (GOOD, "/record", {"every": 0}), (GOOD, "/record", {"each": 1}),
    (GOOD, "/forces/0/type", "spring"), (GOOD, "/forces/0/type", "drag"),
    (GOOD, "/forces/0/type", REMOVE), (GOOD, "/forces/0/body", REMOVE),
    (GOOD, "/forces/0/force", [0, 0]), (GOOD, "/forces/0/frame", "moon"),
    (GOOD, "/forces/0/torque", 1), (GOOD, "/bodies/1/name", REMOVE), (GOOD, "/bodies/1/name", ""),
    (GOOD, "/bodies/1/type", "fixed"), (GOOD, "/bodies/1/masss", 1), (GOOD, "/bodies/1/mass", -1),
    (GOOD, "/bodies/1/mass", 0), (GOOD, "/bodies/1/mass", True), (GOOD, "/bodies/1/mass", None),
    (GOOD, "/bodies/1/mass", REMOVE), (GOOD, "/bodies/1/density", 1),
    (GOOD, "/bodies/1/inertia", [1, 1]), (GOOD, "/bodies/1/inertia", 1),
    (GOOD, "/bodies/1/inertia", [[1, 0, 0], [0, 1], [0, 0, 1]]),
    (GOOD, "/bodies/1/position", [0, 2]), (GOOD, "/bodies/1/position", [True, 0, 0]),
    (GOOD, "/bodies/1/orientation", [0, 0, 0, 0]), (GOOD, "/bodies/1/orientation", [1, 0, 0]),
    (GOOD, "/bodies/1/axis_angle", [0, 0, 0, 1]), (GOOD, "/bodies/1/angle", 1),
    (GOOD, "/bodies/1/velocity", 1), (GOOD, "/bodies/1/angular_velocity", 1),
    (GOOD, "/bodies/1/friction", -0.5), (GOOD, "/bodies/1/gravity", True),
    (GOOD, "/bodies/1/color", "red"), (GOOD, "/bodies/1/color", [0, 0, 2]),
    (GOOD, "/bodies/1/collides_with", "ground"), (GOOD, "/bodies/1/collides_with", [1]),
    (GOOD, "/bodies/1/motion", {"position": [0, 0, 0]}), (GOOD, "/bodies/2/motion", {}),
    (GOOD, "/bodies/2/motion", {"position": [0, 0, 0], "velocity": [0, 0, 0]}),
    (GOOD, "/bodies/2/motion", {"acceleration": {}}), 
    (GOOD, "/bodies/2/motion", {"position": [True, 0, 0]}), (GOOD, "/bodies/1/shapes", {}),
    (GOOD, "/bodies/1/shapes/0", 3), (GOOD, "/bodies/1/shapes/0/type", "circle"),
    (GOOD, "/bodies/1/shapes/0/type", "cylinder"), (GOOD, "/bodies/1/shapes/0/type", "ellipsoid"),  # without its radii
   
    (GOOD, "/bodies/1/ignores", "ground"),     (GOOD, "/bodies/1/shapes/0", {"type": "cylinder", "radius": 1}),
    (GOOD, "/bodies/1/shapes/0", {"type": "cylinder", "radius": 1, "length": 0}),
    (GOOD, "/bodies/1/shapes/0/visual", 1), (GOOD, "/bodies/1/shapes/0/collides", "no"),
    (GOOD, "/bodies/1/shapes", [{"type": "sphere", "radius": 1, "visual": True, "collides": True}]),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "solid": "block", "radius": 1}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "solid": "cube", "radius": 1, "sides": 4}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "solid": "prism", "radius": 1, "length": 1}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron", "vertices": [[0, 0, 0]], "radius": 1}),
    (GOOD, "/bodies/1/shapes/0", {"type": "polyhedron"}),
    (GOOD, "/bodies/1/shapes/0", {**TETRAHEDRON, "scale": 2}),
    (GOOD, "/bodies/1/shapes/0", {**TETRAHEDRON, "file": "x.stl"}),
    (GOOD, "/bodies/1/shapes/0", {**TETRAHEDRON, "faces": [[0, 1]]}),
    (GOOD, "/bodies/1/shapes/0", {"type": "mesh", "collides": False}), (GOOD, "/bodies/1/shapes/0/type", "spher"),
    (GOOD, "/bodies/1/shapes/0/radius", REMOVE), (GOOD, "/bodies/1/shapes/0/radius", 0),
    (GOOD, "/bodies/1/shapes/0/size", [1, 1, 1]), (GOOD, "/bodies/0/shapes/0/normal", [0, 0, 0]),
    (GOOD, "/bodies/0/shapes/0/offset", True), (GOOD, "/bodies/2/shapes/0/size", [1, 0, 1]),
    (GOOD, "/bodies/1/compliance", {}), (GOOD, "/bodies/1/support", {}),
    (GOOD, "/bodies/1/compliance", {"stiffness": -1}), (GOOD, "/bodies/1/compliance", {"stiffness": True}),
    (GOOD, "/bodies/1/compliance", {"stiffness": [[1, 0], [0, 1]]}),
    (GOOD, "/bodies/1/compliance", {"stiffness": 1, "max_deflection": 0}),
    (GOOD, "/bodies/1/compliance", {"stiffness": 1, "patch": {}}),
    (GOOD, "/bodies/1/compliance", {"stiffness": 1, "patch": {"spacing": 0}}),
    (GOOD, "/bodies/1/compliance", {"stiffnes": 1}),
    (GOOD, "/bodies/1/restitution", -0.1), (GOOD, "/friction/pairs/0/restitution", 2),
    (PLANAR, "/gravity", [0, 0, -9.81]), (PLANAR, "/bodies/1/position", [0, 2, 0]),
    (PLANAR, "/bodies/1/inertia", [1, 1, 1]), (PLANAR, "/bodies/1/inertia", 0),
    (PLANAR, "/bodies/1/orientation", [1, 0, 0, 0]), (PLANAR, "/bodies/1/angular_velocity", [0, 0, 1]),
    (PLANAR, "/bodies/1/shapes/0/type", "sphere"), (PLANAR, "/friction", {"directions": 1}),
    (PLANAR, "/bodies/0/shapes/0/normal", [0, 0]),
    (GOOD, "/bodies/1/support", SUPPORT), (PLANAR, "/bodies/0/support", SUPPORT),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "mu": -1}), (PLANAR, "/bodies/1/support", {"tripod": [[1, 0]], "mu": 1}),
    (PLANAR, "/bodies/1/support", {"tripod": SUPPORT["tripod"]}), (PLANAR, "/bodies/1/support", []),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "mu": [1, 1]}), (PLANAR, "/bodies/1/support", {**SUPPORT, "mass": 1}),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "gravity": 0}), (PLANAR, "/bodies/1/support", {**SUPPORT, "load": -1}),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "load": 1, "gravity": 1}),
    (PLANAR, "/bodies/1/support", {**SUPPORT, "tripod": [[1, 0], [0, 1], [0, 1, 0]]}),
]


def main():
    with open(os.path.join(SOURCE, "docs/schema/scene.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        check(True, "")
    except jsonschema.SchemaError as error:
        check(False, f"the schema is not a schema: {error.message}")
    validator = jsonschema.Draft202012Validator(schema)

    scenes = sorted(glob.glob(os.path.join(SOURCE, "scenes", "**", "*.json"),
                              recursive=True))
    scenes = [p for p in scenes if os.sep + "studies" + os.sep not in p]  # these are no scenes
    check(len(scenes) >= 10, "scenes/ has scenes")
    for path in scenes:
        with open(path, encoding="utf-8") as f:
            document = json.loads(strip_comments(f.read()))
        errors = [f"/{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}"
                  for e in validator.iter_errors(document)]
        check(not errors, f"{os.path.basename(path)} against the schema: {errors}")
        run = subprocess.run([PERP, "check", path], capture_output=True, text=True, timeout=60)
        check(run.returncode == 0, f"perp check {os.path.basename(path)}: {run.stderr.strip()}")

    for base, pointer, value in [(GOOD, "/name", "good"), (PLANAR, "/name", "planar")] + ACCEPTED:
        document = edit(base, pointer, value)
        what = f"{pointer} = {json.dumps(value)}"
        errors = [e.message for e in validator.iter_errors(document)]
        check(not errors, f"the schema refuses {what}: {errors}")
        run = perp_check(document)
        check(run.returncode == 0, f"perp check refuses {what}: {run.stderr.strip()}")

    for base, pointer, value in REFUSED:
        document = edit(base, pointer, value)
        what = f"{pointer} {'removed' if value is REMOVE else '= ' + json.dumps(value)}"
        check(not validator.is_valid(document), f"the schema accepts {what}")
        run = perp_check(document)
        check(run.returncode == 2, f"perp check gives {run.returncode}, not 2, for {what}")
        check("scene.json: " in run.stderr, f"no file in the message for {what}: {run.stderr!r}")

    print(f"schema_test: {passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
