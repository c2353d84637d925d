"""perp plot: the right numbers, the right names, and nothing that a name can do to gnuplot."""
import json
import os
import shutil
import stat
import subprocess
import xml.etree.ElementTree

from _cli import PERP, h5py, main, perp, test, write_planar, write_scene

import numpy

HAVE_GNUPLOT = shutil.which("gnuplot") is not None


def fake_gnuplot():
    """A PATH with a gnuplot that keeps what it was given."""
    os.makedirs("bin", exist_ok=True)
    with open("bin/gnuplot", "w") as file:
        file.write(f"#!/bin/sh\ncp data script {os.getcwd()}/\necho \"$#:$1\" > {os.getcwd()}/args\n"
                   "echo drawn > figure\n")
    os.chmod("bin/gnuplot", 0o755)
    return dict(os.environ, PATH=os.path.abspath("bin") + ":/usr/bin:/bin")


def columns(names, recording="r.h5"):
    """Data that gnuplot gets for these names."""
    result = perp("plot", recording, *names, "-o", "f.svg", env=fake_gnuplot())
    assert result.out == "figure: f.svg\n" and open("f.svg").read() == "drawn\n"
    assert open("args").read() == "1:script\n"
    return numpy.loadtxt("data", ndmin=2)


@test
def the_numbers_are_those_of_the_recording():
    perp("run", write_scene(), "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r") as file:
        f = {name: file[name][()] for name in (
            "time", "state/q", "state/v", "energy/total", "certificate/friction",
            "solver/iterations", "solver/contacts", "solver/penetration", "solver/residual",
            "contacts/offset", "contacts/body", "contacts/impulse", "contacts/normal",
            "contacts/tangent")}
    q, v = f["state/q"], f["state/v"]
    data = columns(["a.position.x", "b.orientation.w", "c.velocity.z", "a.angular_velocity.y",
                    "energy.total", "certificate.friction", "solver.iterations", "solver.contacts",
                    "solver.penetration", "solver.residual", "a.speed", "ground.position.x"])
    truth = [f["time"], q[:, 7], q[:, 14 + 3], v[:, 18 + 2], v[:, 6 + 4], f["energy/total"],
             f["certificate/friction"], f["solver/iterations"], f["solver/contacts"],
             f["solver/penetration"], f["solver/residual"], None, q[:, 0]]
    for i, column in enumerate(truth):
        if column is not None:
            assert numpy.array_equal(data[:, i], column), i
    assert numpy.allclose(data[:, 11], numpy.linalg.norm(v[:, 6:9], axis=1), rtol=1e-15)
    # contact force: momentum says the same, m dv/dt = force + gravity
    data = columns(["a.force"])
    dv = numpy.diff(v[:, 6:9], axis=0) / 0.005 - [0, 0, -9.81]
    assert numpy.allclose(data[1:, 1:4], dv, atol=1e-6), numpy.abs(data[1:, 1:4] - dv).max()
    assert numpy.abs(data[:, 3]).max() > 9
    # a name without its last part is all of them
    data = columns(["a.position", "energy", "momentum", "angular", "b.orientation"])
    assert data.shape[1] == 1 + 3 + 3 + 3 + 3 + 4
    assert numpy.array_equal(data[:, 1:4], q[:, 7:10])
    final = perp("run", "scene.json", "--json").json["momentum"]
    assert numpy.allclose(data[-1, 7:10], final["linear"], atol=1e-12)
    assert numpy.allclose(data[-1, 10:13], final["angular"], atol=1e-11)


@test
def the_ledger_is_summed_since_the_start():
    perp("run", write_scene(duration=0.3, record={"every": 3}), "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r") as file:
        rows = numpy.cumsum(file["energy/ledger"][()], axis=0)
        names = [name.decode() for name in file["energy/ledger"].attrs["columns"]]
        errors, crossings = file["solver/momentum_error"][()], file["solver/crossings"][()]
    shown = [name for name in names if name != "magnitude"]
    data = columns([f"ledger.{name}" for name in shown])
    for i, name in enumerate(shown):
        assert numpy.array_equal(data[:, i + 1], rows[:, names.index(name)]), name
    assert numpy.array_equal(columns(["ledger"]), data)
    scheme = [name for name in shown if name.startswith("scheme.")]
    assert numpy.array_equal(columns(["ledger.scheme"])[:, 1:],
                             rows[:, [names.index(name) for name in scheme]])
    data = columns(["momentum_error", "solver.crossings"])
    assert numpy.array_equal(data[:, 1:], numpy.hstack([errors, crossings]))
    # terms that are 0 throughout are drawn only when they are named
    columns(["ledger"])
    drawn = open("script").read().count(" title ")
    assert drawn == (sum(rows[:, names.index(name)].any() for name in shown) or len(shown)), drawn
    columns(["ledger.drag", "ledger.impacts"])
    assert open("script").read().count(" title ") == 2


