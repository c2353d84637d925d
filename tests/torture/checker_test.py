"""The checker of tests/torture finds each kind of error in recordings that were falsified on purpose."""
import json
import os
import shutil
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from _cli import h5py, main, perp, test  # noqa: E402

import numpy as np  # noqa: E402

import _checker  # noqa: E402
import _geometry  # noqa: E402


def record(scene, path="r.h5"):
    with open("scene.json", "w") as file:
        json.dump(scene, file)
    perp("run", "scene.json", "--out", path, "--quiet")
    assert _checker.check(path) == [], _checker.check(path)
    return path


def falsify(path, change):
    """A copy with other numbers; energies are made to fit them, so that only the motion is wrong."""
    shutil.copy(path, "false.h5")
    with h5py.File("false.h5", "r+") as f:
        change(f)
    checker = _checker.Checker("false.h5")
    _, kinetic, weight, stored = checker.energies()
    with h5py.File("false.h5", "r+") as f:
        f["energy/kinetic"][...] = kinetic.sum(1)
        f["energy/potential"][...] = weight.sum(1) + stored.sum(1)
        f["energy/total"][...] = kinetic.sum(1) + weight.sum(1) + stored.sum(1)
    return {kind for kind, _ in _checker.check("false.h5")}


def ball_on_plate(**changes):
    scene = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 0.4,
             "bodies": [
                 {"name": "plate", "type": "static", "position": [0, 0, -0.05],
                  "shapes": [{"type": "box", "size": [4, 4, 0.1]}]},
                 {"name": "ball", "mass": 1, "inertia": [0.004, 0.004, 0.004], "position": [0, 0, 0.3],
                  "velocity": [0.2, 0, 0], "shapes": [{"type": "sphere", "radius": 0.1}]}]}
    scene.update(changes)
    return scene


def pendulum(**changes):
    scene = {"dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": 0.4,
             "bodies": [{"name": "rod", "mass": 1, "inertia": 0.02, "position": [0.5, 0],
                         "shapes": [{"type": "box", "size": [0.5, 0.05]}]}],
             "joints": [{"name": "hinge", "type": "revolute", "a": "world", "b": "rod", "at": [0, 0]}]}
    scene.update(changes)
    return scene


def two_balls(**changes):
    scene = {"dimension": 2, "step": 0.01, "duration": 0.4,
             "bodies": [{"name": "a", "mass": 1, "inertia": 0.1, "position": [0, 0], "velocity": [1, 0.1],
                         "angular_velocity": 2, "shapes": [{"type": "circle", "radius": 0.3}]},
                        {"name": "b", "mass": 2, "inertia": 0.3, "position": [0.8, 0.1],
                         "shapes": [{"type": "circle", "radius": 0.3}]}],
             "friction": {"default": 0.3}}
    scene.update(changes)
    return scene


@test
def a_recorded_energy_that_the_state_does_not_have_is_found():
    path = record(ball_on_plate())
    shutil.copy(path, "false.h5")
    with h5py.File("false.h5", "r+") as f:
        f["energy/potential"][7] += 0.01
    assert {k for k, _ in _checker.check("false.h5")} == {"energy"}


@test
def a_shifted_pose_is_found():
    path = record(ball_on_plate(duration=0.8))

    def sink(f):
        q = f["state/q"][()]
        q[60:, 9] -= 0.08
        f["state/q"][...] = q
    assert "overlap" in falsify(path, sink)


@test
def corners_that_pass_count_as_apart_for_models_of_vertices_and_edges():
    """A wedge whose tip is in the line of the lower side of a square, and one whose tip is pressed into its side."""
    square = np.array([[0, 0], [2, 0], [2, 2], [0, 2]], float)
    under = np.array([[[1, 0], [9, 0], [5, 6]]], float)
    into = np.array([[[1.6, 1], [9, -2], [9, 4]]], float)
    assert _geometry.vertex_depth(square, under)[0] == -np.inf
    assert abs(_geometry.vertex_depth(square, into)[0] - 0.4) < 1e-12
    # in the frame of the wedge: its sides are below no vertex that would meet them first
    assert _geometry.vertex_depth(under[0], square[None])[0] == -np.inf


@test
def energy_that_comes_from_nowhere_is_found():
    def speed_up(f):
        v = f["state/v"][()]
        v[30:, 6:9] = [3.0, 0, 0]
        f["state/v"][...] = v
    assert "growth" in falsify(record(ball_on_plate()), speed_up)


