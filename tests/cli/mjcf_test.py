"""MJCF models: mass matrix, centre of mass and gravity efforts against an independent reader of the file; laws;
what is refused names file and line."""
import glob
import json
import math
import os
import sys
import xml.etree.ElementTree as ET

from _cli import main, perp, test

try:
    import numpy as np
except ImportError:
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- a reader of its own --------------------------------------------------------------------------------
def quat_matrix(q):
    w, x, y, z = np.array(q, float) / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def axis_matrix(axis, angle):
    k = np.array(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def z_matrix(v):
    v = np.array(v, float) / np.linalg.norm(v)
    axis = np.cross([0, 0, 1], v)
    s = np.linalg.norm(axis)
    return axis_matrix(axis, math.atan2(s, v[2])) if s > 1e-12 else np.diag([1, v[2], v[2]])


class Reader:
    def __init__(self, path):
        self.root = ET.parse(path).getroot()
        compiler = self.root.find("compiler")
        compiler = {} if compiler is None else compiler.attrib
        self.unit = 1.0 if compiler.get("angle") == "radian" else math.pi / 180
        self.sequence = compiler.get("eulerseq", "xyz")
        option = self.root.find("option")
        g = option.get("gravity", "0 0 -9.81") if option is not None else "0 0 -9.81"
        self.gravity = np.array(g.split(), float)
        self.classes = {"main": ({}, None)}
        for d in self.root.findall("default"):
            self.read_class(d, None)
        self.bodies, self.dofs = [], []
        for w in self.root.findall("worldbody"):
            self.walk(w, -1, np.eye(3), np.zeros(3), None)

    def read_class(self, node, parent):
        name = node.get("class", "main")
        table = {c.tag: dict(c.attrib) for c in node if c.tag != "default"}
        self.classes[name] = (table, parent)
        for c in node.findall("default"):
            self.read_class(c, name)

    def get(self, node, key, default=None, childclass=None):
        if key in node.attrib:
            return node.get(key)
        level = node.get("class", childclass or "main")
        while level is not None:
            table, up = self.classes[level]
            if key in table.get(node.tag, {}):
                return table[node.tag][key]
            level = up
        return default

    def rotation(self, node, cc):
        def numbers(key):
            text = self.get(node, key, None, cc)
            return None if text is None else [float(x) for x in text.split()]
        if (q := numbers("quat")) is not None:
            return quat_matrix(q)
        if (a := numbers("axisangle")) is not None:
            return axis_matrix(a[:3], a[3] * self.unit)
        if (e := numbers("euler")) is not None:
            R = np.eye(3)
            for c, angle in zip(self.sequence, e):
                T = axis_matrix(np.eye(3)["xyz".index(c.lower())], angle * self.unit)
                R = R @ T if c.islower() else T @ R
            return R
        if (a := numbers("xyaxes")) is not None:
            x = np.array(a[:3]) / np.linalg.norm(a[:3])
            y = np.array(a[3:]) - x * np.dot(x, a[3:])
            y /= np.linalg.norm(y)
            return np.column_stack([x, y, np.cross(x, y)])
        if (z := numbers("zaxis")) is not None:
            return z_matrix(z)
        return np.eye(3)

    def vector(self, node, key, default, cc=None):
        return np.array([float(x) for x in self.get(node, key, default, cc).split()])

    def geom_mass(self, g, cc):
        """mass, centre and inertia about the centre, in the body's frame."""
        kind = self.get(g, "type", "sphere", cc)
        size = self.vector(g, "size", "0", cc)
        R, x = self.rotation(g, cc), self.vector(g, "pos", "0 0 0", cc)
        ends = self.get(g, "fromto", None, cc)
        if ends is not None:
            e = np.array(ends.split(), float)
            x, along = (e[:3] + e[3:]) / 2, e[:3] - e[3:]
            R = z_matrix(along)
            half = np.linalg.norm(along) / 2
            size = np.append(size[:1], half) if kind in ("capsule", "cylinder") else np.append([size[0]] * 2, half)
        if kind == "sphere":
            V, I = 4 / 3 * math.pi * size[0] ** 3, np.full(3, 0.4 * size[0] ** 2)
        elif kind == "box":
            V, s = 8 * np.prod(size), size ** 2
            I = np.array([s[1] + s[2], s[0] + s[2], s[0] + s[1]]) / 3
        elif kind == "ellipsoid":
            V, s = 4 / 3 * math.pi * np.prod(size), size ** 2
            I = np.array([s[1] + s[2], s[0] + s[2], s[0] + s[1]]) / 5
        elif kind == "cylinder":
            r, h = size[:2]
            V, I = 2 * math.pi * r * r * h, np.array([r * r / 4 + h * h / 3] * 2 + [r * r / 2])
        elif kind == "capsule":
            r, h = size[:2]
            c, s = 2 * math.pi * r * r * h, 4 / 3 * math.pi * r ** 3
            V = c + s
            xx = c * (r * r / 4 + h * h / 3) + s * (0.4 * r * r + h * h + 0.75 * h * r)
            I = np.array([xx, xx, c * r * r / 2 + s * 0.4 * r * r]) / V
        else:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        m = self.get(g, "mass", None, cc)
        m = float(m) if m is not None else V * float(self.get(g, "density", "1000", cc))
        return m, x, m * R @ np.diag(I) @ R.T

    def walk(self, node, parent, R, x, cc):
        """Elements of a body (or the world, or a frame) whose frame in the world is R, x."""
        for c in node:
            if c.tag not in ("body", "frame"):
                continue
            inner = c.get("childclass", cc)
            R1, x1 = R @ self.rotation(c, None), x + R @ self.vector(c, "pos", "0 0 0")
            if c.tag == "frame":
                self.walk(c, parent, R1, x1, inner)
                continue
            own = (0.0, np.zeros(3), np.zeros((3, 3)))
            given = c.find("inertial")
            if given is not None:
                m, Ri = float(given.get("mass")), self.rotation(given, None)
                if given.get("fullinertia"):
                    a = [float(v) for v in given.get("fullinertia").split()]
                    I = np.array([[a[0], a[3], a[4]], [a[3], a[1], a[5]], [a[4], a[5], a[2]]])
                else:
                    I = np.diag([float(v) for v in given.get("diaginertia").split()])
                own = (m, self.vector(given, "pos", "0 0 0"), Ri @ I @ Ri.T)
            else:
                for g in c.findall("geom"):
                    own = add(own, self.geom_mass(g, inner))
            index = len(self.bodies)
            chain = list(self.bodies[parent]["dofs"]) if parent >= 0 else []
            for j in c.findall("joint"):
                kind = self.get(j, "type", "hinge", inner)
                axis = R1 @ self.vector(j, "axis", "0 0 1", inner)
                chain.append(len(self.dofs))
                self.dofs.append({"name": j.get("name"), "kind": kind, "axis": axis / np.linalg.norm(axis),
                                  "at": x1 + R1 @ self.vector(j, "pos", "0 0 0", inner),
                                  "armature": float(self.get(j, "armature", "0", inner))})
            self.bodies.append({"dofs": chain, "m": own[0], "c": x1 + R1 @ own[1], "I": R1 @ own[2] @ R1.T})
            self.walk(c, index, R1, x1, inner)

    def dynamics(self):
        n = len(self.dofs)
        M, g, m, c = np.zeros((n, n)), np.zeros(n), 0.0, np.zeros(3)
        for b in self.bodies:
            Jv, Jw = np.zeros((3, n)), np.zeros((3, n))
            for k in b["dofs"]:
                d = self.dofs[k]
                if d["kind"] == "slide":
                    Jv[:, k] = d["axis"]
                else:
                    Jv[:, k], Jw[:, k] = np.cross(d["axis"], b["c"] - d["at"]), d["axis"]
            M += b["m"] * Jv.T @ Jv + Jw.T @ b["I"] @ Jw
            g -= b["m"] * Jv.T @ self.gravity
            if b["dofs"]:
                m, c = m + b["m"], c + b["m"] * b["c"]
        M += np.diag([d["armature"] for d in self.dofs])
        return M, g, m, c / m


def add(a, b):
    m = a[0] + b[0]
    if m == 0:
        return a
    c = (a[0] * a[1] + b[0] * b[1]) / m
    I = a[2] + b[2]
    for part in (a, b):
        d = part[1] - c
        I = I + part[0] * (d @ d * np.eye(3) - np.outer(d, d))
    return m, c, I


def compare(path, room=1e-9):
    robot = check_json(path)["robot"]
    M, g, m, c = Reader(path).dynamics()
    names = [d["name"] for d in Reader(path).dofs]
    order = [names.index(name) for name in robot["dofs"]]
    P = np.array(robot["mass_matrix"])
    scale = np.sqrt(np.outer(np.diag(P), np.diag(P)))
    off = np.max(np.abs(P - M[np.ix_(order, order)]) / scale)
    assert off <= room, f"{path}: mass matrix off by {off:.2e}"
    off = np.max(np.abs(np.array(robot["gravity"]) - g[order])) / (np.max(np.abs(g)) + 1e-12)
    assert off <= room, f"{path}: gravity off by {off:.2e}"
    assert abs(robot["mass"] / m - 1) <= room, (robot["mass"], m)
    assert np.max(np.abs(np.array(robot["center_of_mass"]) - c)) <= room, (robot["center_of_mass"], c)


def check_json(path):
    return perp("check", path, "--json", "--keyframe", "none").json


ARM = os.path.join(HERE, "mjcf/good/arm.xml")
SHARED = os.environ.get("PERP_ROBOTS", os.path.join(HERE, "../../../shared/robots"))


def one_joint_each():
    """The arm without the second joint of its wrist."""
    with open("single.xml", "w") as f:
        f.write(open(ARM).read().replace('<joint name="x" axis="1 0 0" pos="0.05 0 0"/>', ""))
    return "single.xml"


@test
def mass_matrix_centre_and_gravity_agree_with_a_reader_of_the_file():
    compare(one_joint_each())
    compare(ARM, 1e-9)
    compare(os.path.join(HERE, "mjcf", "good", "humanoid.xml"), 1e-9)


@test
def robots_that_are_there_agree_too():
    for name in ("dynamixel_2r/dynamixel_2r.xml", "shadow_hand/right_hand.xml", "shadow_hand/left_hand.xml"):
        path = os.path.join(SHARED, "mujoco_menagerie", name)
        if os.path.exists(path):
            compare(path)


@test
def actuators_become_motors_and_controllers():
    info = check_json(one_joint_each())
    servo = [c for c in info["controllers"] if c["name"] == "servo"][0]
    assert abs(servo["kp"] - 80) < 1e-12 and abs(servo["kd"] - 8) < 1e-12, servo  # gear 2, squared
    j3 = [j for j in info["joints"] if j["name"] == "j3"][0]
    assert j3["motor"] == "effort" and j3["max_effort"] == 15, j3


@test
def a_model_runs_and_verifies_and_its_scene_gives_the_same_motion():
    single = one_joint_each()
    perp("run", single, "--out", "arm.h5", "--duration", "0.2", "--quiet")
    perp("verify", "arm.h5")
    perp("import", single, "-o", "arm.json", "--duration", "0.2")
    perp("run", "arm.json", "--out", "again.h5", "--quiet")
    assert perp("compare", "arm.h5", "again.h5", "--json", status=None).status == 0


@test
def what_is_refused_names_file_and_line():
    for bad in sorted(glob.glob(os.path.join(HERE, "mjcf/bad/*.xml"))):
        expected = open(bad).readline().split("<!-- ")[1].split(" -->")[0]
        done = perp("check", bad, status=2)
        assert expected in done.err and os.path.basename(bad) in done.err, (bad, expected, done.err)


@test
def the_gripper_closes_its_loops():
    gripper = os.path.join(SHARED, "mujoco_menagerie/robotiq_2f85/2f85.xml")
    if os.path.exists(gripper):
        done = perp("run", gripper, "--duration", "0.5", "--json").json
        assert done["joint_error"]["max"] < 1e-4, done["joint_error"]


@test
def a_collada_mesh_has_the_volume_and_the_place_that_its_nodes_give_it():
    scene = {"bodies": [{"name": "b", "density": 1000, "shapes": [
        {"type": "mesh", "file": os.path.join(HERE, "mjcf/box.dae")}]}]}
    with open("dae.json", "w") as f:
        json.dump(scene, f)
    body = perp("check", "dae.json", "--json").json["bodies"][0]
    # 2 x 4 x 6 cm, stretched by 2 along z, moved by 5, turned and moved by 10; then y becomes z, z becomes -y
    assert abs(body["mass"] - 1000 * 0.02 * 0.04 * 0.12) < 1e-12, body["mass"]
    centre = np.array([10 - 2, 1, 2 * (3 + 5)]) * 0.01
    expected = [centre[0], -centre[2], centre[1]]
    assert np.max(np.abs(np.array(body["position"]) - expected)) < 1e-12, (body["position"], expected)


@test
def a_collada_mesh_that_is_wrong_is_refused_with_its_line():
    good = open(os.path.join(HERE, "mjcf/box.dae")).read()
    for old, new, says in (("<p>0 4 7", "<p>0 4 9", "line 23: there is no such vertex"),
                           ("2 4 6  0 4 6", "2 4 x  0 4 6", "line 10: must be a number"),
                           ("#box", "#nothing", "there is nothing with this id"),
                           ("<vcount>4 4 4 4", "<vcount>4 4 4 9", "fewer corners"),
                           ("</COLLADA>", "", "this is not XML")):
        assert old in good
        with open("bad.dae", "w") as f:
            f.write(good.replace(old, new))
        with open("dae.json", "w") as f:
            json.dump({"bodies": [{"name": "b", "density": 1, "shapes": [{"type": "mesh", "file": "bad.dae"}]}]}, f)
        done = perp("check", "dae.json", status=2)
        assert says in done.err, (says, done.err)


BALL = '<mujoco><worldbody><body name="a">%s<geom size=".1" mass="1"/></body></worldbody>%s</mujoco>'


@test
def a_free_joint_is_alone_whatever_the_order():
    for joints in ('<joint type="free"/><joint type="hinge"/>', '<joint type="hinge"/><joint type="free"/>',
                   '<freejoint/><joint type="ball"/>', '<freejoint/><freejoint/>'):
        with open("free.xml", "w") as f:
            f.write(BALL % (joints, ""))
        assert "a free joint must be the only joint" in perp("check", "free.xml", status=2).err, joints


@test
def a_keyframe_with_a_quaternion_of_zeros_is_named():
    for joint, qpos in (("<freejoint/>", "0 0 1 0 0 0 0"), ('<joint type="ball"/>', "0 0 0 0")):
        with open("key.xml", "w") as f:
            f.write(BALL % (joint, '<keyframe><key name="home" qpos="%s"/></keyframe>' % qpos))
        assert "keyframe 'home'" in perp("check", "key.xml").err
        assert "the quaternion of a joint must not be zero" in perp("check", "key.xml", "--keyframe", "home", status=2).err


@test
def a_model_may_be_in_utf_16():
    for code in ("utf-16-le", "utf-16-be"):
        with open("wide.xml", "wb") as f:
            f.write(("\ufeff<!-- \u00e4\u4e2d -->" + BALL % ("<freejoint/>", "")).encode(code))
        assert perp("check", "wide.xml", "--json").json["status"] == "ok", code


def l_prism():
    """An L of unit thickness, (0,0) to (3,1) and (0,1) to (1,3), as triangles; closed, seen from outside."""
    P = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]
    T = []
    for a, b, c in ((0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)):
        T += [[(*P[a], 0), (*P[c], 0), (*P[b], 0)], [(*P[a], 1), (*P[b], 1), (*P[c], 1)]]
    for p, q in zip(P, P[1:] + P[:1]):
        T += [[(*p, 0), (*q, 0), (*q, 1)], [(*p, 0), (*q, 1), (*p, 1)]]
    return np.array(T, float)


