"""What the tests of estimates share: data of known scenes, studies, and running them."""
import json
import random

from _cli import perp
from _study import write

STEP = 0.01


def csv(name, head, rows):
    """None: a gap."""
    lines = [",".join(head)]
    lines += [",".join("" if x is None else repr(x) for x in row) for row in rows]
    return write(name, "\n".join(lines) + "\n")


def noisy(rows, sigma, seed):
    """Normal noise on all columns but the first."""
    draw = random.Random(seed)
    return [[row[0]] + [x + draw.gauss(0, sigma) for x in row[1:]] for row in rows]


# A block slides to rest: v' = v - h mu g.
SLIDE = {
    "name": "slide", "dimension": 2, "gravity": [0, -9.81], "step": STEP, "duration": 1,
    "parameters": {"mu": 0.5, "m": 2, "v": 2},
    "friction": {"default": "mu"},
    "bodies": [
        {"name": "floor", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
        {"name": "b", "mass": "m", "position": [0, 0.05], "velocity": ["v", 0],
         "shapes": [{"type": "box", "size": [0.2, 0.1]}]}],
}


def slide(mu=0.3, v=2.0, rows=51, g=9.81):
    out, x = [], 0.0
    for k in range(rows):
        out.append([STEP * k, x, v])
        v = max(0.0, v - STEP * mu * g)
        x += STEP * v
    return out


STUDY = {"scene": "scene.json", "data": "data.csv", "time": "t", "start": "scene",
         "observe": {"x": "b.position.x"}, "noise": 0.001,
         "unknown": {"mu": {"start": 0.5, "bounds": [0, 2]}}}

# The particle of [B09 7.6.1], whose data come from the paper's scheme: it falls, lands and slides.
PARTICLE = {
    "name": "particle", "dimension": 2, "gravity": [0, -9.81], "step": 0.05, "duration": 5,
    "parameters": {"mu": 0.2}, "friction": {"default": "mu"},
    "bodies": [
        {"name": "floor", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1]}]},
        {"name": "p", "mass": 1, "position": [0, 3], "shapes": [{"type": "particle"}]}],
    "forces": [{"type": "wrench", "body": "p", "force": [5, 0]}],
}


def particle(mu=0.2, h=0.05, steps=100, g=9.81, force=5.0):
    x, y, vx, vy = 0.0, 3.0, 0.0, 0.0
    out = [[0.0, x, y]]
    for k in range(steps):
        impulse = max(0.0, -y / h - (vy - h * g))
        vy += impulse - h * g
        vx += h * force
        vx -= min(mu * impulse, abs(vx)) * (1 if vx > 0 else -1)
        x, y = x + h * vx, y + h * vy
        out.append([h * (k + 1), x, y])
    return out


def estimate(study, *words, scene=SLIDE, status=0, name="study.json"):
    """Writes scene and study and runs it; returns the object that --json prints."""
    write("scene.json", scene)
    write(name, study)
    done = perp("estimate", name, "--json", *words, status=status)
    return json.loads(done.out) if done.out else done
