"""Recordings, rollouts, solves and sweeps from Python."""
from _helper import SOURCE, main, python, raises, scene, slide, test

import gc
import json
import math
import os
import pickle
import signal
import subprocess
import threading

import numpy as np
import perp

# ---- recordings ----


@test
def a_run_is_a_recording_of_lazy_arrays():
    r = perp.run(slide())
    path = r.path
    assert not r._cache and len(r) == 101 and r.complete and r.finished
    assert r.time.shape == (101,) and r.q.shape == (101, 2, 3) and r.v.shape == (101, 2, 3)
    assert np.array_equal(r["box.position.x"], r.q[:, 1, 0]) and r["box.position"].shape == (101, 2)
    assert np.array_equal(r.energy["total"], r["energy.total"])
    assert r.certificate["worst"].max() < 1e-8 and r.sim.measures["x"] == r.q[-1, 1, 0]
    c = r.contacts(-1)
    assert c.dtype == r.sim.contacts.dtype and len(c) == 2
    assert np.array_equal(c["impulse"], r.sim.contacts["impulse"])
    assert r.verify()["same_bits"] and r.verify()["intact"]
    raises(IndexError, r.contacts, 101), raises(perp.InputError, r.__getitem__, "boxx.position")
    r.save("kept.h5")
    del r
    gc.collect()
    assert not os.path.exists(path) and len(perp.open_recording("kept.h5")) == 101
    error = raises(perp.Error, perp.open_recording, "no.h5")
    assert error.file == "no.h5"


@test
def a_recording_is_a_dataframe():
    r = perp.run(slide())
    columns = r.to_dict(["box.position", "energy.total"])
    assert list(columns) == ["time", "box.position.x", "box.position.y", "energy.total"]
    try:
        import pandas
    except ImportError:
        raises(ImportError, r.to_dataframe)
        return
    frame = r.to_dataframe(["box.position"])
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["box.position.x", "box.position.y"]
    assert frame.index.name == "time" and len(frame) == 101


@test
def a_run_that_raises_leaves_a_readable_recording():
    def stop(sim):
        if sim.time > 0.1:
            raise KeyError("enough")

    raises(KeyError, perp.run, slide(), out="cut.h5", on_step=stop)
    cut = perp.open_recording("cut.h5")
    assert not cut.finished and "exception" in cut.note and 11 <= len(cut) <= 13, len(cut)
    sim = perp.Sim(slide())
    sim.restore_frame(cut)
    assert math.isclose(sim.time, cut.time[-1])
    error = raises(perp.Error, perp.run, slide(), out="no/such/folder.h5")
    assert isinstance(error, perp.Error)


@test
def figures_are_drawn_where_matplotlib_is():
    r = perp.run(slide())
    try:
        import matplotlib
    except ImportError:
        raises(ImportError, r.plot, "box.position")
        return
    matplotlib.use("Agg")
    axes = r.plot("box.position", "energy.total")
    assert len(axes.get_lines()) == 3
    axes.figure.savefig("figure.png")


# ---- rollouts ----

MUS = [0.05 + 0.01 * i for i in range(40)]


def one_by_one(scene, name, values):
    results = []
    for value in values:
        sim = perp.Sim(scene.set({name: value}))
        sim.run()
        results.append((sim.q.copy(), sim.v.copy(), sim.measures))
    return results


@test
def a_rollout_has_the_bits_of_runs_one_by_one():
    s = perp.load(slide())
    single = one_by_one(s.copy(), "mu", MUS)
    for jobs in (1, 2, 5):
        r = perp.rollout(s, {"mu": MUS}, jobs=jobs)
        assert r.status == ["ok"] * 40 and r.outcome == ["end"] * 40
        assert all(np.array_equal(r.q[i], q) and np.array_equal(r.v[i], v) and r.measures["x"][i] == m["x"]
                   for i, (q, v, m) in enumerate(single)), jobs
    arm = perp.load(scene("controlled-arm"), set={"/duration": 0.2})
    masses = [0.3, 0.5, 0.8]
    single = one_by_one(arm.copy(), "/bodies/2/mass", masses)
    r = perp.rollout(arm, [{"/bodies/2/mass": m} for m in masses], jobs=3)
    assert all(np.array_equal(r.q[i], q) for i, (q, _, _) in enumerate(single))


