"""perp replay: what the page holds is what the recording holds; nothing in a name can break it."""
import json
import os
import re
import signal
import subprocess
import sys
import time

from _cli import PERP, h5py, main, perp, test, write_planar, write_scene
from _page import read_pages

import numpy

if "built without the replay page" in perp("replay", "none.h5", status=2).err:
    print("skipped: this perp was built without the replay page")
    sys.exit(77)


def names_of(file):
    ends, names = file["bodies/offset"][()], file["bodies/name"][()].tobytes()
    return [names[i:j].decode() for i, j in zip(ends, ends[1:])]


def frames_of(page, recorded):
    """Recorded frames that the page's frames are."""
    with_time = {t: k for k, t in enumerate(recorded["time"][()])}
    return numpy.array([with_time[t] for t in page["time"]])


def check_tracks(page, file):
    """Every body in every frame of the page is within the accuracy, its surface as well."""
    frames = frames_of(page, file)
    planar = page.header["dimension"] == 2
    nq = 3 if planar else 7
    q = file["state/q"][()][frames]
    assert frames[0] == 0 and frames[-1] == len(file["time"]) - 1
    accuracy, size = page.header["accuracy"], page.header["size"]
    worst = 0.0
    for b in range(len(page.header["bodies"])):
        position, turned = page.track(b)
        truth = q[:, nq * b:nq * (b + 1)]
        count = 2 if planar else 3
        off = numpy.linalg.norm(position[:, :count] - truth[:, :count], axis=1).max()
        worst = max(worst, off)
        if planar:
            angle = numpy.abs(position[:, 2] - truth[:, 2]).max()
        else:
            dot = numpy.abs((turned * truth[:, 3:]).sum(axis=1))
            cross = numpy.linalg.norm(turned - numpy.sign((turned * truth[:, 3:]).sum(
                axis=1, keepdims=True)) * truth[:, 3:], axis=1)
            assert (dot > 0.5).all()
            angle = 2 * cross.max()
        reach = max([s.get("radius", 0) + 0.5 * s.get("length", 0) +
                     0.5 * float(numpy.linalg.norm(s.get("size", [0])))
                     for s in page.header["bodies"][b]["shapes"]] or [0])
        assert off <= accuracy, (b, off, accuracy)
        assert angle * (reach or size) <= 1.5 * accuracy, (b, angle, accuracy)
    return worst


def check_ends(page, file):
    """Keys carry the recorded velocities."""
    frames = frames_of(page, file)
    planar = page.header["dimension"] == 2
    nv, count = (3, 2) if planar else (6, 3)
    v = file["state/v"][()][frames]
    for b in range(len(page.header["bodies"])):
        rows = slice(*page["track.start"][b:b + 2])
        at = page["track.frame"][rows]
        truth = v[at, nv * b:nv * (b + 1)].astype("f4")
        assert numpy.array_equal(page["track.velocity"][rows], truth[:, :count])
        spin = page["track.spin"][rows].reshape(len(at), -1)
        assert numpy.array_equal(spin, truth[:, count:])


def check_scalars(page, file):
    frames = frames_of(page, file)
    for name in ("energy/kinetic", "energy/potential", "energy/total", "certificate/dynamics",
                 "certificate/normal", "certificate/friction", "certificate/joints",
                 "solver/iterations", "solver/residual", "solver/contacts", "solver/penetration"):
        truth = file[name][()].astype(float)
        column = page[name.replace("/", ".")]
        if len(frames) == len(truth):
            assert numpy.array_equal(column, truth), name
        elif name[:6] in ("energy",) or name == "solver/contacts":
            assert numpy.array_equal(column, truth[frames]), name
        else:  # the worst since the page's frame before
            edges = numpy.concatenate([[-1], frames])
            worst = [truth[i + 1:j + 1].max() for i, j in zip(edges, edges[1:])]
            assert numpy.array_equal(column, worst), name


def check_ledger(page, file):
    """Sums since the first frame, whichever frames the page has."""
    sums = numpy.cumsum(file["energy/ledger"][()], axis=0)[frames_of(page, file)]
    names = [name.decode() for name in file["energy/ledger"].attrs["columns"]]
    there = {column["name"] for column in page.header["columns"]}
    for name, column in zip(names, sums.T):
        if f"ledger.{name}" in there:
            assert numpy.array_equal(page[f"ledger.{name}"], column), name
        else:  # left out where it is 0 throughout
            assert not column.any() or name == "magnitude", name


