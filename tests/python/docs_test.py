"""The examples run: those of docs/python.md, the programs, the notebook; the adapter to Gymnasium."""
from _helper import SOURCE, main, python, raises, test

import json
import os
import re
import subprocess
import sys
import types

import numpy as np
import perp

EXAMPLES = os.path.join(SOURCE, "python", "examples")


@test
def the_examples_of_the_page_run():
    with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    assert len(blocks) >= 8
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert os.path.getsize("ball.html") > 1000


EXPECTED = {
    "hello.py": "rolls: v = 1.4286, spin times radius = 1.4286",  # 5/7 of 2 m/s
    "slope_sweep.py": " 20 degrees: 0.000000 m\n 22 degrees: 0.0",  # the friction angle is 21.8 degrees
    "arm_controller.py": "the hinge is at 1.0",
    "lcp.py": "z = [2.0, 0.0, 1.0]",
    "estimate_friction.py": "mu = 0.2386, 95 % interval [0.2370, 0.2403]",
}


@test
def the_programs_run():
    assert set(EXPECTED) == {name for name in os.listdir(EXAMPLES) if name.endswith(".py")}
    for name, expected in EXPECTED.items():
        done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name)], capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 0 and expected in done.stdout, name + done.stdout + done.stderr
    assert "0.000000" not in done.stdout


@test
def the_notebook_runs():
    """As a script, with what a cell shows made as a notebook makes it."""
    with open(os.path.join(EXAMPLES, "tour.ipynb"), encoding="utf-8") as file:
        notebook = json.load(file)
    names, shown = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None  # kept clean
        *statements, last = "".join(cell["source"]).split("\n")
        exec(compile("\n".join(statements), "tour.ipynb", "exec"), names)
        value = eval(last, names)
        shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert sum(text.startswith("<iframe srcdoc=") for text in shown) == 2, [s[:40] for s in shown]


@test
def docstrings_are_there():
    for name in perp.__all__:
        thing = getattr(perp, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"


def fake_gymnasium():
    """What perp.gym uses of Gymnasium, where that is not there."""
    module = types.ModuleType("gymnasium")

    class Env:
        def reset(self, *, seed=None, options=None):
            if seed is not None or not hasattr(self, "np_random"):
                self.np_random = np.random.default_rng(seed)

    class Box:
        def __init__(self, low, high, shape=None, dtype=None):
            self.low, self.high, self.shape = low, high, shape or np.shape(low)

        def contains(self, x):
            return np.shape(x) == self.shape

    module.Env, module.spaces = Env, types.SimpleNamespace(Box=Box)
    return module


@test
def an_environment_of_gymnasium():
    code = "import sys; sys.modules['gymnasium'] = None\nimport perp.gym"
    assert "needs Gymnasium" in python(code, status=1)
    try:
        import gymnasium  # noqa: F401
    except ImportError:
        sys.modules["gymnasium"] = fake_gymnasium()
    import perp.gym
    env = perp.gym.CartPole()

    def episode(seed, gain):
        observation, info = env.reset(seed=seed)
        assert env.observation_space.contains(observation) and info == {}
        rewards, done = 0.0, False
        while not done:
            x, v, angle, rate = observation
            force = gain * (-60 * angle - 12 * rate + 3 * x + 5 * v)
            observation, reward, terminated, truncated, info = env.step(np.array([force]))
            rewards += reward
            done = terminated or truncated
        return rewards, observation

    still, _ = episode(1, 0.0)
    first = episode(1, -1.0)
    second = episode(1, 1.0)
    assert max(first[0], second[0]) == 500 > still, (still, first[0], second[0])
    again = episode(1, 1.0)
    assert again[0] == second[0] and np.array_equal(again[1], second[1])  # a seed gives the same bits
    assert raises(NotImplementedError, perp.gym.Env(env.sim.scene, observe=["energy.total"],
                                                    actions=([0], [1])).step, [0]) is not None


main("docs_test")
