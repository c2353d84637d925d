#!/usr/bin/python3
"""`perp sweep` killed at fifty random moments, the parent or one of its workers: nothing is lost, nothing is there twice.

Environment: PERP, PERP_SOURCE.
"""
import os

import sweep_test
from _cli import TESTS, main, test

TESTS.clear()  # those of the other file


@test
def fifty_kills_lose_nothing():
    reference, partial = None, 0
    for seed in range(100, 150):
        found, before = sweep_test.kill_and_resume(seed, at_worker=seed % 2 == 1, trials=150, seconds=2.5)
        partial += 0 < before < len(found)
        os.remove("r.db")
        for row in found:
            del row["seconds"]
        assert reference is None or found == reference, seed
        reference = found
    assert partial > 0  # rows are written once a second


main("sweep_slow")
