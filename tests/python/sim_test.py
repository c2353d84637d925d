"""Scenes and simulations from Python: loading, stepping, state, callbacks, copies."""
import json
import math
import os
import subprocess
import threading

from _helper import SOURCE, box, main, python, raises, scene, slide, test

import numpy as np
import perp


# ---- scenes ----

@test
def errors_carry_file_and_pointer():
    with open("bad.json", "w") as f:
        json.dump(slide(bodies=[{"name": "a", "mass": -1, "shapes": []}]), f)
    error = raises(perp.InputError, perp.load, "bad.json")
    assert (error.file, error.pointer) == ("bad.json", "/bodies/0/mass"), (error.file, error.pointer)
    assert error.message == "must be > 0, got -1" and isinstance(error, ValueError)
    error = raises(perp.InputError, perp.Sim, slide(stepper="stewart"))
    assert (error.file, error.pointer) == (None, "/stepper"), error
    with open("not.json", "w") as f:
        f.write("{")
    error = raises(perp.InputError, perp.load, "not.json")
    assert error.file == "not.json" and error.pointer is None and "line 1" in error.message
    error = raises(perp.FileError, perp.load, "missing.json")
    assert error.file == "missing.json" and isinstance(error, OSError), error


@test
def set_changes_all_or_nothing():
    s = perp.load(slide())
    assert s.set(mu=0.1) is s and s.parameters == {"mu": 0.1, "v": 1.0}
    s.set("/bodies/1/mass", 3)
    assert s.body("box")["mass"] == 3
    s.set({"/bodies/1/position": np.array([1, 0.1]), "mu": 0.2})
    assert s.dict["bodies"][1]["position"] == [1, 0.1] and s.parameters["mu"] == 0.2
    error = raises(perp.InputError, s.set, {"mu": 0.4, "/bodies/1/mass": -2})
    assert error.pointer == "/bodies/1/mass", error
    assert s.parameters["mu"] == 0.2 and s.body("box")["mass"] == 3
    error = raises(perp.InputError, s.set, nu=1)
    assert "mu" in str(error)  # the nearest name
    for value in (math.nan, math.inf):
        error = raises(perp.InputError, s.set, mu=value)
        assert error.pointer == "/parameters/mu" and "finite" in error.message, error
    assert s.set("/bodies/1/mass", 2).body("box")["mass"] == 2  # and it goes on


@test
def a_scene_may_change_while_simulations_of_it_exist():
    s = perp.load(slide())
    first = perp.Sim(s)
    s.set(mu=0.0)
    second = perp.Sim(s)
    assert first.scene.parameters["mu"] == 0.3 and second.scene.parameters["mu"] == 0.0
    first.run()
    second.run()
    assert first.measures["x"] < 0.2 and math.isclose(second.measures["x"], 1.0), second.measures


@test
def a_scene_survives_its_text():
    s = perp.load(scene("controlled-arm"))
    s.save("copy.json")
    a, b = perp.Sim(s).run(until=0.3), perp.Sim("copy.json").run(until=0.3)
    assert (a.q == b.q).all() and s.joints == ["shoulder", "elbow"] and s.dimension == 2


@test
def a_robot_is_a_scene():
    urdf = """<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="arm"><inertial><origin xyz="0 0 -0.5"/>
      <mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j1" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
      <limit lower="-3" upper="3" effort="10"/></joint></robot>"""
    with open("r.urdf", "w") as f:
        f.write(urdf)
    sim = perp.Sim("r.urdf", duration=1)
    sim.joint("j1").set(coordinate=0.5)
    sim.run()
    assert abs(sim.joint("j1").coordinate) <= 0.51 and sim.joint("j1").rate != 0.5
    assert perp.load("r.urdf", floating=True).joints == ["j1"]
    with open("r.xml", "w") as f:
        f.write("""<mujoco><worldbody><body name="arm" pos="0 0 1"><joint name="j1" type="hinge" axis="0 1 0"/>
          <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0" mass="1"/></body></worldbody></mujoco>""")
    sim = perp.Sim("r.xml", duration=0.5)
    sim.run()
    assert sim.joint("j1").coordinate > 0.1, sim.joint("j1").coordinate  # it falls about +y


