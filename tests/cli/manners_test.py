"""The manners of the command line: help, man page, completion, colours, progress, suggestions,
init and demo."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time

from _cli import PERP, SOURCE, main, perp, test, write_planar, write_scene

VERBS = re.findall(r"^  perp (\S+) +", perp("help").out.split("Examples")[0], re.M)
assert {"init", "demo", "check", "run", "compare", "export", "verify", "solve", "list",
        "help"} <= set(VERBS)


def options_of(verb):
    """From the help of the verb: its options, those that do not exist yet left out."""
    lines = perp("help", verb).out.splitlines()
    return [line.split()[0] for line in lines
            if line.startswith("  --") and "does not exist yet" not in line]


# ---- help and man page -----------------------------------------------------------------------------

@test
def alone_it_shows_a_short_help_with_three_examples():
    text = perp().out
    assert text == perp("help").out == perp("--help").out
    assert len(text.splitlines()) <= 40, "short"
    assert all(len(line) <= 100 for line in text.splitlines())
    examples = text.split("Examples\n")[1].split("\n\n")[0].splitlines()
    assert len(examples) == 3
    os.mkdir("work")
    for line in examples:  # they work as they stand
        command = line.split("  ")[1].split()
        assert command[0] == "perp"
        perp(*command[1:], cwd="work")
    assert os.path.exists("work/my.h5") and os.path.exists("work/stack.h5")


@test
def every_verb_has_help_by_two_roads():
    for verb in VERBS:
        text = perp("help", verb).out
        assert text.startswith(f"perp {verb} "), verb
        assert text == perp(verb, "--help").out


@test
def the_man_page_holds_every_verb_and_every_option():
    page = perp("help", "--man").out
    plain = page.replace("\\-", "-")
    assert page.startswith(".\\\"")
    for verb in VERBS:
        section = plain.split(f'.SS "perp {verb}"')
        assert len(section) == 2, verb
        section = section[1].split(".S")[0]
        for option in options_of(verb):
            assert f"\\fB{option}\\fR" in section, (verb, option)
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, text=True,
                              capture_output=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert "--markdown" in re.sub("\x1b\\[[0-9;]*m|.\b", "", done.stdout)


# ---- completion ------------------------------------------------------------------------------------

def complete_bash(*words, cwd=None):
    """What bash offers for the last of the words."""
    script = perp("help", "--completion", "bash").out
    with open("completion.bash", "w") as file:
        file.write(script)
    quoted = " ".join("'" + w + "'" for w in [PERP, *words])
    done = subprocess.run(
        ["bash", "--norc", "-c",
         f"source {os.path.abspath('completion.bash')}; COMP_WORDS=({quoted}); "
         f"COMP_CWORD={len(words)}; _perp; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
        capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return sorted(done.stdout.split())


@test
def bash_completes_verbs_options_names_and_files():
    os.mkdir("files")
    for name in ("one.h5", "two.h5", "my.json", "other.txt"):
        open(f"files/{name}", "w").close()
    os.mkdir("files/folder")
    assert complete_bash("") == sorted([*VERBS, "--help", "--version"])
    assert complete_bash("ch") == ["check"]
    assert complete_bash("run", "--so") == ["--solver"]
    assert "--watch" not in complete_bash("run", "--") or "--watch" in options_of("run")
    for verb in VERBS:
        assert complete_bash(verb, "--") == sorted(options_of(verb) + ["--help"]), verb
    assert complete_bash("run", "--solver", "le") == ["lemke"]
    assert complete_bash("run", "--solver", "=", "le") == ["lemke"]
    assert complete_bash("run", "--friction", "p") == ["polygon"]
    assert "stewart-trinkle" in complete_bash("run", "--stepper", "")
    assert complete_bash("verify", "", cwd="files") == ["folder", "one.h5", "two.h5"]
    assert complete_bash("compare", "one.h5", "t", cwd="files") == ["two.h5"]
    assert complete_bash("run", "x", "-o", "o", cwd="files") == ["one.h5"]
    offered = complete_bash("run", "", cwd="files")
    assert "my.json" in offered and "hello" in offered and "one.h5" not in offered, offered
    assert complete_bash("demo", "hel") == ["hello"]
    assert complete_bash("list", "s") == ["scenes", "shapes", "solvers", "steppers"]
    assert complete_bash("help", "veri") == ["verify"]
    assert complete_bash("help", "--completion", "") == ["bash", "fish", "zsh"]
    assert complete_bash("init", "--dimension", "") == ["2", "3"]


@test
def bash_itself_takes_the_completion_for_perp():
    script = perp("help", "--completion", "bash").out
    done = subprocess.run(["bash", "--norc", "-c", f"{script}\ncomplete -p perp"],
                          capture_output=True, text=True)
    assert done.stdout.strip() == "complete -F _perp perp", done.stdout + done.stderr


@test
def zsh_and_fish_take_their_scripts():
    for shell in ("zsh", "fish"):
        script = perp("help", "--completion", shell).out
        for verb in VERBS:
            assert verb in script
            for option in options_of(verb):
                assert option[2:] in script, (shell, verb, option)
        if shutil.which(shell):
            with open(f"script.{shell}", "w") as file:
                file.write(script)
            done = subprocess.run([shell, "-n", f"script.{shell}"], capture_output=True, text=True)
            assert done.returncode == 0 and not done.stderr, (shell, done.stderr)
    if shutil.which("fish"):  # it can be asked
        os.mkdir("bin")
        os.symlink(os.path.abspath(PERP), "bin/perp")
        for line, expected in (("perp ver", "verify"), ("perp run --solver lem", "lemke"),
                               ("perp demo hel", "hello"), ("perp check --dur", "--duration")):
            done = subprocess.run(["fish", "--no-config", "-c",
                                   f"source script.fish; complete -C '{line}'"],
                                  capture_output=True, text=True,
                                  env={**os.environ, "PATH": "bin:" + os.environ["PATH"],
                                       "HOME": os.getcwd()})
            assert [w.split("\t")[0] for w in done.stdout.splitlines()] == [expected], (
                line, done.stdout, done.stderr)


@test
def an_unknown_shell_is_refused():
    assert "did you mean 'bash'?" in perp("help", "--completion", "bsh", status=2).err
    assert "bash, zsh and fish" in perp("help", "--completion", "powershell", status=2).err


# ---- a terminal ------------------------------------------------------------------------------------

def on_terminal(*args, columns=80, rows=24, env=None, cwd=None):
    """Everything perp writes to a terminal of that width, and its exit status."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            if cwd:
                os.chdir(cwd)
            os.environ.pop("NO_COLOR", None)
            os.environ["TERM"] = "xterm"
            os.environ.update(env or {})
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(PERP, [PERP, *map(str, args)])
        finally:
            os._exit(99)
    out = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return out.decode(), os.waitstatus_to_exitcode(status)


