"""Convex shapes for the checker: certain lower bounds of how deep two bodies overlap.

Each shape gives sample points with a radius (a ball of that radius around the point lies inside the
shape) and a depth function. `depth(x)` never exceeds the true depth of x (positive inside, minus the
distance outside), so radius + depth never exceeds the true depth of the overlap: what is reported is
there, while some overlaps may be missed. Nothing here is taken from perp.
"""
import itertools
import math

import numpy as np


def rotation(q):
    """Matrices of quaternions (w, x, y, z), shape (..., 4) -> (..., 3, 3)."""
    w, x, y, z = np.moveaxis(np.asarray(q, float), -1, 0)
    return np.stack([
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)], -2)


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


def from_axis_angle(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])


def directions(dim, n=26):
    if dim == 2:
        a = 2 * np.pi * np.arange(16) / 16
        return np.stack([np.cos(a), np.sin(a)], 1)
    d = np.array([v for v in itertools.product((-1, 0, 1), repeat=3) if any(v)], float)
    return d / np.linalg.norm(d, axis=1)[:, None]


def hull_planes(points):
    """Outward planes (n, c), n . x <= c, of the hull of a few points in space."""
    p = np.asarray(points, float)
    scale = np.abs(p).max()
    index = np.array(list(itertools.combinations(range(len(p)), 3)))
    n = np.cross(p[index[:, 1]] - p[index[:, 0]], p[index[:, 2]] - p[index[:, 0]])
    length = np.linalg.norm(n, axis=1)
    keep = length > 1e-9 * scale ** 2
    n, index = n[keep] / length[keep, None], index[keep]
    c = np.einsum("ij,ij->i", n, p[index[:, 0]])
    side = n @ p.T - c[:, None]
    below = (side <= 1e-9 * scale).all(1)
    above = (side >= -1e-9 * scale).all(1)
    planes = np.concatenate([np.c_[n, c][below], -np.c_[n, c][above]])
    return np.unique(np.round(planes / [1, 1, 1, scale], 12), axis=0) * [1, 1, 1, scale]


class Primitive:
    """points: k x d, radii: k, depth(x): (..., d) -> (...), inradius, all in the frame of the shape."""

    def __init__(self, points, radii, depth, inradius, bound, plate=None):
        self.points, self.radii = np.asarray(points, float), np.asarray(radii, float)
        self.depth, self.inradius, self.bound = depth, inradius, bound
        self.plate = plate  # half sizes of a box
        self.outline = None  # of a convex polygon: vertices counterclockwise
        self.R, self.p = None, None


def depth_box(half):
    half = np.asarray(half, float)

    def depth(x):
        out = np.abs(x) - half
        inside = -out.max(-1)
        return np.where(inside > 0, inside, -np.linalg.norm(np.maximum(out, 0), axis=-1))
    return depth


def depth_planes(planes, vertices):
    n, c = planes[:, :-1], planes[:, -1]

    def depth(x):
        inside = (c - x @ n.T).min(-1)
        far = np.linalg.norm(x[..., None, :] - vertices, axis=-1).min(-1)
        return np.where(inside > 0, inside, -far)
    return depth


def depth_gauge(gauge, inradius):
    """A convex set with its gauge f (f < 1 inside): a point has a ball of (1 - f) inradius around it."""
    def depth(x):
        f = gauge(x)
        return np.where(f < 1, (1 - f) * inradius,
                        -np.linalg.norm(x, axis=-1) * (1 - 1 / np.maximum(f, 1)))
    return depth


def ball(dim, r):
    return Primitive(np.zeros((1, dim)), [r], lambda x: r - np.linalg.norm(x, axis=-1), r, r)


def box(half):
    dim = len(half)
    corners = np.array(list(itertools.product((-1, 1), repeat=dim)), float) * half
    faces = np.concatenate([np.diag(half), -np.diag(half)])
    points = np.concatenate([np.zeros((1, dim)), corners, faces])
    radii = np.zeros(len(points))
    radii[0] = min(half)
    made = Primitive(points, radii, depth_box(half), min(half), float(np.linalg.norm(half)),
                     np.asarray(half, float))
    if dim == 2:
        made.outline = corners[[0, 2, 3, 1]]
    return made