@test
def a_body_alone_that_turns_faster_is_found_in_middle_steps_too():
    """Where the joints of others ask for a middle step, all bodies turn by the midpoint rule: their energy is off by
    the third power of h w, and by no more."""
    scene = {"step": 0.03, "duration": 0.6, "joint_correction": True,
             "bodies": [{"name": "alone", "mass": 1, "inertia": [0.02, 0.03, 0.045], "position": [0, 9, 0],
                         "angular_velocity": [1, 8, 2]},
                        {"name": "a", "mass": 0.7, "inertia": [0.02, 0.03, 0.02], "position": [0.5, 0, 0],
                         "velocity": [3, 20, 0]},
                        {"name": "b", "mass": 0.5, "inertia": [0.01, 0.01, 0.01], "position": [-0.5, 0, 0],
                         "velocity": [-6, -5, 0]}],
             "joints": [{"name": "i", "type": "spherical", "a": "a", "b": "b", "at": [0, 0, 0]}]}
    path = record(scene)
    with h5py.File(path) as f:
        middle = (f["solver/corrections"][()] == -2).nonzero()[0]
    assert len(middle) > 0

    def speed_up(f):
        v = f["state/v"][()]
        v[middle[-1]:, 3:6] *= 1.002
        f["state/v"][...] = v
    assert "growth" in falsify(path, speed_up)


@test
def energy_that_no_overlap_explains_is_found_with_the_corrective_model():
    scene = ball_on_plate(contact="corrective", duration=0.3)
    scene["bodies"] += [{"name": "load", "mass": 50, "position": [0, 0, 0.55], "inertia": [2, 2, 2],
                         "shapes": [{"type": "box", "size": [0.5, 0.5, 0.3]}]}]
    scene["friction"] = {"cone": "none"}
    path = record(scene)  # the load is pushed up at the speed of the ball that it presses into the plate

    def speed_up(f):
        v = f["state/v"][()]
        v[28:, 12:15] *= 6.0
        f["state/v"][...] = v
    assert "growth" in falsify(path, speed_up)


@test
def a_body_that_stays_behind_a_plate_is_found_with_the_corrective_model():
    scene = ball_on_plate(contact="corrective", duration=0.3)
    scene["bodies"][0].update(position=[0, 0, -0.01], shapes=[{"type": "box", "size": [4, 4, 0.02]}])
    path = record(scene)

    def below(last):
        def change(f):
            q = f["state/q"][()]
            q[20:last, 9] = -0.05
            f["state/q"][...] = q
        return change
    assert "side" not in falsify(path, below(21))  # for one frame a step may carry it there
    assert "side" in falsify(path, below(22))


@test
def a_body_mostly_behind_a_plate_is_found_with_anitescu_potra():
    scene = ball_on_plate(stepper="anitescu-potra", duration=0.3)
    scene["bodies"][0].update(position=[0, 0, -0.01], shapes=[{"type": "box", "size": [4, 4, 0.02]}])
    scene["bodies"][1]["shapes"][0]["position"] = [0, 0, 0.08]  # the centre of mass is low
    path = record(scene)

    def sink(height):
        def change(f):
            q = f["state/q"][()]
            q[20:, 9] = height
            q[20:, 10:] = [1, 0, 0, 0]
            f["state/q"][...] = q
        return change
    assert "side" not in falsify(path, sink(-0.05))  # overlap stays, and most of the ball is above
    assert "side" in falsify(path, sink(-0.12))


@test
def an_open_joint_is_found_in_a_loop_that_closes_its_errors_slowly():
    links = [{"name": f"b{i}", "mass": 1, "inertia": 0.0033, "position": [0.2 * i + 0.1, 0],
              "velocity": [0, 1.0 if i == 1 else 0.0]} for i in range(4)]
    names = ["world", "b0", "b1", "b2", "b3", "world"]
    path = record({"dimension": 2, "gravity": [0, -9.81], "step": 0.01, "duration": 1.0, "bodies": links, "joints": [
        {"name": f"j{i}", "type": "revolute", "a": names[i], "b": names[i + 1], "at": [0.2 * i, 0]}
        for i in range(5)]})
    with h5py.File(path, "r") as f:
        assert (f["solver/corrections"][()] == -1).sum() > 5

    def open_joint(f):
        q = f["state/q"][()]
        q[50:, 3] += 0.05
        f["state/q"][...] = q
    assert "joint" in falsify(path, open_joint)


@test
def energy_that_comes_from_nowhere_is_found_beside_a_spring():
    scene = two_balls(duration=0.4)
    scene["bodies"][1]["position"] = [2.0, 0.1]
    scene["forces"] = [{"type": "spring", "a": "a", "b": "b", "stiffness": 20, "at_b": [0, 0.2]}]

    def speed_up(f):
        v = f["state/v"][()]
        v[20:] *= 1.2
        f["state/v"][...] = v
    assert "growth" in falsify(record(scene), speed_up)


