"""`perp run` and the small verbs: output, exit statuses, messages."""
import json
import math
import os
import pty
import select
import signal
import subprocess
import time

from _cli import PERP, main, perp, test, write_planar, write_scene

KEYS = {
    "status": None, "scene": None, "steps": None, "time": None, "stepper": None, "contact": None,
    "friction": None, "solver": None, "wall_seconds": None,
    "step_microseconds": {"mean", "p50", "p99", "max", "max_cpu"},
    "certificate": {"dynamics", "normal", "friction", "joints", "worst_step"},
    "penetration": {"max", "final"}, "joint_error": {"max", "angle"},
    "energy": {"kinetic", "potential", "total", "initial_total"},
    "energy_ledger": {"change", "forces", "drag", "springs", "motors", "prescribed", "friction",
                      "impacts", "joints", "scheme", "unexplained", "worst"},
    "momentum": {"linear", "angular"}, "momentum_error": {"linear", "angular"}, "crossings": None,
    "contacts": {"max", "final"},
    "solver_iterations": {"mean", "max"}, "solver_failures": None, "bodies": None,
    "parameters": None, "measures": None, "outcome": None,
}


def check_keys(result):
    assert set(result) == set(KEYS), set(result) ^ set(KEYS)
    for key, inner in KEYS.items():
        if inner is not None:
            assert set(result[key]) == inner, (key, result[key])
    assert set(result["energy_ledger"]["scheme"]) == {
        "gap", "joints", "gyroscopic", "springs", "step_loss", "projection", "extrapolation"}


@test
def run_json_has_exactly_the_keys_of_the_design():
    result = perp("run", write_scene(), "--json").json
    check_keys(result)
    assert result["status"] == "ok" and result["scene"] == "three-balls"
    assert result["steps"] == 200 and result["time"] == 1.0
    assert result["friction"] == "polygon" and result["solver"] == "auto"
    assert set(result["bodies"]) == {"ground", "a", "b", "c"}
    for body in result["bodies"].values():
        assert set(body) == {"position", "orientation", "velocity", "angular_velocity"}
        assert [len(body[k]) for k in ("position", "orientation", "velocity",
                                       "angular_velocity")] == [3, 4, 3, 3]
    assert result["certificate"]["dynamics"] <= 1e-8 and result["certificate"]["friction"] <= 1e-8
    assert 1 <= result["certificate"]["worst_step"] <= 200
    assert result["contacts"]["max"] >= 3 and result["joint_error"]["max"] == 0
    times = result["step_microseconds"]
    assert 0 < times["p50"] <= times["p99"] <= times["max"]
    assert result["energy"]["total"] < result["energy"]["initial_total"]


@test
def a_planar_run_speaks_of_angles_and_numbers():
    result = perp("run", write_planar(), "--json").json
    check_keys(result)
    disc = result["bodies"]["disc"]
    assert set(disc) == {"position", "angle", "velocity", "angular_velocity"}
    assert len(disc["position"]) == 2 and isinstance(disc["angular_velocity"], float)
    assert len(result["momentum"]["linear"]) == 2
    assert isinstance(result["momentum"]["angular"], float)


@test
def overrides_change_what_runs():
    scene = write_scene()
    result = perp("run", scene, "--json", "--step=0.01", "--duration", "0.105").json
    assert result["steps"] == 11 and result["time"] == 0.105  # the last two are shared
    result = perp("run", scene, "--json", "--friction", "none", "--solver", "lemke",
                  "--set", "/bodies/1/position=[0,0,7]", "--set", "/name=other").json
    assert result["friction"] == "none" and result["solver"] == "lemke"
    assert result["scene"] == "other" and result["bodies"]["a"]["position"][2] > 1.5
    result = perp("check", scene, "--json", "--directions", "12").json
    assert result["directions"] == 12


@test
def a_solver_object_is_replaced_by_the_flag():
    scene = write_scene(solver={"type": "pgs", "relax": 1.2})
    assert perp("run", scene, "--json", "--solver", "lemke").json["solver"] == "lemke"


@test
def quiet_says_nothing_and_words_are_for_people():
    scene = write_scene()
    result = perp("run", scene, "--quiet")
    assert result.out == "" and result.err == ""
    result = perp("run", scene)
    assert "three-balls: ok" in result.out and "certificate" in result.out
    assert "\033" not in result.out and result.err == ""