def capsule(r, length):
    z = np.linspace(-length / 2, length / 2, 5)
    points = np.stack([0 * z, 0 * z, z], 1)

    def depth(x):
        out = x.copy()
        out[..., 2] -= np.clip(x[..., 2], -length / 2, length / 2)
        return r - np.linalg.norm(out, axis=-1)
    return Primitive(points, np.full(5, r), depth, r, r + length / 2)


def cylinder(r, length):
    a = 2 * np.pi * np.arange(8) / 8
    rim = [np.stack([r * np.cos(a), r * np.sin(a), 0 * a + z], 1) for z in (-length / 2, length / 2)]
    inner = min(r, length / 2)
    axis = np.linspace(-(length / 2 - inner), length / 2 - inner, 3)
    core = np.stack([0 * axis, 0 * axis, axis], 1)

    def depth(x):
        radial = np.hypot(x[..., 0], x[..., 1]) - r
        axial = np.abs(x[..., 2]) - length / 2
        inside = -np.maximum(radial, axial)
        return np.where(inside > 0, inside,
                        -np.hypot(np.maximum(radial, 0), np.maximum(axial, 0)))
    return Primitive(np.concatenate([core] + rim), [inner] * 3 + [0] * 16, depth, inner,
                     math.hypot(r, length / 2))


def gauged(dim, gauge, inradius, bound):
    d = directions(dim)
    surface = d / gauge(d)[:, None]
    return Primitive(np.concatenate([np.zeros((1, dim)), surface]),
                     [inradius] + [0] * len(surface), depth_gauge(gauge, inradius), inradius, bound)