DURATION = {}  # of a run that has so many progress lines


def progress_lines(columns, enough):
    """Progress lines of a run, and what it wrote after them. How long it must be for so many lines depends on the build
    and on what runs beside it."""
    while True:
        scene = write_scene("lasting.json", step=2e-5, duration=DURATION.setdefault(enough, 0.1), record={"every": 1000})
        out, status = on_terminal("run", scene, "--out", "r.h5", columns=columns)
        assert status == 0, out
        drawn, _, rest = out.rpartition("\r\x1b[K")
        lines = [part for part in drawn.split("\r\x1b[K") if part]
        if len(lines) >= enough or DURATION[enough] > 20:
            return lines, rest
        DURATION[enough] *= 2


@test
def the_progress_line_says_what_it_should_and_never_wraps():
    for columns in (200, 80, 60, 40, 20, 4):
        lines, rest = progress_lines(columns, 4 if columns == 200 else int(columns > 4))
        assert lines if columns > 4 else not lines, (columns, lines)
        for line in lines:
            assert "\n" not in line and len(line) < columns, (columns, line)
            assert columns < 5 or re.match(r" *\d+%", line), line
        assert "steps/s" not in rest and "left" not in rest, "wiped at the end"
        if columns == 200:
            for pattern in (r"\[=* *\]", r"[\d.]+k? steps/s", r"[\d.e+-]+x real time",
                            r"\d+ contacts", r"worst \d\.\de-?\d+", r"\d+ s left"):
                assert re.search(pattern, lines[-1]), (pattern, lines[-1])
            percent = [int(re.match(r" *(\d+)%", line)[1]) for line in lines]
            assert percent == sorted(percent) and percent[-1] > percent[0]
        if columns == 80:
            assert all("left" in line and "steps/s" in line for line in lines), lines


@test
def no_progress_in_a_pipe_when_quiet_or_on_a_dumb_terminal():
    progress_lines(80, 1)
    scene = "lasting.json"  # long enough for one
    done = perp("run", scene)
    assert "\r" not in done.err + done.out and "\x1b" not in done.err + done.out
    assert "%" not in on_terminal("run", scene, "--quiet")[0]
    assert "\x1b" not in on_terminal("run", scene, env={"TERM": "dumb"})[0]