def check_contacts(page, file):
    frames = frames_of(page, file)
    offset, rows = page["contacts.offset"], file["contacts/offset"][()]
    every = page.header["contacts.every"]
    pushing = page.header["contacts.pushing_only"]
    assert len(offset) == len(frames) + 1 and offset[0] == 0
    impulse = file["contacts/impulse"][()]
    chosen = []
    for k, frame in enumerate(frames):
        own = numpy.arange(rows[frame], rows[frame + 1])
        if pushing:
            own = own[impulse[own, 0] > 0]
        own = own if k % every == 0 else own[:0]
        assert offset[k + 1] - offset[k] == len(own), (k, len(own))
        chosen.append(own)
    chosen = numpy.concatenate(chosen)
    for name in ("body", "point", "normal", "tangent", "gap", "mu", "cone", "directions",
                 "impulse"):
        truth = file["contacts/" + name][()][chosen]
        column = page["contacts." + name]
        assert numpy.array_equal(column, truth.astype(column.dtype)), name
    # the same key exactly where the recording has the same
    key, small = file["contacts/key"][()][chosen], page["contacts.key"]
    pairs = set(zip(key.tolist(), small.tolist()))
    assert len(pairs) == len(set(key.tolist())) == len(set(small.tolist()))
    assert small.max(initial=0) < len(pairs) + 1
    assert ((impulse[chosen, 0] > 0) == (page["contacts.state"] > 0)).all()
    return len(chosen)


def check_all(path, recording):
    page, = read_pages(path)
    with h5py.File(recording, "r", libver="latest", swmr=True) as file:
        check_tracks(page, file)
        check_ends(page, file)
        check_scalars(page, file)
        check_ledger(page, file)
        check_contacts(page, file)
        assert [b["name"] for b in page.header["bodies"]] == names_of(file)
    return page


@test
def the_page_holds_what_the_recording_holds():
    for scene in (write_scene(), write_planar(), "demo", "n04-mobile-robot"):
        perp("run", scene, "--quiet", "--out", "r.h5")
        out = perp("replay", "r.h5").out
        assert re.fullmatch(r"page: r\.html \(.*B\)\n", out), out
        page = check_all("r.html", "r.h5")
        h = page.header
        assert h["format"] == "perp-page 1" and h["complete"] and h["finished"]
        assert h["frames"] == h["frames_recorded"] == len(page["time"])
        assert h["accuracy"] <= 1.0001e-6 * h["size"] and h["contacts.every"] == 1
        assert len(page["contacts.gap"]) > 10
        assert page.inflated <= 24 << 20 and os.path.getsize("r.html") < 20e6


@test
def the_header_describes_bodies_and_settings():
    scene = write_scene(bodies=[
        {"name": "floor", "type": "static", "color": "#102030",
         "shapes": [{"type": "plane", "normal": [0, 0, 1], "offset": -0.5}]},
        {"name": "crate", "mass": 3, "inertia": [1, 2, 3], "position": [0, 0, 2],
         "shapes": [{"type": "box", "size": [1, 2, 3], "position": [0.5, 0, 0],
                     "axis_angle": [0, 0, 1, 1.5]},
                    {"type": "capsule", "radius": 0.1, "length": 0.7}]},
        {"name": "mover", "type": "kinematic", "position": [9, 9, 9],
         "motion": {"velocity": [1, 0, 0]}, "shapes": [{"type": "sphere", "radius": 0.2}]},
    ], forces=[], duration=0.1, solver="nsgs")
    perp("run", scene, "--quiet", "--out", "r.h5")
    perp("replay", "r.h5", "-o", "p.html")
    h = read_pages("p.html")[0].header
    floor, crate, mover = h["bodies"]
    assert (floor["type"], crate["type"], mover["type"]) == ("static", "dynamic", "kinematic")
    assert floor["color"] == "#102030" and crate["color"] is None
    plane = floor["shapes"][0]
    assert plane["type"] == "plane" and plane["normal"] == [0, 0, 1] and plane["offset"] == -0.5
    box, capsule = crate["shapes"]
    assert box["size"] == [1, 2, 3] and box["position"] == [0.5, 0, 0]
    assert abs(box["orientation"][0] - numpy.cos(0.75)) < 1e-15
    assert (capsule["type"], capsule["radius"], capsule["length"]) == ("capsule", 0.1, 0.7)
    assert crate["mass"] == 3 and crate["inertia"] == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    assert h["gravity"] == [0, 0, -9.81] and h["step"] == 0.005 and h["solver"] == "nsgs"
    assert h["joints"] == [] and h["supports"] == [] and h["file"] == "r.h5"
    perp("run", write_planar(), "--quiet", "--out", "r.h5")
    perp("replay", "r.h5", "-o", "p.html")
    h = read_pages("p.html")[0].header
    assert h["dimension"] == 2 and h["bodies"][1]["inertia"] == 0.5 and h["gravity"] == [0, -9.81]
    planar = json.load(open(write_planar()))
    planar["bodies"][1]["support"] = {"tripod": [[1, 0], [-1, 1], [-1, -1]], "mu": [0.5, 0.25, 0]}
    with open("lying.json", "w") as f:
        json.dump(planar, f)
    perp("run", "lying.json", "--quiet", "--out", "r.h5")
    perp("replay", "r.h5", "-o", "p.html")
    assert read_pages("p.html")[0].header["supports"] == [
        {"body": 1, "tripod": [[1, 0], [-1, 1], [-1, -1]], "mu": 0.5}]


