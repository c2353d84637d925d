#!/usr/bin/python3
"""`perp estimate`: closed forms and their intervals, what data cannot tell, gaps, outliers, sensors, many trajectories, the
same result for any number of workers, predictions, plans, bad data.

Environment: PERP, PERP_SOURCE.
"""
import copy
import json
import math
import os
import random

from _cli import FULL, SOURCE, h5py, main, perp, test
from _estimate import PARTICLE, SLIDE, STEP, STUDY, csv, estimate, noisy, particle, slide
from _study import write


def study(**change):
    out = copy.deepcopy(STUDY)
    for key, value in change.items():
        if value is None:
            del out[key]
        else:
            out[key] = value
    return out


def near(a, b, tolerance):
    assert abs(a - b) <= tolerance, (a, b, tolerance)


# ---- closed forms ---------------------------------------------------------------------------------

BALL = {"dimension": 2, "gravity": [0, "-g"], "step": STEP, "duration": 1, "parameters": {"g": 5, "m": 1},
        "bodies": [{"name": "ball", "mass": "m", "position": [0, 0], "velocity": [1, 2],
                    "shapes": [{"type": "circle", "radius": 0.1}]}]}


@test
def gravity_of_a_ballistic_flight_and_its_interval():
    sigma, t = 0.002, [0.013 * k for k in range(60)]  # between the steps, where positions are linear
    a = []
    for x in t:
        k = int(x / STEP + 1e-9)
        low, high = (STEP * STEP * j * (j + 1) / 2 for j in (k, k + 1))
        a.append(low + (x / STEP - k) * (high - low))
    draw = random.Random(5)
    y = [2 * x - 9.81 * b + draw.gauss(0, sigma) for x, b in zip(t, a)]
    csv("data.csv", ["t", "y"], [list(r) for r in zip(t, y)])
    found = estimate(study(observe={"y": "ball.position.y"}, noise=sigma, unknown={"g": {}}), scene=BALL)
    square = sum(b * b for b in a)
    best = -sum(b * (v - 2 * x) for b, v, x in zip(a, y, t)) / square
    g = found["estimates"]["g"]
    near(g["value"], best, 1e-9)
    near(g["standard_deviation"], sigma / math.sqrt(square), 1e-9)
    near(g["interval"][0], best - 1.959963985 * sigma / math.sqrt(square), 1e-8)
    assert g["identifiable"] and found["status"] == "converged" and found["unidentifiable"] == []


@test
def friction_of_a_sliding_block_and_its_interval():
    rows = noisy(slide(), 0.001, 1)
    csv("data.csv", ["t", "x", "v"], rows)
    found = estimate(study())
    a = [9.81 * r[0] * (r[0] + STEP) / 2 for r in rows]
    best = sum(b * (2 * r[0] - r[1]) for b, r in zip(a, rows)) / sum(b * b for b in a)
    near(found["estimates"]["mu"]["value"], best, 1e-9)
    near(found["estimates"]["mu"]["standard_deviation"], 0.001 / math.sqrt(sum(b * b for b in a)), 1e-9)
    assert found["derivatives"] == "forward" and found["iterations"] <= 6, found
    rms = found["residuals"]["channels"]["x"]["rms"]
    assert 0.0007 < rms < 0.0013, rms


@test
def noise_that_is_not_given_is_that_of_the_residuals():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.003, 2))
    found = estimate(study(noise=None))
    assert 0.002 < found["noise"]["x"]["value"] < 0.004 and not found["noise"]["x"]["given"]
    mu = found["estimates"]["mu"]
    near(mu["value"], 0.3, 4 * mu["standard_deviation"])
    near(mu["interval"][1] - mu["value"], 2.0086 * mu["standard_deviation"], 1e-3 * mu["standard_deviation"])


@test
def a_prior_counts_as_a_measurement():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.001, 1))
    plain = estimate(study())["estimates"]["mu"]
    prior = estimate(study(unknown={"mu": {"start": 0.3003, "prior": 0.001}}))["estimates"]["mu"]
    p, q = plain["standard_deviation"] ** -2, 0.001 ** -2
    near(prior["value"], (p * plain["value"] + q * 0.3003) / (p + q), 1e-8)
    near(prior["standard_deviation"], (p + q) ** -0.5, 1e-9)


# ---- [B09] table 7.1 ------------------------------------------------------------------------------

PRINTED = {5e-5: 301, 5e-4: 443, 5e-3: 19, 5e-2: 149, 5e-1: 96}  # iterations


@test
def table_of_the_particle():
    for known in (True, False):
        for epsilon, iterations in PRINTED.items():
            draw = random.Random(3)
            csv("data.csv", ["t", "x", "y"],
                [[r[0]] + [v + draw.uniform(-epsilon, epsilon) for v in r[1:]] for r in particle()])
            found = estimate(
                study(observe={"x": "p.position.x", "y": "p.position.y"}, noise=epsilon / math.sqrt(3),
                      unknown={"mu": {"start": 1, "bounds": [0, 1]}, **({} if known else {"initial": ["p"]})}),
                scene=PARTICLE)
            mu = found["estimates"]["mu"]
            bound = (5.4e-6 if known else 3e-5) * epsilon / 5e-3
            near(mu["value"], 0.2, 4 * bound)
            near(mu["standard_deviation"], bound, 0.05 * bound)
            assert found["status"] == "converged" and found["iterations"] < iterations, (epsilon, found["iterations"])


# ---- what data cannot tell ------------------------------------------------------------------------