def body_of(geom, asset=""):
    """mass, centre, inertia about it of a free body with this geom."""
    with open("one.xml", "w") as f:
        f.write('<mujoco><asset>%s</asset><worldbody><body name="b"><freejoint/>%s</body></worldbody></mujoco>'
                % (asset, geom))
    perp("import", "one.xml", "-o", "one.json")
    body = json.load(open("one.json"))["bodies"][0]
    return body["mass"], np.array(body.get("position", [0, 0, 0])), np.array(body["inertia"])


def same_mass(found, expected, room=1e-9):
    for a, b in zip(found, expected):
        assert np.max(np.abs(np.array(a) - b)) <= room * (1 + np.max(np.abs(b))), (found, expected)


def box(low, high):
    """A solid box between two corners at unit density; zero thickness: a plate."""
    d, c = np.subtract(high, low), np.add(high, low) / 2
    m = float(np.prod([x for x in d if x > 0]))
    return m, c, m / 12 * np.diag([d[1] ** 2 + d[2] ** 2, d[0] ** 2 + d[2] ** 2, d[0] ** 2 + d[1] ** 2])


def total(parts):
    all_of = (0.0, np.zeros(3), np.zeros((3, 3)))
    for p in parts:
        all_of = add(all_of, p)
    return all_of


