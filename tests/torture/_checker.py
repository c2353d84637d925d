"""The independent checker: reads a recording alone and says what in it cannot be.

It does not call perp and does not repeat the energy ledger. Every check has a bound that follows from
what a first-order scheme may do in one step; docs/testing.md derives them.

check(path) -> list of (kind, reason), empty if nothing is wrong. Kinds: time, finite, quaternion,
prescribed, energy, growth, momentum, overlap, side, joint, limit, cone.
"""
import json
import math

import h5py
import numpy as np

import _geometry as geo

NAMESPACE = {name: getattr(math, name) for name in
             ("sin", "cos", "tan", "exp", "sqrt", "pi", "e", "log")}


class Recording:
    def __init__(self, path):
        with h5py.File(path, "r") as f:
            self.scene = json.loads(f["scene"][()].tobytes().decode())
            self.dim = d = int(f.attrs["dimension"])
            self.time, self.step = f["time"][()], f["step"][()]
            self.resumed = int(f.attrs["resumed_from_step"]) >= 0
            count = len(f["bodies/offset"]) - 1
            frames = len(self.time)
            q, v = f["state/q"][()], f["state/v"][()]
            self.q_raw, self.v_raw = q, v
            q = q.reshape(frames, count, 3 if d == 2 else 7)
            v = v.reshape(frames, count, 3 if d == 2 else 6)
            self.x, self.v = q[:, :, :d], v[:, :, :d]
            self.turn, self.w = q[:, :, d:], v[:, :, d:]
            # What moved the poses: velocities may be projected after the step.
            solved = f["state/v_solved"][()] if "v_solved" in f["state"] else v
            self.solved = solved.reshape(v.shape) if solved.size == v.size else v
            self.kinetic, self.potential = f["energy/kinetic"][()], f["energy/potential"][()]
            self.total = f["energy/total"][()]
            self.fallbacks = f["solver/fallbacks"][()].ravel() if "fallbacks" in f["solver"] else None
            if self.fallbacks is None or len(self.fallbacks) != frames:
                self.fallbacks = np.zeros(frames, int)
            self.joints_kept = f["solver/step_fallback"][:, 1] if "step_fallback" in f["solver"] \
                else np.zeros(frames, int)
            # joints of closed loops closed slowly, or their errors kept, in these steps
            corrections = f["solver/corrections"][()].ravel() if "corrections" in f["solver"] and \
                len(f["solver/corrections"]) == frames else np.zeros(frames, int)
            self.limited = np.isin(corrections, (-1, -3))
            self.middle = (corrections == -2) | (corrections == -4)  # steps by the midpoint rule
            self.impact = f["solver/impact"][:, 0] if "impact" in f["solver"] else \
                np.zeros(frames, int)
            self.offset = f["contacts/offset"][()]
            self.pair = f["contacts/body"][()]
            self.normal = f["contacts/normal"][()]
            self.gap, self.mu = f["contacts/gap"][()], f["contacts/mu"][()]
            self.impulse, self.e = f["contacts/impulse"][()], f["contacts/e"][()]
            self.drift = f["contacts/drift"][()]
            self.cone = f["contacts/cone"][()]
            self.coordinate = f["joints/coordinate"][()]
            self.finished = "summary" in f and b'"finished"' in f["summary"][()].tobytes()
            self.others = [f[name][()] for name in ("certificate/dynamics", "certificate/normal",
                                                    "certificate/friction", "joints/impulse")]
        with np.errstate(all="ignore"):
            self.R = geo.turn(self.turn[:, :, 0]) if d == 2 else geo.rotation(self.turn)
        self.dt = np.diff(self.time)
        self.frames = frames


class Body:
    def __init__(self, data, dim):
        self.data, self.name = data, data["name"]
        self.type = data.get("type", "dynamic")
        self.dynamic = self.type == "dynamic"
        self.primitives, self.halfspaces = geo.shapes_of(data, dim)
        self.radius = max([np.linalg.norm(p.p) + p.bound for p in self.primitives], default=0.0)
        self.inradius = max([p.inradius for p in self.primitives], default=0.0)
        self.mass, self.inertia = 0.0, None
        if self.dynamic:
            self.mass = data.get("mass")
            self.inertia = self.find_inertia(dim)

    def find_inertia(self, dim):
        """As the scene gives it, or of one uniform shape at the centre; None: not known."""
        data, m = self.data, self.mass
        if m is None:
            return None
        if "inertia" in data:
            return np.asarray(data["inertia"], float) if dim == 2 else \
                np.diag(data["inertia"]) if np.ndim(data["inertia"]) == 1 else \
                np.asarray(data["inertia"], float)
        shapes = data.get("shapes", [])
        if all(s["type"] == "particle" for s in shapes):
            return np.float64(0.0) if dim == 2 else np.zeros((3, 3))
        if len(shapes) != 1 or any(k in shapes[0] for k in
                                   ("position", "orientation", "axis_angle", "angle")):
            return None
        s = shapes[0]
        kind = s["type"]
        if kind == "circle":
            return np.float64(m * s["radius"] ** 2 / 2)
        if kind == "box":
            q = np.asarray(s["size"], float) ** 2
            return np.float64(m * q.sum() / 12) if dim == 2 else \
                np.diag([m * (q[1] + q[2]) / 12, m * (q[0] + q[2]) / 12, m * (q[0] + q[1]) / 12])
        if kind == "sphere":
            return np.eye(3) * (0.4 * m * s["radius"] ** 2)
        if kind == "ellipsoid":
            q = np.asarray(s["radii"], float) ** 2
            return np.diag([m * (q[1] + q[2]) / 5, m * (q[0] + q[2]) / 5, m * (q[0] + q[1]) / 5])
        if kind == "cylinder":
            r, length = s["radius"], s["length"]
            side = m * (3 * r * r + length * length) / 12
            return np.diag([side, side, m * r * r / 2])
        if kind == "capsule":
            r, length = s["radius"], s["length"]
            mc = m * length / (length + 4 * r / 3)  # of the cylinder; the rest is the two caps
            ms = m - mc
            axial = mc * r * r / 2 + ms * 0.4 * r * r
            side = mc * (3 * r * r + length * length) / 12 + \
                ms * (0.4 * r * r + length * length / 4 + 3 * r * length / 8)
            return np.diag([side, side, axial])
        return None