@test
def nothing_is_recorded_unless_asked():
    scene = write_scene()
    perp("run", scene, "--quiet")
    assert os.listdir(".") == ["scene.json"]
    perp("run", scene, "--quiet", "-o", "r.h5")
    assert sorted(os.listdir(".")) == ["r.h5", "scene.json"]


@test
def bad_usage_is_2_with_a_suggestion():
    scene = write_scene()
    for args, word in [
        (("rum", scene), "did you mean 'run'"), (("frobnicate",), "unknown verb"),
        (("estimate",), "usage"), (("design",), "usage"), (("sweep",), "usage"), (("run",), "usage"),
        (("run", scene, "--durration", "1"), "did you mean --duration"),
        (("run", scene, "--zzzzzz"), "unknown option --zzzzzz"),
        (("run", scene, "--step"), "needs a value"), (("run", scene, "--json=1"), "no value"),
        (("run", scene, "extra"), "usage"), (("list", "solver"), "did you mean 'solvers'"),
        (("list",), "usage"), (("run", scene, "--set", "nonsense"), "POINTER=VALUE"),
        (("export",), "usage"), (("help", "zzz"), "unknown verb"),
        (("run", scene, "--bogus"), "unknown option --bogus; see 'perp help run'"),
        (("run", scene, "-o", "a.h5", "--out", "b.h5"), "--out is given twice"),
        (("run", scene, "--step", "0.1", "--step=0.2"), "--step is given twice"),
        (("run", scene, "--out", ""), "--out: the name is empty"),
        (("run", "--resume", ""), "--resume: the name is empty"),
    ]:
        result = perp(*args, status=2)
        assert word in result.err, (args, result.err)
        assert result.err.startswith("perp: ") and result.out == "", (args, result.err)


@test
def bad_input_is_2_names_the_place_and_leaves_no_file():
    scene = write_scene()
    cases = [
        ((scene, "--set", "/bodies/1/mass=-1"), "/bodies/1/mass"),
        ((scene, "--set", "/nonsense=1"), "nonsense"),
        ((scene, "--solver", "lemkee"), "lemke"), ((scene, "--stepper", "instantaneous"), "instantaneous"),
        ((scene, "--contact", "peggy"), "/contact: unknown contact model 'peggy': did you mean 'peg'?"),
        ((scene, "--friction", "ellipsoid"), "/friction/e_r: must be a length > 0, got 0"),
        ((scene, "--solver", "lemk"),
         "scene.json: /solver: unknown solver 'lemk': did you mean 'lemke'?"),
        ((scene, "--step", "nan"), "/step: must be a finite number, got 'nan'"),
        ((scene, "--duration", "inf"), "/duration: must be a finite number, got 'inf'"),
        ((scene, "--step", "1e400"), "/step: must be a finite number, got '1e400'"),
        ((scene, "--set", "/dimension=4"), "/dimension: must be 2 or 3, got 4"),
        ((scene, "--step", "0"), "/step"), ((scene, "--friction", "square"), "square"),
        (("missing.json",), "missing.json"), ((".",), "."),
        ((scene, "--set", "/bodies/2/position=[0.5,0,1]"), "overlap"),
    ]
    for args, word in cases:
        for json_flag in ((), ("--json",)):
            result = perp("run", *args, "--out", "r.h5", *json_flag, status=2)
            assert word in result.err, (args, result.err)
            assert result.err.count("\n") == 1
            assert not os.path.exists("r.h5") and len(os.listdir(".")) == 1, os.listdir(".")
            if json_flag:
                assert result.json["status"] == "bad-input" and word in result.json["message"]
            else:
                assert result.out == ""


@test
def check_and_run_name_the_same_place():
    scene = write_scene()
    for args in (("--solver", "lemk"), ("--stepper", "stewart"), ("--contact", "lnk"),
                 ("--set", "/bodies/2/position=[0.5,0,1]"), ("--step", "-1")):
        told = [perp(verb, scene, *args, status=2).err for verb in ("check", "run")]
        assert told[0] == told[1] and told[0].startswith("perp: scene.json: /"), told