@test
def joints_have_coordinates_and_errors():
    perp("run", "w14-arm", "--duration", "0.1", "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r") as file:
        offset, name = file["joints/offset"][()], bytes(file["joints/name"][()])
        names = [name[a:b].decode() for a, b in zip(offset, offset[1:])]
        coordinate, error = file["joints/coordinate"][()], file["joints/error"][()]
        largest = file["solver/joint_error"][()]
    data = columns([f"{names[1]}.coordinate", f"{names[1]}.error", "joint_error"])
    assert data.shape[1] == 1 + 1 + 2 + 2 # a revolute joint has one coordinate
    assert numpy.array_equal(data[:, 1], coordinate[:, 3]) and numpy.ptp(data[:, 1]) > 0
    assert numpy.array_equal(data[:, 2:4], error[:, 2:4])
    assert numpy.array_equal(data[:, 4:6], largest)
    assert f'"{names[1]}.coordinate.1"' in open("script").read()
    perp("plot", "r.h5", f"{names[1]}.coordinate.2", "-o", "f.svg", status=2)


@test
def planar_names_are_planar():
    perp("run", write_planar(), "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r") as file:
        q, v = file["state/q"][()], file["state/v"][()]
    data = columns(["disc.position", "disc.angle", "disc.velocity", "disc.angular_velocity"])
    assert numpy.array_equal(data[:, 1:4], q[:, 3:6])
    assert numpy.array_equal(data[:, 4:7], v[:, 3:6])
    for name in ("disc.position.z", "disc.orientation.w", "disc.angular_velocity.x"):
        assert "no quantity" in perp("plot", "r.h5", name, "-o", "f.svg", status=2).err


@test
def a_name_with_dots_is_a_name():
    scene = write_scene(duration=0.1)
    text = json.load(open(scene))
    text["bodies"][1]["name"] = "arm.left"
    text["bodies"][2]["name"] = "arm"
    text["bodies"][3]["name"] = "energy"
    text["forces"] = []
    json.dump(text, open(scene, "w"))
    perp("run", scene, "--quiet", "--out", "r.h5")
    with h5py.File("r.h5", "r") as file:
        q, total = file["state/q"][()], file["energy/total"][()]
    data = columns(["arm.left.position.x", "arm.position.x", "energy.position.x", "energy.total"])
    for i, truth in enumerate((q[:, 7], q[:, 14], q[:, 21], total)):
        assert numpy.array_equal(data[:, 1 + i], truth), i


@test
def a_misspelt_name_suggests_the_nearest():
    perp("run", write_scene(duration=0.05), "--quiet", "--out", "r.h5")
    for name, meant in (("a.positon.x", "a.position.x"), ("enrgy.total", "energy.total"),
                        ("energ", "energy"), ("momentun", "momentum"),
                        ("a.velocty.z", "a.velocity.z"), ("solver.iteration", "solver.iterations"),
                        ("certificate.frction", "certificate.friction"),
                        ("grond.position.y", "ground.position.y")):
        err = perp("plot", "r.h5", name, "-o", "f.svg", status=2).err
        assert f"no quantity '{name}': did you mean '{meant}'?" in err, err
    assert "perp help plot" in perp("plot", "r.h5", "zzzzzzzz", "-o", "f.svg", status=2).err
    for out in ("f.jpg", "f", "svg", "", "r.h5"):
        err = perp("plot", "r.h5", "energy", "-o", out, status=2).err
        assert ".svg, .png or .pdf" in err, err
    for size in ("10x10", "x", "900", "900x", "900x600x", "-1x5", "99999x99999"):
        assert "--size: must be WxH" in perp("plot", "r.h5", "energy", "--size", size, status=2).err
    assert "usage: perp plot" in perp("plot", "r.h5", status=2).err
    for missing in (perp("plot", "none.h5", "energy", status=2).err,
                    perp("plot", "scene.json", "energy", status=2).err):
        assert "'perp run SCENE --out FILE'" in missing, missing
    assert not os.path.exists("f.svg")


@test
def without_gnuplot_it_says_so():
    perp("run", write_scene(duration=0.05), "--quiet", "--out", "r.h5")
    os.makedirs("empty")
    result = perp("plot", "r.h5", "energy", "-o", "f.svg", "--json", status=2,
                  env=dict(os.environ, PATH=os.path.abspath("empty")))
    assert "gnuplot" in result.err and "not installed" in result.err, result.err
    assert result.json["status"] == "bad-input" and not os.path.exists("f.svg")