@test
def rollouts_observe_and_fail_as_results():
    r = perp.rollout(slide(), {"mu": [0.1, -1.0, 0.3], "v": [1, 1, 2]}, observe=["box.position", "energy.total"])
    assert r.status == ["ok", "failed", "ok"] and "must be" in r.message[1], r.message
    assert r.observed[0].shape == (101, 3) and np.isnan(r.q[1]).all() and len(r) == 3
    sim = perp.Sim(slide(), mu=0.3, v=2)
    rows = [[*sim["box.position"], sim["energy.total"]]]
    while not sim.finished:
        sim.step()
        rows.append([*sim["box.position"], sim["energy.total"]])
    assert np.array_equal(r.observed[2], rows)
    raises(perp.InputError, perp.rollout, slide(), {"nu": [1]})
    raises(perp.InputError, perp.rollout, slide(), {"mu": [1]}, observe=["bax.position"])
    raises(ValueError, perp.rollout, slide(), {"mu": [1], "v": [1, 2]})
    raises(ValueError, perp.rollout, slide(), [{"mu": 1}, {"v": 1}])
    r = perp.rollout(slide(), {"mu": [0.1] * 3}, max_steps=5)
    assert r.status == ["timeout"] * 3 and list(r.steps) == [5, 5, 5]
    assert len(perp.rollout(slide(), {"mu": []})) == 0
    assert set(r.to_dict()) >= {"mu", "x", "status", "message"}


@test
def a_rollout_releases_the_gil():
    counted, done = 0, threading.Event()
    thread = threading.Thread(target=lambda: (perp.rollout(slide(), {"mu": MUS * 5}, jobs=1), done.set()))
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 1000, counted


# ---- solves ----

@test
def lcps_and_mlcps_from_any_kind_of_array():
    try:
        from scipy import sparse
    except ImportError:
        sparse = None
    rng = np.random.default_rng(3)
    A = rng.standard_normal((30, 30))
    M, q = A @ A.T + np.eye(30), rng.standard_normal(30)
    dense = perp.solve(M, q)
    assert dense.solved and dense.kind == "lcp" and dense.residual <= 1e-10
    w = M @ dense.z + q
    assert np.allclose(w, dense.w, atol=1e-12) and (dense.z >= 0).all() and abs(dense.z @ w) < 1e-8
    kinds = [M.tolist(), np.asfortranarray(M), M.astype("f8")]
    if sparse is not None:
        kinds += [sparse.csr_matrix(M), sparse.coo_matrix(M), sparse.csc_matrix(M)]
    for matrix in kinds:
        assert np.allclose(perp.solve(perp.LCP(matrix, q)).z, dense.z, atol=1e-8)
    free = perp.solve(perp.MLCP(M, q, -np.inf, np.inf))
    assert np.allclose(free.z, np.linalg.solve(M, -q))
    bounded = perp.solve(perp.MLCP(M, q, [-0.1] * 30, 0.1))
    assert bounded.solved and abs(bounded.z).max() <= 0.1 + 1e-12
    assert np.allclose(perp.solve(M, q, method="pgs", tolerance=1e-8).z, dense.z, atol=1e-5)
    assert "lemke" in perp.methods() and "lcp" in perp.methods()["lemke"][1]
    warm = perp.solve(M, q, start=dense.z)
    assert warm.solved
    raises(perp.InputError, perp.solve, M, q, method="lemk")
    raises(perp.InputError, perp.solve, M, np.full(30, np.nan))
    raises(ValueError, perp.solve, M[:, :3], q), raises(ValueError, perp.solve, M, q[:3])
    raises(TypeError, perp.solve, object())