@test
def every_shape_that_a_scene_can_have_is_in_the_page_with_its_sizes():
    tetrahedron = {"type": "mesh", "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2]],
                   "faces": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], "visual": True}
    scene = write_scene(bodies=[
        {"name": "can", "mass": 1, "position": [0, 0, 2],
         "shapes": [{"type": "cylinder", "radius": 0.1, "length": 0.7}]},
        {"name": "part", "mass": 1, "position": [2, 0, 2], "angular_velocity": [0, 9, 0],
         "shapes": [{"type": "sphere", "radius": 0.1}, tetrahedron]},
    ], forces=[], duration=0.5)
    perp("run", scene, "--quiet", "--out", "r.h5")
    perp("replay", "r.h5", "-o", "p.html")
    page = read_pages("p.html")[0]
    can, part = page.header["bodies"]
    can, mesh = can["shapes"][0], part["shapes"][1]
    assert (can["type"], can["radius"], can["length"]) == ("cylinder", 0.1, 0.7)
    assert mesh["type"] == "mesh" and mesh["faces"] == tetrahedron["faces"]
    assert mesh["vertices"] == tetrahedron["vertices"]
    # Two metres from the centre counts: the point of the mesh stays within the accuracy too.
    with h5py.File("r.h5") as file:
        truth = file["state/q"][()][frames_of(page, file)][:, 10:14]
    _, turned = page.track(1)
    off = 2 * numpy.linalg.norm(turned - numpy.sign((turned * truth).sum(
        axis=1, keepdims=True)) * truth, axis=1).max()
    assert 2 * off <= 1.5 * page.header["accuracy"], (off, page.header["accuracy"])
    flat = write_scene(dimension=2, gravity=[0, -1], forces=[], duration=0.1, bodies=[
        {"name": "kite", "mass": 1, "position": [0, 3],
         "shapes": [{"type": "polygon", "vertices": [[-1, 0], [0, -2], [1, 0], [0, 1]]}]}])
    perp("run", flat, "--quiet", "--out", "flat.h5")
    perp("replay", "flat.h5", "-o", "flat.html")
    kite = read_pages("flat.html")[0].header["bodies"][0]["shapes"][0]
    assert kite["type"] == "polygon" and kite["vertices"] == [[-1, 0], [0, -2], [1, 0], [0, 1]], kite
    # A shape without one number would be left out by the page without a word.
    types = [t["name"] for t in perp("list", "shapes", "--json").json["shapes"]]
    known = {"particle", "sphere", "plane", "box", "capsule", "cylinder", "mesh", "circle", "halfplane",
             "polygon", "polyhedron", "ellipsoid", "superquadric", "superellipse"}
    assert set(types) <= known, set(types) - known


