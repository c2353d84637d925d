"""Small robots in the styles of public ones, URDF and MJCF: what is read, what is said, what is refused with its line."""
import json

from _cli import main, perp, test

INERTIA = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'


def two(joint, a=INERTIA, b=INERTIA, extra=""):
    return f'<robot name="r"><link name="a">{a}</link><link name="b">{b}</link>{joint}{extra}</robot>'


def joint(kind, inner):
    return f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inner}</joint>'


def world(inner, before="", after=""):
    return f"<mujoco>{before}<worldbody>{inner}</worldbody>{after}</mujoco>"


def leg(name, x, y):
    def inertial(m, i):
        return f'<inertial><mass value="{m}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'

    def hinge(what, parent, child, at, axis, lower, upper):
        return (f'<joint name="{name}_{what}" type="revolute"><parent link="{parent}"/><child link="{name}_{child}"/>'
                f'<origin xyz="{at}"/><axis xyz="{axis}"/>'
                f'<limit lower="{lower}" upper="{upper}" effort="23.7" velocity="30.1"/></joint>')
    return (f'<link name="{name}_hip">{inertial(0.5, 1e-3)}</link>'
            + hinge("haa", "trunk", "hip", f"{x} {y} 0", "1 0 0", -0.8, 0.8)
            + f'<link name="{name}_thigh">{inertial(1, 5e-3)}<collision><origin xyz="0 0 -0.1"/><geometry>'
              '<box size="0.03 0.03 0.2"/></geometry></collision></link>'
            + hinge("hfe", f"{name}_hip", "thigh", f"0 {y} 0", "0 1 0", -1, 3)
            + f'<link name="{name}_calf">{inertial(0.2, 2e-3)}<collision><origin xyz="0 0 -0.1"/><geometry>'
              '<cylinder radius="0.01" length="0.2"/></geometry></collision></link>'
            + hinge("kfe", f"{name}_thigh", "calf", "0 0 -0.2", "0 1 0", -2.7, -0.9)
            + f'<link name="{name}_foot"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>'
              f'<joint name="{name}_fixed" type="fixed"><parent link="{name}_calf"/><child link="{name}_foot"/>'
              '<origin xyz="0 0 -0.2"/></joint>')


