#!/usr/bin/python3
"""`perp design` by gradients: known minima, throws and slides in fewer evaluations than nelder-mead, bounds, constraints, cases
and draws, resume, flagged steps and the hand-over to cma-es, refusals before anything is written.

Environment: PERP, PERP_SOURCE.
"""
import json
import math
import os
import random

from _cli import main, test
from _design import POINT, design, evaluations, refused, solve, tables, unknowns
from _study import good, perp, rows, write

THROW = {
    "dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": 1, "parameters": {"speed": 6, "angle": 0.8},
    "bodies": [{"name": "ball", "mass": 1, "position": [0, 0.5], "velocity": ["speed*cos(angle)", "speed*sin(angle)"],
                "shapes": [{"type": "circle", "radius": 0.1}]}],
    "measures": {"dx": "ball.position.x - 4", "dy": "ball.position.y - 1"},
}
SLIDE = {
    "dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": 2, "parameters": {"speed": 3, "mu": 0.3},
    "bodies": [{"name": "floor", "type": "static", "friction": "mu", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
               {"name": "block", "mass": 1, "position": [0, 0.1], "velocity": ["speed", 0], "friction": "mu",
                "shapes": [{"type": "box", "size": [0.4, 0.2]}]}],
    "measures": {"miss": "block.position.x - 2", "mean_x": {"mean": "block.position.x", "over": 0.0123, "every": 0.4}},
}
# A box that slides on four corners on a round cone: its impulses are not unique, and every step is flagged.
FLAGGED = {
    "gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.05, "parameters": {"a": 0.3, "b": 1},
    "bodies": [{"name": "floor", "type": "static", "friction": 0.3, "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
               {"name": "box", "mass": 1, "position": [0, 0, 0.1], "velocity": [2, 1, 0],
                "angular_velocity": [0, 0, "1 + a"], "friction": 0.3,
                "shapes": [{"type": "box", "size": [0.4, 0.3, 0.2]}]}],
    "measures": {"turn": "box.angular_velocity.z"},
}


def both(name, scene, **study):
    """The reports by gradient and by nelder-mead."""
    return [solve(design(f"{name}-{method}", scene, method=method, **study)) for method in ("gradient", "nelder-mead")]


@test
def known_minima_in_a_third_of_the_evaluations():
    for function, start in (("sphere", {"a": 4, "b": -3}), ("booth", {"a": -4, "b": -4.5}),
                            ("rosenbrock", {"a": -1.2, "b": 1}),
                            ("rosenbrock5", {"a": 2, "b": 2, "c": 2, "d": 2, "e1": 2})):
        ours, other = both(function, POINT, unknown=unknowns(**start), minimise=function, stop={"evaluations": 4000})
        assert ours["status"] == "converged" and ours["best"] < 1e-9, ours
        assert 3 * ours["evaluations"] <= other["evaluations"], (function, ours["evaluations"], other["evaluations"])
        assert ours["gradient"]["flagged"] == 0 and ours["gradient"]["handed_over"] is None
        found = evaluations(ours["database"])
        assert [r["searched_by"] for r in found] == ["gradient"] * ours["evaluations"] + [""]
        assert {r["flagged_steps"] for r in found} == {0}
        texts = [r["gradient_json"] for r in rows(ours["database"])]
        assert list(json.loads(texts[0])["measures"]) == [function] and texts[-1] is None


@test
def a_throw_and_a_slide_need_fewer_evaluations_than_nelder_mead():
    throw = {"speed": {"start": 6, "bounds": [3, 12]}, "angle": {"start": 0.8, "bounds": [0.2, 1.5]}}
    slide = {"speed": {"start": 3, "bounds": [0.5, 8]}}
    for name, scene, unknown, minimise, factor in (
            ("throw", THROW, throw, "dx^2 + dy^2", 5), ("slide", SLIDE, slide, "miss^2", 3),
            ("kink", THROW, throw, "abs(dx) + abs(dy) + 0.02*speed", 1)):
        ours, other = both(name, scene, unknown=unknown, minimise=minimise, stop={"tolerance": 1e-5})
        assert ours["status"] == other["status"] == "converged"
        assert factor * ours["evaluations"] <= other["evaluations"], (name, ours, other)
        assert abs(ours["best"] - other["best"]) < 1e-4, (name, ours["best"], other["best"])
        for k, x in other["unknowns"].items():
            assert abs(ours["unknowns"][k] - x) < 1e-3, (name, ours["unknowns"], other["unknowns"])
    assert "gradients      " in good("design", "kink-gradient.json", "--out", "text.db", "--page", "text.html").stdout
    with open("text.html", encoding="utf-8") as page:
        assert '"gradient":{"steps":' in page.read()


@test
def bounds_are_met_exactly_and_never_violated():
    choice = random.Random(7)
    for k in range(8):
        low, high = choice.uniform(1.2, 1.6), choice.uniform(2, 3)
        top = choice.choice([-0.5, 3])
        bounds = {"a": [low, high], "b": [-2, top]}
        done = solve(design("bounds", minimise=choice.choice(["sphere", "sphere + 0.3*a*b"]), method="gradient", unknown={
            "a": {"start": choice.choice([low, high, 1.8]), "bounds": bounds["a"], "scale": choice.choice([0.01, 1, 50])},
            "b": {"start": choice.choice([-2, -1]), "bounds": bounds["b"]}}))
        for row in rows(done["database"]) + evaluations(done["database"]):
            assert all(bounds[x][0] <= row[x] <= bounds[x][1] for x in "ab"), row
        assert done["unknowns"]["a"] == low and done["active_bounds"]["a"] == "lower", (k, done)
        if top < 0:
            assert done["unknowns"]["b"] == top and done["active_bounds"]["b"] == "upper", (k, done)
        assert done["evaluations"] < 40, (k, done)


@test
def constraints_cases_and_draws():
    scene = {**POINT, "measures": {**POINT["measures"], "p2": "p.position.x^2 + p.position.y^2"}}
    for objective, constraints, minimum, slack in (("sphere", ["1 - a - b <= 0"], 0.5, 0.01),
                                                   ("-a - b", ["p2 <= 1", "b >= 0.9"], -0.9 - math.sqrt(0.19), 0.01),
                                                   ("rosenbrock", ["p2 <= 1"], 0.0456748, 0.01)):
        done = solve(design("limited", scene, minimise=objective, subject_to=constraints, method="gradient"))
        assert done["feasible"] and minimum - 1e-9 <= done["best"] <= minimum + slack, (objective, done)
    more = {"cases": [{"b": 1}, {"b": 2}], "minimise": "(a - b)^2 + booth/100", "unknown": unknowns(a=4)}
    for combine in ("sum", "mean", "max"):
        ours, other = both("cases", POINT, combine=combine, **more)
        assert abs(ours["best"] - other["best"]) < 1e-6, (combine, ours, other)
        assert combine == "max" or 3 * ours["evaluations"] < other["evaluations"], (combine, ours, other)
        assert ours["simulations"] == 2 * (ours["evaluations"] + 1)
    more = {"vary": {"b": {"normal": [1, 0.5]}}, "sample": {"trials": 6, "seed": 3}, "unknown": unknowns(a=4),
            "minimise": "(a - b)^2 + sphere/10"}
    for robust in ("mean", "worst"):
        ours, other = both("draws", POINT, robust=robust, **more)
        assert abs(ours["best"] - other["best"]) < 1e-5 * (1 + other["best"]), (robust, ours, other)


@test
def the_same_tables_for_any_jobs_and_when_resumed():
    slide = {"unknown": {"speed": {"start": 3, "bounds": [0.5, 8]}, "mu": {"start": 0.3, "bounds": [0.2, 0.5]}},
             "minimise": "miss^2 + 0.01*speed^2 + mu", "method": "gradient"}
    whole = solve(design("whole", SLIDE, **slide), "--jobs", "1")
    solve(design("two", SLIDE, **slide), "--jobs", "2")
    assert tables("whole.db") == tables("two.db")
    short = solve(design("part", SLIDE, stop={"evaluations": 3}, **slide))
    assert short["status"] == "evaluations" and short["evaluations"] == 3, short
    again = solve(design("part", SLIDE, **slide), "--resume")
    assert again["found"] == 3 and tables("part.db") == tables("whole.db")
    assert again["unknowns"] == whole["unknowns"] and again["gradient"] == whole["gradient"]


# A block that is pulled by exactly mu m g: with mu = 0.3 it is at the border of sliding. x = 0.055 (0.3 - mu) below, 0 above.
BRINK = {
    "dimension": 2, "gravity": [3, -10], "step": 0.01, "duration": 0.1, "tolerance": 1e-12, "friction": {"default": "mu"},
    "parameters": {"mu": 0.3, "a": 0},
    "bodies": [{"name": "floor", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
               {"name": "b", "mass": 1, "inertia": 1, "shapes": [{"type": "particle"}]}],
    "measures": {"x": "b.position.x"},
}


@test
def one_sided_derivatives_choose_the_side_of_a_kink():
    mu = {"start": 0.3, "bounds": [0.05, 0.6]}
    # uphill to both sides: the search ends there, and says so
    done = solve(design("bottom", BRINK, unknown={"mu": mu}, minimise="100*x + mu", method="gradient"))
    assert done["status"] == "converged" and done["unknowns"] == {"mu": 0.3} and done["gradient"]["at_kink"], done
    assert "no one-sided derivative" in good("design", "bottom.json", "--out", "bottom-text.db").stdout
    # the gradient of the states of the run is 0, that of one side is not
    done = solve(design("side", BRINK, unknown={"mu": mu}, minimise="-x", method="gradient"))
    assert done["unknowns"] == {"mu": 0.05} and done["gradient"]["one_sided"] == done["gradient"]["turned"] == 1, done
    by = [r["searched_by"] for r in evaluations("side.db")]
    assert by[:2] == ["gradient", "one-sided"] and by.count("one-sided") == 1, by
    assert "1 of them by one-sided derivatives" in good("design", "side.json", "--out", "side-text.db").stdout
    # downhill neither along the gradient nor against it, but along another unknown
    unknown = {"mu": {**mu, "scale": 0.1}, "a": {"start": 0.9, "bounds": [-3, 3], "scale": 0.01}}
    done = solve(design("axis", BRINK, unknown=unknown, minimise="100*x + mu + (a - 1)^2", method="gradient"), "--jobs", "2")
    assert done["best"] < 0.3 + 1e-5 and done["gradient"]["one_sided"] > 0, done
    assert "one-sided" in [r["searched_by"] for r in evaluations("axis.db")]
    solve(design("axis2", BRINK, unknown=unknown, minimise="100*x + mu + (a - 1)^2", method="gradient"), "--jobs", "1")
    assert tables("axis.db") == tables("axis2.db")
    # kinks of the objective itself need no flag
    for start in (0.24, 0.28):
        done = solve(design("abs", BRINK, unknown={"mu": {**mu, "start": start}}, minimise="abs(x - 0.0022)", method="gradient"))
        assert abs(done["unknowns"]["mu"] - 0.26) < 1e-5, done


@test
def flagged_steps_without_descent_hand_over_to_cma_es():
    """The derivative of the objective is 1, but it falls: no step by gradients descends."""
    liar = "turn - 1 - 2*floor(1e7*a)/1e7"
    flagged = {"unknown": {"a": {"start": 0.3, "bounds": [0, 1]}}, "method": "gradient", "stop": {"tolerance": 1e-4}}
    plain = solve(design("flags", FLAGGED, minimise="(turn - 1)^2", **flagged))
    assert plain["gradient"]["flagged"] > 0 and plain["gradient"]["handed_over"] is None, plain
    assert {r["flagged_steps"] for r in evaluations("flags.db")} - {0}
    done = solve(design("liar", FLAGGED, minimise=liar, **flagged), "--jobs", "2")
    assert "three steps" in done["gradient"]["reason"] and done["best"] < plain["best"], done
    by = [r["searched_by"] for r in evaluations("liar.db")]
    first = done["gradient"]["handed_over"]
    assert set(by[:first]) == {"gradient"} and set(by[first:-1]) == {"cma-es"} and len(by) > first + 2, (first, by)
    assert all((r["gradient_json"] is None) == (r["evaluation"] > first) for r in rows("liar.db"))
    assert done["active_bounds"] == {"a": "upper"}, done
    assert f"from evaluation {first + 1}: three steps" in good("design", "liar.json", "--out", "liar-text.db").stdout
    solve(design("liar2", FLAGGED, minimise=liar, **flagged), "--jobs", "1")
    assert tables("liar.db") == tables("liar2.db")
    # the same without flagged steps is the end of the search
    still = solve(design(unknown=unknowns(a=0.3), minimise="a - 2*floor(1e7*a)/1e7", method="gradient"))
    assert still["gradient"]["handed_over"] is None and still["status"] == "converged", still


@test
def sums_of_squares_are_minimised_by_gauss_and_newton():
    """Rosenbrock's function as a measure: a sum of squares of two residuals, whose curvature is exact at its minimum."""
    scene = {**POINT, "measures": {"r": "100*(p.position.y - p.position.x^2)^2 + (1 - p.position.x)^2"}}
    block = {"unknown": {"a": {"start": -1.2, "bounds": [-5, 5]}, "b": {"start": 1, "bounds": [-5, 5]}},
             "minimise": "r", "method": "gradient"}
    done = solve(design("squares", scene, **block))
    assert done["best"] < 1e-12 and done["gradient"]["newton"] > 0, done
    assert done["evaluations"] < 40, done  # BFGS: 57
    # an objective without squares has no such curvature
    other = solve(design("line", scene, unknown=block["unknown"], minimise="exp(-r)*0 + a*b*0.1 + r*0 + a", method="gradient"))
    assert other["gradient"]["newton"] == 0, other


@test
def values_and_gradients_that_do_not_exist():
    done = solve(design(unknown=unknowns(a=-4), minimise="-a - sqrt(2 - a)", method="gradient"))
    assert abs(done["unknowns"]["a"] - 1.75) < 1e-4, done
    done = solve(design(unknown={"a": {"start": 1, "bounds": [-1, 1]}}, minimise="asin(a) + 3*a^2", method="gradient"))
    assert abs(done["unknowns"]["a"] + 0.1691) < 1e-3, done
    assert "no gradient" in done["gradient"]["reason"] and "not finite" in done["gradient"]["reason"], done
    done = solve(design(unknown=unknowns(a=0), minimise="(a^2 - 1)^2", method="gradient"))  # a maximum
    assert done["best"] < 1e-9, done
    flat = perp("design", design("flat", minimise="0*sphere", method="gradient"), "--out", "flat.db")
    assert flat.returncode == 3 and "is flat" in flat.stderr, flat


@test
def what_gradients_refuse_is_refused_before_anything_is_written():
    block = {"unknown": {"speed": {"start": 3, "bounds": [0.5, 8]}}, "minimise": "miss^2", "method": "gradient"}
    for change, word in (({"stepper": "anitescu-potra"}, "anitescu-potra"),
                         ({"restitution": {"law": "poisson", "e": 0.5}}, "Poisson"),
                         ({"measures": {"push": "block.force.x", "miss": "2*push"}}, "block.force.x")):
        message = refused(design("refused", {**SLIDE, **change}, **block))
        assert "/method: gradient cannot be used here" in message and word in message, message
        assert "use auto or another method" in message, message
    message = refused(design("refused", SLIDE, **{**block, "unknown": {"/duration": {"start": 2, "bounds": [1, 3]}}}))
    assert "duration" in message, message
    # a measure that the objective does not have is none of its concern
    free = {**SLIDE, "measures": {**SLIDE["measures"], "twice": "2*mean_x"}}
    assert solve(design("free", free, **block))["status"] == "converged"


@test
def means_over_windows_have_derivatives():
    """Windows that begin and end within steps, against differences of whole runs."""
    for kind, over, every in (("mean", 0.0123, 0.4), ("integral", 0.3, None), ("mean", 0.001, None), ("mean", 5, None)):
        window = {kind: "block.position.x^2", "over": over, **({"every": every} if every else {})}
        write("window.json", {**SLIDE, "duration": 0.73, "tolerance": 1e-12, "measures": {"w": window}})
        out = json.loads(good("gradient", "window.json", "--of", "w", "--by", "speed,mu", "--check", "--json").stdout)
        for name, value in out["gradient"].items():
            exact = out["check"][name] if isinstance(out["check"][name], float) else out["check"][name]["difference"]
            assert (over == 5 and value == 0) or abs(value - exact) <= 1e-6 * abs(exact), (window, name, out)


if __name__ == "__main__":
    main("design gradient")
