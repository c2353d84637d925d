"""The energy ledger, momentum errors and crossings: recorded, summed, plotted, exported, verified."""
import gzip
import json
import os
import random
import shutil

from _cli import SOURCE, h5py, main, perp, test, write_planar, write_scene
from _recording import forge

import numpy

NAMES = ["change", "forces", "drag", "springs", "motors", "prescribed", "friction", "impacts",
         "joints", "scheme.gap", "scheme.joints", "scheme.gyroscopic", "scheme.springs",
         "scheme.step_loss", "scheme.projection", "scheme.extrapolation", "unexplained",
         "magnitude"]


class Ledger:
    def __init__(self, path):
        with h5py.File(path, "r") as file:
            self.step, self.total = file["step"][()], file["energy/total"][()]
            self.rows = file["energy/ledger"][()]
            self.names = [name.decode() for name in file["energy/ledger"].attrs["columns"]]
            self.momentum = file["solver/momentum_error"][()]
            self.crossings = file["solver/crossings"][()]
            self.version = int(file.attrs["format_version"])

    def sum(self):
        """In the order of the frames, as the program adds them."""
        total = numpy.zeros(self.rows.shape[1])
        for row in self.rows:
            total = total + row
        return dict(zip(self.names, total))


def flat(ledger):
    """energy_ledger of run --json by the names of the recording."""
    out = {name: value for name, value in ledger.items() if name not in ("scheme", "worst")}
    out.update({f"scheme.{name}": value for name, value in ledger["scheme"].items()})
    return out