@test
def friction_problems_by_hand_and_sparse():
    # one contact: u = r + q; sticks where |q_t| < mu, slides else
    stick = perp.solve(perp.Friction(np.eye(3), [-1, 0.2, 0.1], 0.3))
    assert stick.solved and np.allclose(stick.z, [1, -0.2, -0.1])
    slip = perp.solve(perp.Friction(np.eye(3), [-1, 3.0, 4.0], 0.5))
    assert np.allclose(slip.z, [1, -0.3, -0.4]) and np.allclose(slip.w, [0, 2.7, 3.6])
    planar = perp.solve(perp.Friction(np.eye(2), [-1, 3.0], 0.5, dimension=2))
    assert np.allclose(planar.z, [1, -0.5])
    try:
        from scipy import sparse
    except ImportError:
        return
    rng = np.random.default_rng(5)
    A = np.where(rng.random((30, 30)) < 0.2, rng.standard_normal((30, 30)), 0)
    W, q = A @ A.T + 3 * np.eye(30), rng.standard_normal(30) - 0.5
    a = perp.solve(perp.Friction(W, q, np.full(10, 0.4)))
    b = perp.solve(perp.Friction(sparse.csr_matrix(W), q, 0.4))
    assert a.solved and b.solved and np.array_equal(a.z, b.z)
    u = W @ a.z + q
    for i in range(0, 30, 3):  # the laws, by their definition
        n, t, un, ut = a.z[i], a.z[i + 1:i + 3], u[i], u[i + 1:i + 3]
        size, slip = np.hypot(*t), np.hypot(*ut)
        assert n >= -1e-9 and un >= -1e-9 and abs(n * un) < 1e-8 and size <= 0.4 * n + 1e-9
        assert slip < 1e-8 or np.allclose(t, -0.4 * n * ut / slip, atol=1e-7)
    raises(perp.InputError, perp.solve, perp.Friction(np.eye(3), [-1, 0, 0], -0.5))
    raises(ValueError, perp.solve, perp.Friction(np.eye(4), [-1, 0, 0, 0], 0.5))


@test
def bad_problems_say_what_does_not_fit():
    M, q = [[2, 1], [1, 2]], [-4, 1]
    assert list(perp.solve({"M": M, "q": q}).z) == [2, 0]
    assert list(perp.solve({"M": M, "q": q, "lower": np.int64(-1), "upper": np.float32(1)}).z) == [1, -1]
    assert perp.solve({"W": np.eye(3), "q": [-1, 3, 4], "mu": 0.5}).solved
    for expected, call in (("q: expected 2 numbers, got 1", lambda: perp.solve(M, [1])),
                           ("start: expected 2 numbers, got 3", lambda: perp.solve(M, q, start=[1, 2, 3])),
                           ("lower: expected 2 numbers, got 3", lambda: perp.solve(perp.MLCP(M, q, lower=[0, 0, 0]))),
                           ("W has 2 rows", lambda: perp.solve(perp.Friction(M, q, 0.5))),
                           ("mu: expected 1 numbers, got 2", lambda: perp.solve(perp.Friction(np.eye(3), [1, 2, 3], [1, 2])))):
        assert expected in str(raises(ValueError, call)), expected
    assert "complex" in str(raises(TypeError, perp.solve, np.array(M) * 1j, q))
    assert "M, q" in str(raises(TypeError, perp.solve, {"M": M, "b": q}))


@test
def problem_files_are_solved():
    folder = "problems"
    subprocess.run([os.environ["PERP"], "run", scene("stack"), "--duration", "0.05", "--json",
                    "--save-problems", folder + ":all"], check=True, stdout=subprocess.DEVNULL)
    name = os.path.join(folder, sorted(os.listdir(folder))[-1])
    solution = perp.solve(name)
    assert solution.solved and solution.kind == "contact" and len(solution.z) > 6, solution
    error = raises(perp.Error, perp.solve, "no.json")
    assert error.file == "no.json"


# ---- sweeps ----

@test
def a_sweep_is_that_of_the_program():
    study = os.path.join(SOURCE, "scenes", "studies", "slide-map.json")
    subprocess.run([os.environ["PERP"], "sweep", study, "--out", "cli.db", "--quiet", "--shard", "1/40"],
                   check=True)
    done = []
    mine = perp.sweep(study, "mine.db", jobs=2, shard=(1, 40), progress=lambda d, t: done.append((d, t)))
    other = perp.Results("cli.db")
    assert mine.report["ok"] == len(mine) == len(other) > 1 and done[-1][0] == len(mine)
    assert all(list(mine[c]) == list(other[c]) for c in mine.columns if c != "seconds"), mine.columns
    again = perp.sweep(study, "mine.db", jobs=2, shard=(1, 40), resume=True)
    assert again.report["found"] == len(mine)
    raises(perp.InputError, perp.sweep, study, "mine.db")


@test
def a_study_may_be_a_dict_with_a_scene():
    results = perp.sweep({"name": "s", "scene": slide(), "vary": {"mu": {"values": [0.1, 0.2]}, "v": {"grid": [1, 2, 2]}}},
                         "r.db", jobs=1)
    assert len(results) == 4 and results["x"][0] > results["x"][2] and "mu" in results.columns
    single = perp.rollout(slide(), {"mu": [0.1, 0.1, 0.2, 0.2], "v": [1, 2, 1, 2]})
    assert list(results["x"]) == list(single.measures["x"])
    assert [row["id"] for row in results] == [1, 2, 3, 4]
    error = raises(perp.InputError, perp.sweep, {"scene": slide(), "vary": {"nu": {"values": [1]}}}, "x.db")
    assert error.pointer and error.pointer.startswith("/vary"), error

    class Mine(Exception):
        pass

    def progress(done, total):
        raise Mine

    raises(Mine, perp.sweep, {"scene": slide(), "vary": {"mu": {"grid": [0, 1, 500]}}}, "y.db",
           progress=progress)