@test
def a_recording_is_no_scene():
    perp("run", write_scene(duration=0.1), "--quiet", "--out", "r.h5")
    for verb in ("run", "check"):
        result = perp(verb, "r.h5", status=2)
        assert "r.h5: this is a recording" in result.err, result.err
        assert "use --resume, export or verify" in result.err
    with open("r.h5", "r+b") as file:
        file.truncate(70 << 20)  # larger than any scene may be
    assert "this is a recording" in perp("run", "r.h5", status=2).err


@test
def a_zero_in_a_name_is_refused_in_plain_words():
    scene = write_scene()
    text = open(scene).read()
    for old, new in (('"three-balls"', '"three\\u0000balls"'), ('"mass"', '"ma\\u0000ss"')):
        with open("zero.json", "w") as file:
            file.write(text.replace(old, new, 1))
        result = perp("check", "zero.json", status=2)
        assert "must not hold the character \\u0000" in result.err, result.err
        assert "JSON_" not in result.err


@test
def names_cannot_move_the_cursor():
    evil = "a\n\x1b[31mred\x07\x7f\u009b"
    long = "n" * 300
    scene = write_scene(name=evil)
    changes = ("--set", "/bodies/1/name=" + json.dumps(evil), "--set", f"/bodies/3/name={long}")
    for verb in ("check", "run"):
        result = perp(verb, scene, *changes)
        assert "a\\n\\x1b[31mred\\x07\\x7f\\x9b" in result.out, result.out
        assert not set(result.out) & set("\x1b\x07\x7f\u009b")
        assert "n" * 39 + "…" in result.out and long not in result.out
        bodies = perp(verb, scene, *changes, "--json").json["bodies"]  # as they are
        assert evil in bodies or evil in [body["name"] for body in bodies]
    result = perp("run", scene, *changes, "--set", "/bodies/2/position=[0.5,0,1]", status=2)
    assert result.err.count("\n") == 1 and "\x1b" not in result.err
    os.mkdir("mine")
    write_scene("mine/so\x1b[31mme.json")
    listed = perp("list", "scenes", env=dict(os.environ, PERP_SCENES="mine")).out
    assert "so\\x1b[31mme" in listed and "\x1b" not in listed
    perp("run", scene, *changes, "--quiet", "--out", "r\n.h5")
    text = perp("verify", "r\n.h5").out
    assert text.startswith("r\\n.h5: intact") and "\x1b" not in text


@test
def an_output_that_cannot_be_created_is_2_and_spares_what_is_there():
    scene = write_scene()
    os.mkdir("folder")
    for out in ("no/such/folder/r.h5", "folder", "/dev/null"):
        result = perp("run", scene, "--out", out, "--json", status=2)
        assert result.json["status"] == "bad-input" and out in result.err
    assert os.path.isdir("folder") and os.path.exists("/dev/null")
    with open("old.h5", "w") as file:
        file.write("precious")
    perp("run", scene, "--out", "old.h5", "--set", "/bodies/1/mass=-1", status=2)
    assert open("old.h5").read() == "precious"


@test
def an_expression_that_turns_nan_is_3_and_names_body_and_time():
    scene = write_scene(forces=[{"type": "wrench", "body": "b",
                                 "force": ["sqrt(0.3-t)", 0, 0]}])
    result = perp("run", scene, "--json", "--out", "r.h5", status=3)
    assert result.json["status"] == "failed"
    message = result.json["message"]
    assert "'b'" in message and "force" in message and "0.30" in message, message
    assert 60 <= result.json["steps"] <= 61
    export = perp("export", "r.h5", "--json").json  # what was simulated is recorded
    assert export["frames"] == result.json["steps"] + 1


