#!/usr/bin/python3
"""A small version of the experiment b09-grasp-map: its scene, and one draw at each of the 400 positions of figure 4.9a
of [B09].

Environment: PERP, PERP_SOURCE.
"""
import json
import math
import os

from _cli import FULL, SOURCE, main, test
from _study import good, rows

FOLDER = os.path.join(SOURCE, "experiments", "b09-grasp-map")
ANGLES = (4.103727, 4.253125, 4.402522, 5.022255, 5.171653, 5.321051)


def scene(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        return json.load(f)


def sweep(study, shard):
    good("sweep", os.path.join(FOLDER, study + ".json"), "--out", study + ".db", "--shard", shard, "--quiet")
    return rows(study + ".db")


@test
def the_gear_is_that_of_the_thesis():
    """(3.111) with the radius 20.75 mm, (3.112) with its teeth at the printed angles; micrometres."""
    disc, *teeth = scene("grasp.json")["bodies"][0]["shapes"]
    assert all(abs(math.hypot(*v) - 0.02075) < 1e-8 for v in disc["vertices"])
    curved = scene("grasp-curved.json")["bodies"][0]["shapes"]
    assert curved[0] == {"type": "circle", "radius": 0.02075}
    for tooth, round_tooth, angle in zip(teeth, curved[1:], ANGLES, strict=True):
        for shape in (tooth, round_tooth):
            assert shape["angle"] == angle
            assert math.dist(shape["position"], (0.02075 * math.cos(angle), 0.02075 * math.sin(angle))) < 1e-8
        assert all(abs((x / 0.0023) ** 4 + (y / 0.0011) ** 4 - 1) < 1e-4 for x, y in tooth["vertices"])
        assert (round_tooth["radii"], round_tooth["exponent"]) == ([0.0023, 0.0011], 4)


@test
def the_map_is_a_triangle_under_peg():
    found = sweep("medium-medium", "1/252" if FULL else "1/504")
    assert len(found) == (400 if FULL else 200)
    assert [r for r in found if r["status"] != "ok"] == []
    for r in found:
        # Grasped or clearly not: nothing rests between.
        gap = max(abs(r["left_gap"]), abs(r["right_gap"]))
        assert r["grasped"] == (gap < 0.0002) and not 0.0002 <= gap < 0.001, r
        assert (r["outcome"] == "grasped") <= (r["grasped"] == 1) and (r["outcome"] != "empty" or not r["grasped"])
        x, y = abs(r["x"]) * 1e3, r["y"] * 1e3
        # The finger that comes first pushes the gear below its centre and turns it, the more the farther x is from 0;
        # turned too far, the other tip passes below its tooth. Above y = -5 mm the fingers hold the disc.
        if -18 < y < -12 and x < y + 18.6:
            assert r["grasped"], r
        if y > -5 or y < -18 or (y < -12 and x > y + 20):
            assert not r["grasped"], r


@test
def standard_loses_grasps():
    """[B09 4.3.3]: with the extensions of edges as obstacles the tip does not slide along the disc."""
    peg, standard = sweep("polygons", "1/130"), sweep("standard", "1/130")
    assert [r for r in peg + standard if r["status"] != "ok"] == []
    assert [r["mu_grip"] for r in peg] == [r["mu_grip"] for r in standard]
    differ = [a["id"] for a, b in zip(peg, standard, strict=True) if a["grasped"] != b["grasped"]]
    assert len(differ) > 8, (len(differ), len(peg))


main("grasp_map")
