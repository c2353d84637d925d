"""The tutorial cannot rot: its commands are run as they stand, and what they print is compared with
what the page says (`...` stands for anything). What it claims about the physics is checked on top."""
import os
import re
import shlex
import subprocess

import h5py

from _cli import PERP, SOURCE, main, perp, test

PAGE = os.path.join(SOURCE, "docs/tutorial.md")
SCENES = os.path.join(SOURCE, "scenes/tutorial")
GRASP = "scenes/tutorial/7-grasp.json"


def blocks():
    """(command, expected lines) of every console block of the page, in order."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            yield command, expected


def pattern(expected):
    """A line of three dots: any lines. Three dots in a line: anything in it."""
    out = ""
    for line in expected.splitlines():
        if line == "...":
            out += r"(?:.*\n)*?"
        else:
            out += ".*?".join(re.escape(piece) for piece in line.split("...")) + r"\n"
    return out


@test
def every_command_prints_what_the_page_says():
    os.symlink(os.path.join(SOURCE, "scenes"), "scenes")
    commands = list(blocks())
    assert len(commands) >= 12
    for command, expected in commands:
        words = shlex.split(command)
        assert words[0] == "perp", command
        out = perp(*words[1:]).out
        assert re.fullmatch(pattern(expected), out), f"$ {command}\n{out}\nexpected\n{expected}"


@test
def the_block_of_the_readme_runs_as_it_is_pasted():
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        block, = re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S)
    path = os.path.dirname(os.path.abspath(PERP)) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["bash", "-e", "-c", block], capture_output=True, text=True,
                          env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    assert {"ball.h5", "ball.html", "ball.svg", "ball.csv", "first.json"} <= set(os.listdir(".")), os.listdir(".")
    assert "/friction/default: 0.2 in A, 0 in B" in done.stdout, done.stdout


@test
def the_page_has_eleven_steps_each_with_a_picture_and_uses_every_scene():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    steps = re.split(r"^## (?=\d)", text, flags=re.M)[1:]
    assert [s.split(".")[0] for s in steps] == [str(i) for i in range(1, 12)]
    for step in steps:
        assert re.search(r"^<!-- picture: scenes/tutorial/\S+\.json", step, re.M), step[:60]
        assert "```console" in step
    for name in os.listdir(SCENES):
        assert f"scenes/tutorial/{name}" in text, name


def final(scene, *options):
    os.path.exists("scenes") or os.symlink(os.path.join(SOURCE, "scenes"), "scenes")
    result = perp("run", scene, *options, "--out", "r.h5", "--json").json
    assert result["status"] == "ok" and result["solver_failures"] == 0
    assert max(v for k, v in result["certificate"].items() if k != "worst_step") <= 1e-8
    return result["bodies"]


@test
def the_ball_keeps_five_sevenths_of_its_speed_whatever_the_coefficient():
    for mu in (0.1, 0.2, 0.7):
        ball = final("scenes/tutorial/2-roll.json", "--set", f"/friction/default={mu}",
                     "--duration", 3)["ball"]
        assert abs(ball["velocity"][0] - 10 / 7) < 1e-12, (mu, ball)


@test
def one_block_sticks_and_the_other_slides():
    bodies = final("scenes/tutorial/3-slope.json")
    start = [0.017101007166283436, -0.15, 0.046984631039295424]
    assert max(abs(a - b) for a, b in zip(bodies["rubber"]["position"], start)) < 1e-12
    assert bodies["wood"]["velocity"][0] > 0.5


@test
def one_pillar_slides_upright_and_the_other_tips():
    bodies = final("scenes/tutorial/5-tip.json")
    tilt = {name: 2 * abs(b["orientation"][2]) for name, b in bodies.items()}
    assert tilt["smooth"] < 1e-9 and bodies["smooth"]["position"][0] > 0.1
    assert tilt["rough"] > 0.5


@test
def a_finer_step_matters_less_than_a_square_cone():
    scene = "scenes/tutorial/6-bowling.json"
    os.symlink(os.path.join(SOURCE, "scenes"), "scenes")
    perp("run", scene, "--out", "a.h5", "--quiet")
    perp("run", scene, "--step", "0.005", "--out", "b.h5", "--quiet")
    perp("run", scene, "--friction", "polygon", "--directions", "4", "--out", "c.h5", "--quiet")
    worst = [max(b["distance"]["max"] for b in perp("compare", "a.h5", r, "--json").json["bodies"]
                 .values()) for r in ("b.h5", "c.h5")]
    assert worst[0] < 0.1 < worst[1], worst


def grasp(mu):
    return final(GRASP, "--set", f"/friction/pairs/1/mu={mu}", "--set", f"/friction/pairs/2/mu={mu}")


@test
def the_grasp_slips_with_too_little_friction_and_holds_with_enough():
    assert abs(grasp(0.2)["box"]["position"][2] - 0.05) < 1e-6, "left on the ground"
    box = grasp(0.5)["box"]
    assert abs(box["position"][2] - 0.3) < 1e-5 and abs(box["position"][1] - 0.2) < 1e-3, box
    with h5py.File("r.h5", "r") as f:  # it does not slip: in the jaws it stays where it is
        q = f["state/q"][()].reshape(len(f["time"]), -1, 7)
        lifted = f["time"][()] > 1.5
        gap = q[lifted, 1, 2] - q[lifted, 2, 2]
    assert gap.max() - gap.min() < 1e-6, (gap.min(), gap.max())
    assert 0.15 < grasp(0.26)["box"]["position"][2] < 0.29, "slips while it speeds up, then is held"


main("tutorial_test")
