"""Hello: a ball falls, rolls, and every step says how well it satisfies the laws."""
import perp

scene = {"gravity": [0, 0, -9.81], "step": 0.01, "duration": 1, "friction": {"default": 0.2},
         "bodies": [{"name": "ground", "type": "static", "shapes": [{"type": "plane", "normal": [0, 0, 1]}]},
                    {"name": "ball", "mass": 1, "position": [0, 0, 0.1], "velocity": [2, 0, 0],
                     "shapes": [{"type": "sphere", "radius": 0.1}]}]}
sim = perp.Sim(scene).run()
ball = sim.body("ball")
print(f"the ball is at x = {ball.position[0]:.3f} and rolls: v = {ball.velocity[0]:.4f}, "
      f"spin times radius = {ball.angular_velocity[1] * 0.1:.4f}; certificate {sim.certificate.worst:.1e}")
