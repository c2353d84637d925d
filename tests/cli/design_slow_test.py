#!/usr/bin/python3
"""`perp design` killed at twenty random moments, the parent or one of its workers: the same optimum and the same tables.

Environment: PERP, PERP_SOURCE.
"""
import design_test
from _cli import TESTS, main, test
from _design import solve, tables

TESTS.clear()  # those of the other file


@test
def twenty_kills_change_nothing():
    partial = 0
    for method in ("nelder-mead", "cma-es"):
        name = design_test.long_design(method=method, duration=8)  # some seconds: rows are written every second
        done = solve(name)
        expected = tables("long.db"), {k: done[k] for k in ("best", "unknowns", "evaluations", "half_step", "status")}
        for seed in range(10):
            *found, before = design_test.kill_and_resume(100 + seed, name, 6, at_worker=seed % 3 == 2)
            assert tuple(found) == expected, (method, seed)
            partial += 0 < before < done["evaluations"]
    assert partial > 0
    print(f"{partial} of 20 were ended in the middle")


if __name__ == "__main__":
    main("design_slow")