URDF = {
    "industrial-arm": f"""<?xml version="1.0" ?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<link name="world"/><link name="base_link">{INERTIA}<visual><geometry><cylinder radius="0.1" length="0.1"/></geometry></visual></link>
<joint name="fix" type="fixed"><parent link="world"/><child link="base_link"/></joint>
<link name="base"/><joint name="b" type="fixed"><origin rpy="0 0 3.14159"/><parent link="base_link"/><child link="base"/></joint>
<link name="l1">{INERTIA}</link><joint name="j1" type="revolute"><origin xyz="0 0 0.1"/><parent link="base_link"/><child link="l1"/>
<axis xyz="0 0 1"/><limit effort="200" lower="-3.1" upper="3.1" velocity="2.6"/><safety_controller k_velocity="10"/></joint>
<link name="l2">{INERTIA}</link><joint name="j2" type="revolute"><origin xyz="0 0 0.25"/><parent link="l1"/><child link="l2"/>
<axis xyz="0 1 0"/><limit effort="150" lower="-1.7" upper="1.9" velocity="2.8"/></joint>
<link name="tool0"/><joint name="t" type="fixed"><parent link="l2"/><child link="tool0"/></joint>
<transmission name="t1"><joint name="j1"/></transmission></robot>""",
    "quadruped": '<robot name="q"><link name="base"/><joint name="floating_base" type="floating"><parent link="base"/>'
                 f'<child link="trunk"/></joint><link name="trunk">{INERTIA}</link>'
                 + "".join(leg(n, x, y) for n, x, y in (("FL", .18, .05), ("FR", .18, -.05), ("RL", -.18, .05), ("RR", -.18, -.05)))
                 + "</robot>",
    "rover": f"""<robot name="rover"><link name="base_footprint"/><link name="chassis">{INERTIA}</link>
<joint name="bf" type="fixed"><parent link="base_footprint"/><child link="chassis"/><origin xyz="0 0 .1"/></joint>
<link name="wheel">{INERTIA}<collision><origin rpy="1.5707963 0 0"/><geometry><cylinder radius=".1" length=".04"/></geometry></collision></link>
<joint name="wheel" type="continuous"><parent link="chassis"/><child link="wheel"/><origin xyz="0 .18 0"/><axis xyz="0 1 0"/></joint>
<gazebo reference="wheel"><mu1>1</mu1></gazebo></robot>""",
    "continuous-with-limit": two(joint("continuous", '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/>')),
    "infinite-limits": two(joint("revolute", '<axis xyz="0 0 1"/><limit lower="-inf" upper="INF" effort="inf" velocity="inf"/>')),
    "half-infinite": two(joint("revolute", '<axis xyz="0 0 1"/><limit lower="-1" upper="inf" effort="2" velocity="0"/>')),
    "names-with-spaces": two(joint("continuous", '<axis xyz="0 0 1"/>')).replace('"a"', '"a/b c"').replace('"j"', '"j one"'),
    "byte-order-mark": "\ufeff" + two(joint("continuous", '<axis xyz="0 0 1"/>')),
    "planar": two(joint("planar", '<axis xyz="0 0 1"/>')),
    "numbers": two(joint("revolute", '<origin xyz="  0   0\n 1.0E-1 " rpy="0 0 0"/><axis xyz="0 0 -2"/>'
                         '<limit lower="-1e0" upper="+1." effort="1000000" velocity="1000000"/>')),
}

# What a notice must say; None: nothing is said.
SAID = {
    "industrial-arm": "not read: <transmission>, <safety_controller>",
    "quadruped": "4 joints cannot be at 0",
    "rover": "not read: <gazebo>",
    "continuous-with-limit": None, "infinite-limits": None, "half-infinite": None, "names-with-spaces": None,
    "byte-order-mark": None, "planar": None, "numbers": None,
}

REFUSED_URDF = {
    "axis 0": (two(joint("continuous", '<axis xyz="0 0 0"/>')), "<axis> xyz: must not be zero"),
    "swapped": (two(joint("revolute", '<axis xyz="0 0 1"/><limit lower="1" upper="-1" effort="1" velocity="1"/>')), "lower must be <="),
    "upper -inf": (two(joint("revolute", '<axis xyz="0 0 1"/><limit lower="-1" upper="-inf" effort="1" velocity="1"/>')), "'-inf'"),
    "negative": (two(joint("revolute", '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="-1"/>')), "velocity: must be >= 0"),
    "no limit": (two(joint("revolute", '<axis xyz="0 0 1"/>')), "'continuous'"),
    "xacro": ('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="x" value="1"/></robot>', "expand it first"),
    "parameter": (two(joint("continuous", '<origin xyz="${x} 0 0"/><axis xyz="0 0 1"/>')), "this is xacro"),
    "one link": (f'<robot name="r"><link name="only">{INERTIA}</link></robot>', "--floating"),
    "no mesh": (two(joint("continuous", '<axis xyz="0 0 1"/>'), b=INERTIA + '<collision><geometry><mesh filename="package://p/m.stl"/>'
                    '</geometry></collision>'), "ROS_PACKAGE_PATH"),
}