@test
def momentum_is_that_of_the_summary():
    for scene in (write_scene(), write_planar()):
        final = perp("run", scene, "--json", "--out", "r.h5").json["momentum"]
        perp("replay", "r.h5")
        page, = read_pages("r.html")
        linear, angular = final["linear"], final["angular"]
        for i in range(page.header["dimension"]):
            assert abs(page["momentum." + "xyz"[i]][-1] - linear[i]) < 1e-12
        angular = angular if isinstance(angular, list) else [angular]
        names = ["angular"] if page.header["dimension"] == 2 else ["angular.x", "angular.y",
                                                                    "angular.z"]
        for name, value in zip(names, angular[-len(names):]):
            assert abs(page[name][-1] - value) < 1e-11, (name, page[name][-1], value)


@test
def contacts_tell_stick_from_slip():
    # a block that slides at first and then stands; a ball that slides, then rolls
    scene = write_scene(step=0.01, duration=2, forces=[],
                        friction={"cone": "quadratic", "default": 0.2}, bodies=[
        {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
        {"name": "block", "mass": 1, "position": [0, 0, 0.5], "velocity": [2, 0, 0],
         "shapes": [{"type": "box", "size": [1, 1, 1]}]},
        {"name": "ball", "mass": 1, "position": [0, 9, 1], "velocity": [2, 0, 0],
         "shapes": [{"type": "sphere", "radius": 1}]}])
    perp("run", scene, "--quiet", "--out", "r.h5")
    perp("replay", "r.h5")
    page, = read_pages("r.html")
    offset, state, slip = page["contacts.offset"], page["contacts.state"], page["contacts.slip"]
    body, point = page["contacts.body"], page["contacts.point"]
    tangent = page["contacts.tangent"]
    with h5py.File("r.h5", "r") as file:
        v = file["state/v"][()]
    for k, sliding in ((5, True), (90, True), (110, False), (199, False)):
        rows = range(offset[k], offset[k + 1])
        on_block = [i for i in rows if 1 in body[i]]
        assert len(on_block) == 4
        assert all(state[i] == (2 if sliding else 1) for i in on_block), (k, state[on_block])
        for i in on_block:  # the block is B, or A: then the relative velocity turns its sign
            sign = 1 if body[i][1] == 1 else -1
            o = numpy.cross(page["contacts.normal"][i], tangent[i])
            along = slip[i][0] * tangent[i] + slip[i][1] * o
            assert numpy.allclose(sign * along, v[k, 6:9], atol=1e-6)
    # friction turns a sliding ball into a rolling one at t = 2 v / (7 mu g) = 0.291
    for k, sliding in ((20, True), (35, False)):
        rows = [i for i in range(offset[k], offset[k + 1]) if 2 in body[i]]
        assert [state[i] for i in rows] == [2 if sliding else 1], k
        assert (numpy.linalg.norm(slip[rows]) > 0.1) == sliding
    # a polygon's rim is not round: at 45 degrees to a direction of 4 it lies further in
    scene = write_scene(step=0.01, duration=0.2, forces=[], friction={
        "cone": "polygon", "directions": 4, "default": 0.2}, bodies=[
        {"name": "floor", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
        {"name": "block", "mass": 1, "position": [0, 0, 0.5], "velocity": [1, 1, 0],
         "shapes": [{"type": "box", "size": [1, 1, 1]}]}])
    perp("run", scene, "--quiet", "--out", "r.h5")
    perp("replay", "r.h5")
    page, = read_pages("r.html")
    rows = slice(*page["contacts.offset"][5:7])
    impulse = page["contacts.impulse"][rows]
    pushes = impulse[:, 0] > 0
    assert (page["contacts.state"][rows][pushes] == 2).all()
    share = numpy.linalg.norm(impulse[pushes, 1:3], axis=1) / (0.2 * impulse[pushes, 0])
    assert share.min() < 0.72, share  # one of them is at the middle of an edge


@test
def a_body_at_rest_is_one_key_and_a_sliding_one_is_few():
    scene = write_scene(duration=5, gravity=[0, 0, 0], forces=[], bodies=[
        {"name": "rest", "mass": 1, "position": [0, 9, 0],
         "shapes": [{"type": "sphere", "radius": 1}]},
        {"name": "glide", "mass": 1, "velocity": [1, 2, 3], "angular_velocity": [0, 0.3, 1],
         "shapes": [{"type": "sphere", "radius": 1}]}])
    perp("run", scene, "--quiet", "--out", "r.h5")
    perp("replay", "r.h5")
    page = check_all("r.html", "r.h5")
    keys = numpy.diff(page["track.start"])
    assert keys[0] == 1 and 2 <= keys[1] <= 8, keys


EVIL = [
    "</script><script>alert(1)</script>", "<!--", "-->", "]]>", "a\"b'c`d", "\u2028\u2029", "💥🦔",
    "<img src=x onerror=alert(1)>", "{{}}${}", "&lt;&amp;", "\\u003c/script\\u003e", "\x7f\x01",
    "x" * 10000, "<!--PERP-RUNS-->", "\u202egnp.exe",
]


@test
def no_name_can_leave_its_place():
    bodies = [{"name": name, "mass": 1, "position": [0, 0, 3 * i],
               "shapes": [{"type": "sphere", "radius": 1}]} for i, name in enumerate(EVIL)]
    with open("evil.json", "w") as file:
        json.dump({"name": EVIL[0] + "💥", "dimension": 3, "step": 0.01, "duration": 0.05,
                   "bodies": bodies}, file)
    recording = "</script><b>\"'é🦔.h5".replace("/", "")
    perp("run", "evil.json", "--quiet", "--out", recording)
    perp("replay", recording, "-o", "p.html")
    page, = read_pages("p.html")
    assert [b["name"] for b in page.header["bodies"]] == EVIL
    assert page.header["name"] == EVIL[0] + "💥" and page.header["file"] == recording
    text = open("p.html", "rb").read()
    start = text.index(b'<script type="application/json" class="perp-run">') + 49
    end = text.index(b"</script>", start)
    header = text[start:end]
    assert not set(header) & set(b"<>&") and max(header) < 0x80 and min(header) >= 0x20
    assert json.loads(header)["bodies"][0]["name"] == EVIL[0]
    # the rest of the page is the template, whatever the names
    write_scene("plain.json", duration=0.05)
    perp("run", "plain.json", "--quiet", "--out", "plain.h5")
    perp("replay", "plain.h5")
    plain = open("plain.html", "rb").read()
    head = plain.index(b'<script type="application/json" class="perp-run">')
    tail = plain.index(b"</script>\n", plain.index(b'class="perp-blob">')) + 10
    assert text.startswith(plain[:head]) and text.endswith(plain[tail:])


@test
def bytes_that_are_no_text_become_a_replacement():
    perp("run", write_scene(duration=0.05), "--quiet", "--out", "r.h5")
    name = b"a\xff\xc0\xaf\xed\xa0\x80z.h5"
    os.rename("r.h5", name)
    done = subprocess.run([PERP, "replay", name, "-o", "p.html"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert read_pages("p.html")[0].header["file"] == "a" + "\ufffd" * 6 + "z.h5"


@test
def an_interrupted_recording_is_shown_up_to_its_last_frame():
    process = subprocess.Popen([PERP, "run", write_scene(duration=1e6), "--quiet", "--out", "r.h5"])
    try:
        while not os.path.exists("r.h5") or os.path.getsize("r.h5") < 1000000:
            time.sleep(0.02)
        perp("replay", "r.h5", "-o", "live.html")  # while it is being written
        assert read_pages("live.html")[0].header["frames"] > 1
    finally:
        process.kill()
        process.wait()
    perp("replay", "r.h5")
    page = check_all("r.html", "r.h5")
    h = page.header
    assert not h["complete"] and not h["finished"] and h["frames"] > 100
    with h5py.File("r.h5", "r", libver="latest", swmr=True) as file:
        whole = numpy.count_nonzero(file["hash/frame"][()])
        assert h["frames_recorded"] == whole and page["time"][-1] == file["time"][whole - 1]
    # ended by Ctrl-C: complete but not finished, and why
    process = subprocess.Popen([PERP, "run", "scene.json", "--quiet", "--out", "s.h5"],
                               stderr=subprocess.DEVNULL)
    while not os.path.exists("s.h5"):
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.wait()
    perp("replay", "s.h5")
    h = read_pages("s.html")[0].header
    assert h["complete"] and not h["finished"] and "interrupted at t = " in h["note"]


@test
def one_frame_makes_a_page():
    with open("one.json", "w") as file:  # refuses its first step: one frame is recorded
        json.dump({"step": 0.01, "duration": 1, "bodies": [
            {"name": "a", "mass": 1, "shapes": [{"type": "sphere", "radius": 1}]}],
            "forces": [{"type": "wrench", "body": "a", "force": ["sqrt(-1-t)", 0, 0]}]}, file)
    perp("run", "one.json", "--quiet", "--out", "r.h5", status=None)
    if os.path.exists("r.h5"):
        perp("replay", "r.h5")
        page = check_all("r.html", "r.h5")
        assert page.header["frames"] == 1 and list(page["track.start"]) == [0, 1]


@test
def a_long_recording_is_thinned_and_tells_the_worst_between():
    perp("run", write_planar(duration=160, step=0.005), "--quiet", "--out", "r.h5")
    perp("replay", "r.h5")
    page = check_all("r.html", "r.h5")
    h = page.header
    assert h["frames_recorded"] == 32001 and h["frames"] == 16001
    assert page.inflated <= 24 << 20


@test
def two_recordings_make_one_page():
    scene = write_scene()
    perp("run", scene, "--quiet", "--out", "a.h5")
    perp("run", scene, "--quiet", "--out", "b.h5", "--friction", "quadratic")
    perp("replay", "a.h5", "b.h5", "-o", "ab.html")
    one, two = read_pages("ab.html")
    assert one.header["cone"] == "polygon" and two.header["cone"] == "quadratic"
    assert (one.header["file"], two.header["file"]) == ("a.h5", "b.h5")


@test
def units_do_not_matter():
    for scale in (1e-3, 1e3, 1e6):
        scene = write_planar(gravity=[0, -9.81 * scale], bodies=[
            {"name": "floor", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
            {"name": "disc", "mass": 1, "inertia": 0.5 * scale ** 2, "position": [0, 1.2 * scale],
             "velocity": [20 * scale, 0], "angular_velocity": 200,
             "shapes": [{"type": "circle", "radius": scale}]}])
        perp("run", scene, "--quiet", "--out", "r.h5", "--duration", "4")
        perp("replay", "r.h5")
        page = check_all("r.html", "r.h5")
        assert page.header["accuracy"] <= 1.0001e-6 * page.header["size"], page.header["accuracy"]


@test
def only_a_page_is_replaced():
    perp("run", write_scene(duration=0.05), "--quiet", "--out", "r.h5")
    for name, text in (("notes.html", "<!doctype html>\nprecious"), ("empty.html", ""),
                       ("r2.h5", open("r.h5", "rb").read())):
        text = text.encode() if isinstance(text, str) else text
        with open(name, "wb") as file:
            file.write(text)
        result = perp("replay", "r.h5", "-o", name, "--json", status=2)
        assert "no page of perp" in result.err and "--force" in result.err, result.err
        assert result.json["status"] == "bad-input" and open(name, "rb").read() == text
    perp("replay", "r.h5", "-o", "notes.html", "--force")
    perp("replay", "r.h5", "-o", "notes.html")
    assert "not a file" in perp("replay", "r.h5", "-o", ".", status=2).err
    assert "cannot write" in perp("replay", "r.h5", "-o", "none/p.html", status=2).err
    assert "name is empty" in perp("replay", "r.h5", "-o", "", status=2).err
    assert sorted(os.listdir(".")) == ["empty.html", "notes.html", "r.h5", "r2.h5", "scene.json"]


@test
def what_cannot_be_read_leaves_no_page():
    with open("bad.h5", "w") as file:
        file.write("nothing")
    assert "not a perp recording" in perp("replay", "bad.h5", status=2).err
    assert "none.h5: cannot read: there is no such file" in perp("replay", "none.h5", status=2).err
    assert "usage: perp replay" in perp("replay", status=2).err
    perp("run", write_scene(duration=0.5), "--quiet", "--out", "r.h5")
    data = bytearray(open("r.h5", "rb").read())
    with h5py.File("r.h5", "r") as file:
        q = file["state/q"][()].tobytes()
    at = data.index(q[4000:4064])
    data[at] ^= 1
    with open("r.h5", "wb") as file:
        file.write(data)
    assert "frame" in perp("replay", "r.h5", status=2).err
    assert sorted(os.listdir(".")) == ["bad.h5", "r.h5", "scene.json"]


main("replay_test")