@test
def the_mass_of_a_falling_body_cannot_be_told():
    for sigma in (1e-2, 1e-9):
        t = [STEP * k for k in range(60)]
        csv("data.csv", ["t", "y"], noisy([[x, 2 * x - 9.81 * x * (x + STEP) / 2] for x in t], sigma, 5))
        found = estimate(study(observe={"y": "ball.position.y"}, noise=sigma,
                               unknown={"m": {"start": 2}, "g": {"start": 9}}), scene=BALL)
        m, g = found["estimates"]["m"], found["estimates"]["g"]
        assert not m["identifiable"] and m["interval"] == [None, None] and m["standard_deviation"] is None, found
        assert g["identifiable"] and list(found["unidentifiable"][0]) == ["m"], found
        near(g["value"], 9.81, 4 * g["standard_deviation"])
        assert found["correlations"]["g"]["m"] is None
        alone = estimate(study(observe={"y": "ball.position.y"}, noise=sigma, unknown={"m": {"start": 2}}),
                         scene={**BALL, "parameters": {"g": 9.81, "m": 1}})
        assert not alone["estimates"]["m"]["identifiable"]
    assert "not identifiable" in perp("estimate", "study.json").out


@test
def mass_and_friction_of_a_sliding_block():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.001, 1))
    found = estimate(study(unknown={"m": {"start": 1, "bounds": [0.1, 10]}, "mu": {"start": 0.5, "bounds": [0, 2]}}))
    assert [list(c) for c in found["unidentifiable"]] == [["m"]], found["unidentifiable"]
    assert found["estimates"]["mu"]["identifiable"]
    near(found["estimates"]["mu"]["value"], 0.3, 4 * found["estimates"]["mu"]["standard_deviation"])


@test
def a_product_of_two_unknowns_names_both():
    scene = copy.deepcopy(BALL)
    scene["parameters"] = {"g": 9, "k": 1.2}
    scene["gravity"] = [0, "-g*k"]
    scene["bodies"][0]["mass"] = 1
    t = [STEP * k for k in range(60)]
    csv("data.csv", ["t", "y"], noisy([[x, 2 * x - 9.81 * x * (x + STEP) / 2] for x in t], 1e-3, 5))
    found = estimate(study(observe={"y": "ball.position.y"}, unknown={"g": {}, "k": {}}), scene=scene)
    assert len(found["unidentifiable"]) == 1 and set(found["unidentifiable"][0]) == {"g", "k"}, found
    for x in found["estimates"].values():
        assert x["interval"] == [None, None]
    near(found["estimates"]["g"]["value"] * found["estimates"]["k"]["value"], 9.81, 0.05)
    # a prior on one of them tells them apart
    known = estimate(study(observe={"y": "ball.position.y"}, unknown={"g": {}, "k": {"prior": 0.01}}), scene=scene)
    assert known["unidentifiable"] == [] and known["estimates"]["g"]["identifiable"]


@test
def an_offset_of_the_sensor_and_an_unknown_start_cannot_be_told_apart():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.0005, 4))
    unknown = {"mu": {"start": 0.5, "bounds": [0, 2]}, "x0": {"start": 0}}
    channel = {"x": {"quantity": "b.position.x", "sensor": {"offset": "x0"}}}
    known = estimate(study(observe=channel, noise=0.0005, unknown=unknown))
    near(known["estimates"]["x0"]["value"], 0.0, 4 * known["estimates"]["x0"]["standard_deviation"])
    found = estimate(study(observe=channel, noise=0.0005, unknown={
        **unknown, "initial": {"b": {"rotation": 0, "angular_velocity": 0}}}))
    assert not found["estimates"]["x0"]["identifiable"] and found["estimates"]["mu"]["identifiable"], found


# ---- data as they come ----------------------------------------------------------------------------

@test
def gaps_leave_values_out():
    rows = noisy(slide(), 0.001, 1)
    for k in range(5, 40):
        rows[k][1] = None if k % 3 else rows[k][1]
    csv("data.csv", ["t", "x", "v"], rows)
    found = estimate(study())
    kept = [r for r in rows if r[1] is not None]
    csv("data.csv", ["t", "x", "v"], kept)
    same = estimate(study())
    near(found["estimates"]["mu"]["value"], same["estimates"]["mu"]["value"], 1e-12)
    assert found["residuals"]["channels"]["x"]["values"] == len(kept)


@test
def outliers_move_squares_but_not_robust_losses():
    rows = noisy(slide(), 0.001, 1)
    for k in (5, 20, 33):
        rows[k][1] += 0.5
    csv("data.csv", ["t", "x", "v"], rows)
    off = {}
    for loss in ("squares", "huber", "cauchy", {"kind": "huber", "scale": 2}):
        for noise in (0.001, None):
            found = estimate(study(loss=loss, noise=noise))
            mu = found["estimates"]["mu"]
            off[str(loss), noise] = abs(mu["value"] - 0.3)
            near(mu["value"], 0.3, 4 * mu["standard_deviation"])  # squares widen their intervals
            assert ("times the noise" in found["message"]) == (loss == "squares" and noise is not None), found["message"]
    for (loss, _), x in off.items():
        assert (x > 0.01) == (loss == "squares"), off


@test
def offset_and_scale_of_a_sensor():
    csv("data.csv", ["t", "x", "v"], [[r[0], 1.02 * r[1] + 0.3, r[2]] for r in noisy(slide(), 0.0005, 4)])
    found = estimate(study(observe={"x": {"quantity": "b.position.x", "sensor": {"offset": "x0", "scale": "k"}}},
                           noise=0.0005, unknown={"mu": {"start": 0.5, "bounds": [0, 2]}, "x0": {}, "k": {"start": 1}}))
    for name, value in (("mu", 0.3), ("x0", 0.3), ("k", 1.02)):
        near(found["estimates"][name]["value"], value, 4 * found["estimates"][name]["standard_deviation"])
    near(found["correlations"]["mu"]["k"], found["correlations"]["k"]["mu"], 1e-12)
    assert 0.5 < abs(found["correlations"]["mu"]["k"]) < 1
    fitted = json.load(open(found["fitted"], encoding="utf-8"))
    near(fitted["observe"]["x"]["sensor"]["offset"][0], found["estimates"]["x0"]["value"], 0)


