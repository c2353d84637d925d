#!/usr/bin/env python3
"""What Python costs: importing, a step, rollouts on threads beside processes.

usage: PYTHONPATH=build/python bench/python/bench.py [--json FILE]

All figures are CPU times, minima over repetitions measured in turn, so that other work on the machine does not count.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

BOX = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 1e6, "friction": {"default": 0.5},
       "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
                  {"name": "box", "mass": 1, "position": [0, 0, 0.1],
                   "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]}]}
SLIDE = {"dimension": 2, "gravity": [0, -9.81], "step": 0.01, "duration": 1, "parameters": {"mu": 0.3},
         "friction": {"default": "mu"},
         "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
                    {"name": "box", "mass": 1, "position": [0, 0.1], "velocity": [1, 0],
                     "shapes": [{"type": "box", "size": [0.3, 0.2]}]}],
         "measures": {"x": "box.position.x"}}


def cpu():
    """Seconds of CPU of this process, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def child(code):
    """Seconds of CPU of another Python that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_cost(repeats=9):
    bare, with_perp = [], []
    for _ in range(repeats):
        bare.append(child("pass"))
        with_perp.append(child("import perp"))
    return {"import_seconds": min(with_perp) - min(bare), "interpreter_seconds": min(bare)}


def step_cost(steps=5000, repeats=15):
    """One box at rest: calls of step() beside one step(n), whose loop is in C."""
    import perp
    single, loop = [], []
    sim = perp.Sim(BOX, threads=1)
    sim.step(1000)
    for _ in range(repeats):
        begin = time.thread_time()
        for _ in range(steps):
            sim.step()
        middle = time.thread_time()
        sim.step(steps)
        end = time.thread_time()
        single.append((middle - begin) / steps)
        loop.append((end - middle) / steps)
    return {"step_c_microseconds": 1e6 * min(loop), "step_python_microseconds": 1e6 * min(single),
            "step_overhead_microseconds": 1e6 * (min(single) - min(loop))}


WORKER = """
import json, resource, sys
import perp
scene, mus = json.loads(sys.argv[1])
perp.rollout(scene, {"mu": mus[:20]}, jobs=1)  # imports NumPy
def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime
print("ready", flush=True)
sys.stdin.readline()
begin = cpu()
r = perp.rollout(scene, {"mu": mus}, jobs=1)
print(json.dumps([cpu() - begin, [x.hex() for x in r.measures["x"].tolist()]]))
"""


def two_processes(mus):
    """CPU and wall seconds of two processes with half of the runs each, begun together; and results."""
    halves = mus[::2], mus[1::2]
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, json.dumps([SLIDE, half])], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE) for half in halves]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    begin = time.monotonic()
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = [json.loads(worker.stdout.readline()) for worker in workers]
    wall = time.monotonic() - begin
    for worker in workers:
        worker.communicate()
    x = [None] * len(mus)
    x[::2], x[1::2] = answers[0][1], answers[1][1]
    return sum(seconds for seconds, _ in answers), wall, x


def rollout_cost(runs=1000, repeats=7):
    import perp
    mus = [0.05 + 0.5 * i / runs for i in range(runs)]
    threads, processes, walls = [], [], []
    perp.rollout(SLIDE, {"mu": mus[:20]}, jobs=2)
    for _ in range(repeats):
        begin, wall = cpu(), time.monotonic()
        result = perp.rollout(SLIDE, {"mu": mus}, jobs=2)
        threads.append(cpu() - begin)
        wall = time.monotonic() - wall
        seconds, other, x = two_processes(mus)
        processes.append(seconds)
        walls.append(other / wall)
        assert [value.hex() for value in result.measures["x"].tolist()] == x, "the bits differ"
    return {"rollout_threads_cpu": min(threads), "rollout_processes_cpu": min(processes),
            "rollout_ratio_cpu": min(processes) / min(threads),
            "rollout_ratio_wall_median": statistics.median(walls)}


def main():
    result = {**import_cost(), **step_cost(), **rollout_cost()}
    for name, value in result.items():
        print(f"{name:28} {value:.4g}")
    if "--json" in sys.argv:
        with open(sys.argv[sys.argv.index("--json") + 1], "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


main()