@test
def a_body_on_the_other_side_of_a_plate_is_found():
    def drop(f):
        q = f["state/q"][()]
        q[25:, 9] = -0.4  # between two frames, without ever being seen in the plate
        f["state/q"][...] = q
    assert "side" in falsify(record(ball_on_plate()), drop)


@test
def of_a_body_with_an_empty_middle_the_pieces_are_followed():
    """Two balls astride a wall: the centre of mass passes through it and no ball does."""
    def astride(x, speed):
        scene = ball_on_plate(gravity=[0, 0, 0])
        scene["bodies"][0] = {"name": "wall", "type": "static",
                              "shapes": [{"type": "box", "size": [0.02, 4, 4]}]}
        scene["bodies"][1] = {"name": "pair", "mass": 1, "inertia": [0.004, 0.09, 0.09],
                              "position": [x, 0, 0], "velocity": [speed, 0, 0],
                              "shapes": [{"type": "sphere", "radius": 0.1, "position": [side, 0, 0]}
                                         for side in (-0.3, 0.3)]}
        return record(scene)
    path = astride(-0.04, 0.2)
    with h5py.File(path) as f:
        assert f["state/q"][0, 7] < -0.02 and f["state/q"][-1, 7] > 0.02

    def through(f):
        q = f["state/q"][()]
        q[25:, 7] += 0.9  # the second ball was on that side, the first was not
        f["state/q"][...] = q
    assert "side" in falsify(path, through)


@test
def a_body_below_a_plane_is_found():
    scene = ball_on_plate()
    scene["bodies"][0] = {"name": "plane", "type": "static",
                          "shapes": [{"type": "plane", "normal": [0, 0, 1]}]}

    def drop(f):
        q = f["state/q"][()]
        q[25:, 9] = -0.4
        f["state/q"][...] = q
    assert {"overlap", "side"} <= falsify(record(scene), drop)


@test
def a_turned_momentum_is_found():
    def turn(f):
        v = f["state/v"][()]
        v[10:, 0:2] = v[10:, 1::-1]  # the same speed in another direction
        f["state/v"][...] = v
    found = falsify(record(two_balls()), turn)
    assert found == {"momentum"}, found


@test
def a_changed_spin_is_found():
    def spin(f):
        v = f["state/v"][()]
        v[5:, 2] *= 0.999
        f["state/v"][...] = v
    found = falsify(record(two_balls()), spin)
    assert found == {"momentum"}, found


@test
def a_momentum_that_changes_in_an_adaptive_step_is_found_also_beside_a_floor():
    scene = two_balls(step={"error": 1e-4, "initial": 0.01, "max": 0.02})
    scene["bodies"].append({"name": "floor", "type": "static",
                            "shapes": [{"type": "halfplane", "normal": [0, 1], "offset": -3}]})

    def turn(f):
        v = f["state/v"][()]
        v[10:, 0:2] = v[10:, 1::-1]
        f["state/v"][...] = v
    found = falsify(record(scene), turn)
    assert found == {"momentum"}, found


@test
def an_overlap_that_grows_while_its_gap_is_read_as_it_is_is_found():
    def sink(f, gap):
        q, g = f["state/q"][()], f["contacts/gap"][()]
        q[30:, 9] -= 0.002 * np.arange(len(q) - 30)  # further in every step, and slower than it looks
        g[:] = gap
        f["state/q"][...], f["contacts/gap"][...] = q, g
    path = record(ball_on_plate(duration=0.8))
    assert "overlap" in falsify(path, lambda f: sink(f, -0.01))


@test
def a_free_body_that_gains_energy_with_its_momentum_kept_is_found():
    scene = {"step": 0.01, "duration": 0.1,
             "bodies": [{"name": "top", "mass": 1, "inertia": [0.01, 0.011, 0.012],
                         "angular_velocity": [0, 0, 50], "shapes": [{"type": "sphere", "radius": 0.15}]}]}

    def turn(f):
        q, v = f["state/q"][()], f["state/v"][()]
        q[5:, 3:7] = np.sqrt(0.5) * np.array([1, 0, 1, 0])  # the axis of the least inertia stands upright
        v[5:, 5] *= 1.2
        f["state/q"][...], f["state/v"][...] = q, v
    found = falsify(record(scene), turn)
    assert found == {"growth"}, found


