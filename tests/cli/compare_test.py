"""`perp compare`, against distances that are computed here, with h5py and numpy, from the files."""
import json
import os
import re

import h5py
import numpy as np

from _cli import main, perp, test, write_planar, write_scene


class Recording:
    def __init__(self, path):
        with h5py.File(path, "r") as f:
            self.t, q = f["time"][()], f["state/q"][()]
            ends, names = f["bodies/offset"][()], f["bodies/name"][()].tobytes()
            self.names = [names[i:j].decode() for i, j in zip(ends, ends[1:])]
            self.q = q.reshape(len(self.t), len(self.names), -1)
            self.energy = f["energy/total"][()]
            self.certificate = {k: f["certificate/" + k][()].max()
                                for k in ("dynamics", "normal", "friction", "joints")}
            self.contacts = f["solver/contacts"][()]
            self.penetration = f["solver/penetration"][()].max()
            self.iterations = f["solver/iterations"][()]

    def bracket(self, t):
        k = int(np.clip(np.searchsorted(self.t, t - 1e-9, side="left"), 1, len(self.t) - 1))
        u = (t - self.t[k - 1]) / (self.t[k] - self.t[k - 1])
        return k - 1, k, (0.0 if abs(u) < 1e-6 else 1.0 if abs(u - 1) < 1e-6 else u)

    def at(self, t, name):
        """Position and rotation: a matrix, or an angle."""
        i, j, u = self.bracket(t)
        b = self.names.index(name)
        p, q = self.q[i, b], self.q[j, b]
        if len(p) == 3:
            mix = (1 - u) * p + u * q
            return mix[:2], mix[2]
        # Not slerp, as the program does it, but: turn by the part u of the rotation from p to q.
        P, Q = matrix(p[3:]), matrix(q[3:])
        axis, angle = axis_angle(Q @ P.T)
        return (1 - u) * p[:3] + u * q[:3], rodrigues(axis, u * angle) @ P

    def energy_at(self, t):
        return np.interp(t, self.t, self.energy)


def matrix(q):
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def axis_angle(R):
    v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = np.linalg.norm(v)
    return (v / sine if sine > 0 else np.array([1.0, 0, 0])), np.arctan2(sine, np.trace(R) - 1)


def rodrigues(axis, angle):
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def by_hand(a, b, name):
    """Distances and turns at every time of either recording that both cover."""
    low, high = max(a.t[0], b.t[0]), min(a.t[-1], b.t[-1])
    times = np.unique(np.round(np.concatenate([a.t, b.t]), 9))
    times = times[(times >= low - 1e-9) & (times <= high + 1e-9)]
    distance, turn = [], []
    for t in times:
        (x, R), (y, S) = a.at(t, name), b.at(t, name)
        distance.append(np.linalg.norm(y - x))
        turn.append(abs(S - R) if np.ndim(R) == 0 else axis_angle(S @ R.T)[1])
    return times, np.array(distance), np.array(turn)


def near(x, y, tolerance=1e-9):
    return abs(x - y) <= tolerance * max(1.0, abs(y))


def check_against_hand(path_a, path_b):
    result = perp("compare", path_a, path_b, "--json").json
    a, b = Recording(path_a), Recording(path_b)
    assert result["status"] == "ok"
    for name in a.names:
        if name not in b.names:
            assert name in result["only_in_a"] and name not in result["bodies"]
            continue
        times, distance, turn = by_hand(a, b, name)
        found = result["bodies"][name]
        assert result["times"] == len(times), (result["times"], len(times))
        assert near(found["distance"]["max"], distance.max()), (name, found, distance.max())
        assert near(found["distance"]["final"], distance[-1]), (name, found, distance[-1])
        # matrices lose half the digits of a tiny angle
        assert near(found["rotation"]["max"], turn.max(), 1e-7), (name, found, turn.max())
        assert near(found["rotation"]["final"], turn[-1], 1e-7), (name, found, turn[-1])
        if distance.max() > 0:
            assert near(np.interp(found["distance"]["time"], times, distance), distance.max())
    energy = np.abs([b.energy_at(t) - a.energy_at(t) for t in times])
    assert near(result["energy_difference"]["max"], energy.max())
    assert near(result["energy_difference"]["final"], energy[-1])
    for side, recording in (("a", a), ("b", b)):
        r = result[side]
        for law, worst in recording.certificate.items():
            assert r["certificate"][law] == worst, (law, r["certificate"], worst)
        assert r["contacts"] == {"max": recording.contacts.max(), "final": recording.contacts[-1]}
        assert r["energy"] == {"initial": recording.energy[0], "final": recording.energy[-1]}
        assert r["penetration"]["max"] == recording.penetration
        assert near(r["solver_iterations"]["mean"], recording.iterations[1:].mean())
        assert r["frames"] == len(recording.t)
    return result