@test
def a_failed_solve_is_3_and_saves_a_problem_that_can_be_solved():
    scene = write_scene()
    os.mkdir("sub")
    result = perp("run", scene, "--json", "--solver", "pgs", "--set", "/tolerance=1e-30",
                  "--out", "sub/r.h5", status=3)
    assert result.json["status"] == "failed" and result.json["solver_failures"] == 1
    problem = result.json["problem"]
    assert f"perp solve {problem} --tolerance 1e-30" in result.err
    for word in ("--solver auto", "--step 0.0025", "--keep-going"):
        assert word in result.err, result.err
    assert problem in result.err and problem.startswith("sub/")
    assert set(result.json) == set(KEYS) | {"message", "problem"}
    answer = perp("solve", problem, "--json").json
    assert answer["status"] == "ok" and answer["outcome"] == "solved"
    assert answer["residual"]["worst"] <= 1e-10 and len(answer["v"]) > 0 and len(answer["p"]) > 0
    assert "solved" in perp("solve", problem, "--solver", "lemke").out
    answer = perp("solve", problem, "--solver", "pgs", "--tolerance", "1e-30", "--json", status=3)
    assert answer.json["status"] == "failed"
    perp("solve", problem, "--solver", "nonsense", status=2)
    perp("solve", problem, "--set", "nonsense=1", status=2)
    perp("solve", "missing.json", status=2)
    perp("solve", scene, status=2)
    assert perp("export", "sub/r.h5", "--json").json["frames"] == result.json["steps"] + 1


@test
def keep_going_counts_what_was_not_solved_and_goes_on():
    scene = write_scene(duration=0.2)
    result = perp("run", scene, "--json", "--solver", "pgs", "--set", "/tolerance=1e-30",
                  "--keep-going", "--save-problems", "problems", "--out", "r.h5").json
    check_keys(result)
    assert result["status"] == "ok" and result["steps"] == 40 and result["solver_failures"] > 0
    assert len(os.listdir("problems")) == result["solver_failures"]
    verified = perp("verify", "r.h5", "--json", status=None).json
    assert verified["intact"] and verified["same_bits"]
    assert verified["unsolved"] == result["solver_failures"]


@test
def save_problems_keeps_the_steps_asked_for():
    scene = write_scene(duration=0.05)  # 10 steps
    for when, steps in (("", []), (":failed", []), (":all", range(1, 11)), (":every=4", [4, 8]),
                        (":step=3", [3]), (":slow=1000", []), (":slow=1e-12", range(1, 11))):
        folder = "p" + when.strip(":").replace("=", "-")
        result = perp("run", scene, "--json", "--save-problems", folder + when).json
        assert result["steps"] == 10
        found = sorted(int(f.split("-step")[1].split(".")[0]) for f in os.listdir(folder))
        assert found == list(steps), (when, found)
    for name in os.listdir("pstep-3"):
        assert perp("solve", os.path.join("pstep-3", name), "--json").json["status"] == "ok"
    for bad in ("x:sometimes", "x:every=0", "x:every=1.5", "x:step=", "x:slow=-1", ":all", "x:"):
        message = perp("run", scene, "--save-problems", bad, status=2).err
        assert "every=N" in message and bad in message, message
    assert not os.path.exists("x")


@test
def solve_lists_every_method_that_was_tried_in_order():
    scene = write_scene(duration=0.05)
    perp("run", scene, "--quiet", "--save-problems", "p:step=5")
    problem = os.path.join("p", os.listdir("p")[0])
    answer = perp("solve", problem, "--json").json
    last = answer["tried"][-1]
    assert set(last) == {"solver", "outcome", "iterations", "residual", "seconds", "island"}
    assert last["outcome"] == "solved" and last["residual"] <= 1e-10 and last["seconds"] > 0
    assert answer["tried_count"] == len(answer["tried"])
    answer = perp("solve", problem, "--json", "--tolerance", "1e-300", status=3).json
    names = [a["solver"] for a in answer["tried"]]
    assert len(names) > 2 and all(a["outcome"] != "solved" for a in answer["tried"]), answer["tried"]
    assert answer["detail"].startswith(f"tried {names[0]} ("), answer["detail"]
    answer = perp("solve", problem, "--solver", "lemke", "--json").json
    assert [a["solver"] for a in answer["tried"]] == ["lemke"]
    assert answer["tried"][0]["iterations"] == answer["iterations"]


@test
def help_and_version():
    assert perp("--version").out.startswith("perp ")
    overview = perp().out
    assert overview == perp("help").out == perp("--help").out
    assert overview.count("perp ") >= 9 and "Examples" in overview
    for verb in ("run", "check", "list", "export", "verify", "solve", "help"):
        assert perp("help", verb).out == perp(verb, "--help").out
        assert f"perp {verb}" in perp("help", verb).out
    assert "--resume" in perp("help", "run").out


