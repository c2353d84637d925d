"""Random scenes: scene number n is a pure function of n.

A scene picks one length scale L; sizes, speeds and the step h follow from it loosely, and a difficulty
in [0, 1] says how far into the extremes each of them may go. Bodies stand in cells of a jittered grid,
so that nothing overlaps at the start; joints are given by a point in the world, so that they always fit.
What perp refuses by design (docs/scene.md, docs/steppers.md) is drawn seldom; `known_refusal` tells
these refusals from mistakes of this file.
"""
import math
import random
import re

STEPPERS = (("stewart-trinkle", 44), ("anitescu-potra", 10), ("implicit", 14),
            ("geometric-implicit", 12), ("compliant", 11), ("quasistatic", 9))
CONTACTS = (("standard", 26), ("auto", 18), ("peg", 28), ("lnc", 11), ("corrective", 10),
            ("disjunctive", 7))

FIRST_MIXED = 7100000  # scenes from here on have the mixes of add_mixes; earlier findings stay what they are

# Refusals by design: (pattern of the message). Any other exit status 2 is a mistake of the generator.
REFUSALS = (
    r"an adaptive step goes with the stepper",
    r"an adaptive step does not go with",
    r"has no impacts",
    r"joint_correction: ",
    r"(joint|contact)_direction: ",
    r"is for planar scenes",
    r"chooses among contacts by their gaps",
    r"choose between features by their gaps",
    r"contact: .*(anitescu-potra|corrective|groups|geometric-implicit)",
    r"stepper: .*(corrective|groups|gaps)",
    r"restitution.*(group|peg|lnc|disjunctive)",
    r"midpoint: ",
    r"no (narrow phase|collision) ",
    r"no torsion",
    r"the explicit spring between .* is unstable",
)


def known_refusal(message):
    return any(re.search(pattern, message) for pattern in REFUSALS)


def pick(rng, weighted):
    total = sum(w for _, w in weighted)
    x = rng.random() * total
    for value, w in weighted:
        x -= w
        if x < 0:
            return value
    return weighted[-1][0]


def log_uniform(rng, low, high):
    return 10.0 ** rng.uniform(math.log10(low), math.log10(high))


def rounded(x):
    """Twelve digits: scenes stay readable, and still have numbers that are not round in binary."""
    if isinstance(x, (list, tuple)):
        return [rounded(y) for y in x]
    return float(f"{x:.12g}")


def unit(rng, n):
    while True:
        v = [rng.gauss(0, 1) for _ in range(n)]
        length = math.sqrt(sum(x * x for x in v))
        if length > 1e-3:
            return [x / length for x in v]


def quaternion(rng):
    return unit(rng, 4)


class Built:
    """Shapes of one body: their JSON, the radius around the centre, half extents for the inertia."""

    def __init__(self, shapes, radius, half, uniform=False):
        self.shapes, self.radius, self.half = shapes, radius, half
        self.uniform = uniform  # one centred shape whose inertia the checker knows in closed form


# ---------------------------------------------------------------- planar shapes

def convex_polygon(rng, s, n):
    """Vertices on an ellipse at angles that keep apart, so that no edge is tiny."""
    a, b = s, s * rng.uniform(0.5, 1)
    start = rng.uniform(0, 2 * math.pi)
    angles = [start + 2 * math.pi * (i + rng.uniform(-0.3, 0.3)) / n for i in range(n)]
    return [[a * math.cos(x), b * math.sin(x)] for x in angles]


def star_polygon(rng, s):
    kind = rng.choice(["star", "L", "U"])
    if kind == "star":
        n = rng.choice([3, 4, 5, 6])
        inner = rng.uniform(0.45, 0.7)
        if inner > math.cos(math.pi / n) - 0.08:
            inner = math.cos(math.pi / n) - 0.15
        return [[s * (1 if i % 2 == 0 else inner) * math.cos(math.pi * i / n),
                 s * (1 if i % 2 == 0 else inner) * math.sin(math.pi * i / n)]
                for i in range(2 * n)]
    w = rng.uniform(0.25, 0.45)
    k = s * 0.7
    if kind == "L":
        return [[-k, -k], [k, -k], [k, -k + 2 * k * w], [-k + 2 * k * w, -k + 2 * k * w],
                [-k + 2 * k * w, k], [-k, k]]
    return [[-k, -k], [k, -k], [k, k], [k - k * w, k], [k - k * w, -k + k * w],
            [-k + k * w, -k + k * w], [-k + k * w, k], [-k, k]]


def planar_shape(rng, kind, s):
    if kind == "circle":
        return Built([{"type": "circle", "radius": s}], s, [s, s], True)
    if kind == "box":
        x, y = s * rng.uniform(0.3, 0.75), s * rng.uniform(0.3, 0.75)
        return Built([{"type": "box", "size": [2 * x, 2 * y]}], math.hypot(x, y), [x, y], True)
    if kind == "polygon":
        vertices = convex_polygon(rng, s, rng.choice([3, 3, 4, 5, 6, 8]))
        return Built([{"type": "polygon", "vertices": rounded(vertices)}], s, [s, s])
    if kind == "star":
        return Built([{"type": "polygon", "vertices": rounded(star_polygon(rng, s))}], s, [s, s])
    if kind == "superellipse":
        a, b = s * rng.uniform(0.4, 1), s * rng.uniform(0.4, 1)
        n = rng.choice([1.2, 1.5, 2, 2, 2.5, 3, 4, 8])
        return Built([{"type": "superellipse", "radii": [a, b], "exponent": n}],
                     s * 1.42, [a, b])
    if kind == "particle":
        return Built([{"type": "particle"}], 0.02 * s, [0, 0])
    # Two or three shapes on one body.
    shapes, half = [], s * 0.5
    for i in range(rng.choice([2, 2, 3])):
        angle = 2 * math.pi * i / 3 + rng.uniform(-0.3, 0.3)
        at = [half * math.cos(angle), half * math.sin(angle)]
        if rng.random() < 0.5:
            shapes.append({"type": "circle", "radius": s * 0.4, "position": at})
        else:
            shapes.append({"type": "box", "size": [s * 0.6, s * 0.4], "position": at,
                           "angle": rng.uniform(-3, 3)})
    return Built(shapes, s, [s * 0.7, s * 0.7])


# ---------------------------------------------------------------- spatial shapes

CUBE = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
CUBE_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def extrude(outline, z):
    """Closed surface over an outline that runs counter-clockwise."""
    n = len(outline)
    vertices = [[x, y, -z] for x, y in outline] + [[x, y, z] for x, y in outline]
    sides = [[i, (i + 1) % n, n + (i + 1) % n, n + i] for i in range(n)]
    return vertices, sides