@test
def a_tracked_point_beside_the_centre_of_mass():
    """A plate spins in flight; its marker is 4 cm off the centre, which the unknown of the sensor finds."""
    scene = {"dimension": 2, "gravity": [0, -9.81], "step": STEP, "duration": 1, "bodies": [
        {"name": "plate", "mass": 1, "inertia": 0.01, "position": [0, 0], "velocity": [1, 3], "angular_velocity": 5,
         "shapes": [{"type": "box", "size": [0.3, 0.2]}]}]}
    rows = []
    for k in range(80):
        t, a = STEP * k, 5 * STEP * k
        rows.append([t, t + 0.04 * math.cos(a), 3 * t - 9.81 * t * (t + STEP) / 2 + 0.04 * math.sin(a), a])
    csv("data.csv", ["t", "x", "y", "a"], noisy(rows, 0.0005, 8))
    found = estimate({"scene": "scene.json", "data": "data.csv", "time": "t", "noise": 0.0005, "observe": {
        "p": {"position": "plate", "columns": ["x", "y"], "sensor": {"at": ["ax", "ay"]}},
        "a": {"orientation": "plate", "columns": ["a"]}},
        "unknown": {"ax": {}, "ay": {}, "initial": ["plate"]}}, scene=scene)
    near(found["estimates"]["ax"]["value"], 0.04, 4 * found["estimates"]["ax"]["standard_deviation"])
    near(found["estimates"]["ay"]["value"], 0.0, 4 * found["estimates"]["ay"]["standard_deviation"])
    assert found["estimates"]["ax"]["standard_deviation"] < 2e-4 and found["derivatives"] == "forward"
    assert 0.7 < found["residuals"]["channels"]["p"]["rms_over_noise"] < 1.3


def many(count, sigma=0.001):
    rows = []
    for k in range(count):
        rows += [[k + 1] + r for r in noisy(slide(v=1.0 + 0.3 * k, rows=41), sigma, 10 + k)]
    return csv("data.csv", ["k", "t", "x", "v"], rows)


MANY = study(start="data", trajectory="k", observe={"x": "b.position.x", "v": "b.velocity.x"}, hold_out=0.34, seed=3)


@test
def trajectories_share_parameters_and_workers_change_nothing():
    many(6)
    initial = {"b": {"position": 0.001, "velocity": 0.001, "rotation": 0, "angular_velocity": 0}}
    one = {**MANY, "unknown": {**MANY["unknown"], "initial": initial}}
    found = [estimate(one, "--jobs", jobs) for jobs in ("1", "2", "8")]
    assert found[0] == found[1] == found[2]
    held = found[0]["held_out"]
    assert held["trajectories"] == 2 and len(found[0]["initial"]) == 4 and len(held["each"]) == 2
    near(found[0]["estimates"]["mu"]["value"], 0.3, 4 * found[0]["estimates"]["mu"]["standard_deviation"])
    assert 0.0005 < held["position"] < 0.005 and held["failed"] == 0
    chosen = {x["trajectory"] for x in held["each"]}
    assert chosen == {x["trajectory"] for x in estimate(one)["held_out"]["each"]}
    others = {x["trajectory"] for x in estimate({**one, "seed": 4})["held_out"]["each"]}
    assert chosen != others, (chosen, others)


@test
def the_fitted_study_predicts_other_data():
    many(6)
    found = estimate(MANY, "--out", "f.json")
    assert found["fitted"] == "f.json" and os.path.exists("f.scene.json")
    perp("run", "f.scene.json", "--out", "r.h5", "--quiet")
    again = json.loads(perp("estimate", "f.json", "--predict", "data.csv", "--json", "--out", "p.csv").out)
    assert again["trajectories"] == 6 and again["failed"] == 0
    each = {x["trajectory"]: x for x in again["each"]}
    for x in found["held_out"]["each"]:  # a prediction sees the first row of each alone
        near(each[x["trajectory"]]["position"], x["position"], 1e-12)
    rows = open("p.csv", encoding="utf-8").read().split("\n")
    assert rows[0] == "k,t,x,v" and len(rows) == 6 * 41 + 2
    write("short.csv", "k,t,x,v\n1,0,0,1\n")  # nothing is predicted, so there is no error of 0
    assert "one row" in perp("estimate", "f.json", "--predict", "short.csv", "--json", status=2).err
    os.mkdir("elsewhere")  # the file stands alone
    os.rename("f.json", "elsewhere/f.json")
    moved = json.loads(perp("estimate", "elsewhere/f.json", "--predict", "data.csv", "--json").out)
    assert moved["position"] == again["position"]


