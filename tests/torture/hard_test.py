"""Scenes of the torture machine in which a step failed, or searched for long: they run to their end. And
scenes whose accounts of energy or momentum were wrong."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

try:
    import h5py
except ImportError:
    print("skipped: python3-h5py is not installed")
    sys.exit(77)

import _generator  # noqa: E402
import _runner  # noqa: E402

SEEDS = (
    (4500656, "links with rows that repeat each other: newton from zero, not from the last impulses"),
    (5004853, "the same with eight joints"),
    (5000958, "72 contacts with polygons between five bodies: newton from zero, or pivot"),
    (8002591, "251 contacts of 8 bodies, impacts without a solution: no central path is followed there"),
    (10002752, "13 contacts that newton does not solve: newton-bodies from zero"),
    (10004901, "two contacts and five joints, the same"),
    (9803241, "quasistatic, no solution near the start: path enumerates the pieces of its first linearisation only"),
    (9901835, "peg, 16 bodies of a millimetre: a central path that stays where it is ends (this never did)"),
    (5000583, "quasistatic, a weak spring: the motion that it asks for is seen with small masses only"),
)
ACCOUNTS = (
    (5300970, "friction of 6e-38 without a normal impulse: the body is no part of the impact"),
    (5301885, "a middle step whose iteration converges by 1/3 goes on to rounding"),
    (6000026, "poses moved to close joints displace a body beside them, but do not turn it"),
    (6003443, "lnc: a group that acts by a feature far inside the other body gains no energy"),
    (6000610, "the same in a stack at rest, disjunctive with implicit"),
    (8002550, "a body whose contact was expected to act and does not turns as a free one"),
    (8003131, "long arms after an impact: corrected joints of open mechanisms are closed slowly, too"),
    (7410573, "disjunctive: two corners may pass through each other"),
    (9000527, "adaptive: a contact that took part without an impulse is closed by the turn of its bodies"),
    (9001331, "bodies of an impact that push each other while poses are moved keep their angular momentum together"),
    (6001580, "a light body between a heavy one and the world: joints are closed to more than the certificate"),
    (7301002, "a light box wobbles between two heavy balls: overlap of a body that turns far is pushed out slowly"),
    (9104730, "implicit, a spring on a long arm: not the end of the step after a whole turn"),
    (9700971, "a motor presses a slider on its limit: the limit is closed, the motor takes the work"),
    (9301955, "8 g between the floor and 400 t on a motor: impulses of 1e6 N s, joints closed one after the other"),
    (9852296, "joint velocities that contradict each other before an impact do not open the joints"),
    (9900301, "peg: a box that wobbles between balls leaves its groups where overlap of its turns would throw them"),
    (9901126, "a motor against the friction of its joint at rest: velocities of rounding"),
    (9902672, "bodies at rest whose gaps are known to rounding over h"),
)
FAILED = (  # words of the message, and of perp solve with the problem file
    (7001848, ("impact after step", "3 constraints"), "an impact without a solution leaves its own problem"),
)
VERIFIED = (  # by perp verify, too
    (7300709, "two sliders between two bodies at rest: impulses of 1e-8 at velocities of 1e-18"),
    (7104233, "a gear's own block has the velocity that follows from the bodies'"),
)
LONG = (  # iterations of all solves of a step, at most
    (5301833, 5000, "an impact without a solution: evaluations with smaller coefficients are short"),
    (9711574, 2000, "lnc, a jammed step without a solution: its search ends after some seconds"),
)


def run(seed):
    """Exit status, message, iterations of the longest step, and what perp solve says of the problem of a failed one."""
    scene, _, _ = _generator.make(seed)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "scene.json"), "w") as file:
            json.dump(scene, file)

        def call(*args):
            return subprocess.run([_runner.perp_path(), *args], cwd=folder, text=True, capture_output=True)

        done = call("run", "scene.json", "--out", "r.h5", "--json")
        problem = json.loads(done.stdout).get("problem")
        alone = call("solve", problem).stdout if problem else ""
        with h5py.File(os.path.join(folder, "r.h5"), "r") as f:
            most = int(f["solver/iterations"][()].max())
        return done.returncode, done.stderr, most, alone


failed = 0
for seed, why in SEEDS:
    code, message, _, _ = run(seed)
    print("ok" if code == 0 else "FAIL", seed, why)
    if code != 0:
        failed += 1
        print(message, file=sys.stderr)
for seed, limit, why in LONG:
    most = run(seed)[2]
    print("ok" if most <= limit else "FAIL", seed, why, f"({most} iterations)")
    failed += most > limit
for seed, words, why in FAILED:
    _, message, _, alone = run(seed)
    well = words[0] in message and words[1] in alone
    print("ok" if well else "FAIL", seed, why)
    if not well:
        failed += 1
        print(message, alone, file=sys.stderr)
for seed, why in ACCOUNTS + VERIFIED:
    verdict = _runner.run_scene(_generator.make(seed)[0], verify=(seed, why) in VERIFIED)
    wrong = [x for x in verdict.found if x[0] == "wrong"]
    print("FAIL" if wrong else "ok", seed, why)
    if wrong:
        failed += 1
        print(wrong, file=sys.stderr)
print(f"torture/hard: {len(SEEDS) + len(LONG) + len(FAILED) + len(ACCOUNTS) + len(VERIFIED) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