@test
def distances_are_those_computed_by_hand_at_common_times():
    scene = write_scene()
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--set", "/friction/default=0.1", "--out", "b.h5", "--quiet")
    result = check_against_hand("a.h5", "b.h5")
    assert result["interpolated"] == {"a": 0, "b": 0} and not result["identical"]
    assert result["bodies"]["a"]["distance"]["max"] > 1e-3, "or the test says nothing"
    assert result["bodies"]["a"]["rotation"]["max"] > 1e-3
    assert result["furthest"] in ("a", "b", "c")


@test
def where_times_differ_both_sides_are_interpolated():
    scene = write_scene()
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--step", "0.007", "--duration", "0.8", "--out", "b.h5", "--quiet")
    perp("run", scene, "--set", '/record={"every": 10}', "--out", "c.h5", "--quiet")
    result = check_against_hand("a.h5", "b.h5")
    assert result["interpolated"]["a"] > 50 and result["interpolated"]["b"] > 50
    assert near(result["to"], 0.8)
    # C is A with nine of ten frames left out: the same where it has frames, and near between them
    result = check_against_hand("c.h5", "a.h5")
    assert result["interpolated"] == {"a": 180, "b": 0}
    assert result["bodies"]["a"]["distance"]["final"] == 0
    assert 0 < result["bodies"]["a"]["distance"]["max"] < 0.05


@test
def planar_recordings_too():
    scene = write_planar()
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--step", "0.004", "--set", "/bodies/1/velocity=[2,0]", "--out", "b.h5",
         "--quiet")
    result = check_against_hand("a.h5", "b.h5")
    assert result["bodies"]["disc"]["rotation"]["max"] > 0.1


@test
def the_same_run_twice_is_identical_and_it_says_so():
    scene = write_scene(duration=0.2)
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--out", "b.h5", "--quiet")
    result = perp("compare", "a.h5", "b.h5", "--json").json
    assert result["identical"] and result["furthest"] is None
    assert all(b["distance"]["max"] == 0 for b in result["bodies"].values())
    assert "the same bits in every frame" in perp("compare", "a.h5", "b.h5").out
    perp("run", scene, "--duration", "0.1", "--out", "c.h5", "--quiet")
    result = perp("compare", "a.h5", "c.h5", "--json").json
    assert not result["identical"] and result["furthest"] is None and result["to"] == 0.1


@test
def bodies_without_a_namesake_are_named_and_left_out():
    scene = write_scene(duration=0.1)
    perp("run", scene, "--out", "a.h5", "--quiet")
    bodies = json.load(open(scene))["bodies"]
    bodies[1]["name"] = "other"
    other = write_scene("other.json", duration=0.1, bodies=bodies[:3] + [bodies[3]], forces=[])
    perp("run", other, "--out", "b.h5", "--quiet")
    result = check_against_hand("a.h5", "b.h5")
    assert result["only_in_a"] == ["a"] and result["only_in_b"] == ["other"]
    assert sorted(result["bodies"]) == ["b", "c", "ground"]
    text = perp("compare", "a.h5", "b.h5").out
    assert "only in A, not compared: a\n" in text and "only in B, not compared: other\n" in text


@test
def what_cannot_be_compared_is_refused():
    perp("run", write_scene(duration=0.1), "--out", "a.h5", "--quiet")
    perp("run", write_planar(duration=0.1), "--out", "b.h5", "--quiet")
    lonely = write_scene("lonely.json", duration=0.1, forces=[], bodies=[
        {"name": "x", "mass": 1, "shapes": [{"type": "sphere", "radius": 1}]}])
    perp("run", lonely, "--out", "c.h5", "--quiet")
    assert "a.h5 is spatial and b.h5 is not" in perp("compare", "a.h5", "b.h5", status=2).err
    done = perp("compare", "a.h5", "c.h5", "--json", status=2)
    assert "namesake" in done.err and done.json["status"] == "bad-input"
    perp("compare", "a.h5", status=2)
    perp("compare", "a.h5", "nothing.h5", status=2)
    perp("compare", "a.h5", "lonely.json", status=2)
    perp("compare", "a.h5", "a.h5", "--json", "--markdown", status=2)
    perp("run", "--resume", "a.h5", "--duration", "0.2", "--out", "late.h5", "--quiet")
    perp("run", "scene.json", "--duration", "0.05", "--out", "early.h5", "--quiet")
    assert "no time in common" in perp("compare", "early.h5", "late.h5", status=2).err
    perp("compare", "a.h5", "late.h5")  # they touch