@test
def colours_only_on_a_terminal_and_without_no_color():
    scene = write_scene(duration=0.01)
    for args in (["help"], ["check", scene], ["run", scene], ["demo"], ["list", "solvers"],
                 ["run", "nothing-like-it"]):
        assert "\x1b" not in "".join(vars(perp(*args, status=None))[k] for k in ("out", "err"))
        assert "\x1b[" in on_terminal(*args)[0], args
        assert "\x1b" not in on_terminal(*args, env={"NO_COLOR": "1"})[0], args
        assert "\x1b[" in on_terminal(*args, env={"NO_COLOR": ""})[0], "an empty one does not count"
        assert "\x1b" not in on_terminal(*args, env={"TERM": "dumb"})[0], args


# ---- suggestions -----------------------------------------------------------------------------------

def complaint(*args):
    done = perp(*args, status=2)
    assert len(done.err.splitlines()) == 1, done.err
    return done.err


@test
def a_typo_in_any_name_suggests_the_nearest():
    scene = write_scene(duration=0.1)
    perp("run", scene, "--out", "r.h5", "--quiet")
    for args, expected in (
            (["rnu", scene], "'run'"),
            (["help", "comapre"], "'compare'"),
            (["run", scene, "--sovler", "lemke"], "--solver"),
            (["compare", "r.h5", "r.h5", "--markdwon"], "--markdown"),
            (["run", scene, "--solver", "lemk"], "'lemke'"),
            (["run", scene, "--stepper", "stewart-trinckle"], "'stewart-trinkle'"),
            (["run", scene, "--contact", "standrad"], "'standard'"),
            (["list", "solver"], "'solvers'"),
            (["demo", "helo"], "'hello'"),
            (["run", "helo"], "'hello'"),
            (["run", "scnee.json"], "'scene.json'"),
            (["run", "./scen.json"], "'./scene.json'"),
            (["check", os.path.join(SOURCE, "scenes/helo.json")], "scenes/hello.json'"),
            (["run", scene, "--set", "/bodies/1/mss=2"], "'mass'"),
            (["run", scene, "--set", '/solver={"type": "psor", "relx": 1}'], "'relax'")):
        text = complaint(*args)
        assert re.search(rf"did you mean \S*{re.escape(expected)}\?", text), (args, text)

    perp("run", write_scene("named.json", bodies=[
        {"name": "cylinder", "mass": 1, "shapes": [{"type": "sphere", "radius": 1}]},
        {"name": "box", "mass": 1, "position": [9, 0, 0],
         "shapes": [{"type": "sphere", "radius": 1}]}], forces=[]),
        "--duration", "0.02", "--out", "named.h5", "--quiet")
    assert "did you mean 'cylinder'?" in complaint("export", "named.h5", "--body", "cylnder")


@test
def a_typo_in_a_scene_suggests_the_nearest():
    ball = {"name": "ball", "mass": 1, "shapes": [{"type": "sphere", "radius": 1}]}
    for changes, expected in (
            ({"frcition": {}}, "'friction'"),
            ({"stepper": "stewart-trinkel"}, "'stewart-trinkle'"),
            ({"contact": "standart"}, "'standard'"),
            ({"solver": "newtn"}, "'newton'"),
            ({"solver": {"type": "nsgs", "relx": 1}}, "'relax'"),
            ({"friction": {"defualt": 1}}, "'default'"),
            ({"friction": {"pairs": [{"a": "bal", "b": "ball"}]}}, "'ball'"),
            ({"bodies": [{**ball, "postion": [0, 0, 0]}]}, "'position'"),
            ({"bodies": [{**ball, "shapes": [{"type": "spere", "radius": 1}]}]}, "'sphere'"),
            ({"bodies": [{**ball, "shapes": [{"type": "sphere", "radus": 1}]}]}, "'radius'"),
            ({"bodies": [{**ball, "collides_with": ["bal"]}]}, "'ball'"),
            ({"forces": [{"type": "wrench", "body": "bal"}]}, "'ball'"),
            ({"forces": [{"type": "wrench", "body": "ball", "forse": [0, 0, 0]}]}, "'force'"),
            ({"forces": [{"type": "wrench", "body": "ball", "force": ["sn(t)", 0, 0]}]}, "'sin'")):
        scene = write_scene("typo.json", **{"bodies": [ball], "forces": [], **changes})
        text = complaint("check", scene)
        assert f"did you mean {expected}?" in text, (changes, text)
    # where there are only a few words, all of them are named
    for changes, expected in (
            ({"friction": {"cone": "quadratc"}}, "none, polygon, quadratic or ellipsoid"),
            ({"bodies": [{**ball, "type": "dynamc"}]}, "static, kinematic or dynamic"),
            ({"forces": [{"type": "wrnch", "body": "ball"}]}, "wrench"),
            ({"rotation": "liner"}, "exponential or linear")):
        scene = write_scene("typo.json", **{"bodies": [ball], "forces": [], **changes})
        assert f"must be {expected}" in complaint("check", scene), changes