@test
def a_prediction_says_whether_bodies_end_on_the_same_face():
    """The scene's cube stays as it is, with z on top; the data end turned about x."""
    def quaternion(degrees, axis=0):
        q = [math.cos(math.radians(degrees / 2)), 0, 0, 0]
        q[1 + axis] = math.sin(math.radians(degrees / 2))
        return q

    cube = {"gravity": [0, 0, -1e-9], "step": 0.1, "duration": 1, "bodies": [
        {"name": "c", "mass": 1, "shapes": [{"type": "box", "size": [1, 1, 1]}]}]}
    ends = [quaternion(30), quaternion(60), quaternion(180), quaternion(120, 2), [-x for x in quaternion(20)]]
    same = [True, False, False, True, True]
    rows = [[k, t, *(q if t == 1 else quaternion(0))] for k, q in enumerate(ends, 1) for t in (0, 0.5, 1)]
    csv("data.csv", ["k", "t", "a", "b", "c", "d"], rows + [[9, 0, 1, 0, 0, 0], [9, 0.5, *quaternion(70)], [9, 1] + 4 * [None]])
    of = {"scene": "scene.json", "time": "t", "trajectory": "k", "start": "scene", "noise": 0.01,
          "observe": {"q": {"orientation": "c", "columns": ["a", "b", "c", "d"]}}}
    found = estimate(of, "--predict", "data.csv", scene=cube)
    assert [x["same_face"] for x in found["each"]] == same + [False], found["each"]  # the last row that has one
    near(found["same_face"], 3 / 6, 1e-15)
    assert found["failed"] == 0 and found["steps"] == 6 * 10 and found["certificate"] <= 1e-8
    # a tracker that is mounted at an angle: the faces are those of the body
    turned = copy.deepcopy(of)
    turned["observe"]["q"]["sensor"] = {"rotation": [math.radians(40), 0, 0]}
    csv("data.csv", ["k", "t", "a", "b", "c", "d"], [[1, 0, *quaternion(40)], [1, 1, *quaternion(40 + 30)], [2, 0, *quaternion(40)],
                                                     [2, 1, *quaternion(40 - 60)]])
    assert [x["same_face"] for x in estimate(turned, "--predict", "data.csv", scene=cube)["each"]] == [True, False]
    weightless = {**cube, "gravity": [0, 0, 0]}  # nothing is up
    assert estimate(of, "--predict", "data.csv", scene=weightless)["same_face"] is None


@test
def a_plan_prefers_the_motion_that_tells_most():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.001, 1))
    candidates = {"slow": {"set": {"v": 0.5}, "duration": 0.5}, "fast": {"set": {"v": 3}, "duration": 0.5},
                  "long": {"set": {"v": 3}, "duration": 0.9}}
    found = estimate(study(candidates=candidates), "--plan")
    assert [c["name"] for c in found["candidates"]] == ["long", "fast", "slow"], found
    now = found["standard_deviations"]["mu"]
    # as many rows of the same motion again: the information doubles
    near(found["candidates"][1]["standard_deviations"]["mu"], now / math.sqrt(2), 1e-3 * now)
    near(found["candidates"][1]["gain"], 0.5 * math.log(2), 1e-3)
    # without data, from the noise alone
    alone = estimate({k: v for k, v in study(candidates=candidates).items() if k != "data"}, "--plan")
    assert alone["standard_deviations"]["mu"] is None and alone["candidates"][0]["name"] == "long"


@test
def segments_find_what_one_shot_does_not():
    """A mass on a spring swings ten times: from a wrong stiffness its end is out of step, and one shot over all of it ends
    in another minimum."""
    scene = {"dimension": 2, "gravity": [0, 0], "step": 0.005, "duration": 6, "parameters": {"k": 100},
             "bodies": [{"name": "p", "mass": 1, "position": [1.5, 0], "shapes": [{"type": "particle"}]}],
             "forces": [{"type": "spring", "a": "world", "b": "p", "at_a": [0, 0], "at_b": [0, 0], "rest": 1,
                         "stiffness": "k", "damping": 0.1}]}
    write("truth.json", scene)
    perp("run", "truth.json", "--out", "truth.h5", "--quiet")
    with h5py.File("truth.h5") as f:
        rows = [[float(t), float(q.reshape(-1)[0])] for t, q in zip(f["time"][::4], f["state"]["q"][::4])]
    csv("data.csv", ["t", "x"], noisy(rows, 0.005, 1))
    one = study(observe={"x": "p.position.x"}, noise=0.005, unknown={"k": {"start": 20}})
    assert "cannot follow" in estimate(one, scene=scene, status=3)["message"]
    near_by = estimate({**one, "unknown": {"k": {"start": 95, "bounds": [1, 1000]}}}, scene=scene)["estimates"]["k"]
    cases = ((20, [1, 1000], 10), (20, [1, 1000], 1), (200, [1, 1000], 10))  # the second: points between the bounds
    for start, bounds, segments in cases if FULL else cases[:2]:
        found = estimate({**one, "segments": segments, "unknown": {"k": {"start": start, "bounds": bounds}}}, scene=scene)
        k = found["estimates"]["k"]
        near(k["value"], near_by["value"], 1e-3 * near_by["standard_deviation"])
        near(k["standard_deviation"], near_by["standard_deviation"], 1e-3 * near_by["standard_deviation"])
        near(k["value"], 100, 4 * k["standard_deviation"])


@test
def the_inertia_of_a_tumbling_body_stays_physical():
    """Free rotation tells the ratios of the moments, not the mass: torques would be needed."""
    scene = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 2, "bodies": [
        {"name": "c", "mass": 0.5, "inertia": [2e-3, 3e-3, 4e-3], "position": [0, 0, 0],
         "angular_velocity": [1.5, 1, 6], "shapes": [{"type": "box", "size": [0.3, 0.2, 0.1]}]}]}
    write("truth.json", scene)
    perp("run", "truth.json", "--out", "truth.h5", "--quiet")
    with h5py.File("truth.h5") as f:
        rows = [[float(t), *map(float, q.reshape(-1)[3:7])] for t, q in zip(f["time"], f["state"]["q"])]
    csv("data.csv", ["t", "w", "x", "y", "z"], noisy(rows, 0.001, 2))
    wrong = copy.deepcopy(scene)
    wrong["bodies"][0]["inertia"] = [2.5e-3, 2.8e-3, 3.4e-3]
    found = estimate({"scene": "scene.json", "data": "data.csv", "time": "t", "start": "scene", "noise": 0.002,
                      "observe": {"q": {"orientation": "c", "columns": ["w", "x", "y", "z"]}},
                      "unknown": {"I": {"inertia": "c"}}}, scene=wrong)
    e = found["estimates"]
    assert not e["I.mass"]["identifiable"] and not e["I.inertia.xx"]["identifiable"], e
    for a, b, ratio in (("xx", "zz", 0.5), ("yy", "zz", 0.75)):
        near(e[f"I.inertia.{a}"]["value"] / e[f"I.inertia.{b}"]["value"], ratio, 0.01)
    assert e["I.mass"]["value"] > 0
    moments = [e[f"I.inertia.{k}"]["value"] for k in ("xx", "yy", "zz")]
    assert all(2 * m < sum(moments) for m in moments), moments


