"""Makes a failing scene smaller while it still fails in the same class and kind."""
import copy
import time

import _runner


def without_body(scene, name):
    s = copy.deepcopy(scene)
    s["bodies"] = [b for b in s["bodies"] if b["name"] != name]
    gone = {j["name"] for j in s.get("joints", []) if name in (j.get("a"), j.get("b"))}
    gone |= {j["name"] for j in s.get("joints", []) if not gone.isdisjoint(j.get("joints", []))}  # gears
    s["joints"] = [j for j in s.get("joints", []) if j["name"] not in gone]
    s["forces"] = [f for f in s.get("forces", []) if name not in (f.get("body"), f.get("a"), f.get("b"))]
    s["controllers"] = [c for c in s.get("controllers", [])
                        if c.get("joint") not in gone and c.get("body") != name]
    pairs = s.get("friction", {}).get("pairs")
    if pairs:
        s["friction"]["pairs"] = [p for p in pairs if name not in (p["a"], p["b"])]
    for b in s["bodies"]:
        if name in b.get("ignores", []):
            b["ignores"] = [n for n in b["ignores"] if n != name]
    for key in ("joints", "forces", "controllers"):
        if not s[key]:
            del s[key]
    return s


def edits(scene):
    """Candidates, the most telling first; each is a scene of its own."""
    def changed(edit):
        s = copy.deepcopy(scene)
        edit(s)
        return s

    def drop(*path):
        def edit(s):
            for key in path[:-1]:
                s = s[key]
            del s[path[-1]]
        return changed(edit)

    def put(value, *path):
        def edit(s):
            for key in path[:-1]:
                s = s[key]
            s[path[-1]] = value
        return changed(edit)

    if len(scene["bodies"]) > 1:
        # Without inertia a weight that nothing carries has no solution: another failure.
        carries = scene.get("stepper") == "quasistatic" and any(scene.get("gravity", []))
        for b in scene["bodies"]:
            if carries and b.get("type") == "static":
                continue
            yield without_body(scene, b["name"])
    for key in ("controllers", "joints", "forces"):
        for i, entry in enumerate(scene.get(key, [])):
            def edit(s, key=key, i=i, entry=entry):
                del s[key][i]
                if key == "joints":
                    s["joints"] = [j for j in s["joints"] if entry["name"] not in j.get("joints", [])]
                    s["controllers"] = [c for c in s.get("controllers", [])
                                        if c.get("joint") != entry["name"]]
                    if not s["controllers"]:
                        del s["controllers"]
                if not s[key]:
                    del s[key]
            yield changed(edit)
    step = scene["step"]
    h = step if not isinstance(step, dict) else step.get("initial", 0.01)
    steps = scene["duration"] / h
    if steps > 1.5:
        for part in (0.25, 0.5, 0.75, 0.9):
            n = max(1, int(steps * part))
            if n < steps:
                yield put(n * h, "duration")
    if abs(steps - round(steps)) > 1e-9:
        yield put(round(steps) * h, "duration")
    if isinstance(step, dict):
        yield put(h, "step")
    for key in ("restitution", "joint_correction", "rotation", "margin"):
        if key in scene:
            yield drop(key)
    if scene.get("friction", {}).get("default", 0) or "pairs" in scene.get("friction", {}):
        yield put({"cone": "none"}, "friction")
        yield put({"cone": "quadratic", "default": scene["friction"].get("default", 0.5)}, "friction")
    if isinstance(scene.get("contact"), dict):
        yield put(scene["contact"]["type"], "contact")
    if scene.get("contact", "standard") != "standard":
        yield put("standard", "contact")
    if scene.get("stepper", "stewart-trinkle") != "stewart-trinkle":
        yield put("stewart-trinkle", "stepper")
    if any(scene.get("gravity", [])):
        yield put([0.0] * scene["dimension"], "gravity")
    for i, b in enumerate(scene["bodies"]):
        for key in ("compliance", "surface_velocity", "friction", "gravity", "ignores", "support",
                    "restitution", "angular_velocity", "velocity"):
            if key in b:
                yield drop("bodies", i, key)
        for key in ("orientation", "angle"):
            if key in b:
                yield drop("bodies", i, key)
        if b.get("type") == "kinematic" and "motion" in b:
            def still(s, i=i):
                del s["bodies"][i]["motion"]
                s["bodies"][i]["type"] = "static"
            yield changed(still)
        shapes = b.get("shapes", [])
        if len(shapes) > 1:
            for k in range(len(shapes)):
                def remove(s, i=i, k=k):
                    del s["bodies"][i]["shapes"][k]
                yield changed(remove)
        if "inertia" in b and shapes and shapes[0]["type"] in ("polygon", "polyhedron", "mesh",
                                                               "superellipse", "superquadric"):
            size = max((abs(x) for v in shapes[0].get("vertices", []) for x in v), default=0.0) or \
                max(shapes[0].get("radii", [shapes[0].get("radius", 0.0)]))
            if size:
                box = {"type": "box", "size": [float(f"{1.2 * size:.3g}")] * scene["dimension"]}
                yield put([box], "bodies", i, "shapes")
    for i, j in enumerate(scene.get("joints", [])):
        for key in ("limits", "friction", "damping", "motor", "collide"):
            if key in j:
                yield drop("joints", i, key)
    for i, f in enumerate(scene.get("forces", [])):
        for key in ("damping", "isotropic", "implicit", "torque", "at", "rest"):
            if key in f and not (key == "damping" and "stiffness" not in f):
                yield drop("forces", i, key)

    def short(x, digits):
        if isinstance(x, float):
            return float(f"{x:.{digits}g}")
        if isinstance(x, list):
            return [short(y, digits) for y in x]
        if isinstance(x, dict):
            return {k: (v if k in ("duration", "step", "faces") else short(v, digits))
                    for k, v in x.items()}
        return x
    for digits in (3, 6):
        other = short(scene, digits)
        if other != scene:
            yield other


def shrink(scene, result, resume, verify, runs=250, seconds=60.0):
    """(smaller scene, its result)."""
    want = result.key()[:2]
    resume, verify = resume and want[1] == "resume", verify and want[1] == "verify"
    end = time.process_time() + seconds
    deadline = time.monotonic() + 2 * seconds
    done = 0
    improved = True
    while improved:
        improved = False
        for candidate in edits(scene):
            if done >= runs or time.monotonic() > deadline or time.process_time() > end:
                return scene, result
            done += 1
            try:
                tried = _runner.run_scene(candidate, resume, verify)
            except Exception:
                continue
            if any((c, k) == want for c, k, _ in tried.found):
                scene, result, improved = candidate, tried, True
                break
    return scene, result