# ---- designs and gradients ----

DESIGN = {"unknown": {"v": {"start": 1, "bounds": [0.5, 3]}}, "minimise": "(x - 0.5)^2", "stop": {"evaluations": 60}}


@test
def a_design_finds_the_unknown():
    seen = []
    found = perp.design({"scene": slide(), **DESIGN}, "d.db", jobs=2, progress=lambda *a: seen.append(a))
    # v^2 / (2 mu g) = 0.5, but for half a step of the scheme
    assert abs(found.values["v"] - math.sqrt(2 * 0.3 * 9.81 * 0.5)) < 0.02 and found.value < 1e-9, found
    sim = perp.Sim(slide(), **found.values).run()
    assert (sim.measures["x"] - 0.5) ** 2 == found.value and found.feasible and seen
    assert len(found) >= len(found.evaluations["id"]) > 5 and "converged" in repr(found)
    error = raises(perp.InputError, perp.design, {"scene": slide(), **DESIGN, "unknown": {"w": {"start": 1}}}, "e.db")
    assert error.pointer.startswith("/unknown"), error
    raises(perp.InputError, perp.design, {"scene": slide(), "vary": {"mu": {"values": [1]}}}, "e.db")

    class Mine(Exception):
        pass

    def stop(*a):
        raise Mine

    raises(Mine, perp.design, {"scene": slide(), **DESIGN}, "f.db", progress=stop)


@test
def gradients_are_those_of_the_program():
    content = slide(duration=0.2)
    with open("s.json", "w") as f:
        json.dump(content, f)
    out = subprocess.run([os.environ["PERP"], "gradient", "s.json", "--of", "x", "--by", "mu,v", "--check", "--json"],
                         check=True, capture_output=True, text=True).stdout
    expected = json.loads(out)
    g = perp.gradient(content, "x", ["mu", "v"], check=True)
    assert g.gradient == expected["gradient"] and g.value == expected["value"]
    assert math.isclose(g.gradient["v"], 0.2, rel_tol=1e-9)  # the box slides all the time
    assert g.flagged["of"] == 20 and g.flagged["steps"] == expected["flagged"]["steps"]
    assert g.check["mu"][0] == expected["check"]["mu"]["difference"] and len(g.start["box"]) == 12
    forward = perp.gradient(content, "x", "mu", forward=True)
    assert math.isclose(forward.gradient["mu"], g.gradient["mu"], rel_tol=1e-9) and forward.start is None
    scene = perp.load(content)
    sim = perp.Sim(scene)
    perp.gradient(scene, "x", "mu")  # while a simulation of the scene exists
    out = subprocess.run([os.environ["PERP"], "gradient", "s.json", "--of", "x", "--by", "mu,v", "--smooth", "1e-3", "--json"],
                         capture_output=True, check=True)
    expected = json.loads(out.stdout)
    s = perp.gradient(content, "x", ["mu", "v"], smooth=1e-3)
    assert s.gradient == expected["gradient"] and s.value == expected["value"]
    flags = [x.pop("exact_flagged")["steps"] for x in (s.smoothed, expected["smoothed"])]
    assert s.smoothed == expected["smoothed"] and flags == [0, 0], (s.smoothed, expected["smoothed"])
    assert s.smoothed["exact_gradient"] == g.gradient and s.smoothed["bias"] == s.value - g.value and g.smoothed is None
    for bad in (0.0, -1.0, 1e-9, 2.0, math.nan):
        raises((ValueError, perp.InputError), perp.gradient, content, "x", "mu", smooth=bad)
    assert sim.run().measures["x"] == g.value
    raises(perp.InputError, perp.gradient, content, "y", "mu")
    raises(perp.InputError, perp.gradient, content, "x", "nu")


# ---- estimates ----

SLIDE = {"dimension": 2, "gravity": [0, -10], "step": 0.01, "duration": 1, "parameters": {"mu": 0.3},
         "friction": {"default": "mu"},
         "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                    {"name": "box", "mass": 1, "position": [0, 0.1], "velocity": [4, 0],
                     "shapes": [{"type": "box", "size": [0.3, 0.2]}]}]}