# ---- bad data -------------------------------------------------------------------------------------

@test
def bad_data_exits_with_the_reason():
    good = noisy(slide(), 0.001, 1)
    cases = [
        (["t", "x", "v"], [[0.0, 0.0, 2.0], [0.01, float("nan"), 1.9]], {}, 2, "data.csv:3: column 2"),
        (["t", "x", "v"], [good[1], good[0]], {}, 2, "time does not go forward"),
        (["t", "z", "v"], good, {}, 2, "no column 'x'"),
        (["t", "x", "v"], good[:1], {}, 2, "too few"),
        (["t", "x", "v"], good[:3], {"unknown": {"initial": ["b"]}}, 2, "too few"),
        (["t", "x", "v"], [[r[0], -5 * r[1], r[2]] for r in good], {}, 3, "cannot follow"),
        (["t", "x", "v"], good, {"unknown": {"m": {"start": -1}}}, 2, "/unknown"),
    ]
    for head, rows, change, status, word in cases:
        csv("data.csv", head, rows)
        found = estimate(study(**change), status=status)
        assert word in found["message"], (word, found)
        assert not os.path.exists("study.fitted.json")
    write("data.csv", "t,x\n0,1\n0.1,x\n")
    assert "must be a finite number" in estimate(study(), status=2)["message"]
    assert "cannot open" in estimate(study(data="none.csv"), status=2)["message"]
    csv("data.csv", ["t", "x", "v"], good)
    scene = copy.deepcopy(SLIDE)
    scene["bodies"][1]["position"] = [0, -1]  # inside the floor
    assert "overlap" in estimate(study(), scene=scene, status=2)["message"]


@test
def a_search_does_not_end_at_a_bound_without_friction():
    """Starts are unknown too: a first step that is cut off at mu = 0, where friction has no derivative, makes them those of
    motion without friction."""
    initial = {"b": {"position": [None, 0], "velocity": [None, 0], "rotation": 0, "angular_velocity": 0}}
    for speeds, starts in (((2.0,), (0, 0.45, 1)), ((1.5, 2.0, 3.0), (0.1, 0.5, 2))):
        csv("data.csv", ["k", "t", "x", "v"], [[k, *r] for k, v in enumerate(speeds, 1) for r in noisy(
            slide(mu=0.24, v=v, rows=81)[::2], 0.002, k)])
        for start in starts:
            found = estimate(study(trajectory="k", start={"from": "data", "rows": 5}, noise=0.002, unknown={
                "mu": {"start": start, "bounds": [0, 2]}, "initial": initial}))
            mu = found["estimates"]["mu"]
            assert mu["identifiable"] and mu["standard_deviation"] < 0.005, (start, found["estimates"])
            near(mu["value"], 0.24, 4 * mu["standard_deviation"])


@test
def bounds_that_exclude_the_truth_are_said_to_hold():
    csv("data.csv", ["t", "x", "v"], noisy(slide(mu=0, rows=81), 0.001, 1))
    for low in (0.001, 0.0017, 0.003, 0.007, 0.011, 0.1):
        found = estimate(study(unknown={"mu": {"start": 0.5, "bounds": [low, 2]}}))
        mu = found["estimates"]["mu"]
        assert mu["at_bound"] and mu["value"] == low and "times the noise" in found["message"], found


@test
def no_friction_at_all_is_an_answer():
    """At mu = 0 there is only a one-sided derivative: the estimate is at its bound, with an interval to one side."""
    initial = {"b": {"position": [None, 0], "velocity": [None, 0], "rotation": 0, "angular_velocity": 0}}
    csv("data.csv", ["t", "x", "v"], noisy(slide(mu=0, rows=81), 0.001, 1))
    for change in ({}, {"noise": None}, {"method": "mpec"}, {"loss": "huber"}, {"initial": initial},
                   {"method": "moving-window", "window": 60, "initial": initial}):
        unknown = {"mu": {"start": 0.5, "bounds": [0, 2]}}
        if "initial" in change:
            unknown["initial"] = change.pop("initial")
        found = estimate(study(**change, unknown=unknown))
        mu = found["estimates"]["mu"]
        # x = v t - mu g t (t + h) / 2
        known = 0.001 / math.sqrt(sum((9.81 * k * (k + 1) * STEP * STEP / 2) ** 2 for k in range(81)))
        wide = 1 if "initial" not in unknown else 30
        assert mu["identifiable"] and found["unidentifiable"] == [], (change, found["estimates"])
        assert 0.5 * known < mu["standard_deviation"] < 2 * wide * known, (change, mu, known)
        assert mu["value"] <= 4 * mu["standard_deviation"] and mu["interval"][0] == 0, (change, mu)
        near(mu["interval"][1], mu["value"] + 1.97 * mu["standard_deviation"], 0.2 * mu["standard_deviation"])


# A bar swings about a joint with friction and damping; data by simulation.
PENDULUM = {"dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": 2, "parameters": {"f": 0, "d": 0},
            "bodies": [{"name": "bar", "mass": 1, "inertia": 0.05, "position": [0.4, 0]}],
            "joints": [{"name": "j", "type": "revolute", "a": "world", "b": "bar", "at": [0, 0], "friction": "f", "damping": "d"}]}