@test
def list_names_what_there_is():
    def names(kind):
        rows = perp("list", kind, "--json").json[kind]
        text = perp("list", kind).out
        for row in rows:
            assert row["name"] in text
        return {row["name"]: row for row in rows}
    assert names("steppers")["stewart-trinkle"]["built"]
    assert names("contacts")["standard"]["built"] and names("contacts")["disjunctive"]["built"]
    assert names("steppers")["quasistatic"]["built"]
    assert {"sphere", "plane", "box", "circle", "halfplane", "polygon"} <= set(names("shapes"))
    joints = names("joints")
    assert len(joints) == 9 and all(row["built"] for row in joints.values())
    solvers = names("solvers")
    assert {"lemke", "pgs", "auto"} <= set(solvers)
    for setting in solvers["pgs"]["settings"]:
        assert {"name", "type", "text", "default"} <= set(setting)
        if setting["type"] != "bool":
            assert setting["minimum"] <= setting["default"] <= setting["maximum"]
    os.mkdir("mine")
    write_scene("mine/some.json")
    environment = dict(os.environ, PERP_SCENES="mine")
    rows = perp("list", "scenes", "--json", env=environment).json["scenes"]
    assert rows[0]["name"] == "some" and os.path.exists(rows[0]["path"])
    result = perp("run", "some", "--json", env=environment).json
    assert result["scene"] == "three-balls"


@test
def check_says_what_will_be_simulated():
    scene = write_scene()
    result = perp("check", scene, "--json").json
    assert result["steps"] == 200 and result["margin"] == "automatic"
    assert result["gravity"] == [0, 0, -9.81]
    assert [body["name"] for body in result["bodies"]] == ["ground", "a", "b", "c"]
    assert result["bodies"][1]["mass"] == 1 and result["bodies"][0]["type"] == "static"
    assert len(result["pairs"]) == 6
    assert all(math.isclose(pair["mu"], 0.3) for pair in result["pairs"])
    text = perp("check", scene).out
    for word in ("three-balls", "200 steps", "stewart-trinkle", "polygon", "6 directions", "sphere",
                 "ground", "0.3"):
        assert word in text, word
    perp("check", scene, "--set", "/bodies/2/position=[0.5,0,1]", status=2)


@test
def export_gives_back_every_bit():
    scene = write_scene(duration=0.1)
    final = perp("run", scene, "--json", "--out", "r.h5").json
    lines = perp("export", "r.h5").out.splitlines()
    header = lines[0].split(",")
    assert header[:5] == ["time", "step", "ground.x", "ground.y", "ground.z"]
    assert len(header) == 2 + 4 * 13 + 7 + 21 and len(lines) == 1 + 21
    last = dict(zip(header, map(float, lines[-1].split(","))))
    assert [last[f"c.{k}"] for k in "xyz"] == final["bodies"]["c"]["position"]
    assert last["energy.total"] == final["energy"]["total"]
    one = perp("export", "r.h5", "--body", "c", "--csv").out.splitlines()
    assert len(one[0].split(",")) == 2 + 13 + 7 + 21
    table = perp("export", "r.h5", "--body", "c", "--json").json
    assert table["columns"] == one[0].split(",") and table["complete"]
    assert table["rows"][-1] == list(map(float, one[-1].split(",")))
    assert "did you mean" in perp("export", "r.h5", "--body", "grount", status=2).err
    perp("export", "r.h5", "--csv", "--json", status=2)
    planar = perp("run", write_planar(), "--out", "p.h5", "--quiet")
    assert perp("export", "p.h5").out.splitlines()[0].split(",")[2:5] == [
        "floor.x", "floor.y", "floor.angle"]


@test
def names_with_commas_survive_csv():
    scene = write_planar()
    perp("run", scene, "--quiet", "--out", "r.h5", "--set", '/bodies/1/name="a,\\"b\\""')
    header = perp("export", "r.h5").out.splitlines()[0]
    assert '"a,""b"".x"' in header


@test
def what_is_no_recording_is_2():
    scene = write_scene()
    open("empty.h5", "w").close()
    for verb in ("verify", "export"):
        for path in ("missing.h5", "empty.h5", scene, "."):
            result = perp(verb, path, "--json", status=2)
            assert result.json["status"] == "bad-input" and path in result.err
    perp("run", "--resume", "missing.h5", status=2)