def slide_study(**changes):
    recording = perp.run(perp.load({**SLIDE, "parameters": {"mu": 0.25}}))
    table = {"t": [k / 100 for k in range(101)], "x": [float(x) for x in recording["box.position.x"]]}
    table["x"][40] = float("nan")  # a gap
    return {"scene": SLIDE, "data": table, "time": "t", "observe": {"x": "box.position.x"}, "noise": {"x": 1e-3},
            "unknown": {"mu": {"start": 0.5, "bounds": [0, 1]}}, **changes}


@test
def estimates_are_those_of_the_program_and_predict():
    study = slide_study()
    calls = []
    fit = perp.estimate(study, jobs=1, progress=lambda *values: calls.append(values))
    assert math.isclose(fit.values["mu"], 0.25, rel_tol=1e-8), fit.values
    low, high = fit.intervals["mu"]
    assert low < 0.25 < high and high - low < 1e-3
    assert "mu = 0.25" in repr(fit) and fit.report["status"] and fit.curves
    sim = perp.Sim(fit.scene)
    sim.run()
    assert math.isclose(sim.body("box").position[0], study["data"]["x"][-1], rel_tol=1e-7)
    errors = fit.predict({name: values[:60] for name, values in study["data"].items()})
    assert errors["curves"]
    perp._study._write_table(study["data"], "slide.csv")
    again = perp.estimate({**study, "data": "slide.csv"}, jobs=2)  # beside the present folder
    assert again.values == fit.values and again.intervals == fit.intervals
    fit.save("fitted.json")
    with open("scene.json", "w", encoding="utf-8") as file:
        json.dump(SLIDE, file)
    with open("study.json", "w", encoding="utf-8") as file:
        json.dump({**study, "scene": "scene.json", "data": "slide.csv"}, file)
    done = subprocess.run([os.environ["PERP"], "estimate", "study.json", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["estimates"]["mu"]["value"] == fit.values["mu"]
    assert perp.estimate("study.json").values == fit.values


@test
def bad_estimates_raise_with_the_place():
    error = raises(perp.InputError, perp.estimate, slide_study(observe={"x": "boks.position.x"}))
    assert error.pointer == "/observe/x", (error.pointer, str(error))
    raises(perp.InputError, perp.estimate, {"scene": SLIDE, "vary": {"mu": {"grid": [0, 1, 2]}}})
    study = slide_study()
    study["data"]["t"][7] = 0.0
    error = raises(perp.InputError, perp.estimate, study)
    assert str(error).startswith("data, row 7: time does not go forward") and not error.file and not error.pointer, error
    study["data"]["t"].pop()
    raises(ValueError, perp.estimate, study)
    raises(ValueError, perp.estimate, slide_study(), jobs=-1)
    raises(TypeError, perp.estimate, 5)  # no file descriptor
    error = raises(perp.InputError, perp.estimate, {k: v for k, v in slide_study().items() if k != "data"})
    assert error.file is None and error.pointer is None and str(error).startswith("study: has no /data"), error
    with open("bad.csv", "w", encoding="utf-8") as file:
        file.write("t,x\n0,1\n1,nan\n")
    error = raises(perp.InputError, perp.estimate, slide_study(data="bad.csv"))
    assert os.path.basename(error.file) == "bad.csv" and error.pointer is None and ":3:" in str(error), error
    error = raises(perp.InputError, perp.sweep, {"scene": SLIDE, "vary": {"nu": {"values": [1]}}}, "r.db")
    assert (error.file, error.pointer) == (None, "/vary/nu") and "scene: /parameters" in str(error), error


@test
def fitted_studies_predict_and_plan():
    study = slide_study()
    fit = perp.estimate({**study, "data": [study["data"], {k: v[:50] for k, v in study["data"].items()}]}, jobs=1)
    assert fit.converged and fit.report["residuals"]["trajectories"] == 2
    fit.save("fitted.json")
    new = {name: values[:60] for name, values in study["data"].items()}
    with open("fitted.json", encoding="utf-8") as file:
        content = json.load(file)
    found = [fit.predict(new), perp.predict("fitted.json", new), perp.predict(content, new)]
    assert found[0] == found[1] == found[2] and found[0]["position"] < 1e-9 and found[0]["failed"] == 0
    candidates = {"short": {"set": {"/bodies/1/velocity/0": 1}, "duration": 0.5, "rate": 100},
                  "long": {"set": {"/bodies/1/velocity/0": 4}, "duration": 1, "rate": 100}}
    plan = perp.plan({**study, "candidates": candidates, "start": "scene"})
    assert [c["name"] for c in plan["candidates"]] == ["long", "short"], plan


# ---- which interpreters ----

@test
def subinterpreters_and_free_threading_are_refused():
    code = """
try:
    import _interpreters as s
except ImportError:
    import _xxsubinterpreters as s
i = s.create()
try:
    done = s.run_string(i, "import perp") if hasattr(s, "run_string") else s.exec(i, "import perp")
    print(done)
except Exception as e:
    print(e)
"""
    assert "subinterpreter" in python(code), python(code)
    out = python("import sys; sys._is_gil_enabled = lambda: False\nimport perp", status=1)
    assert "free threading" in out, out
    out = python("import sys; sys._is_gil_enabled = lambda: False\n"
                 "import importlib.util as u\n"
                 "s = u.spec_from_file_location('perp._core', %r)\n"
                 "m = u.module_from_spec(s); s.loader.exec_module(m)" % perp._core.__file__, status=1)
    assert "free threading" in out, out


@test
def importing_perp_imports_little():
    out = python("import sys, perp; print([m for m in ('numpy', 'pandas', 'matplotlib', 'scipy', 'sqlite3', "
                 "'asyncio', 'unittest') if m in sys.modules])")
    assert out.strip() == "[]", out


@test
def parameters_of_configuration_copies_and_include_act_on_copies_of_a_scene():
    ball = {"name": "b", "mass": 1, "position": [1, 0, 2], "shapes": [{"type": "sphere", "radius": 0.1}]}
    base = {"step": 0.01, "duration": 0.05, "parameters": {"p": 0.3}}
    joint = {"name": "j", "type": "revolute", "a": "world", "b": "b", "at": [0, 0, 2], "axis": [0, 1, 0]}
    os.makedirs("below", exist_ok=True)
    with open("below/part.json", "w") as file:
        json.dump({"step": 0.01, "bodies": [ball], "joints": [joint]}, file)
    for rest, of in (({"bodies": [ball], "joints": [joint], "configuration": {"j": "p"}}, "b.position.x"),
                     ({"bodies": [{**ball, "copies": {"count": 2, "spacing": ["p", 0, 0]}}]}, "b.1.position.x"),
                     ({"include": [{"file": "part.json", "position": ["p", 0, 0]}]}, "b.position.x")):
        with open("below/whole.json", "w") as file:
            json.dump({**base, **rest, "measures": {"m": of}}, file)
        s = perp.load("below/whole.json")
        first = perp.Sim(s).run().measures["m"]
        expected = perp.Sim(perp.load("below/whole.json").set(p=0.4)).run().measures["m"]
        assert abs(expected - first) > 0.01
        assert perp.Sim(s, p=0.4).run().measures["m"] == expected
        assert list(perp.rollout(s, {"p": [0.3, 0.4]}).measures["m"]) == [first, expected]
        for other in (s.copy(), pickle.loads(pickle.dumps(s)), s.copy().set("/duration", 0.05)):
            keeps = perp.Sim(other)
            assert perp.Sim(other.set(p=0.4)).run().measures["m"] == expected and keeps.time == 0
        study = {"scene": s, "vary": {"p": {"grid": [0.3, 0.4, 2]}}}
        assert list(perp.sweep(study, f"{len(os.listdir())}.db", jobs=1)["m"]) == [first, expected]


@test
def wrong_arguments_are_refused_at_once():
    sim = perp.Sim(slide())
    raises(ValueError, sim.run, until=math.nan), raises(TypeError, sim.on_step, None)
    assert sim.time == 0.0
    one = perp.rollout(slide(), [{}], observe="box.position.x")
    assert one.observed[0].shape[1] == 1
    error = raises(perp.Error, perp.run, slide(), out="/no/such/folder/x.h5")
    assert error.file == "/no/such/folder/x.h5" and error.pointer is None and error.message.startswith("cannot write")


@test
def a_signal_ends_a_long_solve():
    def ring(*_):
        raise TimeoutError("ring")
    try:
        from scipy import sparse
    except ImportError:
        return
    n = 12000  # seconds, if it is not interrupted
    matrix = sparse.identity(n, format="csc")
    old = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        raises(TimeoutError, perp.solve, matrix, -np.ones(n))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


main("run_test")