def swing(step=0.005, **values):
    write("scene.json", {**PENDULUM, "step": step, "parameters": values})
    perp("run", "scene.json", "--out", "swing.h5", "--quiet")
    lines = perp("export", "swing.h5", "j.coordinate").out.split("\n")[1:-1]
    rows = [[float(x) for x in line.split(",")] for line in lines]
    csv("data.csv", ["t", "a"], noisy([[row[0], row[2]] for row in rows], 0.002, 5))


@test
def friction_of_a_body_that_sticks_has_a_limit_to_one_side():
    """0.3 of the weight pulls and 0.5 holds it: any friction above 0.3 gives the same data. The best value is beside the kink
    by chance of the noise, where derivatives would give a narrow interval."""
    scene = copy.deepcopy(SLIDE)
    scene["parameters"]["v"] = 0
    scene["forces"] = [{"type": "wrench", "body": "b", "force": [0.3 * 2 * 9.81, 0]}]
    ends = []
    for seed in range(3):
        csv("data.csv", ["t", "x", "v"], noisy([[STEP * k, 0.0, 0.0] for k in range(51)], 0.001, seed))
        mu = estimate(study(unknown={"mu": {"start": 0.1, "bounds": [0, 2]}}), scene=scene)["estimates"]["mu"]
        ends.append(mu["interval"])
        assert mu["standard_deviation"] is None, mu
        assert mu["interval"] == [None, None] and not mu["identifiable"] or 0.29 < mu["interval"][0] < 0.3 and mu["interval"][1] == 2, mu
    assert [None, None] in ends and any(x[1] == 2 for x in ends), ends
    found = estimate(study(unknown={"mu": {"start": 0.1}}), scene=scene)["estimates"]["mu"]
    assert not found["identifiable"], found


@test
def joints_and_links_of_a_robot_are_unknowns():
    """Of the file itself, and of a scene that includes it: places of the scene as it is simulated."""
    write("arm.urdf", '''<robot name="arm"><link name="base"/><link name="l1"><inertial><origin xyz="0.3 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/><dynamics friction="0.1" damping="0.05"/></joint></robot>''')
    including = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.6, "bodies": [], "include": [{"file": "arm.urdf"}]}
    write("scene.json", including)
    for scene in ("arm.urdf", "scene.json"):
        perp("run", scene, "--out", "arm.h5", "--quiet")
        rows = [line.split(",") for line in perp("export", "arm.h5", "j1.coordinate").out.split("\n")[1:-1]]
        csv("data.csv", ["t", "a"], noisy([[float(r[0]), float(r[2])] for r in rows if float(r[0]) < 0.6], 0.001, 3))
        of = {"scene": scene, "data": "data.csv", "time": "t", "observe": {"a": "j1.coordinate"}, "noise": 0.001}
        found = estimate({**of, "unknown": {"/joints/0/friction": {"start": 0.5, "bounds": [0, 2]}}}, scene=including)
        x = found["estimates"]["/joints/0/friction"]
        near(x["value"], 0.1, 4 * x["standard_deviation"])
        found = estimate({**of, "unknown": {"I": {"inertia": "l1"}}}, scene=including)["estimates"]
        for name, value in (("I.mass", 1), ("I.inertia.yy", 0.02)):  # friction and damping are known: they give the scale
            near(found[name]["value"], value, 4 * found[name]["standard_deviation"])
        assert not found["I.inertia.xx"]["identifiable"], found


@test
def unknowns_that_go_together_reach_their_bounds_from_anywhere():
    """Cut off at a bound one by one, the step of two that are correlated would not reduce the residuals."""
    swing(f=0, d=0)
    for start in ({"f": 0.05, "d": 0.2}, {"f": 0.2, "d": 0.05}, {"f": 0.9, "d": 0.9}, {"f": 0, "d": 0}):
        found = estimate({"scene": "scene.json", "data": "data.csv", "time": "t", "observe": {"a": "j.coordinate"}, "noise": 0.002,
                          "unknown": {k: {"start": v, "bounds": [0, 1]} for k, v in start.items()}}, scene=PENDULUM)
        assert found["residuals"]["channels"]["a"]["rms_over_noise"] < 1.3, (start, found["estimates"])
        for name in ("f", "d"):
            x = found["estimates"][name]
            assert x["identifiable"] and x["interval"][0] == 0 and x["value"] <= 4 * x["standard_deviation"] < 0.1, (start, found)


@test
def adaptive_steps_have_errors_that_do_not_spoil_derivatives():
    of = {"scene": "scene.json", "data": "data.csv", "time": "t", "observe": {"a": "j.coordinate"}, "noise": 0.002,
          "unknown": {"f": {"start": 0.1, "bounds": [0, 1]}}}
    found = []
    for step in (0.01, {"error": 1e-3}):
        swing(step=step, f=0.3, d=0.05)
        scene = {**PENDULUM, "step": step, "parameters": {"f": 0.1, "d": 0.05}}
        report = estimate(of, scene=scene)
        found.append({**report["estimates"]["f"], "rows": report["residuals"]["each"][0]["rows"]})
        near(found[-1]["value"], 0.3, 5 * found[-1]["standard_deviation"])
    size = [x["standard_deviation"] * math.sqrt(x["rows"]) for x in found]
    near(size[0], size[1], 0.3 * size[0])


