"""Runs one scene, checks it by all means, and says in which classes it falls.

Classes: refused (by design), failed (a step, exit status 3), long (an adaptive run of very many steps, not to its
end), slow, wrong, crashed; generator (perp
refused what it should take: a mistake of the generator, or of perp). Several may hold at once.
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import h5py
import numpy as np

import _checker
import _generator

STEP_LIMIT = 5.0       # seconds of CPU of one step
CPU_LIMIT = 30         # seconds of CPU of one run
CLASSES = ("refused", "failed", "slow", "wrong", "crashed", "generator")


def perp_path():
    """PERP, else the release build of this source tree, else what is on the path."""
    built = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/perp")
    return os.environ.get("PERP") or (built if os.path.exists(built) else "perp")


def call(*args, cwd, cpu=CPU_LIMIT):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        return subprocess.run([perp_path(), *args], cwd=cwd, capture_output=True, text=True,
                              errors="replace", preexec_fn=limit, timeout=20 * cpu)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(error.cmd, -signal.SIGXCPU, "", "")


def crash_of(done):
    """A reason if the process was ended by a signal or a sanitizer, but for the CPU limit."""
    if done.returncode < 0 and done.returncode not in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"signal {signal.Signals(-done.returncode).name}"
    if re.search(r"Sanitizer|runtime error:|Assertion", done.stderr):
        return re.search(r".*(Sanitizer|runtime error:|Assertion).*", done.stderr).group(0)[:200]
    if done.returncode not in (0, 2, 3) and done.returncode >= 0:
        return f"exit status {done.returncode}"
    return None


class Verdict:
    def __init__(self):
        self.found = []   # (class, kind, reason)

    def add(self, cls, kind, reason):
        self.found.append((cls, kind, reason))

    def has(self, cls):
        return any(c == cls for c, _, _ in self.found)

    def key(self):
        """What a shrunk scene must share: the gravest class and its kind."""
        for cls in ("crashed", "generator", "slow", "wrong", "failed", "refused"):
            for c, kind, reason in self.found:
                if c == cls:
                    return c, kind, reason
        return None


def same_bits(whole, rest):
    """Compares the frames of a continued run with those of the run that never stopped."""
    names = ("time", "step", "state/q", "state/v", "energy/total", "joints/impulse",
             "forces/memory", "certificate/dynamics")
    with h5py.File(whole, "r") as a, h5py.File(rest, "r") as b:
        first = int(b["step"][0])
        at = np.nonzero(a["step"][()] == first)[0]
        if not len(at):
            return f"continued at step {first}, which the whole run does not have"
        at = int(at[0])
        if len(a["time"]) - at != len(b["time"]):
            return f"{len(b['time'])} frames continued, {len(a['time']) - at} in the whole run"
        for name in names:
            x, y = a[name][at:], b[name][()]
            if name.startswith(("certificate", "joints")):
                x, y = x[1:], y[1:]
            if x.tobytes() != y.tobytes():
                return f"{name} differs from the whole run after resuming at step {first}"
        x = a["contacts/impulse"][a["contacts/offset"][at + 1]:]
        y = b["contacts/impulse"][b["contacts/offset"][1]:]
        if x.tobytes() != y.tobytes():
            return f"contacts/impulse differs after resuming at step {first}"
    return None


def only_small_steps(recording):
    """Whether an adaptive run took long because its error asks for many steps (a spring that turns a light body
    10,000 times a second): no impacts, no events, and lengths that change slowly."""
    try:
        with h5py.File(recording, "r", swmr=True) as f:  # its writer was stopped
            lengths = np.diff(f["time"][()])
            impacts = np.count_nonzero(f["solver/impact"][:, 0]) if "impact" in f["solver"] else 0
    except (OSError, KeyError):
        return False
    if len(lengths) < 10000 or impacts > 0.01 * len(lengths) or not (lengths > 0).all():
        return False
    change = lengths[1:] / lengths[:-1]
    return np.count_nonzero((change < 0.2) | (change > 5)) <= 0.01 * len(lengths)


LINEAR_ROWS = {"prismatic": -1, "cylindrical": 2, "planar": 1, "rope": 1}  # else as many as dimensions; -1: one less


def joint_rounding(f, scene):
    """What rounding leaves of the work of joints, per frame: p . (J v), each product rounded. Rows that repeat each other (two
    hinges on one axis) have impulses that cancel and are much larger than what they do together."""
    d, frames = scene.get("dimension", 3), len(f["time"])
    sum_ = np.zeros(frames)
    if not scene.get("joints") or not f["joints/impulse"].size:
        return sum_
    p = np.abs(f["joints/impulse"][()].reshape(frames, len(scene["joints"]), -1))
    v = f["state/v"][()].reshape(frames, len(scene["bodies"]), -1)
    x = f["state/q"][()].reshape(frames, len(scene["bodies"]), -1)[:, :, :d]
    speed, spin = np.linalg.norm(v[:, :, :d], axis=2), np.linalg.norm(v[:, :, d:], axis=2)
    index = {b["name"]: i for i, b in enumerate(scene["bodies"])}
    for j, joint in enumerate(scene["joints"]):
        ends = [index[joint[k]] for k in "ab" if joint.get(k) in index]  # none of a gear
        rows = LINEAR_ROWS.get(joint["type"], d)
        rows = d - 1 if rows < 0 else rows
        at = np.asarray(joint["at"], float) if "at" in joint else None
        for i in ends:
            other = x[:, ends[0] + ends[-1] - i] if len(ends) == 2 else 0.0
            arm = np.linalg.norm(x[0, i] - at) if at is not None else \
                np.linalg.norm(joint.get("at_a", [0.0])) + np.linalg.norm(joint.get("at_b", [0.0]))
            if joint["type"] in LINEAR_ROWS:
                arm = arm + np.linalg.norm(x[:, i] - other, axis=1)
            sum_ += p[:, j, :rows].sum(1) * (speed[:, i] + arm * spin[:, i]) + p[:, j, rows:].sum(1) * spin[:, i]
    return 16 * 2.2e-16 * np.maximum(sum_, np.r_[sum_[:1], sum_[:-1]])


def check_accounts(result, summary, recording, scene):
    """By the accounts that the run gives of itself."""
    certificate = summary["certificate"]
    worst = max(certificate[k] for k in ("dynamics", "normal", "friction", "joints"))
    tolerance = scene.get("tolerance", 1e-8)
    if not worst <= tolerance * (1 + 1e-9):
        result.add("wrong", "certificate", f"certificate {worst:.3g} above the tolerance")
    with h5py.File(recording, "r") as f:
        columns = [n.decode() for n in f["energy/ledger"].attrs["columns"]]
        rows = f["energy/ledger"][()]
        c = np.max([f["certificate/" + k][()] for k in ("dynamics", "normal", "friction", "joints")], 0)
        unexplained = np.abs(rows[:, columns.index("unexplained")])
        magnitude = rows[:, columns.index("magnitude")]
        energy = np.abs(f["energy/kinetic"][()]) + np.abs(f["energy/potential"][()])
        reach = np.abs(f["state/q"][()]).max() if f["state/q"].size else 0.0
        momentum, v = f["solver/momentum_error"][()], f["state/v"][()]
        times = f["time"][()]
        # what the impulses could make, each alone: solved for to the certificate
        mass = np.array([b.get("mass", np.inf) if b.get("type", "dynamic") == "dynamic" else np.inf
                         for b in scene["bodies"]])
        rounding = joint_rounding(f, scene)
        squares = (f["contacts/impulse"][:, :3] ** 2).sum(1) * (1 / mass[f["contacts/body"][()]]).sum(1)
        impulses = np.add.reduceat(np.r_[squares, 0.0], f["contacts/offset"][:-1]) * \
            (np.diff(f["contacts/offset"][()]) > 0)
    # Momentum. Impulses at the end or the middle of a step do not keep angular momentum (the account
    # says by how much); a relative error is of rounding where a body is at rest.
    stepper = scene.get("stepper", "stewart-trinkle")
    first_order = stepper == "geometric-implicit" or isinstance(stepper, dict) or \
        any(f.get("implicit") is False for f in scene.get("forces", []))
    v = v.reshape(len(v), len(scene["bodies"]), -1)
    quickest = np.abs(v[:, :, :scene.get("dimension", 3)]).max(initial=0.0)  # movers too
    v = v[:, [b.get("type", "dynamic") == "dynamic" for b in scene["bodies"]]]
    d = scene.get("dimension", 3)
    speed, spin = np.abs(v[:, :, :d]).max(2), np.abs(v[:, :, d:]).max(2)
    # A scene that is at rest from the start moves by rounding of its coordinates over h, of its angles likewise.
    steps = np.diff(times)
    rate = 1e-13 / steps[steps > 0].min() if (steps > 0).any() else 0.0
    moving = ((speed > max(1e-9 * speed.max(), rate * reach)) & (spin > max(1e-9 * spin.max(), rate))).all(1) \
        if v.size else np.zeros(len(v), bool)
    for i, kind in enumerate(("linear", "angular")):
        error = np.where(moving, momentum[:, i], 0.0)
        if not (error <= 1e-6).all() and not (i == 1 and first_order):
            k = int(error.argmax())
            result.add("wrong", "momentum-account", f"{kind} momentum error {error[k]:.3g} in frame {k}")
    still = sum(b.get("mass", 0.0) for b in scene["bodies"]) * (1e-9 * quickest) ** 2
    # bodies at rest: gaps are rounded by eps (coordinates), and velocities by that over h
    shortest = np.diff(times)[np.diff(times) > 0].min(initial=np.inf)
    still += sum(b.get("mass", 0.0) for b in scene["bodies"]) * (16 * 2.2e-16 * reach / shortest) ** 2
    energy = np.maximum(energy, np.r_[energy[:1], energy[:-1]])  # of both ends of the step
    weight = sum(b.get("mass", 0.0) * np.linalg.norm(b.get("gravity", scene.get("gravity", [0.0])))
                 for b in scene["bodies"] if b.get("type", "dynamic") == "dynamic")
    room = np.maximum(1e-9, c) * magnitude + (1e-13 + 4 * c) * (energy + 4 * weight * (reach + 1e-300)) + \
        4 * c * impulses + still + rounding
    # explicit springs at the end of a step: the certificate excuses what the rounding of poses makes of
    # their force, 8 eps k (coordinates), and the force does work along the motion of the step
    d_all = scene.get("dimension", 3)
    for force in scene.get("forces", []):
        if force.get("implicit") is False and force.get("type", "spring") == "spring":
            at = [np.linalg.norm(force.get(k, [0.0])) for k in ("at_a", "at_b")]
            size = 4 * reach + 4 * sum(at) + abs(force.get("rest", 0.0))
            fast = speed.max(1, initial=0.0) * d_all + spin.max(1, initial=0.0) * sum(at) * d_all
            fast = np.maximum(fast, np.r_[fast[:1], fast[:-1]])
            room = room + 2 * 8 * 2.2e-16 * force.get("stiffness", 0.0) * size * fast * \
                np.max(np.diff(times), initial=0.0)
    over = unexplained - room
    if not (over <= 0).all():
        k = int(over.argmax())
        result.add("wrong", "ledger", f"{unexplained[k]:.3g} J unexplained of {magnitude[k]:.3g} in "
                                       f"frame {k}")


def run_scene(scene, resume=False, verify=False, keep=None):
    """A Verdict; keep: a folder that keeps the files."""
    result = Verdict()
    folder = keep or tempfile.mkdtemp(prefix="torture-")
    os.makedirs(folder, exist_ok=True)
    try:
        path = os.path.join(folder, "scene.json")
        with open(path, "w") as file:
            json.dump(scene, file, indent=1)
        recording = os.path.join(folder, "r.h5")
        done = call("run", "scene.json", "--out", "r.h5", "--json", cwd=folder)
        crash = crash_of(done)
        if crash:
            result.add("crashed", "run", crash)
            return result
        if done.returncode < 0:
            long = isinstance(scene.get("step"), dict) and only_small_steps(recording)
            result.add("long" if long else "slow", "hang", f"more than {CPU_LIMIT} s of CPU")
            return result
        if done.returncode == 2:
            message = done.stderr.strip().split("\n")[0]
            known = _generator.known_refusal(message)
            result.add("refused" if known else "generator", "refused", message[:300])
            return result
        summary = json.loads(done.stdout)
        longest = summary["step_microseconds"]["max_cpu"] * 1e-6
        if not longest <= STEP_LIMIT:
            result.add("slow", "step", f"a step took {longest:.1f} s of CPU")
        if done.returncode == 3:
            message = summary.get("message", "")
            kind = "step"
            for word, name in (("would pass through", "crossing"), ("pressed through", "pressed"),
                               ("laws at the end", "looks"), ("not solved", "solver"),
                               ("not finite", "finite"), ("left the range", "range")):
                if word in message:
                    kind = name
                    break
            result.add("failed", kind, re.sub(r"^\S+: ", "", message)[:300])
            problem = summary.get("problem")
            if not problem or not os.path.exists(os.path.join(folder, problem)):
                result.add("wrong", "problem", "the failed step left no problem file")
            else:
                alone = call("solve", problem, "--time-limit", "5", cwd=folder)
                if crash_of(alone):
                    result.add("crashed", "solve", crash_of(alone))
                elif alone.returncode not in (0, 3):
                    result.add("wrong", "problem", "perp solve does not read the problem file: " +
                                alone.stderr.strip()[:200])
        if os.path.exists(recording):
            for kind, reason in _checker.check(recording):
                result.add("wrong", kind, reason)
            check_accounts(result, summary, recording, scene)
        else:
            result.add("wrong", "recording", "there is no recording")
            return result
        if done.returncode == 0 and resume:
            with h5py.File(recording, "r") as f:
                time = f["time"][()]
            middle = float(time[len(time) // 2])
            again = call("run", "--resume", f"r.h5@{middle!r}", "--out", "again.h5", "--json",
                         cwd=folder)
            if crash_of(again):
                result.add("crashed", "resume", crash_of(again))
            elif again.returncode != 0:
                result.add("wrong", "resume", f"exit status {again.returncode} when continued at "
                                               f"{middle!r}: {again.stderr.strip()[:200]}")
            else:
                differs = same_bits(recording, os.path.join(folder, "again.h5"))
                if differs:
                    result.add("wrong", "resume", differs)
        if done.returncode == 0 and verify:
            again = call("verify", "r.h5", cwd=folder, cpu=2 * CPU_LIMIT)
            if crash_of(again):
                result.add("crashed", "verify", crash_of(again))
            elif again.returncode != 0:
                result.add("wrong", "verify", (again.stdout + again.stderr).strip()[-300:])
        return result
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