def wait_for(event, process):
    """Until the event, which a process that runs brings about: a busy machine may need long for it."""
    deadline = time.monotonic() + 120
    while not event() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def interrupt(signal_number, *args, after=0.5):
    if os.path.exists("r.h5"):
        os.remove("r.h5")
    # The tests themselves may run under nohup, which programs inherit.
    process = subprocess.Popen([PERP, "run", *args, "--json", "--out", "r.h5"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    wait_for(lambda: os.path.exists("r.h5"), process)
    time.sleep(after)
    process.send_signal(signal_number)
    begin = time.monotonic()
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3, (process.returncode, err)
    result = json.loads(out)
    assert result["status"] == "interrupted" and "interrupted at t = " in err
    export = perp("export", "r.h5", "--body", "a", "--json").json
    assert export["complete"] and export["frames"] == result["steps"] + 1
    return result, time.monotonic() - begin


@test
def an_interrupt_ends_the_run_well():
    scene = write_scene(duration=1e6)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        interrupt(number, scene, after=0.1)  # what it has recorded is exported and verified
    text = perp("verify", "r.h5", timeout=300).out
    assert "ended early: interrupted at t = " in text, text


@test
def an_interrupt_reaches_into_a_long_solve():
    tower = [{"name": "ground", "type": "static", "shapes": [{"type": "plane",
                                                              "normal": [0, 0, 1]}]}]
    for i in range(40):  # the first step would take a minute
        tower.append({"name": "a" if i == 0 else f"b{i}", "mass": 1 + 0.1 * (37 * i % 11),
                      "position": [0.1 * (i % 3), 0.07 * (i % 5), 0.5 + i],
                      "shapes": [{"type": "box", "size": [1, 1, 1]}]})
    scene = write_scene(duration=1, bodies=tower, forces=[], solver="lemke",
                        friction={"cone": "polygon", "default": 0.5, "directions": 16})
    result, seconds = interrupt(signal.SIGINT, scene)
    assert seconds < 40 and result["steps"] <= 1 and result["solver_failures"] == 0, seconds


@test
def nohup_is_respected():
    process = subprocess.Popen([PERP, "run", write_scene(duration=1e6), "--quiet", "--out", "r.h5"],
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for(lambda: os.path.exists("r.h5"), process)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 3


@test
def a_terminal_gets_a_progress_line_and_a_pipe_does_not():
    scene = write_scene(duration=1e6)

    def start(stderr, *more):
        process = subprocess.Popen([PERP, "run", scene, "--out", "r.h5", *more], stdout=subprocess.DEVNULL, stderr=stderr)
        wait_for(lambda: os.path.exists("r.h5"), process)
        return process
    process = start(subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1].startswith(b"perp: interrupted")
    os.remove("r.h5")
    leader, follower = pty.openpty()
    begin = time.monotonic()
    process = start(follower)
    text = ""
    while text.count("\r") < 3 and select.select([leader], [], [], 60)[0]:
        text += os.read(leader, 100000).decode()
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    seconds = time.monotonic() - begin
    os.close(follower)
    text += os.read(leader, 100000).decode()
    os.close(leader)
    # at most ten lines a second, and what ends the last
    assert "steps/s" in text and "left" in text and text.count("\r") <= 10 * seconds + 4, text
    assert "\r\033[K" in text


@test
def a_closed_pipe_or_full_output_is_not_success():
    perp("run", write_scene(), "--quiet", "--out", "r.h5")
    with open("/dev/full", "w") as full:
        done = subprocess.run([PERP, "export", "r.h5"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3 and b"standard output" in done.stderr


@test
def any_number_of_threads_ends_at_the_same_bits():
    scene = write_scene()
    bodies = [perp("run", scene, "--json", *option).json["bodies"]
              for option in ([], ["--threads", "1"], ["--threads", "3"])]
    assert bodies[0] == bodies[1] == bodies[2]
    for bad in ("0", "-1", "two", "1.5", "1000", ""):
        done = subprocess.run([PERP, "run", scene, "--quiet", "--threads", bad], capture_output=True)
        assert done.returncode == 2 and b"--threads" in done.stderr, (bad, done.stderr)


main("run_test")
