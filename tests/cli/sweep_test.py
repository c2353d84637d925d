#!/usr/bin/python3
"""`perp sweep` and `perp worker`: the same table however the runs are distributed, rows of runs that go wrong, resume, bad
studies.

Environment: PERP, PERP_SOURCE, PERP_CC, PERP_CFLAGS.
"""
import csv
import hashlib
import json
import math
import os
import random
import shlex
import signal
import sqlite3
import subprocess
import time

from _cli import PERP, SOURCE, main, test
from _study import MPI, SCENE, STUDY, good, has_mpi, perp, rows, study, table, wait_for_rows, write

RUNS = 4 * 5 * 6


@test
def the_table_is_the_same_for_any_number_of_jobs_shards_and_processes():
    name = study()
    good("sweep", name, "--out", "one.db", "--jobs", "1")
    expected = table("one.db")
    assert [r["id"] for r in expected] == list(range(1, RUNS + 1))
    assert {r["status"] for r in expected} == {"ok"} and {r["outcome"] for r in expected} == {"end", "far"}
    for jobs in ("2", "3", "8"):
        good("sweep", name, "--out", f"jobs{jobs}.db", "--jobs", jobs)
        assert table(f"jobs{jobs}.db") == expected, jobs
    for i in range(1, 6):
        good("sweep", name, "--out", f"part{i}.db", "--shard", f"{i}/5", "--jobs", "1")
        assert len(rows(f"part{i}.db")) == RUNS // 5
    good("sweep", "merge", *(f"part{i}.db" for i in (3, 1, 5, 2, 4)), "--out", "merged.db")
    assert table("merged.db") == expected
    if has_mpi():
        for n in ("2", "4"):
            done = subprocess.run(["mpirun", "-n", n, PERP, "sweep", name, "--out", f"mpi{n}.db", "--json"], env=MPI,
                                  capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["jobs"] == int(n) - 1
            assert table(f"mpi{n}.db") == expected, n


@test
def a_sweep_is_resumed_where_it_ended():
    name = study()
    good("sweep", name, "--out", "all.db")
    # what a sweep leaves that was ended: some rows, in no order
    good("sweep", name, "--out", "part.db")
    with sqlite3.connect("part.db") as c:
        c.execute("DELETE FROM runs WHERE id % 3 = 1 OR id > 100")
    left = len(rows("part.db"))
    done = good("sweep", name, "--out", "part.db", "--resume", "--json")
    assert json.loads(done.stdout)["found"] == left
    assert table("part.db") == table("all.db")
    done = good("sweep", name, "--out", "part.db", "--resume", "--json")  # nothing is left to do
    assert json.loads(done.stdout)["found"] == RUNS


def kill_and_resume(seed, at_worker, trials=40, seconds=0.35):
    """Kills the sweep, or one of its workers, at a random moment; then resumes until it is complete. Returns the rows, and
    how many were there before."""
    choice = random.Random(seed)
    name = study(sample={"method": "random", "trials": trials, "seed": 3})
    total = 4 * 5 * trials
    process = subprocess.Popen([PERP, "sweep", name, "--out", "r.db", "--jobs", "2", "--quiet"])
    time.sleep(choice.uniform(0.0, seconds))
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
    victim = int(choice.choice(children)) if at_worker and children else process.pid
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(timeout=60)
    done = json.loads(good("sweep", name, "--out", "r.db", "--resume", "--json").stdout)
    found = rows("r.db")
    assert [r["id"] for r in found] == list(range(1, total + 1))
    assert {r["status"] for r in found} == {"ok"}
    return found, done["found"]


@test
def a_sweep_survives_kill_of_the_parent_or_a_worker():
    reference = None
    for seed in range(4):
        found, _ = kill_and_resume(seed, at_worker=seed % 2 == 1)
        os.remove("r.db")
        for row in found:
            del row["seconds"]
        assert reference is None or found == reference, seed
        reference = found


@test
def a_signal_to_all_processes_of_a_job_makes_no_row():
    """As a batch system ends a job: SIGTERM to the parent and its workers at once."""
    name = study(sample={"method": "random", "trials": 400, "seed": 3})
    for seed in range(3):
        process = subprocess.Popen([PERP, "sweep", name, "--out", "r.db", "--jobs", "2", "--quiet"],
                                   start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(0.3 + 0.1 * seed)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(timeout=60) in (0, 3, -signal.SIGTERM)
        if os.path.exists("r.db"):
            assert {r["status"] for r in rows("r.db")} <= {"ok"}, seed
            os.remove("r.db")


@test
def merge_joins_more_rows_than_fit_into_the_cache():
    # Long texts make rows of 2 kB, so that one file is larger than the 2 MB that SQLite keeps in memory.
    names = ["0*%d + box.position.x" % i + " " * 2000 for i in range(2)]
    name = study(vary={"/measures/x": {"choice": names}}, sample={"method": "random", "trials": 4000, "seed": 3})
    good("sweep", name, "--out", "part.db", "--quiet")
    assert os.path.getsize("part.db") > 4e6
    good("sweep", "merge", "part.db", "part.db", "--out", "merged.db", "--quiet")
    assert table("merged.db") == table("part.db")
    assert "exists: give another name" in perp("sweep", "merge", "part.db", "--out", "merged.db").stderr


@test
def a_measure_without_a_value_has_no_mean():
    name = study(vary={"mu": {"values": [0.5]}}, sample={}, limit={"steps": 1})
    good("sweep", name, "--out", "none.db", "--quiet")
    assert "has no value in any run" in good("sweep", "show", "none.db").stdout
    measures = json.loads(good("sweep", "show", "none.db", "--json").stdout)["measures"]
    assert all(m["count"] == 0 and m["mean"] is None and m["max"] is None for m in measures.values())


@test
def results_are_not_written_over():
    name = study()
    good("sweep", name, "--out", "kept.db", "--quiet")
    expected = table("kept.db")
    os.symlink("kept.db", "link.html")
    for words in (["show", "kept.db", "--csv", "kept.db"], ["show", "kept.db", "--page", "link.html"],
                  [name, "--out", "new.db", "--csv", "./new.db"], [name, "--out", "new.db", "--csv", name],
                  [name, "--out", "new.db", "--page", "nowhere/p.html"]):
        done = perp("sweep", *words)
        assert done.returncode == 2 and words[-2] in done.stderr, (words, done.stderr)
    assert table("kept.db") == expected and not os.path.exists("new.db")


@test
def rerun_says_why_a_recording_cannot_be_written():
    good("sweep", study(), "--out", "again.db", "--quiet")
    expected = table("again.db")
    for out in ("again.db", "nowhere/r.h5"):
        done = perp("sweep", "rerun", "again.db", "3", "--out", out)
        assert done.returncode == 3 and out in done.stderr and "has changed" not in done.stderr, done.stderr
    assert table("again.db") == expected


@test
def two_names_of_one_number_are_refused():
    name = study(vary={"mu": {"values": [0.5]}, "/parameters/mu": {"values": [0.4]}}, sample={})
    assert "is the same number as 'mu'" in perp("sweep", name, "--out", "two.db").stderr


FAULTS = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "perp/plugin.h"
static void* block[4096];
static int blocks;
/* The speed of the box says what is to go wrong: memory before the first step, the rest in the third. */
static perp_status start(void* user, perp_sim* sim)
{
    (void)user;
    if ((int)(perp_sim_body(sim, 1).velocity[0] + 0.5) == 4)
        for (size_t size = 1u << 26; size > 15; size /= 2)
            while (blocks < 4096 && (block[blocks] = malloc(size)) != NULL) memset(block[blocks++], 1, 16);
    return PERP_OK;
}
static perp_status step(void* user, perp_sim* sim)
{
    perp_plugin* p = user;
    if (perp_sim_step_count(sim) != 2) return PERP_OK;
    const int kind = (int)(perp_sim_body(sim, 1).velocity[0] + 0.5);
    switch (kind) {
    case 1: abort();
    case 2: for (volatile int i = 0;; ++i) {}
    case 3: strcpy(p->message, "the plugin says no"); return PERP_ERROR_NUMERIC;
    case 5: for (;;) pause();
    case 6: return *(volatile int*)8 ? PERP_OK : PERP_ERROR_NUMERIC;
    case 7: kill(getpid(), SIGKILL);
    case 8: _exit(5);
    default: return PERP_OK;
    }
}
static void end(void* user, perp_sim* sim)
{
    (void)user, (void)sim;
    while (blocks > 0) free(block[--blocks]);
}
PERP_PLUGIN(plugin)
{
    plugin->start = start;
    plugin->step = step;
    plugin->end = end;
    plugin->user = plugin;
    return PERP_OK;
}
"""


def build_plugin(name="faults", code=FAULTS):
    write(f"{name}.c", code)
    subprocess.run([os.environ.get("PERP_CC", "cc"), *shlex.split(os.environ.get("PERP_CFLAGS", "")), "-std=gnu17",
                    "-shared", "-fPIC", f"{name}.c", "-I", os.path.join(SOURCE, "include"), "-o", f"{name}.so"],
                   check=True)
    return f"{name}.so"


@test
def runs_that_abort_loop_fail_or_exhaust_memory_are_rows_and_the_study_goes_on():
    """A gliding box whose speed a plugin takes for what is to go wrong."""
    if "sanitize" in os.environ.get("PERP_CFLAGS", ""):
        print("left out under sanitizers, which end the process by themselves")
        return
    library = build_plugin()
    scene = {**SCENE, "friction": {"default": 0}, "stop": []}
    name = study(scene, vary={"v": {"grid": [0, 9, 10]}, "h": {"uniform": [0.1, 0.2]}}, keep="failed",
                 sample={"trials": 2, "seed": 1}, limit={"seconds": 0.5})
    command = f"ulimit -v 700000; exec {shlex.quote(PERP)} sweep {name} --out r.db --jobs 2 --plugin {library} --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (done.stdout, done.stderr)
    found = rows("r.db")
    assert [r["id"] for r in found] == list(range(1, 21))
    status = {}
    for r in found:
        status.setdefault(round(r["v"]), set()).add(r["status"])
        message = r["message"]
        expected = {1: "SIGABRT", 2: "CPU", 3: "the plugin says no", 4: "memory", 5: "did not go on", 6: "SIGSEGV",
                    7: "SIGKILL", 8: "exit status 5"}.get(round(r["v"]), "")
        assert (expected in message) if expected else message == "", r
    assert status == {0: {"ok"}, 1: {"crashed"}, 2: {"timeout"}, 3: {"failed"}, 4: {"failed"}, 5: {"timeout"},
                      6: {"crashed"}, 7: {"crashed"}, 8: {"crashed"}, 9: {"ok"}}, status
    # a failed run has its recording, up to where it failed
    kept = [r for r in found if r["recording"]]
    assert {round(r["v"]) for r in kept} >= {3}, kept
    assert all(os.path.exists(r["recording"]) for r in kept)
    if has_mpi():  # a crash is a row there too
        study(scene, vary={"v": {"grid": [0, 3, 4]}}, sample={}, limit={"seconds": 0.5})
        done = subprocess.run(["mpirun", "-n", "3", PERP, "sweep", name, "--out", "mpi.db", "--plugin", library], env=MPI,
                              capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert [r["status"] for r in rows("mpi.db")] == ["ok", "crashed", "timeout", "failed"], rows("mpi.db")
    # without the plugin the runs are others
    study(scene, vary={"v": {"grid": [0, 9, 10]}, "h": {"uniform": [0.1, 0.2]}}, sample={"trials": 2, "seed": 1})
    done = perp("sweep", name, "--out", "r.db", "--resume")
    assert done.returncode == 2 and "plugins differ" in done.stderr, done.stderr


@test
def a_step_that_is_not_solved_is_a_row_with_its_problem_file():
    scene = {**SCENE, "solver": "pgs", "tolerance": 1e-30}
    name = study(scene, vary={"v": {"grid": [1, 3, 2]}}, sample={}, keep="failed")
    good("sweep", name, "--out", "r.db")
    for r in rows("r.db"):
        assert r["status"] == "failed" and "; problem: slide-map.runs/" in r["message"], r
        assert r["recording"] == f"slide-map.runs/{r['id']}.h5" and os.path.exists(r["recording"])
        problem = r["message"].split("; problem: ")[1]
        good("solve", problem)
    done = good("sweep", "show", "r.db", "--json")
    shown = json.loads(done.stdout)
    assert shown["by_status"]["failed"]["count"] == 2 and len(shown["failures"]) == 1


@test
def a_scene_that_cannot_be_built_is_a_failed_row():
    name = study(vary={"/bodies/1/mass": {"values": [1, -1]}}, sample={})
    good("sweep", name, "--out", "r.db")
    found = rows("r.db")
    assert [r["status"] for r in found] == ["ok", "failed"] and "/bodies/1/mass" in found[1]["message"], found


@test
def limits_of_steps_and_kept_recordings():
    name = study(limit={"steps": 10}, keep="all", vary={"v": {"grid": [0, 1, 3]}}, sample={})
    good("sweep", name, "--out", "r.db")
    for r in rows("r.db"):
        assert r["status"] == "timeout" and r["steps"] == 10 and "10 steps" in r["message"]
        assert os.path.exists(r["recording"])
    good("verify", rows("r.db")[0]["recording"])


@test
def rerun_gives_the_bits_of_the_row():
    name = study(keep="all")
    good("sweep", name, "--out", "r.db")
    for r in rows("r.db")[::37]:
        again = json.loads(good("sweep", "rerun", "r.db", str(r["id"]), "--out", "again.h5", "--json").stdout)
        assert again["same_bits"] is True
        for measure in ("x", "speed", "near"):
            assert again["measures"][measure] == r[measure], (r, again)
        with open("again.h5", "rb") as a, open(r["recording"], "rb") as b:
            assert hashlib.sha256(a.read()).digest() == hashlib.sha256(b.read()).digest()
    good("verify", "again.h5")
    # a row that is not what the program computes is noticed
    with sqlite3.connect("r.db") as c:
        c.execute("UPDATE runs SET x = x + 1e-15 * (1 + abs(x)) WHERE id = 5")
    done = perp("sweep", "rerun", "r.db", "5")
    assert done.returncode == 3 and "x is not that of the database" in done.stderr, done.stderr
    assert perp("sweep", "rerun", "r.db", "121").returncode == 2


CUBE = """v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"""


@test
def files_of_meshes_are_chosen_and_a_database_is_read_without_them():
    write("a.obj", CUBE)
    write("b.obj", "\n".join(line.replace("1", "2") if line[0] == "v" else line for line in CUBE.splitlines()) + "\n")
    scene = {"gravity": [0, 0, -9.81], "step": 0.02, "duration": 0.1, "parameters": {"h": 3},
             "bodies": [{"name": "part", "density": 1, "position": [0, 0, "h"],
                         "shapes": [{"type": "mesh", "file": "a.obj"}]}],
             "measures": {"z": "part.position.z", "size": "energy.potential"}}
    name = study(scene, vary={"/bodies/0/shapes/0/file": {"values": ["a.obj", "b.obj"]}, "h": {"grid": [1, 2, 2]}},
                 sample={})
    good("sweep", name, "--out", "r.db")
    found = rows("r.db")
    assert [r["/bodies/0/shapes/0/file"] for r in found] == ["a.obj", "a.obj", "b.obj", "b.obj"]
    assert {r["status"] for r in found} == {"ok"}, found
    assert found[0]["z"] != found[2]["z"]  # the larger one has its centre higher
    good("sweep", "rerun", "r.db", "3")
    os.remove("a.obj")
    os.remove("b.obj")
    assert json.loads(good("sweep", "show", "r.db", "--json").stdout)["done"] == 4


@test
def draws_have_the_distribution_that_was_asked_for():
    name = study(vary={"mu": {"uniform": [0.33, 0.66]}, "v": {"normal": [2, 0.5]},
                       "/name": {"choice": ["a", "b", "c"]}, "h": {"values": [0.1, 0.2]}},
                 sample={"trials": 1000, "seed": 11}, limit={"steps": 1})
    good("sweep", name, "--out", "r.db")
    found = rows("r.db")
    n = len(found)
    assert n == 2000
    mu, v = [r["mu"] for r in found], [r["v"] for r in found]
    assert min(mu) > 0.33 and max(mu) < 0.66
    assert abs(sum(mu) / n - 0.495) < 5 * 0.33 / math.sqrt(12 * n)
    assert abs(sum(v) / n - 2) < 5 * 0.5 / math.sqrt(n)
    assert abs(sum((x - 2) ** 2 for x in v) / n - 0.25) < 5 * 0.25 * math.sqrt(2 / n)
    # Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded once in a thousand
    for k, x in enumerate(sorted(v)):
        assert abs(0.5 * math.erfc((2 - x) / 0.5 / math.sqrt(2)) - (k + 0.5) / n) < 1.95 / math.sqrt(n)
    for word in "abc":
        assert abs(sum(r["/name"] == word for r in found) - n / 3) < 5 * math.sqrt(n * 2 / 9)
    assert [r["h"] for r in found] == [0.1] * 1000 + [0.2] * 1000


@test
def many_short_runs_do_not_block_parent_and_workers():
    name = study(sample={"trials": 300, "seed": 1}, limit={"steps": 1})  # 6,000 runs of some ten microseconds
    good("sweep", name, "--out", "r.db", "--jobs", "3", timeout=100)
    assert len(rows("r.db")) == 6000


@test
def csv_and_show_say_what_the_database_says():
    name = study()
    good("sweep", name, "--out", "r.db", "--csv", "r.csv")
    found = rows("r.db")
    with open("r.csv", encoding="utf-8", newline="") as f:
        lines = list(csv.DictReader(f))
    assert list(lines[0]) == list(found[0])
    for line, row in zip(lines, found, strict=True):
        for key, value in row.items():
            text = line[key]
            assert (text == "" and value in (None, "")) or text == value or float(text) == value, (key, text, value)
    shown = json.loads(good("sweep", "show", "r.db", "--json").stdout)
    far = sum(r["outcome"] == "far" for r in found)
    entry = next(o for o in shown["outcomes"] if o["name"] == "far")
    assert entry["count"] == far
    # Wilson's interval by its definition: where the normal test at 95 % is just not rejected
    for p in entry["interval"]:
        assert abs(abs(far / RUNS - p) - 1.959963984540054 * math.sqrt(p * (1 - p) / RUNS)) < 1e-12
    assert "far" in good("sweep", "show", "r.db").stdout


BAD = [
    # study, place, what the message says
    ({"vary": {"my": {"grid": [0, 1, 2]}}}, "/vary/my", "'mu'"),
    ({"vary": {"mu": {"grid": [0, 1, 1]}}}, "/vary/mu/grid", "two ends"),
    ({"vary": {"mu": {"grid": [1, 0, 5]}}}, "/vary/mu/grid", "less than"),
    ({"vary": {"mu": {"grid": [0, 1, 2.5]}}}, "/vary/mu/grid", "integer"),
    ({"vary": {"mu": {"grid": [0, 1]}}}, "/vary/mu/grid", "3 numbers"),
    ({"vary": {"mu": {"uniform": [1, 0]}}}, "/vary/mu/uniform", "less than"),
    ({"vary": {"mu": {"normal": [1, 0]}}}, "/vary/mu/normal", "> 0"),
    ({"vary": {"mu": {"choice": []}}}, "/vary/mu/choice", "empty"),
    ({"vary": {"mu": {"choice": ["a"]}}}, "/vary/mu/choice/0", "number"),
    ({"vary": {"mu": {"gird": [0, 1, 2]}}}, "/vary/mu", "'grid'"),
    ({"vary": {"mu": {"grid": [0, 1, 2], "uniform": [0, 1]}}}, "/vary/mu", "one of"),
    ({"vary": {"mu": 3}}, "/vary/mu", "object"),
    ({"vary": {}}, "/vary", "1 to"),
    ({"vary": {"/bodies/7/mass": {"grid": [1, 2, 2]}}}, "/vary/~1bodies~17~1mass", "7"),
    ({"vary": {"/bodies/1/mas": {"grid": [1, 2, 2]}}}, "/vary", "'mass'"),
    ({"vary": {"id": {"grid": [1, 2, 2]}}}, "/vary/id", "column"),
    ({"vary": {"x": {"grid": [1, 2, 2]}}}, "/vary/x", "measure"),
    ({"sample": {"trials": 0}}, "/sample/trials", "integer"),
    ({"sample": {"method": "sobel"}}, "/sample/method", "'sobol'"),
    ({"sample": {"trials": 3}, "vary": {"mu": {"grid": [0, 1, 2]}}}, "/sample/trials", "the same"),
    ({"limit": {"seconds": 0}}, "/limit/seconds", "> 0"),
    ({"limit": {"second": 1}}, "/limit", "'seconds'"),
    ({"keep": "some"}, "/keep", "none"),
    ({"kepe": "all"}, "", "'keep'"),
    ({"scene": "nothing.json"}, "/scene", "nothing.json"),
    ({"vary": {f"p{i}": {"grid": [0, 1, 1000]} for i in range(4)}}, "/vary", "runs"),
]


@test
def a_bad_study_is_refused_with_the_place_and_nothing_is_written():
    scene = {**SCENE, "parameters": {**SCENE["parameters"], **{f"p{i}": 0 for i in range(4)}}}
    for change, place, says in BAD:
        name = study(scene, **({"sample": {}} if "vary" in change else {}) | change)
        before = sorted(os.listdir("."))
        done = perp("sweep", name, "--out", "r.db", "--csv", "r.csv")
        assert done.returncode == 2, (change, done.returncode, done.stderr)
        assert f"study.json: {place}" in done.stderr and says in done.stderr, (change, done.stderr)
        assert done.stderr.count("\n") == done.stderr.count("perp: "), done.stderr  # whole lines, no crash
        assert sorted(os.listdir(".")) == before, change


@test
def a_bad_scene_or_place_is_refused_and_nothing_is_written():
    def refused(*words, says):
        before = sorted(os.listdir("."))
        done = perp("sweep", *words)
        assert done.returncode == 2 and says in done.stderr, (words, done.returncode, done.stderr)
        assert sorted(os.listdir(".")) == before

    name = study({**SCENE, "measures": {"x": "box.position.("}})
    refused(name, "--out", "r.db", says="/measures/x")
    name = study({**SCENE, "measures": {"x": "boxx.position.x"}})
    refused(name, "--out", "r.db", says="/measures/x")
    name = study({**SCENE, "measures": {"status": "t"}})
    refused(name, "--out", "r.db", says="/measures/status")
    name = study()
    refused("nothing.json", says="nothing.json")
    refused(name, "--out", "no/such/folder/r.db", says="no/such/folder/r.db")
    refused(name, "--out", "/proc/r.db", says="/proc/r.db")
    refused(name, "--shard", "6/5", says="--shard")
    refused(name, "--shard", "0/5", says="--shard")
    refused(name, "--jobs", "0", says="--jobs")
    write("text.db", "no database")
    refused(name, "--out", "text.db", says="exists")
    refused(name, "--out", "text.db", "--resume", says="not a database")
    good("sweep", name, "--out", "r.db", "--quiet")
    refused(name, "--out", "r.db", says="--resume")
    study(sample={"method": "latin-hypercube", "trials": 6, "seed": 8})
    refused("study.json", "--out", "r.db", "--resume", says="another study")
    study({**SCENE, "gravity": [0, -9.8]})
    refused("study.json", "--out", "r.db", "--resume", says="its scene differs")
    refused("merge", "r.db", "text.db", "--out", "m.db", says="text.db")
    refused("show", "text.db", says="text.db")
    refused("show", "nothing.db", says="nothing.db")


@test
def a_read_only_folder_is_refused():
    name = os.path.abspath(study())
    os.mkdir("locked")
    os.chmod("locked", 0o555)
    command = [PERP, "sweep", name, "--out", "locked/r.db"]
    if os.geteuid() == 0:  # whom permissions do not stop
        for path in (".", ".."):
            os.chmod(path, 0o755)
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
        if subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "test", "-x", PERP, "-a", "-r", name],
                          check=False).returncode != 0:
            print("left out: another user cannot read this folder")
            return
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "locked/r.db" in done.stderr, done
    assert os.listdir("locked") == []


@test
def databases_of_two_studies_are_not_merged():
    good("sweep", study(), "--out", "a.db")
    good("sweep", study(sample={"trials": 2, "seed": 1}), "--out", "b.db")
    done = perp("sweep", "merge", "a.db", "b.db", "--out", "m.db")
    assert done.returncode == 2 and "another study" in done.stderr and not os.path.exists("m.db")
    # a row that differs is refused, one that crashed gives way
    good("sweep", study(), "--out", "c.db")
    with sqlite3.connect("c.db") as c:
        c.execute("UPDATE runs SET status = 'crashed', x = NULL WHERE id = 3")
    good("sweep", "merge", "c.db", "a.db", "--out", "m.db")
    assert table("m.db") == table("a.db")
    with sqlite3.connect("c.db") as c:
        c.execute("UPDATE runs SET x = 0.25 WHERE id = 4")
    done = perp("sweep", "merge", "a.db", "c.db", "--out", "m2.db")
    assert done.returncode == 2 and "run 4" in done.stderr and not os.path.exists("m2.db"), done.stderr


@test
def a_sweep_that_is_interrupted_says_how_to_go_on():
    name = study(sample={"method": "random", "trials": 400, "seed": 3})
    process = subprocess.Popen([PERP, "sweep", name, "--out", "r.db"], stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE)
    wait_for_rows("r.db", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode == 0:
        return  # it was done already
    assert process.returncode == 3 and "--resume" in err, err
    good("sweep", name, "--out", "r.db", "--resume")
    assert len(rows("r.db")) == 8000


@test
def the_study_of_init_runs_as_it_is():
    good("init", "--study", "mine.json")
    assert sorted(os.listdir(".")) == ["mine-scene.json", "mine.json"]
    done = json.loads(good("sweep", "mine.json", "--out", "r.db", "--page", "r.html", "--json").stdout)
    assert done["ok"] == done["runs"] == 330 and set(done["outcomes"]) == {"passed", "stopped"}, done
    done = perp("init", "--study", "mine.json")
    assert done.returncode == 2 and "is there already" in done.stderr
    os.remove("mine-scene.json")
    assert perp("init", "--study", "mine.json").returncode == 2
    assert not os.path.exists("mine-scene.json")  # both, or none
    with open("keep.html", "w", encoding="utf-8") as f:
        f.write("precious")
    done = perp("sweep", "show", "r.db", "--page", "keep.html")
    assert done.returncode == 2 and open("keep.html", encoding="utf-8").read() == "precious"
    good("sweep", "show", "r.db", "--page", "r.html", "--quiet")  # its own page is replaced


@test
def the_example_in_python_runs():
    subprocess.run(["/usr/bin/env", "python3", os.path.join(SOURCE, "examples", "worker.py"), PERP], check=True, timeout=100)


@test
def a_worker_answers_lines():
    write("scene.json", SCENE)
    name = study()
    good("sweep", name, "--out", "r.db")
    row = rows("r.db")[76]
    lines = [{"h": row["h"], "v": row["v"], "mu": row["mu"], "/bodies/1/mass": row["/bodies/1/mass"]}, {},
             {"nothing": 1}, {"mu": []}, {"mu": -1}, {"v": 3}]
    text = "\n".join(json.dumps(line) for line in lines) + "\nno json\n"
    done = subprocess.run([PERP, "worker", "scene.json"], input=text, capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines) + 1
    assert answers[0]["status"] == "ok" and answers[0]["measures"]["x"] == row["x"] and answers[0]["outcome"] == row["outcome"]
    plain = json.loads(good("run", "scene.json", "--json").stdout)  # what is not named has the scene's value again
    assert answers[1]["measures"] == plain["measures"] and answers[1]["outcome"] == plain["outcome"]
    assert answers[2]["status"] == answers[3]["status"] == answers[6]["status"] == "bad-input"
    assert answers[4]["status"] == "failed" and "must be" in answers[4]["message"], answers[4]
    again = json.loads(good("run", "scene.json", "--param", "v=3", "--json").stdout)
    assert answers[5]["measures"] == again["measures"]
    done = subprocess.run([PERP, "worker", name, "--study"], input='{"run": 77}\n', capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["measures"]["x"] == row["x"] and answer["values"]["mu"] == row["mu"]


@test
def perp_without_the_module_says_so_under_mpirun():
    name = study()
    os.symlink(PERP, "perp-link")
    with open(PERP, "rb") as source, open("perp-copy", "wb") as target:
        target.write(source.read())
    os.chmod("perp-copy", 0o755)
    for size, rank in (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")):
        env = {**os.environ, size: "4", rank: "0"}
        done = subprocess.run(["./perp-copy", "sweep", name, "--out", "r.db"], env=env, capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 2 and "without MPI" in done.stderr, done.stderr
        assert not os.path.exists("r.db")


@test
def the_study_schema_accepts_good_studies_and_refuses_bad_ones():
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return
    with open(os.path.join(SOURCE, "docs", "schema", "study.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(STUDY)
    folder = os.path.join(SOURCE, "scenes", "studies")
    for file in (name for name in os.listdir(folder) if name.endswith(".json")):
        with open(os.path.join(folder, file), encoding="utf-8") as f:
            validator.validate(json.loads("\n".join(line for line in f if not line.startswith("//"))))
    validator.validate({**STUDY, "keep": "all", "limit": {"seconds": 10, "steps": 100},
                        "vary": {"/bodies/1/shapes/0/file": {"choice": ["a.obj", "b.obj"]}, "mu": {"values": [1, 2]}}})
    # what the schema cannot say: names of the scene, order of bounds, sums over keys
    beyond = {"my", "/bodies/7/mass", "/bodies/1/mas", "id", "x", "p0"}
    for change, place, _ in BAD:
        if set(change.get("vary", {})) & beyond or place in ("/scene",) or "less than" in _ or "two ends" in _ or \
                _ in ("the same",):
            continue
        assert not validator.is_valid({**STUDY, **change}), change


if __name__ == "__main__":
    main("sweep")