@test
def a_bad_value_on_the_command_line_is_not_blamed_on_the_file_alone():
    perp("init", "good.json")
    for args, place, option in (
            (["--step", "abc"], "/step", "--step"), (["--duration=-1"], "/duration", "--duration"),
            (["--set", "/bodies/1/mass=-3"], "/bodies/1/mass", "--set"),
            (["--set", "/bodies/1/shapes/0=7"], "/bodies/1/shapes/0", "--set")):
        err = perp("check", "good.json", *args, status=2).err.strip()
        assert err.startswith(f"perp: good.json: {place}: ") and err.endswith(f"(given by {option})"), err
    with open("bad.json", "w") as file:
        file.write('{"step": -1, "bodies": []}')
    for args in ([], ["--duration", "1"], ["--set", "/name=/step"]):
        assert "given by" not in perp("check", "bad.json", *args, status=2).err


@test
def nothing_is_suggested_for_a_word_like_no_other():
    scene = write_scene()
    for args in (["frobnicate"], ["run", scene, "--solver", "zzzzzz"], ["demo", "zzzzzz"],
                 ["run", "zzzzzz"], ["run", "no/such/folder/x.json"]):
        assert "did you mean" not in complaint(*args), args


# ---- init and demo ---------------------------------------------------------------------------------

@test
def init_writes_a_scene_with_comments_that_runs_as_it_is():
    for dimension in ([], ["--dimension", "2"], ["--dimension=3"]):
        name = "s" + "".join(dimension).strip("-") + ".json"
        done = perp("init", name, *dimension)
        with open(name) as file:
            text = file.read()
        assert text.count("//") >= 10, "comments"
        for line in done.out.splitlines()[1:]:  # the commands it names
            perp(*line.split()[1:])
        result = perp("run", name, "--json").json
        assert result["status"] == "ok" and result["solver_failures"] == 0
        assert result["certificate"]["friction"] < 1e-8 and result["contacts"]["max"] > 0
        planar = "2" in "".join(dimension)
        assert all(len(b["position"]) == (2 if planar else 3) for b in result["bodies"].values())
        perp("verify", name.replace(".json", ".h5"))
        assert perp("init", "-", *dimension).out == text
        # what is offered in comments works too
        with open(name, "w") as file:
            file.write(re.sub(r"^    //( , \{|    )", r"    \1", text, flags=re.M)
                       .replace("     , {", "    , {"))
        with open(name) as file:
            assert '"pusher"' in "".join(l for l in file if "//" not in l.split('"')[0])
        assert "pusher" in perp("check", name, "--json").out


@test
def init_never_overwrites_and_refuses_nonsense():
    with open("scene.json", "w") as file:
        file.write("mine")
    assert "scene.json is there already" in perp("init", status=2).err
    assert open("scene.json").read() == "mine"
    os.symlink("nowhere.json", "link.json")
    perp("init", "link.json", status=2)
    assert not os.path.exists("nowhere.json")
    assert "2 or 3" in perp("init", "x.json", "--dimension", "4", status=2).err
    assert not os.path.exists("x.json")
    perp("init", "no/such/folder/x.json", status=2)
    assert perp("init", "y.json", "--json").json == {"status": "ok", "file": "y.json"}


@test
def demo_lists_all_scenes_with_one_line_each():
    names = sorted(n[:-5] for n in os.listdir(os.path.join(SOURCE, "scenes")) if n.endswith(".json"))
    lines = perp("demo").out.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == names
    assert all(len(line.split()) > 4 for line in lines)
    rows = perp("demo", "--json").json["scenes"]
    assert [r["name"] for r in rows] == names and all(r["summary"] for r in rows)
    for columns in (100, 50):
        out, _ = on_terminal("demo", columns=columns, env={"NO_COLOR": "1"})
        assert all(len(line) <= columns for line in out.split("\r\n")[:len(names)]), out
    listed = perp("list", "scenes", "--json").json["scenes"]
    assert all(r["dimension"] in (2, 3) and r["description"] for r in listed)
    assert perp("list", "scenes", "--names").out.split() == names