def l_mesh(rng, s):
    """An L-shaped prism: not convex, so it is cut into pieces."""
    k, w = s * 0.55, rng.uniform(0.5, 0.9) * s * 0.55
    outline = [[-k, -k], [k, -k], [k, -k + w], [-k + w, -k + w], [-k + w, k], [-k, k]]
    z = s * rng.uniform(0.25, 0.5)
    vertices, faces = extrude(outline, z)
    # The caps, as two quadrilaterals each (a fan over the whole outline would leave it).
    faces += [[n + 6 for n in (0, 1, 2, 3)], [n + 6 for n in (0, 3, 4, 5)],
              [3, 2, 1, 0], [5, 4, 3, 0]]
    return vertices, faces


def spatial_shape(rng, kind, s):
    if kind == "sphere":
        return Built([{"type": "sphere", "radius": s}], s, [s] * 3, True)
    if kind == "box":
        half = [s * rng.uniform(0.2, 0.57) for _ in range(3)]
        return Built([{"type": "box", "size": [2 * x for x in half]}],
                     math.sqrt(sum(x * x for x in half)), half, True)
    if kind in ("capsule", "cylinder"):
        r = s * rng.uniform(0.2, 0.45)
        length = 2 * s * rng.uniform(0.1, 0.5)
        radius = r + length / 2 if kind == "capsule" else math.hypot(r, length / 2)
        return Built([{"type": kind, "radius": r, "length": length}], radius,
                     [r, r, length / 2], True)
    if kind == "ellipsoid":
        radii = [s * rng.uniform(0.4, 1) for _ in range(3)]
        return Built([{"type": "ellipsoid", "radii": radii}], s, radii, True)
    if kind == "superquadric":
        radii = [s * rng.uniform(0.3, 0.57) for _ in range(3)]
        exponents = [rng.choice([1.5, 2, 2.5, 3, 4, 6]) for _ in range(2)]
        return Built([{"type": "superquadric", "radii": radii, "exponents": exponents}],
                     s * 1.01, radii)
    if kind == "solid":
        name = rng.choice(["tetrahedron", "cube", "octahedron", "icosahedron", "dodecahedron",
                           "prism", "block"])
        shape = {"type": "polyhedron", "solid": name}
        radius = s
        if name == "prism":
            r, length = s * rng.uniform(0.4, 0.8), s * rng.uniform(0.4, 1.0)
            shape.update(sides=rng.choice([3, 4, 5, 6, 8]), radius=r, length=length)
            radius = math.hypot(r, length / 2)
        elif name == "block":
            half = [s * rng.uniform(0.2, 0.57) for _ in range(3)]
            shape.update(size=[2 * x for x in half])
            radius = math.sqrt(sum(x * x for x in half))
        else:
            shape.update(radius=s)
        return Built([shape], radius, [s * 0.6] * 3)
    if kind == "polyhedron":
        vertices = [[s * x for x in unit(rng, 3)] for _ in range(rng.choice([6, 8, 10, 14]))]
        # Four of a tetrahedron among them, so that the hull is never flat.
        vertices += [[s * x / math.sqrt(3) for x in v] for v in
                     ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
        return Built([{"type": "polyhedron", "vertices": rounded(vertices)}], s, [s * 0.6] * 3)
    if kind == "mesh":
        half = [s * rng.uniform(0.25, 0.57) for _ in range(3)]
        vertices = [[x * h for x, h in zip(v, half)] for v in CUBE]
        return Built([{"type": "mesh", "vertices": rounded(vertices), "faces": CUBE_FACES}],
                     math.sqrt(sum(x * x for x in half)), half)
    if kind == "nonconvex":
        vertices, faces = l_mesh(rng, s)
        return Built([{"type": "mesh", "vertices": rounded(vertices), "faces": faces,
                       "decompose": True}], s, [s * 0.5] * 3)
    if kind == "particle":
        return Built([{"type": "particle"}], 0.02 * s, [0, 0, 0])
    shapes = []
    for i in range(rng.choice([2, 2, 3])):
        angle = 2 * math.pi * i / 3 + rng.uniform(-0.3, 0.3)
        at = [0.5 * s * math.cos(angle), 0.5 * s * math.sin(angle), 0.1 * s * rng.uniform(-1, 1)]
        which = rng.choice(["sphere", "box", "capsule"])
        if which == "sphere":
            shapes.append({"type": "sphere", "radius": 0.35 * s, "position": at})
        elif which == "box":
            shapes.append({"type": "box", "size": [0.4 * s, 0.3 * s, 0.5 * s], "position": at,
                           "orientation": rounded(quaternion(rng))})
        else:
            shapes.append({"type": "capsule", "radius": 0.15 * s, "length": 0.4 * s,
                           "position": at, "orientation": rounded(quaternion(rng))})
    return Built(shapes, s, [s * 0.7] * 3)


PLANAR = (("circle", 22), ("box", 22), ("polygon", 22), ("star", 9), ("superellipse", 8),
          ("particle", 8), ("compound", 9))
# A scene is of one of two families, or of both.
SPATIAL_EDGY = (("sphere", 14), ("box", 22), ("capsule", 12), ("cylinder", 10), ("solid", 12),
                ("polyhedron", 7), ("mesh", 5), ("nonconvex", 4), ("particle", 6), ("compound", 8))
SPATIAL_SMOOTH = (("ellipsoid", 30), ("superquadric", 25), ("sphere", 20), ("box", 20),
                  ("particle", 5))


class Maker:
    def __init__(self, number):
        self.number = number
        self.rng = rng = random.Random(number)
        self.difficulty = d = rng.random() ** 1.3
        hard = rng.random() < d  # of the scene's scales
        self.dim = 2 if rng.random() < 0.45 else 3
        self.L = log_uniform(rng, 1e-3, 1e3) if hard else log_uniform(rng, 0.05, 5)
        self.stepper = pick(rng, STEPPERS)
        self.g = 9.81 if rng.random() < 0.85 else 0.0
        self.template = self.choose_template()
        time_scale = math.sqrt(self.L / 9.81)
        h = time_scale * (log_uniform(rng, 0.004, 0.6) if hard else log_uniform(rng, 0.01, 0.1))
        self.h = min(max(h, 1e-4), 0.05)
        # How far bodies may come in a step, in sizes; at most 50 m/s and 100 rad/s.
        reach = log_uniform(rng, 0.01, 5) if hard else log_uniform(rng, 0.003, 0.2)
        self.speed = min(50.0, reach * self.L / self.h)
        turn = log_uniform(rng, 0.01, 2) if hard else log_uniform(rng, 0.005, 0.2)
        self.spin = min(100.0, turn / self.h)
        self.mass_spread = rng.choice([0, 1, 3, 6]) if hard else rng.choice([0, 0, 0.5, 1])
        self.bodies, self.joints, self.forces, self.controllers = [], [], [], []
        self.radius, self.place = {}, {}
        self.mass = {}
        self.tags = {}
        self.lies = False  # a pushed scene on a floor

    def choose_template(self):
        rng = self.rng
        if self.stepper == "quasistatic":
            return "push"
        return pick(rng, (("toss", 40), ("stack", 14), ("linkage", 24), ("mixed", 22)) +
                    ((("above", 9),) if self.dim == 2 else ()))

    # -- pieces

    def vec(self, scale=1.0):
        return [scale * x for x in unit(self.rng, self.dim)]

    def body_name(self):
        return f"b{sum(b.get('type', 'dynamic') == 'dynamic' for b in self.bodies)}"

    def kind(self):
        rng = self.rng
        if self.dim == 2:
            return pick(rng, PLANAR)
        if self.family == "both":
            return pick(rng, SPATIAL_EDGY + SPATIAL_SMOOTH)
        return pick(rng, SPATIAL_SMOOTH if self.family == "smooth" else SPATIAL_EDGY)

    def build(self, kind, s):
        return (planar_shape if self.dim == 2 else spatial_shape)(self.rng, kind, s)

    def add_dynamic(self, kind, at, s, still=False, upright=False):
        rng = self.rng
        built = self.build(kind, s)
        name = self.body_name()
        body = {"name": name, "position": rounded(at)}
        mass = 1000.0 * s ** self.dim * 10 ** rng.uniform(-self.mass_spread / 2,
                                                          self.mass_spread / 2)
        body["mass"] = rounded(mass)
        if kind != "particle" and not (built.uniform and rng.random() < 0.5):
            half = [x * rng.uniform(0.8, 1.1) for x in built.half]
            if self.dim == 2:
                body["inertia"] = rounded(mass * (half[0] ** 2 + half[1] ** 2) / 4)
            else:
                x, y, z = (v * v for v in half)
                body["inertia"] = rounded([mass * (y + z) / 5, mass * (x + z) / 5,
                                           mass * (x + y) / 5])
        if not upright and kind != "particle":
            if self.dim == 2:
                body["angle"] = rounded(rng.uniform(-3.2, 3.2))
            else:
                body["orientation"] = rounded(quaternion(rng))
        if not still:
            if rng.random() < 0.75:
                body["velocity"] = rounded(self.vec(self.speed * rng.random()))
            if rng.random() < 0.6 and kind != "particle":
                w = self.spin * rng.random()
                body["angular_velocity"] = rounded(w * rng.choice([-1, 1]) if self.dim == 2
                                                   else self.vec(w))
        body["shapes"] = [{k: rounded(v) if isinstance(v, (float, list)) and k != "faces" else v
                           for k, v in shape.items()} for shape in built.shapes]
        if rng.random() < 0.2:
            body["friction"] = rounded(rng.uniform(0, 1.2))
        if rng.random() < 0.04 and self.g:
            body["gravity"] = rounded(self.vec(9.81 * rng.random()))
        self.bodies.append(body)
        self.radius[name], self.place[name], self.mass[name] = built.radius, at, mass
        return name

    def cells(self, count):
        """Centres of a jittered grid above the floor, and how large a body may be."""
        rng, L = self.rng, self.L
        pitch = 2.6 * L
        columns = rng.choice([1, 2, 3, 4]) if self.dim == 2 else rng.choice([1, 2, 2, 3])
        found = []
        level = 0
        while len(found) < count:
            row = []
            if self.dim == 2:
                row = [[(i - (columns - 1) / 2) * pitch, (level + 0.6) * pitch]
                       for i in range(columns)]
            else:
                row = [[(i - (columns - 1) / 2) * pitch, (j - (columns - 1) / 2) * pitch,
                        (level + 0.6) * pitch] for i in range(columns) for j in range(columns)]
            rng.shuffle(row)
            found += row
            level += 1
        jitter = 0.25 * L
        return [[x + rng.uniform(-jitter, jitter) for x in cell] for cell in found[:count]]

    def ground(self):
        rng, L, d = self.rng, self.L, self.dim
        kind = pick(rng, (("none", 14), ("plane", 36), ("plate", 26), ("box", 12), ("tilted", 12)))
        if self.template == "linkage" and kind in ("box", "tilted"):
            kind = "plane"  # a chain may reach far to the side
        up = [0.0] * (d - 1) + [1.0]
        plane = "halfplane" if d == 2 else "plane"
        self.tags["ground"] = kind
        body = {"name": "ground", "type": "static", "shapes": []}
        if kind == "none":
            return
        if kind == "plane":
            body["shapes"].append({"type": plane, "normal": up})
        elif kind == "tilted":
            a = rng.uniform(-0.5, 0.5)
            normal = [math.sin(a), math.cos(a)] if d == 2 else [math.sin(a), 0.0, math.cos(a)]
            # Low enough to stay below every cell.
            body["shapes"].append({"type": plane, "normal": rounded(normal),
                                   "offset": rounded(-6.5 * L * abs(math.sin(a)))})
        elif kind == "plate":
            t = L * log_uniform(rng, 0.02, 0.5)
            size = [L * rng.uniform(8, 14)] * (d - 1) + [t]
            body["shapes"].append({"type": "box", "size": rounded(size)})
            body["position"] = rounded([0.0] * (d - 1) + [-t / 2])
        else:
            body["shapes"].append({"type": plane, "normal": up})
            half = L * rng.uniform(7, 8)
            t = L * log_uniform(rng, 0.05, 0.5)
            for axis in range(d - 1):
                for sign in (-1, 1):
                    if rng.random() < 0.5:
                        normal = [0.0] * d
                        normal[axis] = -float(sign)
                        body["shapes"].append({"type": plane, "normal": normal,
                                               "offset": rounded(-half)})
                    else:
                        size, at = [2.2 * half] * d, [0.0] * d
                        size[axis], at[axis] = t, sign * (half + t / 2)
                        at[-1] = 1.1 * half
                        body["shapes"].append({"type": "box", "size": rounded(size),
                                               "position": rounded(at)})
        if rng.random() < 0.12 and kind != "tilted":
            belt = self.vec(self.speed * rng.random())
            belt[-1] = 0.0
            body["surface_velocity"] = rounded(belt)
            if rng.random() < 0.3:
                body["surface_velocity"][0] = f"{belt[0]:.6g}*sin({1 / (20 * self.h):.6g}*t)"
            self.tags["belt"] = "yes"
        elif rng.random() < 0.10 and self.stepper != "quasistatic":
            body["type"] = "kinematic"
            amplitude = rng.uniform(0.01, 0.2) * L
            w = min(self.speed / amplitude, 0.3 / self.h)
            position = list(body.get("position", [0.0] * d))
            axis = rng.randrange(d)
            position[axis] = f"{position[axis]:.12g}+{amplitude:.6g}*sin({w:.6g}*t)"
            body["motion"] = {"position": position}
            self.tags["kinematic"] = "floor"
        self.bodies.append(body)

    def mover(self, at):
        """A kinematic body that moves at most 0.35 of a cell either way."""
        rng, L, d = self.rng, self.L, self.dim
        kind = rng.choice(["circle", "box"] if d == 2 else
                          ["sphere", "box", "cylinder"])
        built = self.build(kind, L * rng.uniform(0.5, 0.9))
        body = {"name": "mover", "type": "kinematic", "position": rounded(at),
                "shapes": [{k: rounded(v) if isinstance(v, (float, list)) else v
                            for k, v in s.items()} for s in built.shapes]}
        amplitude = 0.9 * L * rng.uniform(0.1, 1)
        w = min(self.speed / amplitude, 0.2 / self.h)
        how = pick(rng, (("pose", 35), ("velocity", 20), ("own", 15), ("table", 15),
                         ("acceleration", 15)))
        self.tags["kinematic"] = how
        if how == "pose":
            direction = self.vec(amplitude)
            motion = {"position": [f"{x:.12g}+{a:.6g}*sin({w:.6g}*t)"
                                   for x, a in zip(body["position"], direction)]}
            if rng.random() < 0.4:
                rate = rng.uniform(-1, 1) * min(self.spin, 0.3 / self.h)
                if d == 2:
                    motion["angle"] = f"{rate:.6g}*t"
                else:
                    motion["axis_angle"] = rounded(self.vec()) + [f"{rate:.6g}*t"]
            if rng.random() < 0.2:
                motion["max_speed"] = rounded(0.5 * amplitude * w)
            body["motion"] = motion
        elif how == "velocity":
            v = self.vec(min(self.speed, 2 * amplitude / (self.steps * self.h)))
            body["motion"] = {"velocity": rounded(v)}
            if rng.random() < 0.5:
                rate = rng.uniform(-1, 1) * min(self.spin, 0.3 / self.h)
                body["motion"]["angular_velocity"] = rounded(rate if d == 2 else self.vec(rate))
        elif how == "own":
            body["velocity"] = rounded(self.vec(min(self.speed,
                                                    2 * amplitude / (self.steps * self.h))))
        elif how == "table":
            T = self.steps * self.h
            rows = []
            for i in range(4):
                rows.append([T * i / 3] + [x + amplitude * rng.uniform(-1, 1) * (i > 0)
                                           for x in body["position"]])
            body["motion"] = {"table": rounded(rows),
                              "interpolation": rng.choice(["linear", "cubic", "quintic"])}
        else:
            f = w / (2 * math.pi)
            body["motion"] = {"acceleration": {
                "linear": [{"amplitude": rounded(0.3 * amplitude * w * w), "frequency": rounded(f),
                            "phase": rounded(rng.uniform(0, 6))} if rng.random() < 0.6 else 0
                           for _ in range(d)]}}
        self.bodies.append(body)
        self.place["mover"], self.radius["mover"] = at, built.radius

    def time_value(self, scale):
        """A number, or an expression in t."""
        rng = self.rng
        x = scale * rng.uniform(-1, 1)
        if rng.random() < 0.5:
            return rounded(x)
        return f"{x:.6g}*sin({rng.uniform(0.01, 0.3) / self.h:.6g}*t)"

    def weight(self, name):
        """A force that matters to the body: its weight, or what stops it in ten steps."""
        return self.mass[name] * max(self.g, 0.1 * self.speed / (10 * self.h))

    def join(self, a, b, at=None):
        rng, d = self.rng, self.dim
        if b == "world":
            a, b = b, a
        particle = any(body["name"] in (a, b) and body["shapes"][0]["type"] == "particle"
                       for body in self.bodies)
        names = (("revolute", 34), ("prismatic", 18), ("fixed", 10), ("rope", 12)) if d == 2 else \
            (("revolute", 26), ("prismatic", 14), ("spherical", 16), ("fixed", 8),
             ("cylindrical", 8), ("universal", 9), ("planar", 7), ("rope", 10))
        kind = pick(rng, names)
        if particle:
            kind = "rope"
        joint = {"name": f"j{len(self.joints)}", "type": kind, "a": a, "b": b}
        pb = self.place[b]
        pa = self.place[a] if a in self.place else None
        if kind == "rope":
            if a == "world":
                start = [x + self.L * 1.3 * y for x, y in zip(pb, unit(rng, d))]
                joint["at_a"] = rounded(start)
                if rng.random() < 0.5:
                    joint["length"] = rounded(self.L * 1.3 * rng.uniform(1.0001, 1.3))
            elif rng.random() < 0.5:
                joint["length"] = rounded(math.dist(pa, pb) * rng.uniform(1.0001, 1.3))
        else:
            if at is None:
                at = [(x + y) / 2 for x, y in zip(pa, pb)] if pa else \
                    [x + self.L * rng.uniform(0.2, 1.2) * y for x, y in zip(pb, unit(rng, d))]
            joint["at"] = rounded(at)
            if kind not in ("fixed", "spherical") and not (d == 2 and kind == "revolute"):
                axis = [0.0] * d
                axis[rng.randrange(d)] = 1.0
                joint["axis"] = axis if rng.random() < 0.5 else rounded(self.vec())
        heavy = a if b == "world" or (a in self.mass and b in self.mass and
                                      self.mass[a] < self.mass[b]) else b
        if heavy not in self.mass:
            heavy = b if b in self.mass else a
        if kind in ("revolute", "prismatic"):
            unit_length = self.L if kind == "prismatic" else 1.0
            effort = self.weight(heavy) * (1.0 if kind == "prismatic" else self.L)
            if rng.random() < 0.35:
                low, high = -unit_length * rng.uniform(0.01, 1), unit_length * rng.uniform(0.01, 1)
                joint["limits"] = rounded([low, high])
                if rng.random() < 0.2:
                    joint["limits"][rng.randrange(2)] = None
                self.tags["limits"] = "yes"
            if rng.random() < 0.2:
                joint["friction"] = rounded(effort * log_uniform(rng, 1e-3, 1))
                self.tags["joint_friction"] = "yes"
            if rng.random() < 0.2:
                joint["damping"] = rounded(effort / self.spin * log_uniform(rng, 1e-2, 1))
            if rng.random() < 0.25:
                motor = {"type": rng.choice(["position", "velocity", "effort"]
                                            if self.stepper != "quasistatic" else ["velocity"]),
                         "max_effort": rounded(effort * log_uniform(rng, 0.1, 100))}
                if motor["type"] == "position":
                    motor["target"] = self.time_value(0.5 * unit_length)
                elif motor["type"] == "velocity":
                    motor["target"] = self.time_value(
                        self.speed if kind == "prismatic" else min(self.spin, 0.5 / self.h))
                else:
                    motor["target"] = self.time_value(effort)
                joint["motor"] = motor
                self.tags["motor"] = motor["type"]
            elif rng.random() < 0.12 and self.stepper != "quasistatic":
                gain = effort / unit_length * log_uniform(rng, 0.3, 30)
                controller = {"type": rng.choice(["pd", "pid"]), "joint": joint["name"],
                              "kp": rounded(gain), "kd": rounded(gain * self.h * 5),
                              "target": self.time_value(0.5 * unit_length)}
                if controller["type"] == "pid":
                    controller["ki"] = rounded(gain / (self.h * 100))
                if rng.random() < 0.6:
                    controller["max_effort"] = rounded(effort * log_uniform(rng, 0.3, 10))
                self.controllers.append(controller)
                self.tags["controller"] = controller["type"]
        if rng.random() < 0.1 and math.dist(self.place.get(a, pb), pb) > 2.5 * self.L:
            joint["collide"] = True
        self.joints.append(joint)
        self.tags["joints"] = "yes"
        self.tags.setdefault("joint_types", set()).add(kind)

    def spring(self, a, b):
        rng, d = self.rng, self.dim
        m = self.mass[b]
        f = log_uniform(rng, 0.003, 0.5) / self.h
        spring = {"type": "spring", "a": a, "b": b, "stiffness": rounded(m * f * f)}
        if rng.random() < 0.6:
            spring["damping"] = rounded(m * f * log_uniform(rng, 1e-3, 2))
        for key, name in (("at_a", a), ("at_b", b)):
            if name == "world":
                spring[key] = rounded([x + 2 * self.L * y
                                       for x, y in zip(self.place[b], unit(rng, d))])
            elif rng.random() < 0.4:
                particle = any(body["name"] == name and body["shapes"][0]["type"] == "particle"
                               for body in self.bodies)
                if not particle:
                    spring[key] = rounded(self.vec(0.3 * self.L))
        if rng.random() < 0.4:
            spring["rest"] = rounded(self.L * rng.uniform(0, 3)) if rng.random() < 0.8 else 0
        if rng.random() < 0.15:
            spring["isotropic"] = True
        lighter = min(m, self.mass.get(a, m))
        # The papers' explicit force needs h^2 k below about 4 m, the damper h d below m (levers
        # make bodies lighter, hence the room).
        if rng.random() < 0.25 and (self.h ** 2 * spring["stiffness"] +
                                    self.h * spring.get("damping", 0)) < 0.05 * lighter:
            spring["implicit"] = False
        self.forces.append(spring)
        self.tags["spring"] = "explicit" if spring.get("implicit") is False else "implicit"

    def add_forces(self, names):
        rng = self.rng
        if rng.random() < 0.2 and names:
            for _ in range(rng.choice([1, 1, 2])):
                b = rng.choice(names)
                others = [n for n in names if n != b] + ["world"]
                a = rng.choice(others)
                if self.stepper == "compliant" and self.tags.get("midpoint"):
                    break
                self.spring(a, b)
        if rng.random() < 0.12 and names:
            b = rng.choice(names)
            c = self.mass[b] / self.h * log_uniform(rng, 1e-4, 0.3)
            drag = {"type": "drag", "body": b, "linear": rounded(c)}
            turns = next(x for x in self.bodies if x["name"] == b)["shapes"][0]["type"] != "particle"
            if rng.random() < 0.5 and turns:
                drag["angular"] = rounded(c * self.L ** 2)
            self.forces.append(drag)
            self.tags["drag"] = "yes"
        if rng.random() < 0.14 and names:
            b = rng.choice(names)
            f = self.weight(b) * log_uniform(rng, 0.05, 3)
            wrench = {"type": "wrench", "body": b,
                      "force": [self.time_value(f) for _ in range(self.dim)]}
            body = next(x for x in self.bodies if x["name"] == b)
            if body["shapes"][0]["type"] != "particle":
                if rng.random() < 0.4:
                    torque = f * self.L * 0.3
                    wrench["torque"] = self.time_value(torque) if self.dim == 2 else \
                        [self.time_value(torque) for _ in range(3)]
                if rng.random() < 0.3:
                    wrench["at"] = rounded(self.vec(0.3 * self.L))
            if rng.random() < 0.3:
                wrench["frame"] = "body"
            self.forces.append(wrench)
            self.tags["wrench"] = "yes"
        if rng.random() < 0.04 and names and not self.tags.get("midpoint"):
            b = rng.choice(names)
            k = self.weight(b) / self.L * log_uniform(rng, 0.3, 30)
            axis = [0.0] * self.dim
            axis[rng.randrange(self.dim)] = 1.0
            self.controllers.append({"type": "pd", "body": b, "axis": axis, "kp": rounded(k),
                                     "kd": rounded(k * self.h * 5),
                                     "max_effort": rounded(5 * self.weight(b)),
                                     "target": self.time_value(self.L)})
            self.tags["controller"] = "body"

    # -- arrangements

    def stack(self, count):
        rng, L, d = self.rng, self.L, self.dim
        z = 0.0
        gap = rng.choice([0.0, 0.0, 1e-9, 1e-4, 1e-2]) * L
        ground = next((b for b in self.bodies if b["name"] == "ground"), None)
        names = []
        for _ in range(count):
            kind = rng.choice(["box", "box", "circle"] if d == 2 else
                              ["box", "box", "box", "cylinder", "sphere"])
            s = L * rng.uniform(0.5, 1)
            at = [rng.uniform(-0.05, 0.05) * L for _ in range(d)]
            name = self.add_dynamic(kind, at, s, still=rng.random() < 0.8, upright=True)
            shape = self.bodies[-1]["shapes"][0]
            if kind == "box":
                half = shape["size"][-1] / 2
            elif kind == "cylinder":
                half = shape["length"] / 2
            else:
                half = shape["radius"]
            z += gap + half
            at[-1] = z
            z += half
            self.bodies[-1]["position"] = rounded(at)
            self.place[name] = at
            names.append(name)
        if ground is not None and self.tags["ground"] == "tilted":
            # A stack needs a level floor.
            shape = ground["shapes"][0]
            shape["normal"], shape["offset"] = [0.0] * (d - 1) + [1.0], 0.0
        return names

    def scattered(self, count, still=False):
        rng = self.rng
        names = []
        for at in self.cells(count):
            s = self.L * (rng.uniform(0.3, 1) if rng.random() < 0.8 else log_uniform(rng, 0.03, 1))
            names.append(self.add_dynamic(self.kind(), at, s, still))
        return names

    def linkage(self, count):
        """Bodies along a line or on the grid, neighbours joined; sometimes loops."""
        rng, d = self.rng, self.dim
        still = rng.random() < 0.6
        names = []
        if rng.random() < 0.6:
            direction = self.vec()
            pitch = 2.3 * self.L
            base = [0.0] * (d - 1) + [rng.uniform(0.5, 1.5) * pitch * (count + 1)]
            for i in range(count):
                at = [x + pitch * (i + 1) * y for x, y in zip(base, direction)]
                kind = self.kind()
                names.append(self.add_dynamic(kind if kind != "particle" else "box", at,
                                              self.L * rng.uniform(0.5, 1), still))
            if rng.random() < 0.75:
                self.join("world", names[0], base)
            for a, b in zip(names, names[1:]):
                self.join(a, b)
            if rng.random() < 0.2:
                self.join("world", names[-1])
        else:
            names = self.scattered(count, still)
            for i in range(1, count):
                if rng.random() < 0.7:
                    self.join(names[rng.randrange(i)], names[i])
            if rng.random() < 0.5:
                self.join("world", rng.choice(names))
            if rng.random() < 0.2 and count > 2:
                a, b = rng.sample(names, 2)
                self.join(a, b)
        return names

    def push(self, count):
        """Without inertia: no gravity in the plane of motion, a pusher, bodies that may be free."""
        rng, L, d = self.rng, self.L, self.dim
        self.g = 0.0
        names = []
        lies = d == 3 and rng.random() < 0.7  # on a floor; else nothing holds the bodies, nor pulls
        self.lies = lies
        if lies:
            self.g = 9.81
            self.bodies.append({"name": "ground", "type": "static",
                                "shapes": [{"type": "plane", "normal": [0.0, 0.0, 1.0]}]})
        for i in range(count):
            at = [(i + 1) * 2.3 * L] + [rng.uniform(-0.4, 0.4) * L for _ in range(d - 1)]
            kind = rng.choice(["circle", "box", "polygon", "star"] if d == 2 else
                              ["sphere", "box", "cylinder"] if lies else
                              ["sphere", "box", "solid", "capsule"])
            names.append(self.add_dynamic(kind, at, L * rng.uniform(0.6, 1), True, upright=lies))
            self.bodies[-1].pop("gravity", None)
            if lies:
                # Flat, and faces at least as high as spheres: what tips over, or is wedged between a
                # pusher above its centre and the floor, has no equilibrium.
                shape = self.bodies[-1]["shapes"][0]
                if kind == "box":
                    shape["size"] = rounded([L * rng.uniform(0.8, 1.4), L * rng.uniform(0.8, 1.4),
                                             L * rng.uniform(0.5, 0.8)])
                elif kind == "cylinder":
                    shape.update(radius=rounded(L * rng.uniform(0.4, 0.7)),
                                 length=rounded(L * rng.uniform(0.5, 0.8)))
                else:
                    shape["radius"] = rounded(L * rng.uniform(0.25, 0.45))
                if "friction" in self.bodies[-1]:
                    self.bodies[-1]["friction"] = rounded(0.3 * self.bodies[-1]["friction"])
                at[2] = shape["size"][2] / 2 if kind == "box" else \
                    shape["length"] / 2 if kind == "cylinder" else shape["radius"]
                self.bodies[-1]["position"] = rounded(at)
        base = [0.0] * (d - 1) + [1.1 * L if lies else 0.0]
        pusher = {"name": "mover", "type": "kinematic", "position": rounded(base),
                  "shapes": [{"type": "circle" if d == 2 else "sphere",
                              "radius": rounded(L * rng.uniform(0.4, 1))}] if rng.random() < 0.5
                  else [{"type": "box", "size": rounded([0.6 * L] + [2 * L] * (d - 1))}]}
        if lies and "radius" in pusher["shapes"][0]:  # upright
            pusher["shapes"][0].update(type="cylinder", length=rounded(2 * L))
        way = rng.uniform(1, 5) * L
        if rng.random() < 0.5:
            pusher["velocity"] = rounded([way / (self.steps * self.h)] + [0.0] * (d - 1))
        else:
            T = self.steps * self.h
            pusher["motion"] = {"position": [f"{way:.6g}*sin({1.5 / T:.6g}*t)"] + rounded(base[1:])}
        self.bodies.append(pusher)
        self.place["mover"], self.radius["mover"] = base, L
        self.tags["kinematic"] = "pusher"
        if d == 2 and rng.random() < 0.7:
            self.add_supports(names)
        if rng.random() < 0.2 and len(names) > 1:
            self.join(names[0], names[1])
        if rng.random() < 0.2:
            self.spring("world", names[-1])
            self.forces[-1].pop("implicit", None)
            if lies:  # along the floor
                self.forces[-1]["at_a"][2] = self.place[names[-1]][2]
                self.forces[-1].pop("at_b", None)
        return names

    def add_supports(self, names):
        rng = self.rng
        for name in names:
            if rng.random() < 0.85:
                body = next(b for b in self.bodies if b["name"] == name)
                support = {"mu": rounded(rng.uniform(0.05, 1))}
                if body["shapes"][0]["type"] != "particle":
                    r = self.radius[name] * 0.6
                    a = rng.uniform(0, 6)
                    support["tripod"] = rounded([[r * math.cos(a + k), r * math.sin(a + k)]
                                                 for k in (0, 2.1, 4.2)])
                    if rng.random() < 0.3:
                        support["mu"] = rounded([rng.uniform(0.05, 1) for _ in range(3)])
                if rng.random() < 0.3:
                    support["load"] = rounded(self.mass[name] * 9.81 * log_uniform(rng, 0.1, 10))
                body["support"] = support
                self.tags["support"] = "yes"

    def add_compliance(self, names):
        rng, L = self.rng, self.L
        if rng.random() < 0.12:
            return
        midpoint = rng.random() < 0.3
        if midpoint:
            self.tags["midpoint"] = "yes"
        soft = names if midpoint else [n for n in names if rng.random() < 0.7]
        for name in soft:
            body = next(b for b in self.bodies if b["name"] == name)
            m = self.mass[name]
            sink = log_uniform(rng, 0.005, 0.1) * L
            k = m * max(9.81, 0.2 * self.speed ** 2 / L) / sink
            layer = {"stiffness": rounded(k)}
            if rng.random() < 0.6:
                layer["damping"] = rounded(math.sqrt(k * m) * log_uniform(rng, 0.01, 2))
            if rng.random() < 0.7 and body["shapes"][0]["type"] != "particle":
                layer["max_deflection"] = rounded(self.radius[name] * rng.uniform(0.05, 0.2))
            body["compliance"] = layer
            self.tags["compliance"] = "yes"

    # -- the whole

    def scene(self):
        rng, d = self.rng, self.dim
        self.steps = int(log_uniform(rng, 10, 200))
        self.family = pick(rng, (("edgy", 45), ("smooth", 20), ("both", 35)))
        count = pick(rng, ((1, 8), (2, 22), (3, 20), (4, 16), (5, 11), (6, 8), (8, 8), (11, 4),
                           (15, 2), (18, 1)))
        steep = self.difficulty > 0.3
        if self.template == "push":
            names = self.push(min(count, 5))
        elif self.template == "above":
            self.g = 0.0
            names = self.scattered(min(count, 8))
            self.add_supports(names)
            if rng.random() < 0.5:
                self.mover([0.0, -2.6 * self.L])
        else:
            self.ground()
            if self.template == "stack":
                if self.tags["ground"] == "none" and self.g:
                    self.g = 0.0
                names = self.stack(min(count, 6))
            elif self.template == "linkage":
                names = self.linkage(min(max(count, 1), 8))
                # Nothing of it begins below the floor.
                low = min(self.place[n][-1] - self.radius[n] for n in names)
                ground = next((b for b in self.bodies if b["name"] == "ground"), None)
                if ground is not None and low < 0.1 * self.L:
                    self.bodies.remove(ground)
                    self.tags.update(ground="none")
                    self.tags.pop("belt", None)
                    if self.tags.get("kinematic") == "floor":
                        self.tags.pop("kinematic")
            else:
                names = self.scattered(count + (self.template == "mixed"))
                if self.template == "mixed":
                    if len(names) > 1:
                        for _ in range(rng.choice([0, 1, 1, 2])):
                            a, b = rng.sample(names, 2)
                            if math.dist(self.place[a], self.place[b]) < 5 * self.L:
                                self.join(a, b)
                    if rng.random() < 0.4:
                        top = max(p[-1] for p in self.place.values())
                        self.mover([0.0] * (d - 1) + [top + 2.6 * self.L])
        if self.stepper == "compliant":
            self.add_compliance(names)
            if self.tags.get("midpoint"):
                self.joints, self.controllers = [], []
                self.forces = [f for f in self.forces if f["type"] != "spring"]
                for body in self.bodies:
                    body.pop("support", None)
                for tag in ("joints", "joint_types", "motor", "controller", "limits",
                            "joint_friction", "spring", "support"):
                    self.tags.pop(tag, None)
        if self.stepper != "quasistatic":
            self.add_forces(names)

        scene = {"dimension": d, "step": rounded(self.h), "record": {"every": 1}}
        g = [0.0] * d
        if self.g:
            # Without inertia nothing may slide or roll off: forces that friction cannot hold have no answer.
            g = rounded(self.vec(self.g)) if rng.random() < 0.07 and \
                self.template not in ("stack", "push") \
                else [0.0] * (d - 1) + [-self.g]
        scene["gravity"] = g
        self.settings(scene, steep)
        scene["bodies"] = self.bodies
        for key, value in (("joints", self.joints), ("forces", self.forces),
                           ("controllers", self.controllers)):
            if value:
                scene[key] = value
        return scene

    def settings(self, scene, steep):
        rng, d = self.rng, self.dim
        stepper = self.stepper
        scene["stepper"] = stepper
        if self.tags.get("midpoint"):
            scene["stepper"] = {"type": stepper, "midpoint": True}
        # Contact model.
        contact = pick(rng, CONTACTS)
        stray = rng.random() < 0.03  # now and then what is refused
        if not stray:
            if contact == "disjunctive" and d == 3:
                contact = "lnc"
            if stepper == "compliant" and self.tags.get("compliance"):
                contact = "standard"
            if stepper == "geometric-implicit" and contact == "corrective":
                contact = "standard"
            if stepper == "anitescu-potra" and contact in ("peg", "lnc", "disjunctive"):
                contact = rng.choice(["standard", "auto", "corrective"])
        if stepper == "quasistatic" and contact == "corrective" and self.g:
            contact = "standard"  # it holds nothing that does not overlap, and nothing falls here
        scene["contact"] = contact
        if contact in ("peg", "lnc") and rng.random() < 0.1:
            scene["contact"] = {"type": contact, "single_primary": True}
        # Friction.
        cone = pick(rng, (("quadratic", 45), ("polygon", 25), ("ellipsoid", 15), ("none", 15)))
        if cone == "ellipsoid" and (self.tags.get("support") or stepper == "compliant"):
            cone = "quadratic"
        friction = {"cone": cone, "default": rounded(rng.choice([0, 0.1, 0.3, 0.5, 0.8, 1.5]))}
        if self.lies:  # see push()
            friction["default"] = min(friction["default"], 0.3)
        if cone == "polygon":
            friction["directions"] = rng.choice([3, 4, 5, 6, 8, 12])
        if cone == "ellipsoid":
            friction["e_r"] = rounded(self.L * log_uniform(rng, 1e-3, 0.5))
            if rng.random() < 0.4:
                friction.update(e_t=rounded(rng.uniform(0.3, 1.5)), e_o=rounded(rng.uniform(0.3, 1.5)))
        dynamic = [b["name"] for b in self.bodies if b.get("type", "dynamic") == "dynamic"]
        if rng.random() < 0.1 and len(self.bodies) > 1:
            a, b = rng.sample([x["name"] for x in self.bodies], 2)
            friction["pairs"] = [{"a": a, "b": b,
                                  "mu": rounded(rng.uniform(0, 0.3 if self.lies else 1))}]
        scene["friction"] = friction
        self.tags["cone"] = cone
        # Restitution, correction, adaptive steps.
        bounces = (stepper in ("stewart-trinkle", "anitescu-potra") and rng.random() < 0.35) or \
            (stray and rng.random() < 0.3)
        self.tags["restitution"] = "none"
        if bounces:
            law = rng.choice(["newton", "poisson"])
            e = rounded(rng.choice([0.1, 0.5, 0.9, 1.0, rng.random()]))
            scene["restitution"] = {"law": law, "e": e}
            self.tags["restitution"] = law
            if rng.random() < 0.2:
                rng.choice(self.bodies)["restitution"] = rounded(rng.random())
        corrected = bool(self.joints) and rng.random() < 0.35 and \
            (stray or stepper in ("stewart-trinkle", "anitescu-potra", "compliant"))
        adaptive = stepper == "stewart-trinkle" and rng.random() < 0.15 and \
            (stray or contact in ("standard", "auto", "peg")) \
            and not (corrected and not stray)
        if corrected:
            scene["joint_correction"] = True
        self.tags["joint_correction"] = "yes" if corrected else "no"
        self.tags["adaptive"] = "yes" if adaptive else "no"
        part = 0.0 if rng.random() < 0.4 else rng.choice([rng.random(), 1e-7, 0.01, 0.999])
        scene["duration"] = float(f"{(self.steps + part) * self.h:.15g}")
        self.tags["divides"] = "yes" if part == 0.0 else "no"
        if adaptive:
            scene["duration"] = float(f"{self.h * min(self.steps, 40):.15g}")
            scene["step"] = {"error": rounded(log_uniform(rng, 1e-6, 1e-3)),
                             "initial": rounded(self.h * 0.5), "max": rounded(self.h * 5)}
        if rng.random() < 0.04:
            scene["rotation"] = "linear"
            self.tags["rotation"] = "linear"
        if rng.random() < 0.04:
            scene["margin"] = rounded(self.L * rng.choice([0.01, 0.1, 1]))
        if rng.random() < 0.04 and len(dynamic) > 1:
            a, b = rng.sample(dynamic, 2)
            next(x for x in self.bodies if x["name"] == a)["ignores"] = [b]
        self.tags.update(stepper=stepper, contact=contact, dimension=str(d), template=self.template)


def add_fast(scene, tags, rng):
    """In some scenes: bodies that turn by 2 to 5 radians a step; with adaptive steps, a body shot at a plate.

    With numbers of its own, so that the other scenes stay what they are."""
    step, d = scene["step"], scene["dimension"]
    dynamic = [b for b in scene["bodies"] if b.get("type", "dynamic") == "dynamic"]
    joined = {j[k] for j in scene.get("joints", []) for k in ("a", "b")}
    if d == 3 and tags["adaptive"] == "no" and tags["template"] in ("toss", "mixed") and step >= 0.025 and \
            rng.random() < 0.15:
        for body in dynamic:
            if body["name"] not in joined and "angular_velocity" in body:
                w = min(100.0, rng.uniform(2, 5) / step)
                body["angular_velocity"] = rounded([w * x for x in unit(rng, 3)])
                tags["fast"] = "spin"
    ground = next((b for b in scene["bodies"] if b["name"] == "ground" and b["type"] == "static"), None)
    if ground and tags["adaptive"] == "yes" and tags["template"] != "linkage" and \
            tags["ground"] in ("plane", "plate") and rng.random() < 0.5:
        if tags["ground"] == "plane":
            wide = 4 * max(abs(x) for b in dynamic for x in b["position"])
            t = wide * log_uniform(rng, 0.001, 0.05)
            ground["shapes"] = [{"type": "box", "size": rounded([wide] * (d - 1) + [t])}]
            ground["position"] = rounded([0.0] * (d - 1) + [-t / 2])
            tags["ground"] = "plate"
        size = ground["shapes"][0]["size"]
        body = rng.choice(dynamic)
        if body["name"] not in joined:
            v = min(50.0, rng.uniform(0.2, 1) * (size[-1] + 0.15 * size[0]) / (0.2 * step["max"]))
            body["velocity"] = [0.0] * (d - 1) + [rounded(-v)]
            tags["fast"] = "shot"


def make_roll(scene, tags, rng):
    """One smooth body that rolls, spins or slides on a plane."""
    ground = next((b for b in scene["bodies"] if b["name"] == "ground"), None)
    dynamic = [b for b in scene["bodies"] if b.get("type", "dynamic") == "dynamic"]
    if scene["dimension"] == 2 or ground is None or tags.get("ground") != "plane" or tags["template"] != "toss":
        return False
    body = dynamic[0]
    size = max(abs(x) for x in body["position"]) * rng.uniform(0.1, 0.5)
    radii = [size * rng.uniform(0.3, 1) for _ in range(3)]
    kind = rng.choice(["ellipsoid", "ellipsoid", "sphere", "cylinder", "capsule"])
    shape = {"ellipsoid": {"radii": radii}, "sphere": {"radius": radii[0]}}.get(
        kind, {"radius": radii[0], "length": radii[1] * rng.choice([0.1, 1, 2])})
    body["shapes"] = [{"type": kind, **{k: rounded(v) for k, v in shape.items()}}]
    for key in ("inertia", "gravity", "ignores", "collides_with", "compliance", "support", "restitution"):
        body.pop(key, None)
    reach = max(radii) if kind == "ellipsoid" else radii[0] + shape.get("length", 0.0)
    body["position"] = rounded([0.0, 0.0, reach * rng.uniform(1, 1.2)])
    h = scene["step"] if not isinstance(scene["step"], dict) else scene["step"]["max"]
    turn = log_uniform(rng, 0.001, 0.5)
    body["angular_velocity"] = rounded([min(100.0, turn / h) * x for x in unit(rng, 3)])
    body["velocity"] = rounded([min(50.0, turn / h * reach) * rng.random() * x for x in unit(rng, 3)])
    scene["bodies"] = [ground, body]
    for key in ("joints", "forces", "controllers"):
        scene.pop(key, None)
    scene["friction"].pop("pairs", None)
    for tag in ("joints", "joint_types", "motor", "controller", "limits", "joint_friction", "spring", "support",
                "compliance", "wrench", "drag"):
        tags.pop(tag, None)
    tags["bodies"] = "1"
    if rng.random() < 0.4:
        scene["contact_direction"] = "start" if rng.random() < 0.9 else "middle"
    return True


def add_gear(scene, rng):
    """Between two hinges or sliders that no gear has yet."""
    joints = scene["joints"]
    free = [j for j in joints if j["type"] in ("revolute", "prismatic")]
    if len(free) < 2 or scene["stepper"] == "quasistatic":
        return False
    first, second = rng.sample(free, 2)
    lengths = [max(abs(x) for x in j["at"]) if j["type"] == "prismatic" else 1.0 for j in (first, second)]
    ratio = rng.choice([-1, 1]) * log_uniform(rng, 0.2, 5) * lengths[1] / lengths[0]
    joints.append({"name": "gear", "type": "gear", "joints": [first["name"], second["name"]], "ratio": rounded(ratio)})
    return True


def add_mixes(scene, tags, rng):
    """In some scenes: settings and joints that the others do not have. With numbers of its own, as add_fast."""
    if rng.random() > 0.15:
        return
    joints, mover = scene.get("joints", []), next((b for b in scene["bodies"] if b["name"] == "mover"), None)
    if rng.random() < 0.25 and make_roll(scene, tags, rng):
        tags["mix"] = "roll"
        return
    if joints and rng.random() < 0.5:
        # what does not go with the middle is refused: seldom here
        plain = scene["stepper"] == "stewart-trinkle" and tags["adaptive"] == "no" and \
            not any(t in tags for t in ("spring", "controller", "support"))
        scene["joint_direction"] = "middle" if plain or rng.random() < 0.05 else "start"
        tags["mix"] = "direction"
    if joints and rng.random() < 0.4 and add_gear(scene, rng):
        tags["mix"] = "gear"
    for joint in joints:
        if "motor" in joint and rng.random() < 0.5:
            size = max(abs(x) for x in joint["at"]) if joint["type"] == "prismatic" else 1.0
            joint["velocity_limit"] = rounded(size * log_uniform(rng, 0.01, 10))
            tags["mix"] = "velocity_limit"
    dynamic = [b for b in scene["bodies"] if b.get("type", "dynamic") == "dynamic" and
               b["shapes"][0]["type"] != "particle"]
    if mover is not None and dynamic and not tags.get("midpoint") and rng.random() < 0.5:
        body = min(dynamic, key=lambda b: math.dist(b["position"], mover["position"]))
        at = [(x + y) / 2 for x, y in zip(body["position"], mover["position"])]
        joint = {"name": "held", "type": rng.choice(["revolute", "rope"]), "a": "mover", "b": body["name"]}
        if joint["type"] == "revolute":
            joint["at"] = rounded(at)
            if scene["dimension"] == 3:
                joint["axis"] = rounded(unit(rng, 3))
        scene.setdefault("joints", []).append(joint)
        tags["joints"], tags["mix"] = "yes", "held"
    if rng.random() < 0.3:
        scene["tolerance"] = 1e-10


def make(number):
    """(scene, tags, extras) of scene `number`."""
    maker = Maker(number)
    scene = maker.scene()
    scene = {"name": f"torture-{number}", **scene}
    tags = {k: ("+".join(sorted(v)) if isinstance(v, set) else v) for k, v in maker.tags.items()}
    tags["bodies"] = "1" if len(maker.mass) == 1 else "2..4" if len(maker.mass) <= 4 else "5..20"
    last = random.Random(number * 2654435761 % 2 ** 32)
    extras = {"resume": last.random() < 0.3, "verify": last.random() < 0.25}
    tags["resume"] = "yes" if extras["resume"] else "no"
    add_fast(scene, tags, random.Random(number + 0.5))
    if number >= FIRST_MIXED:
        add_mixes(scene, tags, random.Random(number + 0.25))
    return scene, tags, extras