@test
def what_the_data_say_nothing_of_stays_where_it_is():
    """With a start from the data the offset of a tracker along the floor moves start and prediction alike. Rounding must
    not carry it away, and other unknowns with it."""
    box = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.5, "parameters": {"mu": 0.3}, "friction": {"default": "mu"}, "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
        {"name": "b", "mass": 1, "position": [0, 0, 0.05], "velocity": [2, 0.5, 0], "angular_velocity": [0, 0, 6],
         "shapes": [{"type": "box", "size": [0.2, 0.2, 0.1]}]}]}
    write("scene.json", box)
    perp("run", "scene.json", "--out", "box.h5", "--quiet")
    rows = [[float(x) for x in line.split(",")] for line in
            perp("export", "box.h5", "b.position", "b.orientation").out.split("\n")[1:-1]]
    turn = [math.cos(0.15), math.sin(0.15), 0, 0]  # of the tracker in the body, about x

    def times(a, b):
        return [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]]

    csv("data.csv", ["t", "x", "y", "z", "qw", "qx", "qy", "qz"],
        noisy([[r[0], r[2] + 0.1, r[3] - 0.2, r[4] + 0.05, *times(r[5:], turn)] for r in rows], 0.0005, 2))
    found = estimate({"scene": "scene.json", "data": "data.csv", "time": "t", "noise": {"p": 5e-4, "q": 1e-3}, "observe": {
        "p": {"position": "b", "columns": ["x", "y", "z"], "sensor": {"offset": ["ox", "oy", "oz"]}},
        "q": {"orientation": "b", "columns": ["qw", "qx", "qy", "qz"], "sensor": {"rotation": ["rx", "ry", 0]}}},
        "unknown": {"mu": {"start": 0.5, "bounds": [0, 1]}, **{k: {"start": 0} for k in ("ox", "oy", "oz", "rx", "ry")}}}, scene=box)
    for name in ("ox", "oy"):
        assert found["estimates"][name]["value"] == 0 and found["estimates"][name]["interval"] == [None, None], found["estimates"]
    near(found["estimates"]["mu"]["value"], 0.3, 0.003)
    near(found["estimates"]["rx"]["value"], 0.3, 0.01)


@test
def starts_of_bodies_that_touch_do_not_hold_the_search():
    """A start that overlaps the floor is moved out of it: residuals have a kink there."""
    rows = [[t, x, 0.05, 0.0] for t, x, _ in slide(rows=41)]
    csv("data.csv", ["t", "x", "y", "a"], noisy(rows, 0.001, 8))
    for start in ({"start": "scene"}, {"start": "data"}, {"start": "scene", "method": "moving-window", "window": 100}):
        found = estimate(study(**start, observe={"x": "b.position.x", "y": "b.position.y", "a": "b.angle"},
                               unknown={"mu": {"start": 0.6, "bounds": [0, 2]}, "initial": ["b"]}))
        mu = found["estimates"]["mu"]
        assert found["residuals"]["channels"]["x"]["rms_over_noise"] < 1.3, (start, found["message"])
        near(mu["value"], 0.3, 4 * mu["standard_deviation"])
        assert mu["standard_deviation"] < 0.01, mu


@test
def a_plan_needs_neither_data_nor_times():
    candidates = {"slow": {"set": {"v": 0.5}, "duration": 0.5, "rate": 50}, "fast": {"set": {"v": 3}, "duration": 0.5, "rate": 50}}
    found = estimate(study(data=None, time=None, candidates=candidates), "--plan")
    assert [c["name"] for c in found["candidates"]] == ["fast", "slow"], found
    assert "/data" in perp("estimate", "study.json", "--json", status=2).err


@test
def values_that_were_tried_leave_nothing_behind():
    """Without friction mu has no derivative and other values are tried: noise and residuals are those of the answer."""
    csv("data.csv", ["t", "x", "v"], noisy(slide(mu=0), 0.001, 3))
    found = estimate(study(noise=None))
    near(found["estimates"]["mu"]["value"], 0, 0.001)
    assert 0.0007 < found["noise"]["x"]["value"] < 0.0013, found["noise"]
    assert found["message"] == "", found["message"]


def table(head, rows, separator=","):
    return "\n".join([head] + [separator.join(map(repr, r)) for r in rows]) + "\n"


@test
def files_of_spreadsheets():
    rows = [r[:2] for r in noisy(slide(), 0.001, 1)]
    write("data.csv", table("t,x", rows))
    plain = estimate(study())["estimates"]
    write("data.csv", "\ufeff" + table('"t","x"', rows).replace("\n", "\r\n"))  # a byte order mark, quotes, CR LF
    assert estimate(study())["estimates"] == plain
    for text, word in ((table("t;x", rows, ";"), "separated by commas"), (table("t\tx", rows, "\t"), "separated by commas"),
                       ("t,x\n0,0,0,1\n0,1,0,2\n0,2,0,3\n", "data.csv:2: has 4 fields"),  # decimal commas
                       ("t,x\n0,0\n0.1,0.2,\n0.2,0.4\n", "data.csv:3: has 3 fields"),
                       ("t,x\n0,0\n0.1\n0.2,0.4\n", "data.csv:3: has 1 field,"),
                       ("t,x\n0,0\n", "data.csv:2: trajectory 1 has one row"),
                       (table("t,x", [[1e12 * a, b] for a, b in rows]), "unit of the times")):
        write("data.csv", text)
        message = estimate(study(), status=2)["message"]
        assert word in message, (word, message)


@test
def exact_data_are_fitted_exactly():
    """Residuals are rounding, which no step reduces; the noise is estimated, or given far too small or large."""
    initial = {"b": {"position": [None, 0], "velocity": [None, 0], "rotation": 0, "angular_velocity": 0}}
    write("truth.json", {**SLIDE, "parameters": {**SLIDE["parameters"], "mu": 0.3}})
    perp("run", "truth.json", "--out", "truth.h5", "--quiet")
    with h5py.File("truth.h5") as f:
        rows = [[float(t), float(q.reshape(-1)[3])] for t, q in zip(f["time"], f["state"]["q"])]
    csv("data.csv", ["t", "x"], rows)
    for noise in (None, 1e-12, 1e-9, 1e-3):
        for unknown in ({}, {"initial": initial}):
            found = estimate(study(noise=noise, unknown={**STUDY["unknown"], **unknown}))
            assert found["status"] == "converged", (noise, found)
            near(found["estimates"]["mu"]["value"], 0.3, 1e-9)