# ---- the same as the program ----

@test
def python_and_the_program_give_the_same_bits():
    for name in ("box-on-slope", "bouncing-balls", "w14-arm", "controlled-arm"):
        subprocess.run([os.environ["PERP"], "run", scene(name), "--duration", "0.3", "--out",
                        "cli.h5", "--json"], check=True, stdout=subprocess.DEVNULL)
        program = perp.open_recording("cli.h5")
        here = perp.Sim(scene(name), duration=0.3).run()
        assert (program.q[-1] == here.q).all() and (program.v[-1] == here.v).all(), name


# ---- state ----

@test
def q_of_a_thousand_bodies_is_not_copied():
    bodies = [{"name": f"b{i}", "mass": 1, "position": [i, 0, 5],
               "shapes": [{"type": "sphere", "radius": 0.1}]} for i in range(1000)]
    sim = perp.Sim(box(bodies=bodies))
    q, again = sim.q, sim.q
    address = q.__array_interface__["data"][0]
    assert q.shape == (1000, 7) and not q.flags.owndata and not q.flags.writeable
    assert again.__array_interface__["data"][0] == address
    before = q[7, 2]
    sim.step(3)
    assert q[7, 2] < before and sim.q.__array_interface__["data"][0] == address
    assert sim.v.shape == (1000, 6) and (sim.v[:, 2] < 0).all()
    raises(ValueError, q.__setitem__, (0, 0), 1.0)


@test
def contacts_are_a_structured_array():
    sim = perp.Sim(box())
    sim.step(20)
    c = sim.contacts
    assert len(c) == 4 and c.dtype.names[:4] == ("body_a", "body_b", "key", "point"), c.dtype
    assert math.isclose(c["impulse"][:, 0].sum(), 9.81 * 0.01, rel_tol=1e-9)
    assert np.allclose(abs(c["normal"][:, 2]), 1) and (c["mu"] == 0.5).all()
    assert not c.flags.owndata and not c.flags.writeable
    force = sim.body("box").contact_force("ground")
    assert math.isclose(force.force[2], 9.81, rel_tol=1e-9) and force.contacts == 4
    assert perp.Sim(box()).contacts.shape == (0,)


@test
def bodies_joints_and_quantities_by_name():
    sim = perp.Sim(scene("controlled-arm"))
    sim.run(until=1.0)
    elbow, load = sim.joint("elbow"), sim.body("load")
    assert load.position.shape == (2,) and isinstance(load.angle, float)
    assert math.isclose(elbow.coordinate, sim["elbow.coordinate"], rel_tol=1e-14)
    assert elbow.effort == elbow._state()[4] and len(elbow.error) == 2
    assert sim["load.position"] == tuple(sim.q[load.index, :2])
    assert sim.energy.total == sim.energy.kinetic + sim.energy.potential == sim["energy.total"]
    assert sim.certificate.worst < 1e-8 and sim.ledger["motors"] != 0
    error = raises(KeyError, sim.body, "lode")
    assert "load" in str(error)
    assert sim.status["steps"] == 200 and not sim.finished and sim.info["solver"]


