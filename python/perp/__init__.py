"""perp: rigid bodies in contact, from Python.

    import perp
    sim = perp.Sim("ball.json")
    sim.run()
    print(sim.body("ball").position, sim.certificate.worst)

    recording = perp.run("ball.json")        # in a notebook, this shows the replay page
    recording["ball.position.z"]
"""
import sys as _sys

if "t" in getattr(_sys, "abiflags", "") or not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("perp does not work in a Python that runs without the GIL (free threading): "
                      "use the ordinary build")

from . import _core
from ._errors import (CancelledError, Error, FileError, InputError, NumericError, SolveError,
                      UnsupportedError)
from ._recording import Recording, open_recording, run
from ._rollout import Rollout, rollout
from ._scene import Scene, load
from ._sim import Body, Certificate, ContactForce, Distance, Energy, Joint, RayHit, Sim
from ._solve import LCP, MLCP, Friction, Solution, methods, solve
from ._study import (Design, Estimate, Gradient, Results, design, estimate, gradient, plan, predict,
                     sweep)

__version__: str = _core.version

__all__ = [
    "Body", "CancelledError", "Certificate", "ContactForce", "Design", "Distance", "Energy", "Error", "Estimate",
    "FileError", "Friction", "Gradient", "InputError", "Joint", "LCP", "MLCP", "NumericError", "RayHit",
    "Recording", "Results", "Rollout", "Scene", "Sim", "Solution", "SolveError",
    "UnsupportedError", "design", "estimate", "gradient", "load", "methods", "open_recording",
    "plan", "predict", "rollout", "run", "solve", "sweep",
]