@test
def angles_and_lengths_of_joints_have_panels_of_their_own():
    inertia = {"mass": 1, "inertia": [0.1, 0.1, 0.1]}
    with open("arm.json", "w") as file:
        json.dump({"gravity": [0, 0, -9.81], "duration": 0.05,
                   "bodies": [{"name": "l", **inertia}, {"name": "m", "position": [1, 0, 0], **inertia}],
                   "joints": [{"name": "j", "type": "revolute", "a": "world", "b": "l", "at": [0, 0, 1], "axis": [0, 1, 0]},
                              {"name": "s", "type": "prismatic", "a": "world", "b": "m", "at": [1, 0, 0],
                               "axis": [0, 0, 1]}]}, file)
    perp("run", "arm.json", "--quiet", "--out", "arm.h5")
    columns(["j.coordinate", "s.coordinate", "j.rate", "s.rate", "joint_error"], "arm.h5")
    script = open("script").read()
    assert "layout 6,1" in script, script
    panels = script.split("set ylabel ")[1:]
    for label, name in (("joint coordinate (length)", "s.coordinate"), ("joint coordinate (angle)", "j.coordinate"),
                        ("joint rate (length)", "s.rate"), ("joint rate (angle)", "j.rate")):
        panel, = (p for p in panels if p.startswith("'%s'" % label))
        assert name in panel and panel.count("using 1:") == 1, (label, panel)


@test
def a_gnuplot_that_fails_leaves_nothing():
    perp("run", write_scene(duration=0.05), "--quiet", "--out", "r.h5")
    env = fake_gnuplot()
    with open("bin/gnuplot", "w") as file:
        file.write("#!/bin/sh\necho nonsense >&2\necho 'line 7: no such thing' >&2\nexit 1\n")
    before = set(os.listdir("/tmp"))
    os.makedirs("tmp")
    result = perp("plot", "r.h5", "energy", "-o", "f.svg", status=3,
                  env=dict(env, TMPDIR=os.path.abspath("tmp")))
    assert "line 7: no such thing" in result.err
    assert os.listdir("tmp") == [] and not os.path.exists("f.svg")
    assert not any(name.startswith("f.svg") for name in os.listdir("."))


EVIL = ["'; system('touch pwned'); '", "`touch pwned`", '"; !touch pwned; "', "a_{b}^{c}", "\\n{/",
        "@x@", "line\nbreak'\n!touch pwned\n", "%d %s", "<b>&amp;", "x" * 10000, "💥'é", "#", "~a{b}"]


@test
def a_name_is_only_a_name_to_gnuplot():
    if not HAVE_GNUPLOT:
        return
    bodies = [{"name": name, "mass": 1, "position": [0, 0, 3 * i],
               "shapes": [{"type": "sphere", "radius": 1}]} for i, name in enumerate(EVIL)]
    with open("evil.json", "w") as file:
        json.dump({"name": "evil", "step": 0.01, "duration": 0.05, "gravity": [0, 0, -1],
                   "bodies": bodies}, file)
    perp("run", "evil.json", "--quiet", "--out", "r.h5")
    os.makedirs("tmp")
    env = dict(os.environ, TMPDIR=os.path.abspath("tmp"))
    perp("plot", "r.h5", *(name + ".velocity.z" for name in EVIL), "-o", "'\"`touch pwned`.svg",
         env=env)
    os.rename("'\"`touch pwned`.svg", "f.svg")
    text = "".join(xml.etree.ElementTree.parse("f.svg").getroot().itertext())
    for name in ("a_{b}^{c}.velocity.z", "@x@.velocity.z", "`touch pwned`.velocity.z",
                 "%d %s.velocity.z", "<b>&amp;.velocity.z", "💥'é.velocity.z", "~a{b}.velocity.z",
                 "'; system('touch pwned')", "xxx....velocity.z"):
        assert name in text, name
    assert os.listdir("tmp") == []
    assert sorted(os.listdir(".")) == ["evil.json", "f.svg", "r.h5", "tmp"]


@test
def figures_of_every_kind():
    if not HAVE_GNUPLOT:
        return
    perp("run", write_scene(duration=0.3), "--quiet", "--out", "r.h5")
    magic = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    for kind, start in magic.items():
        result = perp("plot", "r.h5", "a.position", "energy", "certificate", "-o", f"f.{kind}",
                      "--size", "640x480", "--json").json
        assert result == {"status": "ok", "figure": f"f.{kind}", "curves": 10}
        assert open(f"f.{kind}", "rb").read(5).startswith(start)
    with open("f.png", "rb") as file:
        head = file.read(24)
    assert int.from_bytes(head[16:20], "big") == 640 and int.from_bytes(head[20:24], "big") == 480
    text = perp("plot", "r.h5", "a.position.z").out
    assert "a.position.z" in text and text.count("\n") > 15
    # a certificate that is zero throughout has no logarithm, and is drawn all the same
    perp("plot", "r.h5", "certificate.joints", "-o", "f.svg")


main("plot_test")