@test
def overlap_is_kept_only_between_opposite_contacts():
    """A spring pulls a jaw over a ball that is wider, in one step without contacts."""
    a, b = 1.42355428829, 0.815313600984
    jaw = [[-a, -a], [a, -a], [a, a], [b, a], [b, -b], [-b, -b], [-b, a], [-a, a]]
    scene = {"dimension": 2, "step": 0.0340733236936, "duration": 0.3, "gravity": [0, 0], "stepper": "quasistatic",
             "margin": 0.0208673155166, "friction": {"default": 0.1},
             "bodies": [{"name": "ball", "mass": 2205.13429847, "position": [19.1979302752, 0.109449299599],
                         "shapes": [{"type": "circle", "radius": 1.48496946045}]},
                        {"name": "jaw", "mass": 4135.72818717, "inertia": 7547.76770466, "angle": 1.73095136393,
                         "position": [23.997412844, -0.503712834017],
                         "shapes": [{"type": "polygon", "vertices": jaw}]}],
             "forces": [{"type": "spring", "a": "world", "b": "jaw", "stiffness": 198.052802763,
                         "damping": 1.4800928325, "at_a": [19.8782500602, 0.167325342901], "rest": 0}]}

    def same(f):
        f["contacts/normal"][...] = np.abs(f["contacts/normal"][()])
    found = falsify(record(scene), lambda f: None)
    assert found == set(), found
    found = falsify(record(scene), same)
    assert found == {"overlap"}, found


@test
def a_joint_may_be_open_by_an_impact_only_in_the_step_after_it_that_closes_slowly():
    def bounds(limited):
        rec = types.SimpleNamespace(frames=4, dt=np.array([0.1, 0.0, 0.1]), joints_kept=np.zeros(4),
                                    limited=np.array([False, False, False, limited]))
        checker = types.SimpleNamespace(rec=rec)
        return _checker.Checker.with_kept_errors(checker, 0.01, 0.0, np.array([0.0, 7.0, 30.0, 7.0]))
    assert np.allclose(bounds(False), 0.01)
    assert np.allclose(bounds(True), [0.01, 0.01, 0.01, 0.01 + 0.01 + 0.1 * 30])


@test
def an_open_joint_is_found():
    def pull(f):
        q = f["state/q"][()]
        q[40:, 0] += 0.01
        f["state/q"][...] = q
    assert "joint" in falsify(record(pendulum()), pull)


@test
def a_limit_that_is_passed_is_found():
    scene = pendulum()
    scene["joints"][0]["limits"] = [-0.2, 0.2]

    def move(f):
        c = f["joints/coordinate"][()]
        c[50:, 0] = -0.5
        f["joints/coordinate"][...] = c
    assert falsify(record(scene), move) == {"limit"}


@test
def a_kinematic_body_off_its_motion_and_a_static_one_that_moves_are_found():
    scene = two_balls()
    scene["bodies"].append({"name": "mover", "type": "kinematic", "position": [5, 5],
                            "shapes": [{"type": "box", "size": [1, 1]}],
                            "motion": {"position": ["5+0.1*sin(3*t)", 5], "angle": "0.2*t"}})
    scene["bodies"].append({"name": "wall", "type": "static", "position": [-5, 5],
                            "shapes": [{"type": "box", "size": [1, 1]}]})
    path = record(scene)
    for column in (6, 8, 9):  # x and angle of the mover, x of the wall
        def move(f, column=column):
            f["state/q"][30, column] += 1e-6
        assert falsify(path, move) == {"prescribed"}


@test
def numbers_that_are_not_finite_times_that_stand_and_long_quaternions_are_found():
    path = record(ball_on_plate())

    def broken(f):
        f["state/v"][12, 6] = np.nan
    assert falsify(path, broken) == {"finite"}

    def stands(f):
        f["time"][12] = f["time"][11]
    assert "time" in falsify(path, stands)

    def early(f):
        f["time"][-1] -= 1e-4
    assert "time" in falsify(path, early)

    def long_one(f):
        f["state/q"][12, 10] += 1e-6
    assert "quaternion" in falsify(path, long_one)


@test
def contacts_that_pull_and_friction_outside_of_its_cone_are_found():
    path = record(two_balls(duration=1.0))

    def pull(f):
        p = f["contacts/impulse"][()]
        p[np.abs(p[:, 0]).argmax(), 0] *= -1
        f["contacts/impulse"][...] = p
    assert "cone" in falsify(path, pull)

    def rub(f):
        p = f["contacts/impulse"][()]
        p[np.abs(p[:, 0]).argmax(), 1] = 0.31 * np.abs(p[:, 0]).max()
        f["contacts/impulse"][...] = p
    assert falsify(path, rub) == {"cone"}


main("torture/checker")