def polygon(vertices):
    v = np.asarray(vertices, float)
    if np.sum(v[:, 0] * np.roll(v[:, 1], -1) - np.roll(v[:, 0], -1) * v[:, 1]) < 0:
        v = v[::-1]
    e = np.roll(v, -1, 0) - v
    middle = v + e / 2
    length = np.linalg.norm(e, axis=1)
    n = np.stack([e[:, 1], -e[:, 0]], 1) / length[:, None]
    bound = float(np.linalg.norm(v, axis=1).max())
    turning = e[:, 0] * np.roll(e[:, 1], -1) - e[:, 1] * np.roll(e[:, 0], -1)
    if (turning > 0).all():
        planes = np.c_[n, np.einsum("ij,ij->i", n, v)]
        centre = v.mean(0)
        r = float((planes[:, 2] - n @ centre).min())
        made = Primitive(np.concatenate([[centre], v, middle]), [r] + [0] * (2 * len(v)),
                         depth_planes(planes, v), r, bound)
        made.outline = v
        return made

    def depth(x):  # any outline: even-odd rule and the distance to the edges
        rel = x[..., None, :] - v
        s = np.clip((rel * e).sum(-1) / length ** 2, 0, 1)
        distance = np.linalg.norm(rel - s[..., None] * e, axis=-1).min(-1)
        y0, y1 = v[:, 1], np.roll(v[:, 1], -1)
        y = x[..., 1:2]
        crosses = (y0 > y) != (y1 > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = v[:, 0] + (y - y0) * e[:, 0] / np.where(e[:, 1] == 0, 1, e[:, 1])
        odd = (crosses & (x[..., 0:1] < at)).sum(-1) % 2 == 1
        return np.where(odd, distance, -distance)
    return Primitive(np.concatenate([v, middle]), np.zeros(2 * len(v)), depth,
                     float(length.min()) / 2, bound)


def vertex_depth(a, x):
    """The greatest depth of a vertex of the outline x (frames, vertices, 2; in the frame of the outline a) below the edge of a
    that is nearest to it, of vertices that are the first of their outline to meet that edge; -inf: there is none inside."""
    e = np.roll(a, -1, 0) - a
    n = np.stack([e[:, 1], -e[:, 0]], 1) / np.linalg.norm(e, axis=1)[:, None]
    below = np.einsum("ij,ij->i", n, a) - x @ n.T
    edge, least = below.argmin(-1), below.min(-1)
    out = n[edge]  # of the nearest edge
    first = np.ones(least.shape, bool)
    for other in (np.roll(x, 1, 1), np.roll(x, -1, 1)):  # neighbours are further out
        first &= ((other - x) * out).sum(-1) >= 0
    return np.where(first & (least > 0), least, -np.inf).max(1)


def polyhedron(vertices):
    v = np.asarray(vertices, float)
    planes = hull_planes(v)
    centre = v.mean(0)
    r = float((planes[:, 3] - planes[:, :3] @ centre).min())
    return Primitive(np.concatenate([[centre], v]), [r] + [0] * len(v),
                     depth_planes(planes, v), r, float(np.linalg.norm(v, axis=1).max()))


IN_RADIUS = {"tetrahedron": 1 / 3, "cube": 1 / math.sqrt(3), "octahedron": 1 / math.sqrt(3),
             "icosahedron": 0.7946544722917661, "dodecahedron": 0.7946544722917661}


def primitive(shape, dim):
    """The primitive of a shape of the scene, or None (half-spaces are made apart)."""
    kind = shape["type"]
    if kind == "particle":
        return Primitive(np.zeros((1, dim)), [0.0], lambda x: -np.linalg.norm(x, axis=-1), 0.0, 0.0)
    if kind in ("sphere", "circle"):
        made = ball(dim, shape["radius"])
    elif kind == "box":
        made = box(np.asarray(shape["size"], float) / 2)
    elif kind == "capsule":
        made = capsule(shape["radius"], shape["length"])
    elif kind == "cylinder":
        made = cylinder(shape["radius"], shape["length"])
    elif kind == "ellipsoid":
        a = np.asarray(shape["radii"], float)
        made = gauged(3, lambda x: np.linalg.norm(x / a, axis=-1), a.min(), a.max())
    elif kind == "superquadric":
        a, (r, t) = np.asarray(shape["radii"], float), shape["exponents"]

        def gauge(x):
            y = np.abs(x / a)
            return ((y[..., 0] ** r + y[..., 1] ** r) ** (t / r) + y[..., 2] ** t) ** (1 / t)
        # A set with exponents >= 1 holds the octahedron of its half axes.
        made = gauged(3, gauge, a.min() / math.sqrt(3), float(np.linalg.norm(a)))
    elif kind == "superellipse":
        a, n = np.asarray(shape["radii"], float), shape["exponent"]
        made = gauged(2, lambda x: (np.abs(x / a) ** n).sum(-1) ** (1 / n),
                      a.min() / math.sqrt(2), float(np.linalg.norm(a)))
    elif kind == "polygon":
        made = polygon(shape["vertices"])
    elif kind == "polyhedron" and "solid" in shape:
        solid = shape["solid"]
        if solid == "block":
            made = box(np.asarray(shape["size"], float) / 2)
        elif solid == "prism":
            made = ball(3, min(shape["radius"] * math.cos(math.pi / shape["sides"]),
                               shape["length"] / 2))
            made.bound = math.hypot(shape["radius"], shape["length"] / 2)
        else:  # how it is turned is perp's choice; the ball inside is not
            made = ball(3, shape["radius"] * IN_RADIUS[solid])
            made.bound = shape["radius"]
    elif kind == "polyhedron" or (kind == "mesh" and not shape.get("decompose")):
        made = polyhedron(shape["vertices"])
    elif kind == "mesh":
        v = np.asarray(shape["vertices"], float)
        made = Primitive(v, np.zeros(len(v)), lambda x: np.full(x.shape[:-1], -np.inf), 0.0,
                         float(np.linalg.norm(v, axis=1).max()))
    else:
        return None
    return made


def local_pose(shape, dim):
    p = np.asarray(shape.get("position", [0.0] * dim), float)
    if dim == 2:
        return turn(shape.get("angle", 0.0)), p
    if "orientation" in shape:
        q = np.asarray(shape["orientation"], float)
        return rotation(q / np.linalg.norm(q)), p
    if "axis_angle" in shape:
        return rotation(from_axis_angle(shape["axis_angle"][:3], shape["axis_angle"][3])), p
    return np.eye(3), p


def shapes_of(body, dim):
    """(primitives, half-spaces (n, c) in the body frame) that collide."""
    primitives, halfspaces = [], []
    for shape in body.get("shapes", []):
        if shape.get("visual") or shape.get("collides") is False:
            continue
        R, p = local_pose(shape, dim)
        if shape["type"] in ("plane", "halfplane"):
            n = np.asarray(shape["normal"], float)
            n = R @ (n / np.linalg.norm(n))
            halfspaces.append((n, shape.get("offset", 0.0) + n @ p))
            continue
        made = primitive(shape, dim)
        if made is not None:
            made.R, made.p = R, p
            primitives.append(made)
    return primitives, halfspaces