BALL = '<body name="{0}" pos="{1} 0 1"><joint name="j{0}" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>'
MJCF = {
    "cheetah": world('<geom conaffinity="1" name="floor" size="40 40 40" type="plane"/><body name="torso" pos="0 0 .7">'
                     '<camera name="track" mode="trackcom"/><joint armature="0" axis="1 0 0" damping="0" limited="false" name="rootx"'
                     ' stiffness="0" type="slide"/><joint armature="0" axis="0 0 1" damping="0" limited="false" name="rootz" stiffness="0"'
                     ' type="slide"/><joint armature="0" axis="0 1 0" damping="0" limited="false" name="rooty" stiffness="0"/>'
                     '<geom fromto="-.5 0 0 .5 0 0" size="0.046" type="capsule"/><geom axisangle="0 1 0 .87" pos=".6 0 .1" size="0.046 .15"'
                     ' type="capsule"/><body name="bthigh" pos="-.5 0 0"><joint axis="0 1 0" damping="6" name="bthigh" range="-.52 1.05"'
                     ' stiffness="240"/><geom axisangle="0 1 0 -3.8" pos=".1 0 -.13" size="0.046 .145" type="capsule"/></body></body>',
                     '<compiler angle="radian" coordinate="local" inertiafromgeom="true" settotalmass="14"/><default><joint armature=".1"'
                     ' damping=".01" limited="true" solimplimit="0 .8 .03" stiffness="8"/><geom conaffinity="0" condim="3" contype="1"'
                     ' friction="0.8 .1 .1"/><motor ctrllimited="true" ctrlrange="-1 1"/></default><size nstack="300000"/>',
                     '<actuator><motor gear="120" joint="bthigh" name="bthigh"/></actuator>'),
    "menagerie": world('<frame pos="0 0 0.5" euler="0 0 0.3"><body name="base" childclass="robot"><inertial pos="0 0 0" mass="2"'
                       ' diaginertia="0.01 0.01 0.01"/><geom class="visual"/><body name="l1" pos="0 0 0.1" euler="0.1 0.2 0.3">'
                       '<inertial pos="0.01 0 0.05" quat="0.9 0.1 0 0" mass="1" diaginertia="0.004 0.003 0.002"/><joint name="a" class="big"'
                       ' axis="0 1 0"/><geom class="collision" size="0.03" fromto="0 0 0 0 0 0.1"/><frame pos="0 0 0.2"><body name="l2">'
                       '<inertial pos="0 0 0.05" mass="0.5" fullinertia="0.002 0.002 0.001 0.0001 0 0"/><joint name="b" axis="1 0 0"'
                       ' range="-1 1"/></body></frame></body></body></frame>',
                       '<compiler angle="radian" meshdir="assets" texturedir="tex" autolimits="true" eulerseq="zyx"/><option cone="elliptic"'
                       ' impratio="10"/><statistic extent="1"/><default><default class="robot"><joint damping="0.5" armature="0.1"'
                       ' frictionloss="0.1"/><position kp="50" dampratio="1" inheritrange="1"/><default class="visual"><geom type="box"'
                       ' size="0.02 0.02 0.02" contype="0" conaffinity="0" group="2"/></default><default class="collision"><geom'
                       ' type="capsule" group="3" mass="0"/></default><default class="big"><joint range="-2 2"/></default></default></default>',
                       '<actuator><position class="robot" joint="a"/><position class="robot" joint="b" kv="2" dampratio="0"/></actuator>'
                       '<sensor><jointpos joint="a"/></sensor><keyframe><key name="home" qpos="0.2 -0.1" ctrl="0.2 -0.1"/></keyframe>'),
    "equality": world(BALL.format("a", 0) + BALL.format("b", 1) + BALL.format("c", 2), "",
                      '<equality><joint joint1="jb" joint2="ja" polycoef="0.1 -2"/><joint joint1="jc" joint2="jb" polycoef="0 1"/></equality>'),
    "replicate": world('<replicate count="10" offset=".5 0 0" euler="0 0 90" sep="-">' + BALL.format("a", 0) + "</replicate>"),
    "six-joints": world('<body name="b" pos="0 0 1">' + "".join(f'<joint name="{n}" type="{t}" axis="{a}"/>' for n, t, a in (
        ("x", "slide", "1 0 0"), ("y", "slide", "0 1 0"), ("z", "slide", "0 0 1"), ("rx", "hinge", "1 0 0"), ("ry", "hinge", "0 1 0"),
        ("rz", "hinge", "0 0 1"))) + '<geom type="box" size=".1 .2 .3"/></body>'),
    "slides-and-ball": world('<body name="b" pos="0 0 1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
                             '<joint type="ball"/><geom type="box" size=".1 .2 .3"/></body>'),
    "inline-mesh": world('<body pos="0 0 .5"><freejoint/><geom type="mesh" mesh="tet"/></body>',
                         '<asset><mesh name="tet" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/></asset>'),
    "inertia-groups": world('<body name="b" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1" group="1"/><geom size=".05" group="3"/></body>',
                            '<compiler inertiagrouprange="3 4" balanceinertia="true" boundmass="0.01" boundinertia="0.0001"/>'),
    "two-worlds": world('<geom type="plane" size="1 1 1"/>', "", '<worldbody><body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody>'),
    "poses": world('<body pos="0 0 1" xyaxes="0 1 0 -1 0 0"><joint/><geom size=".1"/></body><body pos="1 0 1" zaxis="1 0 1"><joint/><geom'
                   ' size=".1"/></body><body pos="2 0 1" quat="2 0 0 2"><joint type="slide"/><geom size=".1"/></body><body pos="3 0 1"'
                   ' axisangle="0 0 1 90"><joint type="ball"/><geom size=".1"/></body>'),
    "sites": world('<body name="a" pos="0 0 1"><freejoint/><geom size=".1"/><site name="s1" pos=".15 0 0"/></body><body name="b" pos="0.3 0 1">'
                   '<freejoint/><geom size=".1"/><site name="s2" pos="-.15 0 0"/></body>', "", '<equality><connect site1="s1" site2="s2"/></equality>'),
}

