"""Memory: nothing leaks, views outlive their simulation, reference counts come back."""
import gc
import resource
import sys
import threading
import weakref

from _helper import SANITIZED, box, main, raises, slide, test

import numpy as np
import perp


def resident():
    """Bytes of memory in use now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


@test
def ten_thousand_simulations_leave_nothing():
    s = perp.load(box())
    count = 2000 if SANITIZED else 10000
    growth = []
    for part in range(3):
        for _ in range(count // 3):
            sim = perp.Sim(s, threads=1)
            sim.step(2)
            views = sim.q, sim.contacts, sim.clone()
            del sim, views
        growth.append(resident())
    # the first part warms caches up; a leak of one simulation a time (40 kB) would be 100 MB
    assert SANITIZED or growth[2] - growth[1] < 4e6, growth
    assert not s._handle.in_use


@test
def recordings_scenes_rollouts_and_solves_leave_nothing():
    def work():
        recording = perp.run(slide(duration=0.05))
        recording.q, recording["box.position"], recording.contacts(-1)
        perp.rollout(slide(duration=0.05), {"mu": [0.1, 0.2]}, jobs=2, observe=["box.position"])
        perp.load(slide()).set("/bodies/1/mass", 2)
        perp.solve(np.eye(3) * 2, [-1, 1, -1])
        raises(perp.InputError, perp.load, slide(step=-1))
        raises(perp.InputError, perp.Sim, slide(solver="x"))

    for _ in range(20):
        work()
    begin = resident()
    for _ in range(60):
        work()
    assert SANITIZED or resident() - begin < 4e6, resident() - begin


@test
def views_outlive_their_simulation():
    sim = perp.Sim(box())
    sim.step(3)
    q, contacts = sim.q, sim.contacts
    expected, points = q.copy(), contacts["point"].copy()
    dead = weakref.ref(sim)
    del sim
    assert dead() is not None  # the views keep it
    others = [perp.Sim(box()) for _ in range(50)]  # would reuse freed memory
    assert (q == expected).all() and (contacts["point"] == points).all()
    del others, q
    assert dead() is not None
    del contacts
    gc.collect()
    assert dead() is None


@test
def contacts_stay_readable_when_their_memory_moves():
    bodies = [{"name": f"b{i}", "mass": 1, "position": [i, 0, 0.1 + 0.05 * i],
               "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]} for i in range(40)]
    ground = box()["bodies"][0]
    sim = perp.Sim(box(bodies=[ground, *bodies]))
    views = []
    for _ in range(100):
        sim.step()
        views.append(sim.contacts)
    assert len(views[-1]) > 4 * len(views[0]) > 0, [len(v) for v in views]
    for view in views:  # under AddressSanitizer a view of freed memory ends the test
        assert ((view["body_a"] >= 0) & (view["body_a"] <= 40)).all()
    sim.reset()
    assert len({v.__array_interface__["data"][0] for v in views if len(v)}) > 1  # it has moved
    del sim
    assert views[0]["mu"][0] == 0.5


@test
def cycles_through_callbacks_are_collected():
    for _ in range(3):
        sim = perp.Sim(slide())
        sim.on_step(lambda s, keep=sim: None)
        dead = weakref.ref(sim)
        sim.step()
        del sim
        gc.collect()
        assert dead() is None


@test
def reference_counts_come_back():
    s = perp.load(slide())
    sim = perp.Sim(s)
    fn = lambda s: None  # noqa: E731
    names = list("ab")
    objects = (s._handle, sim, fn, None, True, perp.Body, perp._core.View, perp._core.Sim, names)

    def count():
        gc.collect()
        return [sys.getrefcount(o) for o in objects]

    def use():
        sim.q, sim.v, sim.contacts, sim.energy, sim.certificate, sim.info, sim.status
        sim.ledger, sim.measures, sim.momentum, sim["box.position"], sim.time, sim.finished
        sim.body("box").position, sim.body(1).set(velocity=(1, 0)), sim.set_state(sim.q, sim.v)
        sim.on_step(fn), sim.step(), sim.step(2), sim.remove(fn)
        sim.apply("box", force=(0, 1)), sim.ray((0, 3), (0, -1)), sim.distance(0, 1)
        sim.clone(), sim.restore(sim.save()), sim.contact_force("box"), sim.scene
        raises(TypeError, sim.step, 1, 2), raises(ValueError, sim.step, -1)
        raises(TypeError, sim.step, "x"), raises(perp.InputError, lambda: sim["x.y"])
        raises(ValueError, sim.set_state, [1.0]), sim.reset()

    use()
    before = count()
    for _ in range(50):
        use()
    after = count()
    # small numbers of None and True move by what Python itself keeps
    assert all(abs(a - b) < 45 for a, b in zip(before, after)), (before, after)
    assert before[:3] == after[:3] and before[5:] == after[5:], (before, after)


@test
def misuse_raises():
    empty = perp.Sim.__new__(perp.Sim)
    for use in (lambda: empty.step(), lambda: empty.time, lambda: empty.save(), lambda: empty.clone()):
        raises((RuntimeError, AttributeError), use)
    raises(TypeError, lambda: empty.q)
    sim = perp.Sim(slide())
    raises(RuntimeError, perp._core.Sim.__init__, sim, sim._scene)
    raises(TypeError, perp._core.Scene), raises(TypeError, perp._core.View)
    raises(TypeError, perp._core.Sim, 3), raises(TypeError, perp._core.view_q, 3)
    raises(IndexError, perp._core.get_body, sim, 99), raises(IndexError, sim.body, 5)
    raises(perp.Error, sim.restore, b"not a snapshot"), repr(empty)


@test
def clones_run_in_threads_with_the_same_bits():
    sim = perp.Sim(box(bodies=[box()["bodies"][0], *(
        {"name": f"b{i}", "mass": 1, "position": [0.01 * i, 0, 0.1 + 0.21 * i],
         "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]} for i in range(4))]))
    clones = [sim.clone() for _ in range(4)]
    threads = [threading.Thread(target=c.step, args=(100,)) for c in clones]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sim.step(100)
    assert all((c.q == sim.q).all() for c in clones)


main("memory_test")