@test
def states_and_forces_are_set():
    sim = perp.Sim(box(gravity=[0, 0, 0]))
    sim.body("box").set(position=(0, 0, 5), velocity=(1, 0, 0), angular_velocity=(0, 0, 1))
    sim.step(10)
    assert math.isclose(sim.body("box").position[0], 0.1) and sim.body("box").speed == 1
    sim.apply("box", force=(0, 2, 0))
    sim.step()
    assert math.isclose(sim.body("box").velocity[1], 0.02) and sim.time == 0.11
    sim.step()
    assert math.isclose(sim.body("box").velocity[1], 0.02)  # for one step alone
    q = sim.q.copy()
    q[1, 2] = 7
    sim.q = q
    assert sim.body("box").position[2] == 7
    raises(ValueError, sim.set_state, q[:1])
    arm = perp.Sim(scene("controlled-arm"))
    arm.joint("elbow").set(coordinate=0.2, rate=1.5)
    assert math.isclose(arm.joint("elbow").coordinate, 0.2) and math.isclose(arm.joint("elbow").rate, 1.5)
    arm.apply("shoulder", effort=3.0)
    raises(TypeError, arm.apply, "shoulder", force=(0, 0), effort=1)
    arm.step()
    hit = perp.Sim(box()).ray((0, 0, 3), (0, 0, -1))
    assert hit.body == "box" and math.isclose(hit.distance, 2.8)
    assert abs(perp.Sim(box()).distance("ground", "box").distance) < 1e-12


# ---- callbacks ----

@test
def an_exception_in_a_callback_comes_back_as_it_is():
    class Mine(Exception):
        pass

    mine = Mine("as it is")
    sim = perp.Sim(slide())

    @sim.on_step
    def stop(sim):
        if sim.time > 0.045:
            raise mine

    assert raises(Mine, sim.run) is mine and mine.__traceback__ is not None
    assert math.isclose(sim.time, 0.05)  # the step was not taken
    sim.remove(stop)
    sim.run()
    assert sim.finished


@test
def callbacks_control_and_cannot_step():
    sim = perp.Sim(slide(friction={"default": 0}))
    order = []
    sim.on_step(lambda s: order.append(1))

    @sim.on_step
    def push(s):
        order.append(2)
        s.apply("box", force=(-1.0, 0))
        raises(RuntimeError, s.step)
        raises(RuntimeError, s.restore, s.save())
        assert s.q[1, 0] is not None and s.energy.total > 0

    sim.step(50)
    assert order == [1, 2] * 50 and math.isclose(sim.body("box").velocity[0], 0.5)
    recording = perp.run(slide(), on_step=push, out="r.h5")
    assert recording._about["user_code"].startswith("python: "), recording._about


@test
def signals_interrupt_a_run():
    import signal
    import time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs beside it with SIGINT ignored
    sim = perp.Sim(box(duration=1e6))
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    raises(KeyboardInterrupt, lambda: _no_exit(sim))
    assert time.monotonic() - begin < 60 and sim.time > 0
    sim.step()  # and goes on


def _no_exit(sim):
    sim.run()


# ---- copies ----

@test
def saved_cloned_and_restored_simulations_have_the_same_future():
    for name in ("stack", "controlled-arm", "bouncing-balls"):
        sim = perp.Sim(scene(name), duration=0.4)
        sim.run(until=0.2)
        snapshot, clone = sim.save(), sim.clone()
        sim.run()
        clone.run()
        other = perp.Sim(scene(name), duration=0.4)
        other.restore(snapshot)
        other.run()
        assert (sim.q == clone.q).all() and (sim.q == other.q).all(), name
        sim.reset()
        assert sim.time == 0
        sim.run()
        assert (sim.q == clone.q).all(), name
    raises(perp.Error, perp.Sim(slide()).restore, snapshot)


@test
def a_clone_has_its_own_callbacks():
    seen = []
    sim = perp.Sim(slide())
    sim.on_step(seen.append)
    clone = sim.clone()
    clone.step()
    sim.step()
    assert seen[0] is clone and seen[1] is sim and type(clone) is perp.Sim


@test
def scenes_are_pickled_and_simulations_are_not():
    import copy
    import pickle
    s = perp.load(slide(), set={"mu": 0.2})
    again = pickle.loads(pickle.dumps(s))
    assert again.parameters == s.parameters and (perp.Sim(again).run().q == perp.Sim(s).run().q).all()
    sim = perp.Sim(s)
    sim.step(5)
    assert "pickled" in str(raises(TypeError, pickle.dumps, sim))
    twin = copy.deepcopy(sim)
    assert twin is not sim and (twin.run().q == sim.run().q).all()
    raises(TypeError, pickle.dumps, perp.run(s))


