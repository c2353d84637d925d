"""A simulation as an environment of Gymnasium (https://gymnasium.farama.org).

    import perp.gym
    env = perp.gym.CartPole()
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Imported apart from perp, because Gymnasium need not be there. `Env` is the base of environments of
your own: a scene, how an action pushes, what is observed, and what a step is worth.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import numpy
from ._scene import PathLike, Scene, with_settings
from ._sim import Sim

try:
    import gymnasium  # type: ignore[import]
except ImportError as error:
    raise ImportError("perp.gym needs Gymnasium: pip install gymnasium") from error

np: Any = numpy()
if np is None:
    raise ImportError("perp.gym needs NumPy")

_Base: Any = gymnasium.Env
_spaces: Any = gymnasium.spaces

_FOREVER = 1e9  # a duration that no episode reaches


class Env(_Base):  # type: ignore[misc]
    """A scene as an environment.

    Override `act` (apply an action before each step), `reward`, `terminated`, and `start` (change the
    state at a reset, with the random numbers of `self.np_random`).
    """

    metadata: Dict[str, Any] = {"render_modes": ["html"]}

    def __init__(self, scene: Union[Scene, PathLike, Mapping[str, Any]], *, observe: Sequence[str],
                 actions: Tuple[Sequence[float], Sequence[float]], frame_skip: int = 1,
                 max_steps: int = 1000, render_mode: Optional[str] = None, **settings: Any) -> None:
        """observe: quantities by name (docs/quantities.md). actions: lowest and highest values.
        frame_skip: steps of the simulation for one of the environment. max_steps: of an episode."""
        settings.setdefault("duration", _FOREVER)
        self.sim = Sim(with_settings(scene, settings))
        self.observe = list(observe)
        self.frame_skip = frame_skip
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.count = 0
        size = len(self._observation())
        self.observation_space = _spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = _spaces.Box(np.asarray(actions[0], dtype=np.float64),
                                        np.asarray(actions[1], dtype=np.float64), dtype=np.float64)

    # ---- to be overridden ----

    def act(self, action: Any) -> None:
        """Apply an action for the coming step."""
        raise NotImplementedError

    def reward(self, action: Any) -> float:
        """What the step was worth."""
        return 0.0

    def terminated(self) -> bool:
        """Whether the episode is over."""
        return False

    def start(self) -> None:
        """Change the state at the beginning of an episode."""

    # ---- Gymnasium ----

    def _observation(self) -> Any:
        values: List[float] = []
        for name in self.observe:
            value = self.sim[name]
            values.extend(value if isinstance(value, tuple) else (value,))
        return np.array(values, dtype=np.float64)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
              ) -> Tuple[Any, Dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.sim.reset()
        self.count = 0
        self.start()
        return self._observation(), {}

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        """One step: observation, reward, terminated, truncated, info."""
        for _ in range(self.frame_skip):
            self.act(action)
            self.sim.step()
        self.count += 1
        info = {"time": self.sim.time, "certificate": self.sim.certificate.worst}
        return (self._observation(), float(self.reward(action)), bool(self.terminated()),
                self.count >= self.max_steps, info)

    def render(self) -> Optional[str]:
        """A page of the present state."""
        return self.sim.html() if self.render_mode == "html" else None


class CartPole(Env):
    """A cart that balances a pole: a force on the cart, dry friction on its rail.

    Observed: place and velocity of the cart, angle of the pole and its rate. An episode ends when the
    pole leans by more than 0.25 rad or the cart leaves its rail.
    """

    def __init__(self, render_mode: Optional[str] = None, **settings: Any) -> None:
        scene = {
            "name": "cart-pole", "dimension": 2, "gravity": [0, -9.81], "step": 0.01, "duration": 1,
            "joint_correction": True,
            "bodies": [
                {"name": "cart", "mass": 1, "inertia": 0.01, "position": [0, 0], "collides_with": [],
                 "shapes": [{"type": "box", "size": [0.3, 0.15]}]},
                {"name": "pole", "mass": 0.1, "inertia": 0.0084, "position": [0, 0.5], "collides_with": [],
                 "shapes": [{"type": "box", "size": [0.05, 1.0]}]}],
            "joints": [
                {"name": "rail", "type": "prismatic", "a": "world", "b": "cart", "at": [0, 0],
                 "axis": [1, 0], "friction": 0.05},
                {"name": "pivot", "type": "revolute", "a": "cart", "b": "pole", "at": [0, 0]}]}
        super().__init__(scene, observe=["rail.coordinate", "rail.rate", "pivot.coordinate", "pivot.rate"],
                         actions=([-10.0], [10.0]), frame_skip=2, max_steps=500, render_mode=render_mode,
                         **settings)

    def act(self, action: Any) -> None:
        self.sim.joint("rail").apply(float(np.clip(action, -10.0, 10.0)[0]))

    def start(self) -> None:
        self.sim.joint("pivot").set(coordinate=float(self.np_random.uniform(-0.05, 0.05)))

    def reward(self, action: Any) -> float:
        return 1.0

    def terminated(self) -> bool:
        return bool(abs(self.sim.joint("pivot").coordinate) > 0.25
                    or abs(self.sim.joint("rail").coordinate) > 2.4)