@test
def demo_runs_a_scene_records_it_here_and_names_what_to_do_next():
    out = perp("demo", "hello").out
    assert os.path.exists("hello.h5")
    commands = [line.split("   ")[0].split()[1:] for line in out.split("next\n")[1].splitlines()]
    assert ["verify", "hello.h5"] in commands
    for command in commands:
        perp(*command)
    assert ["replay" in command for command in commands].count(True) == ("replay" in VERBS)
    assert perp("demo", "hello", "--json").json["scene"] == "hello"
    assert perp("demo", "hello", "--quiet").out == ""
    with open("stack.h5", "w") as file:
        file.write("mine")
    perp("demo", "stack", status=2)
    assert open("stack.h5").read() == "mine"


@test
def a_broken_scene_does_not_spoil_the_list():
    os.mkdir("own")
    write_planar("own/aa-fine.json", description="Fine. And more.")
    with open("own/ab-broken.json", "w") as file:
        file.write("{ nonsense")
    env = {**os.environ, "PERP_SCENES": "own"}
    lines = perp("demo", env=env).out.splitlines()
    assert re.match(r"  aa-fine +Fine\.$", lines[0]), lines
    assert lines[1].startswith("  ab-broken") and "line 1" in lines[1], lines
    perp("demo", "ab-broken", status=2, env=env)
    assert json.loads(perp("list", "scenes", "--json", env=env).out)["scenes"][1]["dimension"] is None


@test
def messages_say_what_was_probably_meant():
    scene = write_scene(duration=0.1)
    perp("run", scene, "--quiet", "--out", "r.h5")
    wrench = '/forces=[{"type":"wrench","body":"a","force":["sin(%s)",0,0]}]'
    for words, hint in [
            (("check", scene, "--set", "/friction=0.5"), 'write {"default": 0.5}'),
            (("run", scene, "--friction", "0.3"), "--set /friction/default=0.3"),
            (("run", scene, "--set", wrench % "time"), "the only variable is the time, t"),
            (("run", scene, "--set", wrench % "tt"), "did you mean 't'?"),
            (("run", scene, "b.h5"), "did you mean '--out b.h5'?"),
            (("replay", "r.h5", "r.h5", "x.html"), "did you mean '--out x.html'?"),
            (("verify", "r.h5", "b.h5"), "'b.h5' is one argument too many; usage: perp verify"),
            (("plot", "energy", "r.h5"), "the recording comes first: perp plot r.h5 energy"),
            (("demo", "stak"), "did you mean 'stack'?")]:
        message = perp(*words, status=2).err
        assert hint in message, (words, message)
    assert not os.path.exists("b.h5")
    for text, hint in [('{"a": [1, 2,]}', "remove the comma"), ('{"a": 1, // none, here\n }', "remove the comma"),
                       ("{'a': 1}", "double quotes"), ('{"a": 1 "b": 2}', "is a comma missing"),
                       ('{"a": [{"b": 1} {"c": 2}]}', "is a comma missing")]:
        with open("bad.json", "w") as file:
            file.write(text)
        message = perp("check", "bad.json", status=2).err
        assert hint in message and "line " in message, (text, message)
    for text in ('{"a": ]', '{"a"', '[1, 2', '{"a": 1]'):  # no guess where none is known
        with open("bad.json", "w") as file:
            file.write(text)
        assert "comma" not in perp("check", "bad.json", status=2).err, text
    message = perp("check", scene, "--set", "/bodies/1/mass=0", status=2).err
    assert "NaN" not in message and "must be > 0" in message


@test
def a_step_that_is_far_too_long_is_remarked():
    scene = write_scene(duration=2.0)
    message = perp("check", scene, "--step", "1").err
    assert "warning: the step of 1 is long" in message and "try --step 0.0" in message, message
    assert "warning" in perp("run", scene, "--step", "1").err
    assert perp("run", scene, "--step", "1", "--quiet").err == ""
    for quiet in (("--step", "0.01"), ("--step", "1", "--set", "/gravity=[0,0,0]"),
                  ("--set", '/step={"error":1e-3}')):
        assert perp("check", scene, *quiet).err == "", quiet


main("manners_test")