REFUSED_MJCF = {
    "quadratic": (world(BALL.format("a", 0) + BALL.format("b", 1), "", '<equality>\n<joint joint1="jb" joint2="ja" polycoef="0 1 0.5"/></equality>'),
                  "line 2", "linear"),
    "equality beyond the range": (world(BALL.format("a", 0) + BALL.format("b", 1).replace('axis=', 'range="0 10" limited="true" axis='), "",
                                        '<equality>\n<joint joint1="jb" joint2="ja" polycoef="2 1"/></equality>'), "line 2", "do not satisfy"),
    "height field": (world('\n<geom type="hfield" hfield="h"/>', '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'), "line 2", "hfield"),
    "flexcomp": (world('<body>\n<flexcomp type="grid" count="3 3 1" spacing=".1 .1 .1" name="f"/></body>'), "line 2", "<flexcomp>"),
    "skin": (world("", "", '\n<deformable><skin name="s"/></deformable>'), "line 2", "<deformable>"),
    "composite": (world('\n<composite type="cable" count="41 1 1" size="1"/>'), "line 2", "<composite>"),
    "attach": (world('<body><freejoint/><geom size=".1"/>\n<attach model="sub" prefix="s_"/></body>'), "line 2", "<attach>"),
    "adhesion": (world('<body name="b"><freejoint/><geom size=".1"/></body>', "", '\n<actuator><adhesion body="b"/></actuator>'), "line 2", "<adhesion>"),
    "plugin": (world("", "<extension/>"), "line 1", "<extension>"),
    "replicate without count": (world('\n<replicate offset="1 0 0"><body/></replicate>'), "line 2", "count"),
    "replicate of too many": (world('<replicate count="9999"><replicate count="9999"><geom size=".1"/></replicate></replicate>'), "line 1", "in all copies"),
    "replicate misspelt": (world('\n<replicate count="2" ofset="1 0 0"><body/></replicate>'), "line 2", "offset"),
    "name of a copy": (world('<replicate count="2"><body name="a"><joint name="j"/><geom size=".1"/></body></replicate>', "",
                             '\n<actuator><motor joint="j"/></actuator>'), "line 2", "there is no joint 'j'"),
}


