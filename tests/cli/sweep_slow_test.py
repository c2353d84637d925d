#!/usr/bin/python3
"""`perp sweep` killed at fifty random moments, the parent or one of its workers: nothing is lost, nothing is there twice.

Environment: PERP, PERP_SOURCE.
"""
import json
import os
import sqlite3

import sweep_test
from _cli import TESTS, main, test
from _study import good, study

TESTS.clear()  # those of the other file


@test
def fifty_kills_lose_nothing():
    reference, partial = {}, 0
    for seed in range(100, 150):
        trials = 150 if seed < 140 else 1000  # some that take longer than the second after which rows are written
        found, before = sweep_test.kill_and_resume(seed, at_worker=seed % 2 == 1, trials=trials, seconds=2.5)
        partial += 0 < before < len(found)
        os.remove("r.db")
        for row in found:
            del row["seconds"]
        assert found == reference.setdefault(trials, found), seed
    assert partial > 0


@test
def a_million_rows_give_a_page_below_20_megabytes():
    name = study(vary={"h": {"grid": [0.1, 0.3, 50]}, "v": {"grid": [0, 3, 50]}, "mu": {"uniform": [0.1, 0.9]}},
                 sample={"trials": 400, "seed": 7})
    good("sweep", name, "--out", "r.db", "--shard", "1/1000")
    with sqlite3.connect("r.db") as c:  # the rest as rows that nobody has simulated
        c.execute("""WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 1000000)
            INSERT OR IGNORE INTO runs (id, x, outcome, status, steps, seconds, recording, message, certificate)
            SELECT id, id % 1009 * 1e-3, iif(id % 7 < 3, 'far', 'end'), 'ok', 25, 1e-3, '', '', 1e-15 FROM n""")
    good("sweep", "show", "r.db", "--page", "r.html", timeout=300)
    size = os.path.getsize("r.html")
    assert size < 20e6, size
    with open("r.html", encoding="utf-8") as f:
        text = f.read()
    data = json.loads(text[text.index('{"format":"perp-study-page"'):text.index("</script>", text.index('{"format"'))])
    assert data["rows"] == 1000000 and 10000 < len(data["data"]) <= 20000
    pair = data["pairs"][0]
    assert sum(map(sum, pair["counts"])) == 1000000 and len(pair["first"]) == 2500


main("sweep_slow")
