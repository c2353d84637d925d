#!/usr/bin/env python3
"""Drive perp from a plain loop: `perp worker` runs a scene with the values of each line.

usage: examples/worker.py [PERP]

A box is pushed off at 2 m/s. With which coefficient of friction does it stop after 0.5 m? Bisection in mu; the
closed form is v^2 / (2 g d).
"""
import json
import os
import subprocess
import sys
import tempfile

SCENE = {
    "dimension": 2, "gravity": [0, -9.81], "step": 0.001, "duration": 2,
    "parameters": {"mu": 0.5},
    "friction": {"default": "mu"},
    "bodies": [
        {"name": "ground", "type": "static", "shapes": [{"type": "halfplane", "normal": [0, 1], "offset": 0}]},
        {"name": "box", "mass": 1, "position": [0, 0.1], "velocity": [2, 0],
         "shapes": [{"type": "box", "size": [0.4, 0.2]}]}],
    "measures": {"distance": "box.position.x"},
    "stop": [{"name": "stopped", "when": "box.velocity.x <= 0"}],
}


def main():
    perp = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PERP", "perp")
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(folder, "scene.json")
        with open(scene, "w", encoding="utf-8") as f:
            json.dump(SCENE, f)
        worker = subprocess.Popen([perp, "worker", scene], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def run(**values):
            worker.stdin.write(json.dumps(values) + "\n")
            worker.stdin.flush()
            answer = json.loads(worker.stdout.readline())
            if answer["status"] != "ok":
                sys.exit(f"{values}: {answer['status']}: {answer['message']}")
            return answer["measures"]["distance"]

        low, high = 0.1, 1.0
        while high - low > 1e-6:
            mu = 0.5 * (low + high)
            if run(mu=mu) > 0.5:
                low = mu
            else:
                high = mu
        worker.stdin.close()
        worker.wait()
        exact = 2 ** 2 / (2 * 9.81 * 0.5)
        print(f"mu = {high:.5f}; closed form {exact:.5f}")
        return 0 if abs(high - exact) < 2e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