# ---- threads ----

@test
def threads_make_simulations_of_one_scene():
    s, found = perp.load(slide()), []
    expected = perp.Sim(s).run().q.copy()

    def work():
        for _ in range(40):
            found.append((perp.Sim(s).run().q == expected).all())
            raises(perp.InputError, perp.Sim, s, solver="lemk")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 160 and all(found)


@test
def threads_record_at_the_same_time():
    lengths = []

    def work():
        for _ in range(5):
            r = perp.run(slide(duration=0.2))
            lengths.append((len(r), float(r["box.position.x"][-1])))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(lengths) == 15 and len(set(lengths)) == 1, lengths


@test
def a_step_releases_the_gil_and_refuses_a_second_thread():
    sim = perp.Sim(box(duration=1e6))
    errors, counted = [], 0
    thread = threading.Thread(target=lambda: errors.append(raises(KeyError, _run_until_flag, sim)))
    flag.clear()
    thread.start()
    while sim.q[1, 2] > 1 or counted < 1000:  # views work meanwhile
        counted += 1
    error = None
    for _ in range(10000):
        try:
            sim.energy
            sim.step()
        except RuntimeError as e:
            error = e
            break
    flag.set()
    thread.join()
    assert error is not None and "thread" in str(error), error
    assert len(errors) == 1


flag = threading.Event()


def _run_until_flag(sim):
    while not flag.is_set():
        sim.step(200)
    raise KeyError("done")


@test
def settings_and_wrong_settings():
    sim = perp.Sim(slide(), step=0.005, solver={"type": "lemke", "attempts": 2}, cone="polygon",
                   mu=0.1, duration=0.1, threads=1)
    sim.run()
    assert sim.status["steps"] == 20 and sim.scene.parameters["mu"] == 0.1
    error = raises(TypeError, perp.Sim, slide(), durations=1)
    assert "duration" in str(error)
    error = raises(perp.InputError, perp.Sim, slide(), solver="lemk")
    assert error.pointer == "/solver" and "lemke" in str(error), error
    error = raises(perp.InputError, perp.Sim(slide(), duration=0.01).step, 2)
    assert "reached its duration" in str(error)


@test
def without_numpy_it_works_too():
    out = python("""
import sys
sys.modules["numpy"] = None  # importing it fails
sys.path.insert(0, %r)
import perp
from _helper import box, slide
sim = perp.Sim(box())
q = sim.q
sim.step(5)
assert q.shape == (2, 7) and q[1, 3] == 1.0 and abs(q[1, 2] - 0.1) < 1e-9, q.tolist()
assert sim.body("box").position == tuple(sim.q.tolist()[1][:3])
assert len(sim.contacts) == 4 and abs(sum(c["impulse"][0] for c in sim.contacts) - 0.0981) < 1e-9
s = perp.solve([[2, 1], [1, 2]], [-4, 1])
assert list(s.z) == [2.0, 0.0] and s.solved
s = perp.solve(perp.Friction([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [-1, .2, 0], .3))
assert abs(s.z[0] - 1) < 1e-9 and s.solved
r = perp.run(slide())
assert len(r.time) == 101 and len(r["box.position.x"]) == 101 and r.q.shape == (101, 2, 3)
o = perp.rollout(slide(), {"mu": [.1, .2]}, observe=["box.position"])
assert o.measures["x"][0] > o.measures["x"][1] and o.observed[0].shape == (101, 2)
sim.q = [list(row) for row in sim.q.tolist()]
print("fine")
""" % os.path.join(SOURCE, "tests", "python"))
    assert "fine" in out


main("sim_test")
