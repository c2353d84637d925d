"""Recordings: the same bits again, damage found, continued runs, a full disk."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

from _cli import FULL, PERP, h5py, main, perp, test, write_planar, write_scene
from _recording import forge, frame_hashes

import numpy

APART = {"wall/step_seconds", "hash/wall"}  # what may differ between equal runs


def datasets(path):
    """All datasets and attributes as bytes, with their types and shapes."""
    found = {}
    with h5py.File(path, "r") as file:
        def visit(name, item):
            if isinstance(item, h5py.Dataset):
                data = item[()]
                found[name] = (str(item.dtype), item.shape, numpy.asarray(data).tobytes())
        file.visititems(visit)
        for name in file.attrs:
            attribute = file.attrs.get_id(name)
            value = numpy.empty((), dtype=attribute.dtype)  # not .attrs: it drops trailing zeros
            attribute.read(value)
            found["@" + name] = (str(attribute.dtype), (), value.tobytes())
    return found


@test
def two_runs_give_equal_files_but_for_the_wall_times():
    for scene in (write_scene(), write_planar()):
        perp("run", scene, "--quiet", "--out", "1.h5")
        perp("run", scene, "--quiet", "--out", "2.h5")
        one, two = datasets("1.h5"), datasets("2.h5")
        assert set(one) == set(two) and len(one) > 40
        assert {name for name in one if one[name] != two[name]} <= APART


@test
def the_file_holds_what_its_description_promises():
    final = perp("run", write_scene(), "--json", "--out", "r.h5").json
    with h5py.File("r.h5", "r") as file:
        assert file.attrs["format"] == b"perp-recording" and file.attrs["format_version"] == 3
        assert file.attrs["resumed_from_step"] == -1 and file.attrs["dimension"] == 3
        n = final["steps"] + 1
        assert file["time"].shape == (n,) and file["state/q"].shape == (n, 4 * 7)
        assert file["state/v"].shape == (n, 4 * 6) and file["hash/frame"].shape == (n,)
        assert list(file["step"]) == list(range(n))
        offset = file["contacts/offset"][()]
        assert len(offset) == n + 1 and offset[0] == 0 and offset[-1] == len(file["contacts/gap"])
        assert (numpy.diff(offset) >= 0).all() and offset[-1] > n
        assert numpy.array_equal(numpy.diff(offset), file["solver/candidates"][()])
        names = file["bodies/name"][()].tobytes()
        ends = file["bodies/offset"][()]
        assert [names[i:j] for i, j in zip(ends, ends[1:])] == [b"ground", b"a", b"b", b"c"]
        assert b"three-balls" in file["scene"][()].tobytes()
        assert b'"frames": %d' % n in file["summary"][()].tobytes()
        assert file["state/q"][-1, 14:17].tolist() == final["bodies"]["b"]["position"]
        # an impulse on B along the normal, never pulling, inside the polygon's circle
        p, mu = file["contacts/impulse"][()], file["contacts/mu"][()]
        assert p.shape == (offset[-1], 4) and file["contacts/e"].shape == (offset[-1], 3)
        assert (file["contacts/cone"][()] == 1).all()
        assert (file["contacts/directions"][()] == 6).all()
        assert (p[:, 0] >= 0).all() and (p[:, 3] == 0).all()
        assert (numpy.hypot(p[:, 1], p[:, 2]) <= mu * p[:, 0] * (1 + 1e-9) + 1e-15).all()
    # the same in any reader: no times of creation, so no chance to differ
    assert perp("verify", "r.h5", "--json").json["laws_checked"] == final["steps"]


@test
def verify_is_content_with_every_kind_of_run():
    scene = write_scene()
    for change in ((), ("--friction", "none"), ("--solver", "pgs"), ("--step", "0.0123"),
                   ("--set", "/record={\"every\":7}"), ("--directions", "3"),
                   ("--friction", "quadratic"),
                   ("--friction", "ellipsoid", "--set", "/friction/e_r=0.1")):
        perp("run", scene, "--quiet", "--out", "r.h5", *change)
        result = perp("verify", "r.h5", "--json").json
        assert result["intact"] and result["complete"] and result["same_bits"], result
        assert result["laws_hold"] is (None if "/record" in str(change) else True), result
        assert result["finished"] and result["note"] == "" and result["steps"] > 0, result
        assert result["worst"]["dynamics"] < 1e-7, result
        # every 7th frame of 200, and the last; only the last two may be one step apart
        assert result["laws_checked"] == (0 if "/record" in str(change) else
                                           result["frames"] - 1), result
    perp("run", write_planar(), "--quiet", "--out", "r.h5")
    assert "same bits" in perp("verify", "r.h5").out


@test
def a_flipped_bit_in_any_dataset_or_attribute_is_found():
    perp("run", write_scene(duration=0.15), "--quiet", "--out", "r.h5")
    generator = random.Random(1)
    tried = 0
    for name, (_, shape, data) in datasets("r.h5").items():
        if len(data) == 0:
            continue
        # the ends and somewhere between
        bits = [0, 8 * len(data) - 1, generator.randrange(8 * len(data))]
        for bit in sorted(set(bits)) if FULL else [generator.choice(bits)]:
            shutil.copy("r.h5", "bad.h5")
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            with h5py.File("bad.h5", "r+", libver="latest") as file:
                if name.startswith("@"):
                    old = file.attrs.get_id(name[1:])
                    old.write(numpy.frombuffer(bytes(changed), dtype=old.dtype).reshape(()))
                else:
                    item = file[name]
                    item[...] = numpy.frombuffer(bytes(changed), dtype=item.dtype).reshape(shape)
            result = perp("verify", "bad.h5", "--json", status=None)
            assert result.status in (2, 3), (name, bit, result.out)
            tried += 1
    assert tried > (120 if FULL else 45), tried
    print(f"  {tried} single flipped bits, all found")


@test
def missing_and_extra_rows_are_found():
    perp("run", write_scene(duration=0.3), "--quiet", "--out", "r.h5")
    for name, change in [("hash/frame", -1), ("time", -1), ("time", 1), ("state/q", -3),
                         ("contacts/offset", -1), ("contacts/gap", -1), ("wall/step_seconds", -1),
                         ("hash/wall", 2), ("summary", -1), ("summary", 4), ("hash/frame", 1)]:
        shutil.copy("r.h5", "bad.h5")
        with h5py.File("bad.h5", "r+", libver="latest") as file:
            file[name].resize(file[name].shape[0] + change, axis=0)
        result = perp("verify", "bad.h5", "--json", status=None)
        assert result.status == 3 and not result.json["intact"], (name, change, result.out)


@test
def a_flipped_bit_anywhere_in_the_file_is_found_or_harmless():
    perp("run", write_scene(duration=0.15), "--quiet", "--out", "r.h5")
    whole = open("r.h5", "rb").read()
    truth = datasets("r.h5")
    generator = random.Random(2)
    found = harmless = 0
    for _ in range(60 if FULL else 25):
        bit = generator.randrange(8 * len(whole))
        bad = bytearray(whole)
        bad[bit // 8] ^= 1 << bit % 8
        with open("bad.h5", "wb") as file:
            file.write(bad)
        result = perp("verify", "bad.h5", status=None, timeout=60)
        if result.status == 0:
            # unused space of the file: nothing that can be read has changed
            assert datasets("bad.h5") == truth, bit
            harmless += 1
        else:
            assert result.status in (2, 3), (bit, result.status, result.err)
            found += 1
    assert found > (10 if FULL else 3)
    print(f"  {found} flips found, {harmless} in unused space")


@test
def a_damaged_superblock_is_refused_in_no_time():
    """HDF5 alone would wait for ever for a writer to repair it."""
    perp("run", write_scene(duration=0.1), "--quiet", "--out", "r.h5")
    whole = open("r.h5", "rb").read()
    for byte in range(0, 48):
        bad = bytearray(whole)
        bad[byte] ^= 1 << byte % 8
        with open("bad.h5", "wb") as file:
            file.write(bad)
        perp("verify", "bad.h5", status=2, timeout=20)


@test
def a_file_cut_short_is_refused_or_read_as_far_as_it_is_whole():
    perp("run", write_scene(duration=0.3), "--quiet", "--out", "r.h5")
    whole = open("r.h5", "rb").read()
    for part in range(0, 20):
        with open("bad.h5", "wb") as file:
            file.write(whole[:len(whole) * part // 20])
        assert perp("verify", "bad.h5", status=None).status in (2, 3)
        assert perp("export", "bad.h5", status=None).status in (0, 2)


@test
def damaged_frames_are_not_exported():
    perp("run", write_scene(duration=0.3), "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r+", libver="latest") as file:
        file["state/q"][20, 8] += 1e-12
    result = perp("export", "r.h5", status=2)
    assert "frame 20 is damaged" in result.err and result.out == ""
    result = perp("run", "--resume", "r.h5@0.1", status=2)
    assert "damaged" in result.err
    result = perp("verify", "r.h5", status=3)
    assert "frame 20" in result.out


def write_machine(correction=True):
    """A wheel that drives an arm, which falls onto the floor; every kind of law of joints."""
    scene = {
        "name": "machine", "gravity": [0, 0, -9.81], "step": 0.01, "duration": 1.5,
        "joint_correction": correction, "friction": {"default": 0.5},
        "bodies": [
            {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
            {"name": "wheel", "density": 100, "position": [0, 0, 0.4],
             "angular_velocity": [0, 30, 0], "shapes": [{"type": "sphere", "radius": 0.2}]},
            {"name": "arm", "density": 100, "position": [0.5, 0.3, 0.4],
             "shapes": [{"type": "box", "size": [1, 0.1, 0.1]}]},
            {"name": "ball", "density": 100, "position": [1.2, 0.3, 0.4],
             "shapes": [{"type": "sphere", "radius": 0.1}]}],
        "joints": [
            {"name": "axle", "type": "revolute", "a": "world", "b": "wheel", "at": [0, 0, 0.4],
             "axis": [0, 1, 0], "friction": 0.1},
            {"name": "crank", "type": "universal", "a": "wheel", "b": "arm", "at": [0, 0.3, 0.4],
             "axis": [0, 1, 0]},
            {"name": "rope", "type": "rope", "a": "arm", "b": "ball", "at_a": [0.5, 0, 0],
             "at_b": [0, 0, 0], "length": 0.4},
            {"name": "lift", "type": "prismatic", "a": "world", "b": "ball", "at": [1.2, 0.3, 0.4],
             "axis": [0, 0, 1], "limits": [-0.2, 0.1], "damping": 2,
             "motor": {"type": "velocity", "target": "sin(9*t)", "max_effort": 20}}]}
    with open("machine.json", "w", encoding="utf-8") as file:
        json.dump(scene, file)
    return "machine.json"


@test
def joints_are_recorded_verified_exported_and_continued():
    for correction in (False, True):
        scene = write_machine(correction)
        final = perp("run", scene, "--json", "--out", "whole.h5").json
        assert final["certificate"]["joints"] < 1e-8 and final["contacts"]["max"] > 0
        assert (final["joint_error"]["max"] < 1e-10) is correction, final["joint_error"]
        with h5py.File("whole.h5", "r") as file:
            n = final["steps"] + 1
            assert file["joints/impulse"].shape == (n, 24) and file["joints/turns"].shape == (n, 8)
            assert file.attrs["v_solved"] == 1 or not correction
            assert file["state/v_solved"].shape[0] == (n if file.attrs["v_solved"] else 0)
            assert (file["solver/corrections"][1:] > 0).any() == correction
            assert file["solver/joint_error"][()].max() == max(final["joint_error"].values())
            assert file["joints/name"][()].tobytes() == b"axlecrankropelift"
        result = perp("verify", "whole.h5", "--json").json
        assert result["same_bits"] and result["laws_hold"], result
        assert result["laws_checked"] == final["steps"]
        rows = perp("export", "whole.h5").out.splitlines()
        columns = dict(zip(rows[0].split(","), rows[-1].split(",")))
        assert {"joint.axle.angle", "joint.crank.angle2", "joint.rope.distance", "joint.lift.travel",
                "joint.axle.error", "joint.axle.axis_impulse"} <= set(columns)
        assert abs(float(columns["joint.axle.angle"])) > 2 * 3.15  # more than a turn
        perp("run", scene, "--quiet", "--out", "rest.h5", "--resume", "whole.h5@0.8")
        whole, rest = datasets("whole.h5"), datasets("rest.h5")
        assert rest["state/q"][2][-8 * 28:] == whole["state/q"][2][-8 * 28:]
        for name in ("joints/coordinate", "joints/turns", "joints/impulse", "state/v"):
            assert whole[name][2].endswith(rest[name][2]), name
        assert "same bits" in perp("verify", "rest.h5").out


def write_soft(midpoint=False):
    """A ball and two blocks, all soft, one on the other; with a core that is met."""
    soft = {"stiffness": 2000, "damping": 3, "max_deflection": 0.02}
    scene = {
        "dimension": 3, "gravity": [0, 0, -9.81], "step": 0.002, "duration": 0.3,
        "stepper": {"type": "compliant", "midpoint": midpoint}, "friction": {"default": 0.4},
        "bodies": [
            {"name": "ground", "type": "static", "compliance": soft,
             "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
            {"name": "block", "mass": 2, "position": [0, 0, 0.1], "compliance": soft,
             "shapes": [{"type": "box", "size": [0.4, 0.4, 0.2]}]},
            {"name": "top", "mass": 1, "position": [0.02, 0, 0.3], "compliance": soft,
             "shapes": [{"type": "box", "size": [0.3, 0.3, 0.2]}]},
            {"name": "ball", "mass": 3, "position": [0.03, 0.02, 0.8], "velocity": [0.1, 0, -1],
             "shapes": [{"type": "sphere", "radius": 0.1}]}]}
    with open("soft.json", "w") as file:
        json.dump(scene, file)
    return "soft.json"


@test
def soft_layers_are_recorded_verified_and_continued():
    for midpoint in (False, True):
        scene = write_soft(midpoint)
        final = perp("run", scene, "--json", "--out", "whole.h5").json
        assert final["certificate"]["dynamics"] < 1e-8 and final["solver_failures"] == 0
        with h5py.File("whole.h5", "r") as file:
            layer = file["contacts/layer"][()]
            assert file.attrs["soft_contacts"] == 2 and layer.shape == (len(file["contacts/gap"]), 11)
            assert layer[:, 4].max() > 0.01 and (layer[:, 7] > 0).any()  # pressed in; core met
            assert set(layer[:, 0]) == ({0.5, 1.0} if midpoint else {1.0})
        result = perp("verify", "whole.h5", "--json").json
        assert result["same_bits"] and result["laws_hold"], result
        assert result["laws_checked"] == final["steps"]
        perp("run", scene, "--quiet", "--out", "rest.h5", "--resume", "whole.h5@0.2")
        whole, rest = datasets("whole.h5"), datasets("rest.h5")
        for name in ("state/q", "state/v", "contacts/layer", "contacts/impulse", "energy/total"):
            assert whole[name][2].endswith(rest[name][2]) and rest[name][2], name
        assert "same bits" in perp("verify", "rest.h5").out
    perp("run", write_scene(duration=0.1), "--quiet", "--out", "rigid.h5")
    with h5py.File("rigid.h5", "r") as file:
        assert "soft_contacts" not in file.attrs and "layer" not in file["contacts"]


@test
def layers_between_free_bodies_are_verified_to_the_tolerance():
    for scale in (1.0, 3.0, 30.0):
        for friction in (0.1, 0.6):
            layers = [{"stiffness": 4546.0, "max_deflection": 1e-4 * scale}, {"stiffness": 27415.0},
                      {"stiffness": 10787.0, "max_deflection": 1.1e-4 * scale}]
            sizes = [[0.00118, 0.0017, 0.0013], [0.00156, 0.00154, 0.0017], [0.003, 0.003, 0.00323]]
            places = [[1.9e-5, 6e-6, 0.00065], [2e-5, 7.8e-5, 0.00215], [6.4e-5, -5.6e-6, 0.004616]]
            masses = [3.8e-6, 9.4e-6, 2.4e-6]
            bodies = [{"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}]
            for i in range(3):
                shape = {"type": "box", "size": [scale * x for x in sizes[i]]} if i < 2 else \
                    {"type": "sphere", "radius": 0.00161619897121 * scale}
                bodies.append({"name": f"b{i}", "mass": masses[i] * scale ** 3, "shapes": [shape],
                               "position": [scale * x for x in places[i]], "compliance": layers[i]})
            with open("ties.json", "w") as file:
                json.dump({"gravity": [0, 0, -9.81], "step": 1e-4, "duration": 0.0028, "contact": "standard",
                           "stepper": "compliant", "friction": {"default": friction}, "bodies": bodies}, file)
            perp("run", "ties.json", "--quiet", "--out", "ties.h5")
            result = perp("verify", "ties.h5", "--json").json
            assert result["same_bits"] and result["laws_hold"], (scale, friction, result)


@test
def the_hash_is_what_its_description_says():
    for scene in (write_scene(duration=0.3), write_planar(), write_machine(), write_soft()):
        perp("run", scene, "--quiet", "--out", "r.h5")
        with h5py.File("r.h5", "r") as file:
            assert list(frame_hashes(file)) == file["hash/frame"][()].tolist()


@test
def a_lie_with_right_hashes_breaks_the_laws_and_the_bits():
    perp("run", write_scene(duration=0.3), "--quiet", "--out", "rigid.h5")
    perp("run", write_soft(), "--quiet", "--out", "soft.h5")
    for source, name, row, column, change in [
            ("rigid", "state/v", 30, 6, 1e-3), ("rigid", "contacts/impulse", 40, 0, 1e-2),
            ("rigid", "contacts/impulse", 40, 1, 1e-2), ("soft", "contacts/layer", 200, 1, 1e-5),
            ("soft", "contacts/layer", 200, 4, 1e-5), ("soft", "contacts/layer", 200, 7, 1e-3)]:
        shutil.copy(source + ".h5", "bad.h5")
        forge("bad.h5", name, (row, column), change)
        result = perp("verify", "bad.h5", "--json", status=3).json
        assert result["intact"] and not result["laws_hold"], result
        assert not result["same_bits"] and result["first_difference"] >= 1, result


def state(path):
    with h5py.File(path, "r") as file:
        return {int(step): (time, q.tobytes(), v.tobytes(), k)
                for step, time, q, v, k in zip(file["step"], file["time"], file["state/q"],
                                               file["state/v"], file["energy/total"])}


@test
def a_continued_run_has_the_bits_of_one_that_never_stopped():
    scene = write_scene()
    perp("run", scene, "--quiet", "--out", "whole.h5")
    perp("run", scene, "--quiet", "--out", "half.h5", "--duration", "0.4")
    whole = state("whole.h5")
    cases = [
        (("run", scene, "--resume", "half.h5"), 80),
        (("run", "--resume", "half.h5", "--duration", "1"), 80),
        (("run", scene, "--resume", "whole.h5@0.5"), 100),
        (("run", scene, "--resume", "whole.h5@0.5024"), 100),  # the last frame before it
        (("run", "--resume", "whole.h5@0"), 0),
        (("run", scene, "--resume=half.h5@0.2"), 40),
    ]
    for args, first in cases:
        perp(*args, "--quiet", "--out", "rest.h5")
        rest = state("rest.h5")
        assert min(rest) == first and max(rest) == 200, (args, min(rest), max(rest))
        assert all(rest[step] == whole[step] for step in rest), args
        with h5py.File("rest.h5", "r") as file:
            assert file.attrs["resumed_from_step"] == (first if first else -1)
        result = perp("verify", "rest.h5", "--json").json
        assert result["same_bits"] and result["laws_checked"] == 200 - first
    # from the end of a continued run
    perp("run", "--resume", "half.h5", "--duration", "0.6", "--quiet", "--out", "more.h5")
    perp("run", "--resume", "more.h5", "--duration", "1", "--quiet", "--out", "rest.h5")
    rest = state("rest.h5")
    assert min(rest) == 120
    assert all(rest[step] == whole[step] for step in rest) and max(rest) == 200
    # also in a plane
    planar = write_planar()
    perp("run", planar, "--quiet", "--out", "whole.h5")
    perp("run", planar, "--quiet", "--resume", "whole.h5@0.25", "--out", "rest.h5")
    whole, rest = state("whole.h5"), state("rest.h5")
    assert all(rest[step] == whole[step] for step in rest) and len(rest) == 26


@test
def only_the_same_bodies_and_step_can_be_continued():
    scene = write_scene()
    perp("run", scene, "--quiet", "--out", "r.h5")
    assert "bodies" in perp("run", write_planar(), "--resume", "r.h5@0.2", status=2).err
    assert "step" in perp("run", scene, "--resume", "r.h5@0.5", "--step", "0.001", status=2).err
    assert "R.h5@TIME" in perp("run", scene, "--resume", "r.h5@soon", status=2).err
    for more in ((), (scene,), ("--duration", "1"), ("--duration", "0.5")):
        result = perp("run", *more, "--resume", "r.h5", status=2)
        assert "already at its duration" in result.err and "give --duration" in result.err


@test
def a_recording_never_replaces_what_it_is_made_from():
    scene = write_scene(duration=0.1)
    text = open(scene).read()
    os.symlink(scene, "link.json")
    os.link(scene, "hard.json")
    for out in (scene, "./scene.json", "link.json", "hard.json"):
        result = perp("run", scene, "--out", out, status=2)
        assert "is the scene itself" in result.err and "another name" in result.err, result.err
        assert open(scene).read() == text
    perp("run", scene, "--quiet", "--out", "r.h5")
    before = open("r.h5", "rb").read()
    for out in ("r.h5", "./r.h5"):
        result = perp("run", "--resume", "r.h5@0.05", "--out", out, status=2)
        assert "would be lost: give another name" in result.err, result.err
        assert open("r.h5", "rb").read() == before


@test
def only_a_recording_is_replaced():
    scene = write_scene(duration=0.1)
    with open("notes.txt", "w") as file:
        file.write("precious")
    open("empty", "w").close()
    with h5py.File("other.h5", "w") as file:
        file["data"] = [1, 2, 3]
    for out in ("notes.txt", "empty", "other.h5"):
        before = open(out, "rb").read()
        result = perp("run", scene, "--out", out, "--json", status=2)
        assert "not a perp recording" in result.err and "another name" in result.err, result.err
        assert result.json["status"] == "bad-input" and open(out, "rb").read() == before
    for duration in ("0.1", "0.05"):
        perp("run", scene, "--quiet", "--out", "r.h5", "--duration", duration)
    assert perp("export", "r.h5", "--json").json["frames"] == 11
    assert sorted(os.listdir(".")) == ["empty", "notes.txt", "other.h5", "r.h5", "scene.json"]


@test
def a_killed_recording_can_be_replaced():
    scene = write_scene(duration=1e6)
    process = subprocess.Popen([PERP, "run", scene, "--quiet", "--out", "r.h5"])
    while not os.path.exists("r.h5"):
        time.sleep(0.01)
    # two at once: the second takes the place, and the first says so
    perp("run", scene, "--quiet", "--duration", "0.1", "--out", "r.h5")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 3
    assert perp("verify", "r.h5", "--json").json["finished"]
    process = subprocess.Popen([PERP, "run", scene, "--quiet", "--out", "k.h5"])
    while not os.path.exists("k.h5"):
        time.sleep(0.01)
    process.kill()
    process.wait()
    perp("run", scene, "--quiet", "--duration", "0.1", "--out", "k.h5")


@test
def the_second_of_two_writers_is_named():
    scene = write_scene(duration=1e6)
    process = subprocess.Popen([PERP, "run", scene, "--quiet", "--out", "r.h5"],
                               stderr=subprocess.PIPE, text=True)
    while not os.path.exists("r.h5"):
        time.sleep(0.01)
    os.remove("r.h5")
    perp("run", scene, "--quiet", "--duration", "0.1", "--out", "r.h5")
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=30)[1]
    assert process.returncode == 3 and "interrupted at t = " in err
    assert "was replaced by another program while this run was writing" in err, err


@test
def resuming_says_where_and_refuses_what_is_not_there():
    scene = write_scene(duration=0.5)
    perp("run", scene, "--quiet", "--out", "r.h5")
    for t in ("7", "-1", "0.51"):
        result = perp("run", "--resume", f"r.h5@{t}", status=2)
        assert f"has no t = {t}: it goes from 0 to 0.5" in result.err, result.err
    result = perp("run", "--resume", "r.h5@0.3024")
    assert "continued from r.h5 at t = 0.3, its last frame at or before 0.3024" in result.out
    result = perp("run", "--resume", "r.h5@0.3")
    assert "continued from r.h5 at t = 0.3\n" in result.out
    assert perp("run", "--resume", "r.h5@0.3024", "--json").json["resumed_from"] == 0.3


@test
def last_steps_that_were_fitted_to_the_duration_are_explained():
    scene = write_scene(step=0.03, duration=0.1)  # 0.03, 0.06, 0.08, 0.1
    perp("run", scene, "--quiet", "--out", "r.h5")
    result = perp("run", "--resume", "r.h5", "--duration", "0.2", status=2)
    assert "fitted to its duration" in result.err and "resume from @0.06\n" in result.err
    perp("run", "--resume", "r.h5@0.06", "--duration", "0.2", "--quiet", "--out", "rest.h5")
    perp("run", scene, "--duration", "0.2", "--quiet", "--out", "whole.h5")
    whole, rest = state("whole.h5"), state("rest.h5")
    assert min(rest) == 2 and all(rest[step] == whole[step] for step in rest)


@test
def a_duration_that_the_step_does_not_divide_resumes_and_verifies():
    arm = {"bodies": [
        {"name": "wall", "type": "static",
         "shapes": [{"type": "halfplane", "normal": [1, 0], "offset": -0.3}]},
        {"name": "A", "mass": 1, "inertia": 0.08, "position": [0.5, 0]},
        {"name": "B", "mass": 1, "inertia": 0.08, "position": [1.5, 0],
         "shapes": [{"type": "circle", "radius": 0.1}]}],
        "joints": [{"name": "O", "type": "revolute", "a": "world", "b": "A", "at": [0, 0]},
                   {"name": "P", "type": "revolute", "a": "A", "b": "B", "at": [1, 0]}],
        "gravity": [0, -9.81], "dimension": 2, "step": 0.01, "friction": {"default": 0.2}}
    changes = [{}, {"joint_correction": True}, {"restitution": 1}, {"record": {"every": 3}},
               {"restitution": {"law": "poisson", "e": 0.8}, "joint_correction": True}]
    for i, change in enumerate(changes):
        scene = write_planar(**arm, **change)
        perp("run", scene, "--quiet", "--out", "whole.h5", "--duration", "0.9")
        whole = state("whole.h5")
        ends = ("0.8000001", "0.8004", "0.805", "0.8099999")
        for rest in ends[i % 2::2] if FULL else ends[i % 4:i % 4 + 1]:
            perp("run", scene, "--quiet", "--out", "r.h5", "--duration", rest)
            perp("verify", "r.h5")
            part = state("r.h5")
            early = [step for step in part if part[step][0] < 0.79 - 1e-9]
            assert early and all(part[step] == whole[step] for step in early), (change, rest)
            # from the middle, to the same end: the same bits
            perp("run", "--resume", "r.h5@0.4", "--quiet", "--out", "again.h5")
            again = state("again.h5")
            assert all(again[step] == part[step] for step in again if step in part)
            assert max(again) == max(part)
            # from the end to a longer duration: told where, and from there the same bits
            result = perp("run", "--resume", "r.h5", "--duration", "0.9", status=2)
            at = result.err.split("resume from @")[1].strip()
            assert float(at) < 0.8, result.err
            perp("run", "--resume", f"r.h5@{at}", "--duration", "0.9", "--quiet",
                 "--out", "longer.h5")
            longer = state("longer.h5")
            assert all(longer[step] == whole[step] for step in longer if step in whole)
            perp("verify", "longer.h5")


@test
def verify_does_not_call_good_what_it_did_not_check():
    scene = write_scene()
    perp("run", scene, "--quiet", "--out", "r.h5", "--set", '/record={"every":7}')
    text = perp("verify", "r.h5").out
    assert "--   laws           not checked: record.every is 7\n" in text, text
    assert "ok   laws" not in text
    perp("run", scene, "--quiet", "--out", "r.h5")
    text = perp("verify", "r.h5").out
    assert "ok   laws           200 of 200 steps" in text and "ended early" not in text


@test
def verify_says_how_a_run_ended():
    scene = write_scene(forces=[{"type": "wrench", "body": "b", "force": ["sqrt(0.3-t)", 0, 0]}])
    perp("run", scene, "--quiet", "--out", "r.h5", status=3)
    result = perp("verify", "r.h5", "--json").json
    assert result["complete"] and not result["finished"] and "sqrt" in result["note"], result
    text = perp("verify", "r.h5").out
    assert "--   run            ended early: " in text and "sqrt(0.3-t)" in text, text
    with h5py.File("r.h5", "r") as file:
        summary = json.loads(file["summary"][()].tobytes())
    assert summary["status"] == "stopped" and summary["note"] == result["note"]
    assert "ended early" in text.splitlines()[0]


@test
def frames_far_apart_tell_the_worst_between_them():
    scene = write_scene()
    perp("run", scene, "--quiet", "--out", "all.h5", "--solver", "pgs")
    perp("run", scene, "--quiet", "--out", "some.h5", "--solver", "pgs", "--set",
         '/record={"every":9}')
    with h5py.File("all.h5", "r") as every, h5py.File("some.h5", "r") as some:
        step = some["step"][()]
        own = 0
        for name in ("certificate/dynamics", "certificate/normal", "certificate/friction",
                     "certificate/joints", "solver/penetration", "solver/iterations"):
            truth = every[name][()]
            for k in range(1, len(step)):
                assert some[name][k] == truth[step[k - 1] + 1:step[k] + 1].max(), (name, k)
                own += some[name][k] != truth[step[k]]
        assert own > 20
    assert perp("verify", "some.h5", "--json").json["same_bits"]


@test
def a_full_disk_is_3_says_so_and_keeps_what_was_written():
    scene = write_scene(duration=1000)

    def limit(size):
        def apply():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return apply
    for size in (1 << 20, 3 << 20, 7000000):
        result = perp("run", scene, "--json", "--out", "r.h5", status=3, timeout=100,
                      preexec_fn=limit(size))
        assert result.json["status"] == "failed"
        assert "r.h5: cannot write: File too large" in result.err, result.err
        export = perp("export", "r.h5", "--body", "a", "--json").json
        assert not export["complete"] and export["frames"] >= 1
        if size > 2 << 20:
            assert export["frames"] > 1000, export["frames"]
        result = perp("verify", "r.h5", "--json").json
        assert result["intact"] and result["same_bits"]
    # not even room to begin: the old recording stays
    before = open("r.h5", "rb").read()
    result = perp("run", scene, "--json", "--out", "r.h5", status=3, preexec_fn=limit(20000))
    assert result.json["status"] == "failed"
    assert "File too large" in result.err and open("r.h5", "rb").read() == before
    assert sorted(os.listdir(".")) == ["r.h5", "scene.json"]


main("record_test")
