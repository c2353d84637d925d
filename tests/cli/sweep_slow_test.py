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
    reference = None
    for seed in range(100, 150):
        found = sweep_test.kill_and_resume(seed, at_worker=seed % 2 == 1)
        os.remove("r.db")
        for row in found:
            del row["seconds"]
        assert reference is None or found == reference, seed
        reference = found


main("sweep_slow")