@test
def the_mass_of_a_mesh_follows_its_rule():
    T = l_prism()
    points = " ".join("%r" % float(v) for v in T.ravel())
    faces = " ".join(str(i) for i in range(3 * len(T)))

    def mesh(rule):
        return body_of('<geom type="mesh" mesh="l" density="1"/>',
                       '<mesh name="l" vertex="%s" face="%s" %s/>' % (points, faces, rule))
    same_mass(mesh('inertia="exact"'), total([box((0, 0, 0), (3, 1, 1)), box((0, 1, 0), (1, 3, 1))]))
    # the hull: a square of 3 less the triangle (3,1) (3,3) (1,3) of centroid (7/3, 7/3)
    m, c = -2.0, np.array([7 / 3, 7 / 3, 0.5])
    S = np.array([[2 ** 2 / 18, -2 ** 2 / 36, 0], [-2 ** 2 / 36, 2 ** 2 / 18, 0], [0, 0, 1 / 12]])
    same_mass(mesh('inertia="convex"'),
              add(box((0, 0, 0), (3, 3, 1)), (m, c, m * (np.trace(S) * np.eye(3) - S))))
    plates = [box((0, 0, z), (3, 1, z)) for z in (0, 1)] + [box((0, 1, z), (1, 3, z)) for z in (0, 1)]
    plates += [box((*p, 0), (*q, 1)) for p, q in (((0, 0), (3, 0)), ((3, 0), (3, 1)), ((1, 1), (3, 1)),
                                                 ((1, 1), (1, 3)), ((0, 3), (1, 3)), ((0, 0), (0, 3)))]
    same_mass(mesh('inertia="shell"'), total(plates))
    # legacy, by the published description: tetrahedra that count as positive, from the centre of the surface
    # to find the centre of mass, then from that
    def tetrahedra(o):
        D = T - o
        v = np.abs(np.einsum("ij,ij->i", D[:, 0], np.cross(D[:, 1], D[:, 2]))) / 6
        S = sum(w / 20 * (np.outer(d.sum(0), d.sum(0)) + d.T @ d) for w, d in zip(v, D))
        return v.sum(), o + (v[:, None] * D.sum(1) / 4).sum(0) / v.sum(), np.trace(S) * np.eye(3) - S
    c = tetrahedra(total(plates)[1])[1]
    m, _, I = tetrahedra(c)
    assert m > 5.3  # the solid has 5
    for rule in ("", 'inertia="legacy"'):
        same_mass(mesh(rule), (m, c, I))


