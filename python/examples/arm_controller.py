"""A link on a hinge is brought to 1 rad by a controller written in Python."""
import perp

arm = {"dimension": 2, "gravity": [0, -9.81], "step": 0.005, "duration": 3,
       "bodies": [{"name": "link", "mass": 1, "inertia": 0.02, "position": [0.25, 0],
                   "shapes": [{"type": "box", "size": [0.5, 0.05]}]}],
       "joints": [{"name": "hinge", "type": "revolute", "a": "world", "b": "link", "at": [0, 0], "friction": 0.1}]}
sim = perp.Sim(arm)
integral = 0.0


@sim.on_step
def control(sim, target=1.0):
    global integral
    hinge = sim.joint("hinge")
    error = target - hinge.coordinate
    integral += error * 0.005
    hinge.apply(40 * error + 60 * integral - 5 * hinge.rate)


sim.run()
print(f"the hinge is at {sim.joint('hinge').coordinate:.4f} rad, energy unexplained: {sim.ledger['unexplained']:.1e} J")