def write_busy(path="busy.json", seed=0, **changes):
    """A scene of random parts in a plane: friction, a spring, a motor, a rod on a joint, drag."""
    r = random.Random(seed)
    scene = {
        "name": "busy", "dimension": 2, "gravity": [0, -9.81], "step": r.choice([0.002, 0.005, 0.01]),
        "duration": 0.3, "friction": {"default": r.uniform(0.1, 0.8)},
        "joint_correction": r.random() < 0.5,
        "bodies": [
            {"name": "ground", "type": "static",
             "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
            {"name": "disc", "mass": r.uniform(0.5, 2), "inertia": 0.02, "position": [0, 0.2],
             "velocity": [r.uniform(-2, 2), 0], "shapes": [{"type": "circle", "radius": 0.2}]},
            {"name": "box", "mass": 1, "inertia": 0.02, "position": [1, r.uniform(0.3, 0.5)],
             "angle": r.uniform(-0.3, 0.3), "shapes": [{"type": "box", "size": [0.4, 0.4]}]},
            {"name": "rod", "mass": 0.5, "inertia": 0.01, "position": [2.5, 2],
             "shapes": [{"type": "circle", "radius": 0.05}]}],
        "joints": [{"name": "pivot", "type": "revolute", "a": "world", "b": "rod", "at": [2, 2],
                    "friction": r.uniform(0, 0.1)}],
        "forces": [{"type": "spring", "a": "disc", "b": "rod", "stiffness": r.uniform(1, 50),
                    "damping": r.uniform(0, 1), "rest": 2},
                   {"type": "drag", "body": "rod", "linear": 0.1, "angular": 0.01},
                   {"type": "wrench", "body": "box", "force": ["3*sin(20*t)", 0]}]}
    scene.update(changes)
    with open(path, "w") as file:
        json.dump(scene, file)
    return path


def scenes():
    yield write_scene(duration=0.3)
    yield write_planar()
    for seed in range(4):
        yield write_busy(seed=seed)
    yield write_busy(seed=5, restitution=0.6)
    yield write_busy(seed=6, step={"error": 1e-4}, joint_correction=False)


@test
def a_recording_has_the_ledger_of_each_step_and_names_its_columns():
    for scene in scenes():
        perp("run", scene, "--quiet", "--out", "r.h5")
        r = Ledger("r.h5")
        assert r.version == 3 and r.names == NAMES
        assert r.rows.shape == (len(r.step), 18) and r.momentum.shape == (len(r.step), 2)
        assert not r.rows[0].any() and not r.momentum[0].any() and not r.crossings[0].any()
        column = dict(zip(r.names, r.rows.T))
        if r.rows.any():
            terms = sum(column[name] for name in NAMES[1:16])
            size = sum(abs(column[name]) for name in NAMES[1:16])
            scale = numpy.abs(r.total).max() + size
            assert (abs(column["change"] - terms - column["unexplained"]) <= 1e-13 * scale).all()
            assert (abs(column["change"][1:] - numpy.diff(r.total)) <= 1e-12 * scale[1:]).all()
        result = perp("verify", "r.h5", "--json").json
        assert result["ledger"]["frame"] == -1 and result["format_version"] == 3, result
        assert result["ledger"]["checked"] == (len(r.step) - 1 if r.rows.any() else 0), result


@test
def frames_far_apart_have_the_sums_of_the_steps_between_them():
    for scene in (write_scene(duration=0.3), write_busy(seed=1)):
        perp("run", scene, "--quiet", "--out", "all.h5")
        perp("run", scene, "--quiet", "--out", "some.h5", "--set", '/record={"every":9}')
        every, some = Ledger("all.h5"), Ledger("some.h5")
        for k in range(1, len(some.step)):
            between = slice(some.step[k - 1] + 1, some.step[k] + 1)
            total = numpy.zeros(18)
            for i, row in enumerate(every.rows[between]):
                total = row if i == 0 else total + row
            assert numpy.array_equal(some.rows[k], total), k
            assert numpy.array_equal(some.momentum[k], every.momentum[between].max(axis=0)), k
            assert some.crossings[k, 0] == every.crossings[between].sum(), k
        result = perp("verify", "some.h5", "--json").json
        assert result["same_bits"] and result["ledger"]["frame"] == -1, result


@test
def run_json_has_the_sums_over_the_run():
    for scene in scenes():
        final = perp("run", scene, "--json", "--out", "r.h5").json
        r = Ledger("r.h5")
        total, said = r.sum(), flat(final["energy_ledger"])
        assert set(said) == set(NAMES) - {"magnitude"}, set(said) ^ set(NAMES)
        assert all(said[name] == total[name] for name in said), (said, total)
        assert final["crossings"] == r.crossings.sum()
        assert [final["momentum_error"][k] for k in ("linear", "angular")] == list(
            r.momentum.max(axis=0))
        worst = final["energy_ledger"]["worst"]
        assert set(worst) == {"unexplained", "step"} and 0 <= worst["step"] <= r.step[-1]
        text = perp("run", scene).out
        line = [line for line in text.splitlines() if line.startswith("  energy account ")]
        assert len(line) == 1 and "; unexplained " in line[0], text
        if r.rows.any():
            change = final["energy"]["total"] - final["energy"]["initial_total"]
            assert abs(said["change"] - change) <= 1e-11 * (1 + abs(final["energy"]["total"]))
            assert worst["unexplained"] <= 1e-8, worst


@test
def a_continued_run_sums_from_where_it_continues():
    scene = write_busy(seed=2)
    perp("run", scene, "--quiet", "--out", "whole.h5")
    final = perp("run", scene, "--resume", "whole.h5@0.1", "--json", "--out", "rest.h5").json
    whole, rest = Ledger("whole.h5"), Ledger("rest.h5")
    first = rest.step[0]
    assert first > 0 and not rest.rows[0].any()
    assert numpy.array_equal(rest.rows[1:], whole.rows[first + 1:])
    assert numpy.array_equal(rest.momentum[1:], whole.momentum[first + 1:])
    total, said = rest.sum(), flat(final["energy_ledger"])
    assert all(said[name] == total[name] for name in said)
    assert perp("verify", "rest.h5", "--json").json["ledger"]["frame"] == -1


@test
def export_has_the_ledger_of_each_frame():
    perp("run", write_busy(seed=3), "--quiet", "--out", "r.h5")
    r = Ledger("r.h5")
    for more in ((), ("--body", "disc")):
        table = perp("export", "r.h5", "--json", *more).json
        names = [f"ledger.{name}" for name in NAMES]
        names += ["momentum_error.linear", "momentum_error.angular", "crossings"]
        assert table["columns"][-21:] == names
        rows = numpy.array(table["rows"], dtype=float)[:, -21:]
        assert numpy.array_equal(rows, numpy.hstack([r.rows, r.momentum, r.crossings]))


@test
def every_changed_entry_is_found_and_named():
    perp("run", write_busy(seed=4, duration=0.1), "--quiet", "--out", "r.h5")
    perp("run", write_busy(seed=4, duration=0.1, record={"every": 4}), "--quiet", "--out", "few.h5")
    places = [("energy/ledger", i, f"/energy/ledger '{name}'") for i, name in enumerate(NAMES)]
    places += [("solver/momentum_error", i, "/solver/momentum_error") for i in (0, 1)]
    places += [("solver/crossings", 0, "/solver/crossings")]
    r = random.Random(3)
    for source, tried in (("r.h5", places), ("few.h5", r.sample(places, 5))):
        frames = len(Ledger(source).step)
        for path, column, name in tried:
            row = r.randrange(1, frames)
            change = 1 if path == "solver/crossings" else r.choice([-1, 1]) * 10 ** r.uniform(-12, 1)
            shutil.copy(source, "bad.h5")
            forge("bad.h5", path, (row, column), change)
            result = perp("verify", "bad.h5", "--json", status=3).json
            assert result["intact"] and not result["same_bits"], (name, result)
            assert result["first_difference"] == row and result["difference"] == name, result
            text = perp("verify", "bad.h5", status=3).out
            assert f"differs from frame {row} on, in {name}" in text, text


@test
def a_flipped_bit_without_its_hash_is_damage():
    perp("run", write_busy(seed=4, duration=0.1), "--quiet", "--out", "r.h5")
    for path, column in (("energy/ledger", 6), ("energy/ledger", 17), ("solver/crossings", 0),
                         ("solver/momentum_error", 1)):
        shutil.copy("r.h5", "bad.h5")
        with h5py.File("bad.h5", "r+", libver="latest") as file:
            data = file[path][()]
            data.view("u1")[5, column * data.itemsize] ^= 1
            file[path][...] = data
        result = perp("verify", "bad.h5", "--json", status=3).json
        assert not result["intact"] and "frame 5" in result["message"], result
    # the names of its columns are no less part of it
    shutil.copy("r.h5", "bad.h5")
    with h5py.File("bad.h5", "r+", libver="latest") as file:
        names = file["energy/ledger"].attrs["columns"]
        names[6], names[7] = names[7], names[6]
        file["energy/ledger"].attrs.modify("columns", names)
    assert "other columns" in perp("verify", "bad.h5", status=2).err


@test
def a_ledger_that_contradicts_the_recorded_energies_says_where():
    perp("run", write_busy(seed=4, duration=0.1), "--quiet", "--out", "r.h5")
    if not Ledger("r.h5").rows.any():
        return
    for entry, change in (("change", 1e-3), ("friction", 0.5), ("unexplained", -1e-3)):
        shutil.copy("r.h5", "bad.h5")
        forge("bad.h5", "energy/ledger", (7, NAMES.index(entry)), change)
        result = perp("verify", "bad.h5", "--json", status=3).json
        assert result["ledger"]["frame"] == 7, result
        assert "the energy ledger of frame 7 does not hold" in result["message"], result


def unpack(name):
    with gzip.open(os.path.join(SOURCE, "tests", "cli", "recordings", f"{name}.h5.gz")) as packed:
        with open(f"{name}.h5", "wb") as file:
            file.write(packed.read())
    return f"{name}.h5"


@test
def recordings_of_version_2_are_read():
    # written by the program before format version 3
    for name, frames, every in (("version-2-planar", 26, 1), ("version-2-spatial", 11, 2)):
        old = unpack(name)
        with h5py.File(old, "r") as file:
            assert file.attrs["format_version"] == 2 and "ledger" not in file["energy"]
            end, total = file["state/q"][-1], file["energy/total"][-1]
        table = perp("export", old, "--json").json
        assert table["frames"] == frames and not any("ledger" in c for c in table["columns"])
        assert table["rows"][-1][table["columns"].index("energy.total")] == total
        perp("plot", old, "energy", "solver", "-o", "f.svg")
        said = perp("plot", old, "ledger", "-o", "f.svg", status=2).err
        assert "format version 2" in said and "run its scene again" in said, said
        perp("replay", old, "-o", "page.html")
        # its numbers are checked; whether a newer program steps with the same bits is its affair
        result = perp("verify", old, "--json", status=None).json
        assert result["intact"] and result["format_version"] == 2 and result["rerun"], result
        assert result["laws_hold"] in ((True,) if every == 1 else (None,)), result
        assert result["ledger"] == {"checked": 0, "holds": None, "frame": -1, "message": ""}
        assert "none: recorded in format version 2" in perp("verify", old, status=None).out
        if not result["same_bits"]:
            assert "in format version 2" in result["message"], result
        # it can be continued, into a recording of version 3
        perp("run", "--resume", f"{old}@0.1", "--quiet", "--out", "rest.h5")
        assert Ledger("rest.h5").version == 3
        assert perp("verify", "rest.h5", "--json").json["same_bits"]
        both = perp("compare", old, "rest.h5", "--json").json
        assert both["status"] == "ok", both
        with h5py.File("rest.h5", "r") as file:
            assert numpy.allclose(file["state/q"][-1], end, atol=1e-2)


@test
def other_versions_are_refused_by_number():
    perp("run", write_planar(), "--quiet", "--out", "r.h5")
    for version in (1, 4):
        shutil.copy("r.h5", "other.h5")
        with h5py.File("other.h5", "r+", libver="latest") as file:
            file.attrs.modify("format_version", numpy.int32(version))
        said = perp("export", "other.h5", status=2).err
        assert f"format version {version}; this perp reads versions 2 to 3" in said, said


main("ledger_test")