@test
def a_scene_that_cannot_follow_has_no_answer():
    """The box slides forward, the data go back or stay where they were: no friction explains that, whatever the method."""
    rows = noisy(slide(), 0.001, 1)
    filtered = {"method": "particle-filter", "particles": 50}
    csv("data.csv", ["t", "x", "v"], [[r[0], -r[1], r[2]] for r in rows])
    for change in ({}, {"noise": None}, filtered, {**filtered, "noise": None}):
        assert "cannot follow" in estimate(study(**change), status=3)["message"], change
    csv("data.csv", ["t", "x", "v"], [[r[0], 0.7, r[2]] for r in rows])
    assert "cannot follow" in estimate(study(noise=None), status=3)["message"]
    csv("data.csv", ["t", "x", "v"], [[r[0], 0.0, r[2]] for r in rows])
    assert "cannot follow" in estimate(study(), status=3)["message"]
    assert "all values are 0" in estimate(study(noise=None), status=2)["message"]
    assert not os.path.exists("study.fitted.json")


@test
def studies_of_other_verbs_are_named():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.001, 1))
    estimate(study())
    for verb in ("sweep", "design"):
        assert "'perp estimate' runs it" in perp(verb, "study.json", "--out", "r.db", status=2).err
    write("sweep.json", {"scene": "scene.json", "vary": {"mu": {"grid": [0, 1, 2]}}})
    assert "/observe" in perp("estimate", "sweep.json", status=2).err
    assert "itself" in perp("estimate", "study.json", "--out", "study.json", status=2).err


@test
def starts_with_priors_by_axis():
    csv("data.csv", ["t", "x", "v"], noisy(slide(), 0.001, 1))
    initial = {"b": {"position": [0.001, 0], "velocity": [None, 0], "rotation": 0, "angular_velocity": 0}}
    found = estimate(study(unknown={**STUDY["unknown"], "initial": initial}))
    assert set(found["initial"][0]) == {"trajectory", "b.x", "b.vx"}, found["initial"]
    for bad in ({"position": [1, 2, 3]}, {"position": -1}, {"height": 1}):
        assert "/unknown/initial/b" in estimate(study(unknown={"initial": {"b": bad}}), status=2)["message"]
    scene = copy.deepcopy(SLIDE)
    scene["joints"] = [{"type": "prismatic", "name": "j", "a": "world", "b": "b", "axis": [1, 0], "at_a": [0, 0.05],
                        "at_b": [0, 0]}]
    assert "has joints" in estimate(study(unknown={"initial": ["b"]}), scene=scene, status=2)["message"]
    assert "has joints" in estimate(study(segments=3), scene=scene, status=2)["message"]


@test
def the_estimate_of_init_runs_as_it_is():
    perp("init", "--estimate", "first.json")
    found = json.loads(perp("estimate", "first.json", "--json", "--page", "first.html").out)
    near(found["estimates"]["mu"]["value"], 0.3, 4 * found["estimates"]["mu"]["standard_deviation"])
    assert found["status"] == "converged" and "perp-estimate-page" in open("first.html", encoding="utf-8").read()
    assert "left alone" in perp("init", "--estimate", "first.json", status=2).err
    assert "not both" in perp("init", "--estimate", "--study", "x.json", status=2).err
    write("other.html", "text")
    assert "no page of an estimate" in perp("estimate", "first.json", "--page", "other.html", status=2).err


@test
def the_schema_accepts_good_estimates_and_refuses_bad_ones():
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return
    with open(os.path.join(SOURCE, "docs", "schema", "study.schema.json"), encoding="utf-8") as f:
        validator = jsonschema.Draft202012Validator(json.load(f))
    csv("data.csv", ["k", "t", "x", "v"], [[k] + r for k in (1, 2) for r in noisy(slide(rows=20), 0.001, k)])
    full = study(observe={"x": {"quantity": "b.position.x", "sensor": {"offset": "x0", "scale": 1}}, "v": "b.velocity.x"},
                 unknown={"mu": {"start": 0.5, "bounds": [0, 2], "prior": 1, "scale": 0.1}, "x0": {"start": 0, "prior": 0.1},
                          "I": {"inertia": "b", "prior": 0.1},
                          "initial": {"b": {"position": [0.001, 0], "velocity": [None, 0], "rotation": 0,
                                            "angular_velocity": 0}}},
                 trajectory="k", noise={"x": 0.001}, loss={"kind": "huber", "scale": 2}, hold_out=0.5, seed=2, segments=2,
                 method="shooting", stop={"iterations": 50, "tolerance": 1e-5}, start={"from": "data", "rows": 4},
                 candidates={"a": {"set": {"v": 1}, "duration": 1, "rate": 50}})
    for good in (STUDY, MANY, full):
        validator.validate(good)
    found = estimate(full)
    with open(found["fitted"], encoding="utf-8") as f:
        validator.validate(json.load(f))
    for change in ({"observe": {}}, {"observe": {"x": 1}}, {"observe": {"x": {"columns": ["x"]}}}, {"loss": "abs"}, {"hold_out": 1},
                   {"method": "nelder-mead"}, {"segments": 0}, {"vary": {}}, {"minimise": "x"}, {"noise": 0},
                   {"unknown": {"mu": {"begin": 1}}}, {"stop": {"evaluations": 3}}, {"start": "file"}):
        assert not validator.is_valid({**full, **change}), change
        estimate({**full, **change}, status=2)
    assert not validator.is_valid({"scene": "scene.json", "vary": {"mu": {"grid": [0, 1, 2]}}, "loss": "huber"})


if __name__ == "__main__":
    main("estimate")