@test
def a_shell_has_the_mass_of_its_surface():
    reader = Reader(ARM)

    def solid(kind, size):
        geom = ET.fromstring('<geom type="%s" size="%s" density="1"/>' % (kind, " ".join(map(repr, size))))
        m, _, I = reader.geom_mass(geom, None)
        return np.append(m, np.diag(I))
    for kind, size, grows in (("sphere", [0.3], [1]), ("box", [0.1, 0.2, 0.4], [1, 1, 1]),
                              ("cylinder", [0.2, 0.5], [1, 1]), ("capsule", [0.2, 0.5], [1, 0])):
        m, _, I = body_of('<geom type="%s" size="%s" density="1" shellinertia="true"/>'
                          % (kind, " ".join(map(repr, size))))
        e = 1e-5  # the layer between two solids, each face moved by e outward and inward
        more, less = ([x + s * e * g for x, g in zip(size, grows)] for s in (1, -1))
        expected = (solid(kind, more) - solid(kind, less)) / (2 * e)
        assert np.max(np.abs(np.append(m, np.diag(I)) / expected - 1)) < 1e-7, (kind, m, I, expected)
    with open("one.xml", "w") as f:
        f.write(BALL.replace('size=".1"', 'type="ellipsoid" size=".1 .2 .3" shellinertia="true"') % ("<freejoint/>", ""))
    assert "line 1: <geom> shellinertia: not for an ellipsoid" in perp("check", "one.xml", status=2).err


main("mjcf")