@test
def the_text_is_aligned_and_the_markdown_is_a_table():
    odd = "p|pe *star* <b>"
    bodies = [{"name": "ground", "type": "static",
               "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}]
    bodies += [{"name": n, "mass": 1, "position": [3 * i, 0, 1], "velocity": [1, 0, 0],
                "shapes": [{"type": "sphere", "radius": 1}]}
               for i, n in enumerate([odd, "ball", "Größe ⊥", "x" * 300])]
    scene = write_scene(bodies=bodies, forces=[], duration=0.1)
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--set", "/friction/default=0", "--out", "b.h5", "--quiet")
    text = perp("compare", "a.h5", "b.h5").out
    tables = [block.splitlines() for block in text.split("\n\n")[1:]]
    for table in tables:  # every column ends where its head ends
        assert len({len(line) for line in table}) == 1, table
    assert len(tables[0]) == 1 + 4, "the ground, which does not move, is not worth a row"
    markdown = perp("compare", "a.h5", "b.h5", "--markdown").out
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    counts = [len(re.findall(r"(?<!\\)\|", line)) for line in rows]
    assert counts == [8] * 6 + [5] * (len(rows) - 6), counts
    assert r"p\|pe \*star\* \<b>" in markdown
    assert "\x1b" not in markdown + text


@test
def of_many_bodies_those_furthest_apart_are_shown():
    bodies = [{"name": f"b{i}", "mass": 1, "position": [3 * i, 0, 1], "velocity": [i / 100, 0, 0],
               "shapes": [{"type": "sphere", "radius": 1}]} for i in range(30)]
    scene = write_scene(bodies=bodies, forces=[], duration=0.1)
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--set", "/bodies/7/velocity=[5,0,0]", "--out", "b.h5", "--quiet",
         "--set", "/bodies/29/velocity=[9,0,0]")
    text = perp("compare", "a.h5", "b.h5").out
    rows = text.split("\n\n")[1].splitlines()[1:]
    assert [r.split()[0] for r in rows[:3]] == ["b29", "b7", "b0"] and len(rows) == 20
    assert "10 more are nearer" in text
    assert len(perp("compare", "a.h5", "b.h5", "--json").json["bodies"]) == 30


@test
def an_interrupted_recording_is_compared_up_to_its_last_frame():
    import signal
    import subprocess
    import time
    from _cli import PERP
    scene = write_scene(step=1e-4, duration=100.0)
    process = subprocess.Popen([PERP, "run", scene, "--out", "a.h5", "--quiet"])
    deadline = time.monotonic() + 20
    while not os.path.exists("a.h5") and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    perp("run", scene, "--duration", "0.05", "--out", "b.h5", "--quiet")
    result = perp("compare", "a.h5", "b.h5", "--json").json
    assert not result["a"]["finished"] and result["b"]["finished"]
    assert result["bodies"]["a"]["distance"]["max"] == 0 and result["times"] == 501
    assert "ended early" in perp("compare", "a.h5", "b.h5").out


@test
def what_differs_between_the_scenes_is_named():
    scene = write_scene(duration=0.1)
    perp("run", scene, "--out", "a.h5", "--quiet")
    with open(scene) as file:
        other = json.load(file)
    other["friction"]["default"] = 0.1
    other["bodies"].insert(1, {"name": "d|e", "type": "dynamic", "mass": 1, "inertia": [1, 1, 1],
                               "position": [0, 9, 1]})
    other["bodies"][3]["mass"] = 2.0   # as before, written otherwise: no difference
    other["bodies"][4]["position"] = [0.2, 0.1, 3.5]
    del other["bodies"][4]["shapes"][0]["radius"]
    other["bodies"][4]["shapes"][0].update(type="capsule", radius=0.25, length=0.5)
    del other["forces"]
    with open("other.json", "w") as file:
        json.dump(other, file)
    perp("run", "other.json", "--out", "b.h5", "--quiet")
    found = {d["path"]: d for d in perp("compare", "a.h5", "b.h5", "--json").json["scene_differences"]}
    assert set(found) == {"/friction/default", "/bodies/1", "/bodies/3/position", "/forces",
                          "/bodies/3/shapes/0/type", "/bodies/3/shapes/0/radius",
                          "/bodies/3/shapes/0/length"}, found
    # members of lists are matched by name; the pointer is that of A, or of B where only B has it
    assert found["/bodies/1"]["name"] == "d|e" and "a" not in found["/bodies/1"]
    assert found["/bodies/3/position"] == {"path": "/bodies/3/position", "name": "c",
                                           "a": [0.2, 0.1, 3], "b": [0.2, 0.1, 3.5]}
    assert found["/bodies/3/shapes/0/length"]["b"] == 0.5 and "b" not in found["/forces"]
    text = perp("compare", "a.h5", "b.h5").out
    assert "the scenes differ in 7 values:" in text, text
    assert "/friction/default: 0.3 in A, 0.1 in B\n" in text, text
    assert "/bodies/3/shapes/0/length (c): not given in A, 0.5 in B" in text, text
    assert "- `/friction/default`: `0.3` in A" in perp("compare", "a.h5", "b.h5", "--markdown").out
    assert "the two scenes are the same" in perp("compare", "a.h5", "a.h5").out
    perp("replay", "a.h5", "b.h5", "--out", "ab.html", "--quiet")
    assert '"path":"/friction/default"' in open("ab.html").read().replace('": ', '":')


main("compare_test")