class Checker:
    def __init__(self, path):
        self.rec = rec = Recording(path)
        self.scene = scene = rec.scene
        self.dim = rec.dim
        self.bodies = [Body(b, self.dim) for b in scene["bodies"]]
        self.index = {b.name: i for i, b in enumerate(self.bodies)}
        g = np.asarray(scene.get("gravity", [0.0] * self.dim), float)
        self.g = np.array([b.data.get("gravity", g) for b in self.bodies], float)
        self.mass = np.array([b.mass or 0.0 for b in self.bodies])
        stepper = scene.get("stepper", "stewart-trinkle")
        self.stepper = stepper if isinstance(stepper, str) else stepper["type"]
        self.midpoint = isinstance(stepper, dict) and stepper.get("midpoint")
        self.adaptive = isinstance(scene.get("step"), dict)
        contact = scene.get("contact", "auto")
        contact = contact if isinstance(contact, str) else contact["type"]
        # Their law is about a vertex and the edges that it can meet: two corners may pass through each other.
        self.by_vertices = self.dim == 2 and contact in ("lnc", "disjunctive")
        self.joints, self.forces = scene.get("joints", []), scene.get("forces", [])
        # A gear acts on the bodies of two joints, which for momentum are then one group.
        named = {j["name"]: (row, j) for row, j in enumerate(self.joints)}
        self.geared = [(j, *named[j["joints"][0]], *named[j["joints"][1]]) for j in self.joints if j["type"] == "gear"]
        self.gears = [{"a": x["b"], "b": y["b"]} for _, _, x, _, y in self.geared]
        self.joint_rows = [(row, j) for row, j in enumerate(self.joints) if j["type"] != "gear"]
        self.joints = [j for _, j in self.joint_rows]
        self.springs = [f for f in self.forces if f["type"] == "spring"]
        self.size = max([b.radius for b in self.bodies if b.dynamic] + [1e-300])
        if self.size < 1e-200:
            self.size = float(np.abs(rec.x[0]).max()) or 1.0
        # What moves less than 1e-9 of its size in a step is at rest: rounding.
        self.rest = 1e-9 * self.size / rec.dt[rec.dt > 0].min() if (rec.dt > 0).any() else 0.0
        self.found = []

    def report(self, kind, reason):
        if not any(k == kind for k, _ in self.found):  # the first of each kind is enough
            self.found.append((kind, reason))

    def at(self, k):
        return f"frame {k}, t = {self.rec.time[k]:.6g}"

    # ---------------------------------------------------------------- (a)

    def check_numbers(self):
        rec = self.rec
        for name, values in (("q", rec.q_raw), ("v", rec.v_raw), ("energy", rec.total),
                             ("kinetic", rec.kinetic), ("potential", rec.potential),
                             ("impulse", rec.impulse), ("gap", rec.gap),
                             *(("certificate or joint impulse", o) for o in rec.others)):
            if values.size and not np.isfinite(values).all():
                self.report("finite", f"{name} has a number that is not finite")
                return False
        if rec.frames > 1:
            ok = (rec.dt > 0) | ((rec.impact[1:] != 0) & (rec.dt == 0))
            if not ok.all():
                k = int(np.argmin(ok)) + 1
                self.report("time", f"time does not increase at {self.at(k)}")
        duration = self.scene.get("duration", 1.0)
        if rec.finished and not abs(rec.time[-1] - duration) <= 1e-9 * duration:
            self.report("time", f"ends at {rec.time[-1]:.12g}, duration {duration:.12g}")
        if rec.time[-1] > duration * (1 + 1e-9):
            self.report("time", "runs past its duration")
        if self.dim == 3:
            off = np.abs(np.linalg.norm(rec.turn, axis=2) - 1)
            if not off.max() <= 1e-9:
                k = int(off.max(1).argmax())
                self.report("quaternion", f"length off by {off.max():.2g} at {self.at(k)}")
        return True

    # ---------------------------------------------------------------- (b)

    def value(self, entry, t):
        if isinstance(entry, str):
            return eval(compile(entry, "entry", "eval"), {"__builtins__": {}},
                        {**NAMESPACE, "t": t})
        return float(entry)

    def check_prescribed(self):
        rec = self.rec
        for i, b in enumerate(self.bodies):
            if b.dynamic:
                continue
            x, turn_ = rec.x[:, i], rec.turn[:, i]
            room = 1e-9 * (np.abs(x).max() + self.size)
            motion = b.data.get("motion")
            velocity = b.data.get("velocity") if motion is None else motion.get("velocity")
            if b.type == "static":
                if not (x == x[0]).all() or not (turn_ == turn_[0]).all():
                    self.report("prescribed", f"static body '{b.name}' moved")
                continue
            want = spin = None
            if motion and "position" in motion and "max_speed" not in motion:
                want = np.array([[self.value(c, t) for c in motion["position"]] for t in rec.time])
            elif motion and "table" in motion and motion.get("interpolation", "linear") == "linear":
                table = np.asarray(motion["table"], float)
                want = np.stack([np.interp(rec.time, table[:, 0], table[:, 1 + c])
                                 for c in range(self.dim)], 1)
            elif velocity is not None and not any(isinstance(c, (str, dict)) for c in velocity):
                want = x[0] + np.outer(rec.time - rec.time[0], np.asarray(velocity, float))
            if want is not None and not np.abs(x - want).max() <= room:
                k = int(np.abs(x - want).max(1).argmax())
                self.report("prescribed", f"'{b.name}' is {np.abs(x - want).max():.3g} off its "
                                          f"motion at {self.at(k)}")
            if motion and "angle" in motion and "max_angular_speed" not in motion \
                    and "max_speed" not in motion:
                spin = np.array([self.value(motion["angle"], t) for t in rec.time])
                if not np.abs(turn_[:, 0] - spin).max() <= 1e-9 * (1 + np.abs(spin).max()):
                    self.report("prescribed", f"'{b.name}' is turned otherwise than its motion says")
            if motion and "axis_angle" in motion and "max_speed" not in motion:
                a = motion["axis_angle"]
                for k in (0, rec.frames // 2, rec.frames - 1):
                    angle = self.value(a[3], rec.time[k])
                    q = geo.from_axis_angle([float(c) for c in a[:3]], angle)
                    if not abs(abs(q @ turn_[k]) - 1) <= 1e-9 * (1 + abs(angle)):
                        self.report("prescribed",
                                    f"'{b.name}' is turned otherwise than its motion says")
            if motion and "max_speed" in motion and rec.frames > 1:
                way = np.linalg.norm(np.diff(x, axis=0), axis=1)
                if not (way <= motion["max_speed"] * rec.dt * (1 + 1e-9) + room).all():
                    self.report("prescribed", f"'{b.name}' is faster than its max_speed")

    # ---------------------------------------------------------------- (c)

    def world_points(self, name, local):
        """Of a point in the frame of a body (world: as it is), in every frame."""
        local = np.asarray(local, float)
        if name == "world":
            return np.broadcast_to(local, (self.rec.frames, self.dim))
        i = self.index[name]
        return self.rec.x[:, i] + self.rec.R[:, i] @ local

    def energies(self):
        rec = self.rec
        known = all(b.inertia is not None for b in self.bodies if b.dynamic)
        linear = 0.5 * np.einsum("b,kbi,kbi->kb", self.mass, rec.v, rec.v)
        spin = np.zeros_like(linear)
        for i, b in enumerate(self.bodies):
            if b.dynamic and b.inertia is not None:
                if self.dim == 2:
                    spin[:, i] = 0.5 * b.inertia * rec.w[:, i, 0] ** 2
                else:
                    body_w = np.einsum("kji,kj->ki", rec.R[:, i], rec.w[:, i])
                    spin[:, i] = 0.5 * np.einsum("ki,ij,kj->k", body_w, b.inertia, body_w)
        for i, b in enumerate(self.bodies):
            if not b.dynamic:
                linear[:, i] = 0
        weight = -np.einsum("b,bi,kbi->kb", self.mass, self.g, rec.x)
        stored = np.zeros((rec.frames, len(self.springs)))
        for j, s in enumerate(self.springs):
            a = self.world_points(s["a"], s.get("at_a", [0.0] * self.dim))
            b = self.world_points(s["b"], s.get("at_b", [0.0] * self.dim))
            length = np.linalg.norm(b - a, axis=1)
            rest = s.get("rest", length[0])
            stored[:, j] = 0.5 * s.get("stiffness", 0.0) * (length - rest) ** 2
        return known, linear + spin, weight, stored

    def check_energy(self):
        rec = self.rec
        known, kinetic, weight, stored = self.energies()
        if not known:
            return
        layered = self.stepper == "compliant"
        T, V = kinetic.sum(1), weight.sum(1) + stored.sum(1)
        room_T = 1e-9 * kinetic.sum(1)
        terms = np.abs(weight).sum(1) + stored.sum(1)
        # Positions are known to rounding of their size: what a weight over that is worth.
        room_V = 1e-9 * terms + 1e-12 * (self.mass * np.linalg.norm(self.g, axis=1)).sum() * \
            (np.abs(rec.x).max() + self.size)
        if self.springs:  # a long stiff spring: rounding of the length
            for j, s in enumerate(self.springs):
                room_V = room_V + 1e-12 * s.get("stiffness", 0.0) * \
                    (np.abs(rec.x).max() + self.size) ** 2
        if self.stepper != "quasistatic":
            off = np.abs(T - rec.kinetic) - room_T
            if not (off <= 1e-300).all():
                k = int(off.argmax())
                self.report("energy", f"kinetic energy {rec.kinetic[k]:.9g} recorded, {T[k]:.9g} of "
                                      f"the velocities, {self.at(k)}")
        off = V - rec.potential - room_V if layered else np.abs(V - rec.potential) - room_V
        if not (off <= 1e-300).all():
            k = int(off.argmax())
            self.report("energy", f"potential energy {rec.potential[k]:.9g} recorded, {V[k]:.9g} of "
                                  f"the poses, {self.at(k)}")
        off = np.abs(rec.kinetic + rec.potential - rec.total) - \
            1e-12 * (np.abs(rec.kinetic) + np.abs(rec.potential))
        if self.stepper != "quasistatic" and not (off <= 1e-300).all():
            self.report("energy", "total is not kinetic plus potential")
        self.check_growth(kinetic, weight, stored)

    def passive(self):
        if self.stepper == "quasistatic" or self.scene.get("controllers"):
            return False
        if any(f["type"] == "wrench" for f in self.forces):
            return False
        if any("motor" in j for j in self.joints):
            return False
        for b in self.bodies:
            if b.type == "kinematic" or "surface_velocity" in b.data or \
                    any("surface_velocity" in s for s in b.data.get("shapes", [])):
                return False
        return True

    def spring_errors(self):
        """What implicit springs may hold more than their law has taken, so far. The law is linear in the step: the
        length x' at its end differs from that by e = u^2/2l + sum r theta^2/2 (u the motion across the line, no
        more than u itself; r theta where that is less), which stores k e (|x' - x0| + 3e/2) at most."""
        rec = self.rec
        sum_ = np.zeros(rec.frames)
        if self.adaptive:
            return sum_
        _, angle = self.step_motion()
        for s in self.springs:
            if s.get("implicit") is False:
                continue
            d = self.world_points(s["b"], s.get("at_b", [0.0] * self.dim)) - \
                self.world_points(s["a"], s.get("at_a", [0.0] * self.dim))
            length = np.linalg.norm(d, axis=1)
            e = np.zeros(rec.frames)
            u = np.linalg.norm(np.diff(d, axis=0), axis=1)
            e[1:] = np.minimum(u, u ** 2 / (2 * np.maximum(np.minimum(length[1:], length[:-1]), 1e-300)))
            for key in "ab":
                if s[key] != "world":
                    r, theta = np.linalg.norm(s.get("at_" + key, [0.0])), angle[:, self.index[s[key]]]
                    e += r * np.minimum(theta ** 2 / 2, theta + 2)
            stretch = np.abs(length - s.get("rest", length[0]))
            sum_ += np.cumsum(s.get("stiffness", 0.0) * e * (stretch + 1.5 * e) * np.r_[0, rec.dt > 0])
        return sum_

    def push_out(self):
        """What `corrective` may add, so far. Its contacts exist once bodies overlap, by d, and then separate at
        d/h: E' - E = sum p d/h - |v' - v|^2_M / 2 <= the least kinetic energy of velocities that separate all pairs
        so, at most that of a stack whose bodies have the speeds of all pairs below them, M (sum d/h)^2 / 2."""
        rec = self.rec
        if self.scene.get("contact") != "corrective" or not len(rec.gap):
            return np.zeros(rec.frames)
        deepest = [{} for _ in range(rec.frames)]
        frame = np.repeat(np.arange(rec.frames), np.diff(rec.offset))
        for k, pair, gap, p in zip(frame, rec.pair, rec.gap, rec.impulse[:, 0]):
            if gap < 0 and p > 0:
                key = tuple(pair)
                deepest[k][key] = max(deepest[k].get(key, 0.0), -gap)
        speed = np.array([float(sum(d.values())) for d in deepest])
        speed[1:] /= np.where(rec.dt > 0, rec.dt, np.inf)
        speed[0] = 0.0
        return np.cumsum(0.5 * self.mass.sum() * speed ** 2)

    def check_growth(self, kinetic, weight, stored):
        """In a passive scene energy may grow by the scheme's error of first order, not more.

        Supply S: what could become kinetic energy so far (kinetic and spring energy at the start, and
        the weight's work down to the lowest potential so far). One step is off by the part c of it, c
        the part of a turn, or of its size, that a body moves in a step (velocities limited to what S
        allows): errors of gaps and joints, R c^2 / 2, are closed within a step at a speed c / 2 of the
        body's own, which is the part c of its energy.
        """
        rec = self.rec
        if not self.passive() or rec.frames < 2:
            return
        total = rec.total if self.stepper == "compliant" else \
            kinetic.sum(1) + weight.sum(1) + stored.sum(1)
        falls = weight.sum(1)
        supply = kinetic[0].sum() + stored[0].sum() + falls[0] - np.minimum.accumulate(falls)
        if self.stepper == "compliant":
            supply = supply + max(0.0, rec.total[0] - kinetic[0].sum() - falls[0] - stored[0].sum())
        h = rec.dt.max()
        g = np.linalg.norm(self.g, axis=1)
        dynamic = [i for i, b in enumerate(self.bodies) if b.dynamic]
        floor = (self.mass * ((g * h) ** 2 + 1e-6 * g * self.size + self.rest ** 2)).sum()
        part = np.zeros(rec.frames)
        bounce = np.zeros(rec.frames)
        for i in dynamic:
            b = self.bodies[i]
            reach = np.sqrt(2 * supply / self.mass[i])
            v = np.minimum(np.maximum.accumulate(np.linalg.norm(rec.v[:, i], axis=1)), reach)
            least = np.min(np.linalg.eigvalsh(b.inertia)) if self.dim == 3 and b.inertia.any() else \
                float(b.inertia) if self.dim == 2 else 0.0
            w = np.maximum.accumulate(np.linalg.norm(rec.w[:, i], axis=1))
            if least > 0:
                w = np.minimum(w, np.sqrt(2 * supply / least))
            part = np.maximum(part, h * (w + v / max(b.radius, 0.1 * self.size)))
            bounce += self.mass[i] * g[i] * h * v
        impacts = np.cumsum(rec.impact != 0)
        errors = self.spring_errors() + self.push_out()
        limit = floor + errors + (supply + errors) * (0.1 + 2 * part) + bounce * (1 + impacts)
        room = 1e-9 * (np.abs(weight).sum(1) + kinetic.sum(1) + stored.sum(1))
        grown = total - total[0]
        over = grown - limit - room
        if not (over <= 0).all():
            k = int(np.argmax(~(over <= 0)))
            worst = int(over.argmax())
            self.report("growth", f"energy grew by {grown[worst]:.4g} at {self.at(worst)} (first over "
                                  f"the limit at frame {k}); supply {supply[worst]:.4g}, limit "
                                  f"{limit[worst]:.4g}, part of a turn per step {part[worst]:.2g}")

    # ---------------------------------------------------------------- (d)

    def check_momentum(self):
        """Groups of bodies that nothing prescribed touches keep their momentum, gravity apart."""
        rec, n = self.rec, len(self.bodies)
        if self.stepper == "quasistatic" or rec.frames < 2:
            return
        # Bodies with forces from outside that are not gravity stand for "prescribed".
        anchored = {i for i, b in enumerate(self.bodies) if not b.dynamic or "support" in b.data}
        torqued = set()
        always = []
        for f in self.forces:
            if f["type"] in ("wrench", "drag"):
                anchored.add(self.index[f["body"]])
            else:
                ends = [self.index.get(f[k], -1) for k in ("a", "b")]
                always.append(ends)
                if f.get("isotropic") or f.get("rest", 1) == 0 or \
                        (f.get("implicit") is False and "implicit" in self.stepper):
                    torqued.update(ends)  # not along the line between the points at the start
        for c in self.scene.get("controllers", []):
            if "body" in c:
                anchored.add(self.index[c["body"]])
        for j in self.joints + self.gears:
            always.append([self.index.get(j[k], -1) for k in ("a", "b")])
        if all(b.inertia is None for b in self.bodies if b.dynamic):
            return
        frame = np.repeat(np.arange(rec.frames), np.diff(rec.offset))
        acts = (np.abs(rec.impulse) > 0).any(1) if len(rec.impulse) else np.zeros(0, bool)
        pairs = {}
        if self.adaptive:  # a frame has only the contacts of the second half of its step
            pairs = self.pairs_in_reach()
        elif acts.any():
            for k, a, b in np.unique(np.c_[frame[acts], rec.pair[acts]], axis=0):
                pairs.setdefault(int(k), []).append((int(a), int(b)))
        spin = np.zeros((rec.frames, n, 1 if self.dim == 2 else 3))
        for i, b in enumerate(self.bodies):
            if b.dynamic and b.inertia is not None:
                if self.dim == 2:
                    spin[:, i, 0] = b.inertia * rec.w[:, i, 0]
                else:
                    I = np.einsum("kij,jl,kml->kim", rec.R[:, i], b.inertia, rec.R[:, i])
                    spin[:, i] = np.einsum("kij,kj->ki", I, rec.w[:, i])
        unknown = {i for i, b in enumerate(self.bodies) if b.dynamic and b.inertia is None}
        # With fixed steps an impact happens within the step that follows, which displaces the poses: the
        # two are one.
        before = np.arange(-1, rec.frames - 1)
        groups_of = {}
        last = 0
        for k in range(1, rec.frames):
            if not self.adaptive and rec.impact[k] != 0:
                continue
            before[k] = last if not self.adaptive else k - 1
            met = sorted({p for j in range(before[k] + 1, k + 1) for p in pairs.get(j, ())})
            groups_of.setdefault(tuple(met), []).append(k)
            last = k
        for key, frames in groups_of.items():
            root = list(range(n))

            def find(i):
                while root[i] != i:
                    i = root[i]
                return i
            bad = set(anchored)
            prescribed = {i for i, b in enumerate(self.bodies) if not b.dynamic}
            for a, b in list(key) + always:
                if a < 0 or a in prescribed:
                    bad.add(b)
                elif b < 0 or b in prescribed:
                    bad.add(a)
                else:
                    root[find(a)] = find(b)
            groups = {}
            for i in range(n):
                if self.bodies[i].dynamic:
                    groups.setdefault(find(i), []).append(i)
            for members in groups.values():
                if not bad.isdisjoint(members):
                    continue
                self.momentum_of(members, before[frames], np.array(frames), spin,
                                 torqued.isdisjoint(members) and unknown.isdisjoint(members))

    def pairs_in_reach(self):
        """Of each frame the pairs that can have met in its step: balls around the bodies, enlarged by their
        motion, meet at its start or its end."""
        rec = self.rec
        motion, _ = self.step_motion()
        pairs = {}
        for i, A in enumerate(self.bodies):
            for j in range(i + 1, len(self.bodies)):
                B = self.bodies[j]
                if not self.collides(i, j):
                    continue
                moved = motion[:, i] + motion[:, j]
                far = np.linalg.norm(rec.x[:, i] - rec.x[:, j], axis=1) - A.radius - B.radius
                if not (A.primitives and B.primitives):
                    far[:] = np.inf
                for one, other, k1, k2 in ((A, B, i, j), (B, A, j, i)):
                    seen = np.einsum("kji,kj->ki", rec.R[:, k1], rec.x[:, k2] - rec.x[:, k1])
                    for n, c in one.halfspaces:
                        far = np.minimum(far, seen @ n - c - other.radius)
                near = np.minimum(far[1:], far[:-1]) <= 2 * moved[1:] + 1e-6 * self.size
                for k in np.nonzero(near)[0] + 1:
                    pairs.setdefault(int(k), []).append((i, j))
        return pairs

    def momentum_of(self, members, k0, k, spin, angular):
        rec = self.rec
        m = self.mass[members]
        dt = rec.dt[k - 1]
        v0, v1 = rec.v[k0][:, members], rec.v[k][:, members]
        P0, P1 = np.einsum("b,kbi->ki", m, v0), np.einsum("b,kbi->ki", m, v1)
        pull = np.outer(dt, (m[:, None] * self.g[members]).sum(0))
        terms = (m * (np.linalg.norm(v0, axis=2) + np.linalg.norm(v1, axis=2))).sum(1) + \
            np.linalg.norm(pull, axis=1) + m.sum() * self.rest
        off = np.linalg.norm(P1 - P0 - pull, axis=1)
        room = 1e-6 * terms + 1e-300
        if not (off <= room).all():
            i = int((off / room).argmax())
            self.report("momentum", f"linear momentum of {[self.bodies[j].name for j in members]} "
                                    f"changes by {off[i] / terms[i]:.2g} of itself at {self.at(k[i])}")
        uniform = (self.g[members] == self.g[members][0]).all()
        if not angular or not uniform:
            return
        M = m.sum()
        cross = (lambda a, b: (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])[..., None]) \
            if self.dim == 2 else np.cross

        def about_centre(j, P, v):
            x = rec.x[j][:, members]
            c = np.einsum("b,kbi->ki", m, x) / M
            arm, rel = x - c[:, None], v - (P / M)[:, None]
            orbit = cross(arm, m[:, None] * rel)
            size = np.linalg.norm(arm, axis=2) * m * np.linalg.norm(rel, axis=2)
            L = (orbit + spin[j][:, members]).sum(1)
            return L, (size + np.linalg.norm(spin[j][:, members], axis=2)).sum(1)
        L0, t0 = about_centre(k0, P0, v0)
        L1, t1 = about_centre(k, P1, v1)
        # Arms are known to rounding of the positions.
        blur = 1e-15 * np.abs(rec.x).max() * terms
        tolerance = 1e-6
        if self.adaptive:  # poses are extrapolated: off by what a step may be off
            tolerance = 1e-6 + 10 * self.scene["step"]["error"]
        off = np.linalg.norm(L1 - L0, axis=1)
        room = tolerance * (t0 + t1 + m.sum() * self.rest * self.size) + 1e2 * blur + 1e-300
        if self.stepper == "geometric-implicit" or self.midpoint:
            # Impulses act at the end (the middle) of the step, and arms change by h v until then.
            room = room + dt * 2 * np.linalg.norm(v1 - (P1 / M)[:, None], axis=2).max(1) * \
                (m * np.linalg.norm(v1 - v0, axis=2)).sum(1)
        if len(members) == 1 and self.dim == 3 and self.scene.get("rotation") != "linear" and \
                not self.adaptive and not self.midpoint:
            # Alone it turns by its own torque. No root of I W = exp(-h W) L has more energy than the start.
            e0, e1 = (0.5 * np.einsum("ki,ki->k", rec.w[j, members[0]], spin[j, members[0]]) for j in (k0, k))
            least = 1e-300 + 0.5 * m[0] * self.rest ** 2
            # The midpoint rule I_m W = L keeps the energy up to h^3/24 of its third derivative.
            turn = dt * np.maximum(*(np.linalg.norm(rec.w[j, members[0]], axis=1) for j in (k0, k)))
            I = np.linalg.eigvalsh(self.bodies[members[0]].inertia)  # a particle has none
            uneven = 1 / I.min() - 1 / I.max() if I.min() > 0 else 0.0
            size = 0.5 * np.linalg.norm(spin[k0, members[0]], axis=1) ** 2 * uneven
            least = least + np.where(rec.middle[k], turn ** 3 / 24 * size, 0.0)
            if not (e1 <= (1 + 1e-6) * e0 + least).all():
                i = int((e1 - e0).argmax())
                self.report("growth", f"'{self.bodies[members[0]].name}', which touches nothing, turns "
                                      f"with {e1[i]:.4g} J after {e0[i]:.4g} J at {self.at(k[i])}")
        if not (off <= room).all():
            i = int((off / room).argmax())
            self.report("momentum", f"angular momentum of {[self.bodies[j].name for j in members]} "
                                    f"changes by {off[i] / (t0[i] + t1[i]):.2g} of itself at "
                                    f"{self.at(k[i])}")

    # ---------------------------------------------------------------- (e), (f)

    def collides(self, i, j):
        a, b = self.bodies[i], self.bodies[j]
        if not (a.dynamic or b.dynamic):
            return False
        for one, other in ((a, b), (b, a)):
            if other.name in one.data.get("ignores", []):
                return False
            if other.name not in one.data.get("collides_with", [other.name]):
                return False
        joined = [x for x in self.joints if {x["a"], x["b"]} == {a.name, b.name}]
        return all(x.get("collide") for x in joined)

    def carry(self, values):
        """An impact has no step: it keeps the value of the frame before."""
        for k in range(1, self.rec.frames):
            if self.rec.dt[k - 1] == 0:
                values[k] = np.maximum(values[k], values[k - 1])
        return values

    def step_motion(self):
        """How far any point of each body came in the step that led to a frame, from poses and from
        velocities; an impact has no step, it keeps that of the frame before."""
        rec = self.rec
        n = len(self.bodies)
        motion = np.zeros((rec.frames, n))
        angle = np.zeros((rec.frames, n))
        if rec.frames < 2:
            return motion, angle
        dt = rec.dt[:, None]
        way = np.linalg.norm(np.diff(rec.x, axis=0), axis=2)
        speed = np.linalg.norm(rec.v, axis=2)
        spin = np.linalg.norm(rec.w, axis=2)
        radius = np.array([b.radius for b in self.bodies])
        fastest, quickest = np.maximum(spin[1:], spin[:-1]), np.maximum(speed[1:], speed[:-1])
        fastest = np.maximum(fastest, np.linalg.norm(rec.solved[1:, :, self.dim:], axis=2))
        # With fixed steps an impact happens within the step that follows: poses are displaced by up to h
        # times the jump of the velocities, and the step goes on from there.
        last = 0
        for k in range(1, rec.frames):
            if rec.impact[k] != 0 or self.adaptive:
                continue
            if last < k - 1:
                fastest[k - 1] = 2 * fastest[k - 1] + spin[last]
                quickest[k - 1] = 2 * quickest[k - 1] + speed[last]
            last = k
        turned = fastest * dt
        motion[1:] = np.maximum(way, quickest * dt) + turned * radius
        if self.dim == 2:
            turned = np.maximum(turned, np.abs(np.diff(rec.turn[:, :, 0], axis=0)))
        else:
            dot = np.abs(np.einsum("kbi,kbi->kb", rec.turn[1:], rec.turn[:-1]))
            turned = np.maximum(turned, 2 * np.arccos(np.minimum(dot, 1)))
        angle[1:] = turned
        return self.carry(motion), self.carry(angle)

    def depth_of(self, i, j, frames):
        """A certain lower bound of the depth of bodies i and j, at these frames."""
        rec, A, B = self.rec, self.bodies[i], self.bodies[j]
        depth = np.full(len(frames), -np.inf)
        xa, Ra, xb, Rb = rec.x[frames, i], rec.R[frames, i], rec.x[frames, j], rec.R[frames, j]
        for one, other, x1, R1, x2, R2 in ((A, B, xa, Ra, xb, Rb), (B, A, xb, Rb, xa, Ra)):
            def seen_by_one(b, points):
                world = x2[:, None] + np.einsum("kij,pj->kpi", R2, b.p + points @ b.R.T)
                return np.einsum("kji,kpj->kpi", R1, world - x1[:, None])  # in the frame of `one`

            for b in other.primitives:
                seen = seen_by_one(b, b.points)
                for n, c in one.halfspaces:
                    depth = np.maximum(depth, (c - seen @ n + b.radii).max(1))
                for a in one.primitives:
                    if self.by_vertices and a.outline is not None and b.outline is not None:
                        y = (seen_by_one(b, b.outline) - a.p) @ a.R
                        depth = np.maximum(depth, geo.vertex_depth(a.outline, y))
                    else:
                        y = (seen - a.p) @ a.R
                        depth = np.maximum(depth, (a.depth(y) + b.radii).max(1))
        return depth

    def with_kept_overlap(self, i, j, room, deep):
        """Where contacts push in directions that exclude each other a step keeps the overlap: it reads the gaps
        of the pair as 0, and the recording says so. Such a step leaves what it found, and its own motion. A
        contact that is the only law on its bodies excludes nothing. A step that pushes overlap out slowly (a gap read as 0,
        and a speed of a tenth of it over h, or more, in the drift) leaves at most nine tenths of what it found, and its own motion."""
        rec = self.rec
        frame = np.repeat(np.arange(rec.frames), np.diff(rec.offset))
        of_pair = ((rec.pair == (i, j)) | (rec.pair == (j, i))).all(1)
        kept = np.zeros(rec.frames, bool)
        kept[frame[of_pair & (rec.gap == 0)]] = True
        kept[frame[of_pair & (rec.gap < 0)]] = False
        names = {self.bodies[i].name, self.bodies[j].name}
        if not any(names & {x["a"], x["b"]} for x in self.joints):
            movers = [x for x in (i, j) if self.bodies[x].dynamic]
            acting = np.isin(rec.pair, movers).any(1) & (rec.impulse[:, 0] > 0)
            kept &= (np.bincount(frame[acting], minlength=rec.frames) > 1) | self.opposed(frame, of_pair)
        slow = np.zeros(rec.frames, bool)
        slow[frame[of_pair & (rec.gap == 0) & (rec.drift[:, 0] < 0)]] = True
        room = room.copy()
        for k in np.nonzero(kept | slow)[0]:
            if k > 0 and deep[k - 1]:
                room[k] += room[k - 1] if kept[k] else 0.9 * room[k - 1]
        return room

    def opposed(self, frame, of_pair):
        """Frames in which two contacts of a pair, their gaps read as 0, have opposite normals n and -n (a ball that is
        wider than the jaw in which it is): no motion of the bodies opens one of them and does not close the other, and
        without a load none of them needs an impulse."""
        rec = self.rec
        yes = np.zeros(rec.frames, bool)
        read = of_pair & (rec.gap == 0)
        for k in np.unique(frame[read]):
            n = rec.normal[read & (frame == k)]
            yes[k] = (n @ n.T).min() < -1 + 1e-6
        return yes

    def check_overlap(self):
        rec = self.rec
        motion, _ = self.step_motion()
        for i in range(len(self.bodies)):
            for j in range(i + 1, len(self.bodies)):
                if not self.collides(i, j):
                    continue
                A, B = self.bodies[i], self.bodies[j]
                soft = 0.0
                for b in (A, B):
                    layer = b.data.get("compliance")
                    if layer:
                        soft += layer.get("max_deflection", np.inf)
                if np.isinf(soft):
                    continue
                if A.halfspaces or B.halfspaces:
                    frames = np.arange(rec.frames)
                else:
                    far = np.linalg.norm(rec.x[:, i] - rec.x[:, j], axis=1)
                    frames = np.nonzero(far < A.radius + B.radius)[0]
                if not len(frames):
                    continue
                depth = self.depth_of(i, j, frames)
                scale = min([b.radius for b in (A, B) if b.radius > 0] or [self.size])
                moved = motion[:, i] + motion[:, j]
                # What a step leaves: at most twice its motion, once for the linear gap, once for what
                # the linear gap does not see.
                room = 2 * moved
                if self.stepper == "anitescu-potra":  # overlap stays
                    room = np.cumsum(2 * moved)
                elif self.adaptive:
                    room = np.maximum.accumulate(room)  # the overlap may be kept for a step
                else:
                    deep = np.zeros(rec.frames, bool)
                    deep[frames] = depth > 1e-9 * scale
                    room = self.with_kept_overlap(i, j, room, deep)
                start = max(0.0, depth[0]) if frames[0] == 0 else 0.0
                room = room[frames] + soft + start + \
                    1e-6 * scale + 1e-12 * np.abs(rec.x).max()
                over = depth - room
                if not (over <= 0).all():
                    k = int(np.argmax(~(over <= 0)))
                    self.report("overlap", f"'{A.name}' and '{B.name}' overlap by {depth[k]:.3g} (sizes "
                                           f"{A.radius:.3g}, {B.radius:.3g}) at {self.at(frames[k])}; "
                                           f"the step explains {room[k]:.3g}")

    def middle_along(self, i, j, p, axis):
        """Of body j, in the frame of plate p of body i: the middle between its lowest and its highest point along the
        plate's normal. It is above the plate's middle if leaving upwards is the shorter way."""
        rec, low, high = self.rec, np.full(self.rec.frames, np.inf), np.full(self.rec.frames, -np.inf)
        for piece in self.bodies[j].primitives:
            points = piece.p + piece.points @ piece.R.T
            world = rec.x[:, j, None] + np.einsum("kab,pb->kpa", rec.R[:, j], points)
            seen = np.einsum("kba,kpb->kpa", rec.R[:, i], world - rec.x[:, i, None])
            height = ((seen - p.p) @ p.R)[:, :, axis]
            low = np.minimum(low, (height - piece.radii).min(1))
            high = np.maximum(high, (height + piece.radii).max(1))
        return (low + high) / 2

    def check_plates(self, i, j, seen, moved, room):
        """A point of body j, in the frame of the wall i, changes sides of no plate of it."""
        rec, wall, b = self.rec, self.bodies[i], self.bodies[j]
        for p in wall.primitives:
            if p.plate is None:
                continue
            axis = int(np.argmin(p.plate))
            y = (seen - p.p) @ p.R
            if self.stepper == "anitescu-potra":  # sees what overlaps: the centre may be past the plate
                y[:, axis] = self.middle_along(i, j, p, axis)
            lateral = np.delete(np.abs(y), axis, 1)
            half = np.delete(p.plate, axis)
            # Well within: the whole body and the motion of the step beside it.
            within = (lateral + (b.radius + moved)[:, None] + room < half).all(1)
            side = np.where(y[:, axis] > p.plate[axis], 1,
                            np.where(y[:, axis] < -p.plate[axis], -1, 0))
            last, run = 0, False
            for k in range(rec.frames):
                if not within[k]:
                    last = side[k] if side[k] else 0
                    run = False
                    continue
                if side[k] and run and last and side[k] != last and \
                        self.scene.get("contact") == "corrective" and \
                        (k + 1 == rec.frames or side[k + 1] == last):
                    continue  # overlaps after its step, and is back after the next
                if side[k]:
                    if run and last and side[k] != last:
                        self.report("side", f"'{b.name}' passed through a plate of "
                                            f"'{wall.name}' (thickness "
                                            f"{2 * p.plate[axis]:.3g}) at {self.at(k)}")
                    last, run = side[k], True

    def check_sides(self):
        """No centre of a body changes sides of a plate, or enters a half-space, but around the rim."""
        rec = self.rec
        motion, _ = self.step_motion()
        for i, wall in enumerate(self.bodies):
            if wall.dynamic:
                continue
            for j, b in enumerate(self.bodies):
                if not b.dynamic or not self.collides(i, j) or not b.primitives:
                    continue
                if "compliance" in b.data or "compliance" in wall.data:
                    continue
                centre_inside = any(p.inradius >= np.linalg.norm(p.p) for p in b.primitives)
                seen = np.einsum("kji,kj->ki", rec.R[:, i], rec.x[:, j] - rec.x[:, i])
                moved = motion[:, i] + motion[:, j]
                room = 1e-6 * self.size + 1e-12 * np.abs(rec.x).max()
                # A centre of mass outside of all pieces is no point of the body: then the middle of each piece.
                at = [np.zeros(self.dim)] if centre_inside else \
                    [p.p + p.R @ p.points[int(np.argmax(p.radii))] for p in b.primitives]
                for y0 in [seen + np.einsum("kji,kj->ki", rec.R[:, i], rec.R[:, j] @ c) for c in at]:
                    self.check_plates(i, j, y0, moved, room)
                if self.stepper == "anitescu-potra" or self.adaptive or not centre_inside:
                    continue
                for n, c in wall.halfspaces:
                    # The centre, a point of the body, in the half-space for two frames of time: the
                    # first may be a step's error, after it the gap pushes out.
                    inside = c - seen @ n > room
                    if inside[0]:
                        continue
                    held = inside[1:] & inside[:-1] & (rec.dt > 0)
                    deep = (c - seen @ n)[1:] > np.maximum(2 * moved[1:], 0.5 * b.inradius)
                    if (held & deep).any():
                        k = int(np.argmax(held & deep)) + 1
                        self.report("side", f"the centre of '{b.name}' is inside a half-space of "
                                            f"'{wall.name}' at {self.at(k)}")

    # ---------------------------------------------------------------- (g)

    def check_joints(self):
        rec = self.rec
        if not self.joints:
            return
        _, angle = self.step_motion()
        for row, joint in self.joint_rows:
            self.check_joint(row, joint, angle)
        for gear, i, first, j, second in self.geared:
            self.check_gear(gear, i, first, j, second)

    def check_gear(self, gear, i, first, j, second):
        """Angles of planar hinges are linear in the step: their relation holds to the tolerance."""
        rec = self.rec
        if self.dim == 3 or self.adaptive or rec.joints_kept.any() or rec.limited.any() or (rec.impact != 0).any() or \
                {first["type"], second["type"]} != {"revolute"}:
            return
        off = rec.coordinate[:, 3 * j] - gear["ratio"] * rec.coordinate[:, 3 * i]
        off = np.abs(off - off[0])
        room = 1e-6 * (1 + abs(gear["ratio"]))
        if not (off <= room).all():
            k = int(off.argmax())
            self.report("joint", f"gear '{gear['name']}' is off by {off[k]:.3g} at {self.at(k)}")

    def after_impacts(self, room):
        """With fixed steps an impact happens at a time tau <= h within the step after it, and displaces the
        poses by tau (v- - v+). Joints have J v+ = 0 then, but J v- = -error/h + what J has changed since, of
        the step before: the step after has up to that error, at its start, and its second order again."""
        room = np.array(np.broadcast_to(room, (self.rec.frames,)))
        if self.adaptive:
            return room
        base = room.copy()
        steps = [k for k in range(self.rec.frames) if self.rec.impact[k] == 0]
        for i in range(1, len(steps)):
            if steps[i] - steps[i - 1] > 1:
                room[steps[i]] += base[steps[i - 1]] + (room[steps[i - 2]] if i > 1 else 0.0)
        for k in range(1, self.rec.frames):  # an impact keeps the poses
            if self.rec.dt[k - 1] == 0:
                room[k] = max(room[k], room[k - 1])
        return room

    def with_kept_errors(self, room, opens=0.0, jump=0.0):
        """Steps that keep the errors of joints, and say so, add theirs to those before. Near a singular
        configuration a closed loop has u+ = -u- + 0.1 (u- - error/h), and says so: the error becomes 0.9 (error -
        h u-), with u- the velocity at which the joint opened at the start of the step (opens). After an impact e is that of the poses
        displaced by up to h (v- - v+): h times the jump of the points' relative velocity is added (jump)."""
        rec = self.rec
        jump, jumped = np.broadcast_to(jump, (rec.frames,)), 0.0
        room = np.array(np.broadcast_to(room, (rec.frames,)))
        opens = np.broadcast_to(opens, (rec.frames,))
        kept = (rec.joints_kept > 0) | rec.limited
        for k in range(1, rec.frames):
            if rec.dt[k - 1] == 0:  # an impact keeps the poses, and with them errors and their bound
                kept[k] = kept[k - 1]
                room[k] = max(room[k], room[k - 1])
                jumped += jump[k]
                continue
            if kept[k] or kept[k - 1]:
                room[k] += room[k - 1]
            if rec.limited[k]:
                room[k] += rec.dt[k - 1] * (opens[k - 1] + jumped)
            jumped = 0.0
        return room

    def point_velocity(self, name, local):
        """Of a point fixed to a body, in every frame."""
        if name not in self.index:
            return np.zeros((self.rec.frames, self.dim))
        i, rec = self.index[name], self.rec
        r = rec.R[:, i] @ local
        if self.dim == 2:
            return rec.v[:, i] + rec.w[:, i] * np.c_[-r[:, 1], r[:, 0]]
        return rec.v[:, i] + np.cross(rec.w[:, i], r)

    def check_joint(self, row, joint, angle):
        rec, d, kind = self.rec, self.dim, joint["type"]
        ends = []
        for key in ("a", "b"):
            i = self.index.get(joint[key], -1)
            x = rec.x[:, i] if i >= 0 else np.zeros((rec.frames, d))
            R = rec.R[:, i] if i >= 0 else np.broadcast_to(np.eye(d), (rec.frames, d, d))
            turned = angle[:, i] if i >= 0 else np.zeros(rec.frames)
            at = joint.get("at")
            if at is None and kind == "fixed" and "at_a" not in joint:
                at = rec.x[0, self.index[joint["b"]]] if joint["b"] in self.index else np.zeros(d)
            if at is not None:
                local = R[0].T @ (np.asarray(at, float) - x[0])
            else:
                local = np.asarray(joint.get("at_" + key, [0.0] * d), float)
            ends.append((x, R, turned, local))
        (xa, Ra, ta, la), (xb, Rb, tb, lb) = ends
        pa, pb = xa + Ra @ la, xb + Rb @ lb
        apart = pb - pa
        gap = np.linalg.norm(apart, axis=1)
        travel = np.zeros(rec.frames)
        off = gap
        if kind == "rope":
            length = joint.get("length", gap[0])
            off = gap - length
            travel[1:] = np.linalg.norm(np.diff(apart, axis=0), axis=1)
            # Poses may be moved after the step: what the velocities that solved it had moved.
            moved = [rec.solved[:, self.index[joint[k]], :d] if joint[k] in self.index else 0.0 for k in "ab"]
            swept = np.linalg.norm(moved[1] - moved[0], axis=1)[1:] * rec.dt + \
                np.linalg.norm(la) * ta[1:] + np.linalg.norm(lb) * tb[1:]
            travel[1:] = np.maximum(travel[1:], swept)
            self.carry(travel)
            # A tangential step of u leaves sqrt(l^2 + u^2) - l.
            second = np.minimum(travel ** 2 / np.maximum(2 * length, 1e-300), travel)
        elif kind in ("prismatic", "cylindrical", "planar"):
            axis = np.asarray(joint["axis"], float)
            axis = Ra @ (Ra[0].T @ (axis / np.linalg.norm(axis)))
            along = np.einsum("ki,ki->k", apart, axis)
            off = np.linalg.norm(apart - along[:, None] * axis, axis=1) if kind != "planar" \
                else np.abs(along)
            travel[1:] = np.abs(np.diff(gap)) if kind == "planar" else np.abs(np.diff(along))
            travel[1:] = np.maximum(travel[1:], np.linalg.norm(np.diff(apart, axis=0), axis=1))
            self.carry(travel)
            second = travel * (ta + tb) + gap * ta ** 2
        else:
            second = 0.0
        ra, rb = np.linalg.norm(la), np.linalg.norm(lb)
        size = max(ra + rb, self.size)
        # 1e-6 rad of the axis, as below, at the distance of the two points
        span = size + gap if kind in ("prismatic", "cylindrical", "planar") else size
        # Linear in the step: what is left is r theta^2 / 2 of each body, and as rows act in the middle of the
        # two points, theta / 2 times the error of the frame before (twice all that here).
        second = second + ra * ta ** 2 + rb * tb ** 2
        before = np.r_[0.0, np.maximum(off[:-1], 0.0)]
        room = 1e-6 * span + 1e-12 * np.abs(rec.x).max() + 2 * second + (ta + tb) * before
        if self.adaptive:
            room = 3 * np.maximum.accumulate(room) + 1e-3 * size
        relative = self.point_velocity(joint["b"], lb) - self.point_velocity(joint["a"], la)
        opens = np.linalg.norm(relative, axis=1) if kind in ("revolute", "spherical", "universal", "fixed") else 0.0
        jump = np.r_[0.0, np.linalg.norm(np.diff(relative, axis=0), axis=1)]
        room = self.with_kept_errors(self.after_impacts(room), opens, jump)
        start = max(0.0, off[0])
        over = off - room - start
        if not (over <= 0).all():
            k = int(np.argmax(~(over <= 0)))
            self.report("joint", f"{kind} '{joint['name']}' is {off[k]:.3g} apart at {self.at(k)}; the "
                                 f"turn of a step explains {np.broadcast_to(room, off.shape)[k]:.3g}")
        # Axes.
        wrong = None
        if d == 3 and kind in ("revolute", "cylindrical", "planar"):
            axis = np.asarray(joint["axis"], float)
            axis = axis / np.linalg.norm(axis)
            ua, ub = Ra @ (Ra[0].T @ axis), Rb @ (Rb[0].T @ axis)
            wrong = np.linalg.norm(np.cross(ua, ub), axis=1)
        elif kind in ("fixed", "prismatic"):
            rel = np.einsum("kji,kjl->kil", Ra, Rb)
            rel0 = rel[0].T
            wrong = np.linalg.norm(rel @ rel0 - np.eye(d), axis=(1, 2)) / math.sqrt(2)
        spins = [rec.w[:, self.index[joint[k]]] if joint[k] in self.index else 0.0 for k in "ab"]
        opens = np.linalg.norm(np.broadcast_to(spins[1] - spins[0], (rec.frames, 1 if d == 2 else 3)), axis=1)
        if wrong is not None:
            room = 1e-6 + (ta + tb) ** 2 * (1 + ta + tb)
            if self.adaptive:
                room = 3 * np.maximum.accumulate(room) + 1e-3
            room = self.with_kept_errors(self.after_impacts(room), opens)
            if not (wrong - room <= 0).all():
                k = int(np.argmax(~(wrong - room <= 0)))
                self.report("joint", f"{kind} '{joint['name']}' is turned off by {wrong[k]:.3g} at "
                                     f"{self.at(k)}; the turn of a step explains {room[k]:.3g}")
        # Limits, by the recorded coordinate.
        if "limits" in joint and not self.adaptive and not rec.joints_kept.any():
            c = rec.coordinate[:, 3 * row]
            low, high = (x if x is not None else s * np.inf
                         for x, s in zip(joint["limits"], (-1, 1)))
            scale = 1.0 if kind == "revolute" else size
            room = 1e-6 * scale + ((ta + tb) ** 2 if kind == "revolute" else 2 * second)
            out = np.maximum(low - c, c - high)
            out = out - max(0.0, out[0]) - room
            if not (out <= 0).all():
                k = int(np.argmax(~(out <= 0)))
                self.report("limit", f"'{joint['name']}' is at {c[k]:.4g}, limits "
                                     f"{joint['limits']}, at {self.at(k)}")

    # ---------------------------------------------------------------- impulses

    def check_cones(self):
        """Contacts push and never pull; friction stays within the cone of its coefficient."""
        rec = self.rec
        if not len(rec.impulse):
            return
        p = rec.impulse
        largest = np.zeros(rec.frames)
        frame = np.repeat(np.arange(rec.frames), np.diff(rec.offset))
        np.maximum.at(largest, frame, np.abs(p).max(1))
        # Impulses are solved for relative to the momenta at hand, not to themselves.
        speed = np.linalg.norm(rec.v, axis=2)
        speed[1:] = np.maximum(speed[1:], speed[:-1])
        momentum = ((speed + self.rest) * self.mass).sum(1)  # at rest: see rest
        momentum[1:] += rec.dt * (self.mass * np.linalg.norm(self.g, axis=1)).sum()
        # Gaps are known to rounding of the positions, and enter as gap / h.
        blur = 1e-15 * self.rest / 1e-9 * self.mass.sum()
        room = 1e-6 * largest[frame] + 1e-8 * momentum[frame] + blur + 1e-300
        if not (p[:, 0] >= -room).all():
            k = int(np.argmax(~(p[:, 0] >= -room)))
            self.report("cone", f"a contact pulls, {p[k, 0]:.3g}, at {self.at(frame[k])}")
        e = np.where(rec.cone[:, None] == 3, rec.e, 1.0)
        e = np.where(e > 0, e, 1.0)
        size = np.sqrt(((p[:, 1:] / e) ** 2).sum(1))
        size = np.where(rec.cone == 0, np.abs(p[:, 1:]).max(1), size)
        bound = np.where(rec.cone == 0, 0.0, rec.mu * p[:, 0])
        if not (size <= bound * (1 + 1e-6) + room / e.min(1)).all():
            bad = ~(size <= bound * (1 + 1e-6) + room / e.min(1))
            k = int(np.argmax(bad))
            self.report("cone", f"friction {size[k]:.4g} outside of its cone, {bound[k]:.4g}, at "
                                f"{self.at(frame[k])}")

    def run(self):
        if self.rec.frames == 0:
            self.report("time", "no frames")
            return self.found
        if not self.check_numbers():
            return self.found
        self.check_prescribed()
        self.check_energy()
        self.check_momentum()
        self.check_overlap()
        self.check_sides()
        self.check_joints()
        self.check_cones()
        return self.found


def check(path):
    return Checker(path).run()