def write(name, text):
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    return name


def scene_of(file):
    return json.loads(perp("import", file).out)


@test
def urdf_in_public_styles_runs_and_says_what_it_should():
    for name, text in URDF.items():
        file = write(f"{name}.urdf", text)
        said = perp("check", file).err
        wanted = SAID[name]
        assert (wanted in said) if wanted is not None else "warning" not in said, (name, said)
        assert perp("run", file, "--duration", "0.05", "--json").json["status"] == "ok", name


@test
def limits_of_urdf_become_those_of_joints_and_drives():
    joints = {j["name"]: j for j in scene_of(write("arm.urdf", URDF["industrial-arm"]))["joints"]}
    assert joints["j1"]["velocity_limit"] == 2.6 and joints["j2"]["motor"]["max_effort"] == 150, joints
    assert "limits" not in scene_of(write("i.urdf", URDF["infinite-limits"]))["joints"][0]
    half = scene_of(write("h.urdf", URDF["half-infinite"]))["joints"][0]
    assert half["limits"] == [-1, None] and "velocity_limit" not in half, half
    turning = scene_of(write("c.urdf", URDF["continuous-with-limit"]))["joints"][0]
    assert "limits" not in turning and turning["velocity_limit"] == 1, turning
    locked = perp("check", write("l.urdf", two(joint("revolute", '<axis xyz="0 0 1"/><limit effort="1" velocity="1"/>'))))
    assert "joints that cannot move (lower is upper): j" in locked.err, locked.err


@test
def what_no_urdf_may_be_is_refused_with_its_line():
    for name, (text, why) in REFUSED_URDF.items():
        bad = perp("check", write("bad.urdf", text), status=2)
        assert "line 1" in bad.err and why in bad.err, (name, bad.err)


@test
def mjcf_in_public_styles_runs_and_verifies():
    for name, text in MJCF.items():
        file = write(f"{name}.xml", text)
        done = perp("run", file, "--duration", "0.1", "--out", "r.h5", "--json").json
        assert done["status"] == "ok", (name, done)
        perp("verify", "r.h5")


@test
def coupled_joints_start_where_equalities_put_them():
    file = write("e.xml", MJCF["equality"])
    assert "2 joints start where an equality puts them" in perp("check", file).err
    start = {j["name"]: j.get("start", 0) for j in scene_of(file)["joints"] if j["type"] == "revolute"}
    assert start == {"ja": 0, "jb": 0.1, "jc": 0.1}, start


@test
def copies_are_turned_and_moved_one_from_the_other():
    scene = scene_of(write("r.xml", MJCF["replicate"]))
    joints = {j["name"]: j for j in scene["joints"]}
    assert list(joints)[:3] == ["ja-00", "ja-01", "ja-02"] and len(joints) == 10, list(joints)
    corners = [(0, 0), (0.5, 0), (0.5, 0.5), (0, 0.5)]  # a square
    for i in range(10):
        at = joints[f"ja-{i:02}"]["at"]
        assert max(abs(at[k] - corners[i % 4][k]) for k in range(2)) < 1e-12, (i, at)
    assert abs(joints["ja-01"]["axis"][0] + 1) < 1e-12, joints["ja-01"]


@test
def several_joints_on_one_body_have_massless_bodies_between_them():
    scene = scene_of(write("s.xml", MJCF["six-joints"]))
    assert sum(b.get("massless", False) for b in scene["bodies"]) == 5
    assert len(perp("check", "s.xml", "--json").json["joints"]) == 6
    assert "warning" not in perp("check", "s.xml").err


@test
def what_is_not_supported_is_refused_with_its_line():
    for name, (text, line, why) in REFUSED_MJCF.items():
        bad = perp("check", write("bad.xml", text), status=2)
        assert line in bad.err and why in bad.err, (name, bad.err)


main("robot_styles")
