"""Simulations: stepped, looked at, pushed, copied."""
from __future__ import annotations

import math
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _arrays, _core
from ._errors import Error
from ._scene import PathLike, Scene, _index, with_settings

Vector = Sequence[float]
_NAN = math.nan


class Certificate(NamedTuple):
    """How far the last step is from each law, relative to the largest term in it."""

    dynamics: float
    normal: float
    friction: float
    joints: float
    worst: float


class Energy(NamedTuple):
    """Energies of the present state."""

    kinetic: float
    potential: float
    total: float


class RayHit(NamedTuple):
    """The first surface on a ray."""

    body: str
    distance: float
    point: Any
    normal: Any


class Distance(NamedTuple):
    """Closest points of two bodies; a negative distance is minus the depth."""

    distance: float
    point_a: Any
    point_b: Any
    normal: Any


class ContactForce(NamedTuple):
    """Sum of the contact forces on a body over the last step."""

    contacts: int
    impulse: Any
    force: Any
    moment: Any


def _three(values: Any, planar: bool, name: str, last: float = 0.0) -> Sequence[float]:
    """Three numbers; of two in the plane, with a third one."""
    try:
        numbers = [float(x) for x in values]
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected {2 if planar else 3} numbers, got {values!r}") from None
    if planar and len(numbers) == 2:
        return [*numbers, last]
    if len(numbers) != 3:
        raise ValueError(f"{name}: expected {2 if planar else 3} numbers, got {len(numbers)}")
    return numbers


class Body:
    """A body of a simulation. Its numbers are copies, of the present state."""

    __slots__ = ("_sim", "_index", "name")

    def __init__(self, sim: "Sim", index: int, name: str) -> None:
        self._sim = sim
        self._index = index
        self.name = name

    def _state(self) -> Tuple[Any, ...]:
        return _core.get_body(self._sim, self._index)

    @property
    def index(self) -> int:
        """Its row in q and v."""
        return self._index

    @property
    def position(self) -> Any:
        """Of the centre of mass; two numbers in the plane."""
        p = self._state()[0]
        return _arrays.vector(p[:2] if self._sim.planar else p)

    @property
    def orientation(self) -> Any:
        """A unit quaternion w, x, y, z."""
        return _arrays.vector(self._state()[1])

    @property
    def angle(self) -> float:
        """In the plane; turns are counted."""
        return float(self._state()[2])

    @property
    def velocity(self) -> Any:
        """Of the centre of mass."""
        v = self._state()[3]
        return _arrays.vector(v[:2] if self._sim.planar else v)

    @property
    def angular_velocity(self) -> Any:
        """World frame; one number in the plane."""
        w = self._state()[4]
        return w[2] if self._sim.planar else _arrays.vector(w)

    @property
    def speed(self) -> float:
        """Size of the velocity."""
        return math.hypot(*self._state()[3])

    def set(self, position: Optional[Vector] = None, orientation: Optional[Vector] = None,
            angle: Optional[float] = None, velocity: Optional[Vector] = None,
            angular_velocity: Union[Vector, float, None] = None) -> None:
        """Set the state of the body; what is left out stays as it is."""
        planar, old = self._sim.planar, self._state()
        if planar and orientation is not None or not planar and angle is not None:
            raise TypeError("give angle in the plane, orientation in space")
        if planar and angular_velocity is not None and not hasattr(angular_velocity, "__len__"):
            angular_velocity = (0.0, 0.0, float(angular_velocity))
        _core.set_body(self._sim, self._index,
                       None if position is None else _three(position, planar, "position", old[0][2]),
                       orientation, angle,
                       None if velocity is None else _three(velocity, planar, "velocity"),
                       None if angular_velocity is None
                       else _three(angular_velocity, False, "angular_velocity"))

    def apply(self, force: Vector = (0.0, 0.0, 0.0), torque: Union[Vector, float] = (0.0, 0.0, 0.0)
              ) -> None:
        """Add a force and a torque (world frame, at the centre of mass) for the coming step."""
        if not hasattr(torque, "__len__"):
            torque = (0.0, 0.0, float(torque))
        _core.apply_wrench(self._sim, self._index, _three(force, self._sim.planar, "force"),
                           _three(torque, False, "torque"))

    def set_friction(self, mu: float) -> None:
        """The coefficient of friction, of this simulation alone; NaN: the scene's."""
        _core.set_parameter(self._sim, "friction", self._index, mu, _NAN, _NAN)

    def set_drag(self, linear: float, angular: float) -> None:
        """Coefficients of drag; NaN: the scene's."""
        _core.set_parameter(self._sim, "drag", self._index, linear, angular, _NAN)

    def contact_force(self, other: Union[str, int, None] = None) -> ContactForce:
        """Sum of the contact forces of another body, or of all, in the last step."""
        return self._sim.contact_force(self._index, other)

    def __repr__(self) -> str:
        return f"<perp.Body {self.name!r} at {tuple(self.position)}>"


class Joint:
    """A joint of a simulation."""

    __slots__ = ("_sim", "_index", "name")

    def __init__(self, sim: "Sim", index: int, name: str) -> None:
        self._sim = sim
        self._index = index
        self.name = name

    def _state(self) -> Tuple[Any, ...]:
        return _core.get_joint(self._sim, self._index)

    @property
    def index(self) -> int:
        """Its number in the scene."""
        return self._index

    @property
    def coordinate(self) -> Any:
        """Angle or travel; a tuple where the joint has several, None where it has none."""
        return _one(self._state()[0])

    @property
    def rate(self) -> Any:
        """Of the coordinate."""
        return _one(self._state()[1])

    @property
    def error(self) -> Tuple[float, float]:
        """How far its frames are apart: length, angle."""
        found: Tuple[float, float] = self._state()[2]
        return found

    @property
    def impulse(self) -> Any:
        """Of the last step, of the equality rows."""
        return _arrays.vector(self._state()[3])

    @property
    def effort(self) -> float:
        """Of the last step, along the axis: motor, friction, damping, limits."""
        return float(self._state()[4])

    def set(self, coordinate: float = _NAN, rate: float = _NAN) -> None:
        """Move the bodies beyond the joint; NaN: as it is."""
        _core.set_joint(self._sim, self._index, coordinate, rate)

    def apply(self, effort: float) -> None:
        """Add an effort (force or torque along the axis) for the coming step."""
        _core.apply_effort(self._sim, self._index, effort)

    def set_target(self, target: float) -> None:
        """Target of the motor from now on; NaN: the scene's."""
        _core.set_parameter(self._sim, "joint_target", self._index, target, _NAN, _NAN)

    def set_friction(self, friction: float) -> None:
        """Dry friction, of this simulation alone; NaN: the scene's."""
        _core.set_parameter(self._sim, "joint_friction", self._index, friction, _NAN, _NAN)

    def set_damping(self, damping: float) -> None:
        """Damping, of this simulation alone; NaN: the scene's."""
        _core.set_parameter(self._sim, "joint_damping", self._index, damping, _NAN, _NAN)

    def set_max_effort(self, max_effort: float) -> None:
        """The largest effort of the motor; NaN: the scene's."""
        _core.set_parameter(self._sim, "max_effort", self._index, max_effort, _NAN, _NAN)

    def __repr__(self) -> str:
        return f"<perp.Joint {self.name!r} at {self.coordinate}>"


def _one(values: Tuple[float, ...]) -> Any:
    return None if not values else values[0] if len(values) == 1 else values


class Sim(_core.Sim):
    """A simulation of a scene.

    `sim.q` and `sim.v` are arrays over the memory of the simulation: they are not copied, always show
    the present state, cannot be written to, and stay valid when the simulation is gone.
    A step releases the GIL. A simulation may be used by one thread at a time; `clone` gives another
    thread its own.
    """

    def __init__(self, scene: Union[Scene, PathLike, Mapping[str, Any]], *,
                 keep_going: bool = False, threads: int = 0, **settings: Any) -> None:
        """settings: step, duration, stepper, contact, solver, cone, friction, gravity, tolerance, ...
        and parameters of the scene. keep_going: take the best iterate when a solve fails.
        threads: how many a step may use (0: all processors); results do not depend on it."""
        chosen = with_settings(scene, settings)
        super().__init__(chosen._handle, keep_going, threads)
        self._bodies = chosen.bodies
        self._joints = chosen.joints
        self._from_file = chosen._from_file
        self.planar = chosen.dimension == 2

    @property
    def scene(self) -> Scene:
        """A copy of the scene that is simulated."""
        return Scene(self._scene, self._from_file).copy()

    # ---- stepping ----

    def run(self, until: Optional[float] = None, record: Optional[PathLike] = None) -> "Sim":
        """Step to the end of the duration or a stop of the scene, or until a time; with `record`,
        every frame goes to a recording. Returns the simulation."""
        if until is not None and until != until:
            raise ValueError(f"until: must be a time, got {until}")
        try:
            self._run(until, record)
        except Error as error:
            name = "" if record is None else os.fsdecode(record)
            if name and str(error).startswith(f"{name}: "):  # about the recording, not the scene
                error.file, error.pointer, error.message = name, None, str(error)[len(name) + 2:]
            raise
        return self

    def on_step(self, function: Callable[["Sim"], Any]) -> Callable[["Sim"], Any]:
        """Call function(sim) before every step; it may apply forces and set states. An exception in it
        ends the step and comes back as it is. Can be used as a decorator."""
        if not callable(function):
            raise TypeError(f"on_step: must be a function, got {type(function).__name__}")
        functions: List[Callable[["Sim"], Any]] = [*self._get_callbacks(), function]
        self._use_callbacks(functions)
        return function

    def remove(self, function: Callable[["Sim"], Any]) -> None:
        """No longer call a function of `on_step`."""
        functions = self._get_callbacks()
        functions.remove(function)
        self._use_callbacks(functions)

    def _use_callbacks(self, functions: List[Callable[["Sim"], Any]]) -> None:
        names = ", ".join(getattr(f, "__qualname__", type(f).__name__) for f in functions)
        self._set_callbacks(functions, f"python: {names}"[:200] if functions else "")

    # ---- state ----

    @property
    def q(self) -> Any:
        """Poses, one row for each body: position and quaternion w, x, y, z; in the plane x, y, angle.
        A view: it shows the present state."""
        return _arrays.from_view(_core.view_q(self))

    @q.setter
    def q(self, values: Any) -> None:
        _core.set_state(self, _arrays.doubles(values), None)

    @property
    def v(self) -> Any:
        """Velocities, one row for each body: velocity and angular velocity. A view."""
        return _arrays.from_view(_core.view_v(self))

    @v.setter
    def v(self, values: Any) -> None:
        _core.set_state(self, None, _arrays.doubles(values))

    def set_state(self, q: Any = None, v: Any = None) -> None:
        """Set poses and velocities of all bodies at once."""
        _core.set_state(self, None if q is None else _arrays.doubles(q),
                        None if v is None else _arrays.doubles(v))

    def body(self, name: Union[str, int]) -> Body:
        """A body by name or number."""
        index = _index(self._bodies, name, "body")
        return Body(self, index, self._bodies[index])

    def joint(self, name: Union[str, int]) -> Joint:
        """A joint by name or number."""
        index = _index(self._joints, name, "joint")
        return Joint(self, index, self._joints[index])

    @property
    def bodies(self) -> List[Body]:
        """All bodies."""
        return [Body(self, i, name) for i, name in enumerate(self._bodies)]

    @property
    def joints(self) -> List[Joint]:
        """All joints."""
        return [Joint(self, i, name) for i, name in enumerate(self._joints)]

    @property
    def contacts(self) -> Any:
        """Contact candidates of the last step: a structured array over the memory of the
        simulation. The next steps overwrite it: copy what is to be kept."""
        return _arrays.contacts(_core.view_contacts(self))

    @property
    def time(self) -> float:
        """Of the state."""
        return _core.get_time(self)

    @property
    def finished(self) -> bool:
        """The duration is reached, or a stop of the scene held."""
        return _core.get_finished(self)

    @property
    def status(self) -> Dict[str, Any]:
        """time, duration, last_step, steps, impacts, finished, outcome."""
        return _core.get_status(self)

    @property
    def outcome(self) -> str:
        """How the run ended: the name of a stop, "end", or "" while it goes on."""
        return str(_core.get_status(self)["outcome"])

    @property
    def measures(self) -> Dict[str, float]:
        """The scene's measures, as if the run ended now."""
        return _core.get_measures(self)

    def __getitem__(self, quantity: str) -> Any:
        """A quantity by name: sim["ball.position.x"], sim["energy.total"]."""
        return _core.get_quantity(self, quantity)

    @property
    def certificate(self) -> Certificate:
        """Of the last step."""
        return Certificate(*_core.get_certificate(self))

    @property
    def energy(self) -> Energy:
        """Of the present state."""
        return Energy(*_core.get_energy(self))

    @property
    def momentum(self) -> Tuple[Any, Any]:
        """Linear, and angular about the origin, of all dynamic bodies."""
        linear, angular = _core.get_momentum(self)
        return _arrays.vector(linear), _arrays.vector(angular)

    @property
    def ledger(self) -> Dict[str, float]:
        """The energy ledger since the start: what changed the energy, by cause."""
        return _core.get_ledger(self, True)

    @property
    def step_ledger(self) -> Dict[str, float]:
        """The energy ledger of the last step."""
        return _core.get_ledger(self, False)

    @property
    def info(self) -> Dict[str, Any]:
        """What the last step did: solver, iterations, residual, contacts, penetration, ..."""
        return _core.get_info(self)

    # ---- forces ----

    def apply(self, name: Union[str, int], force: Optional[Vector] = None,
              torque: Union[Vector, float, None] = None, effort: Optional[float] = None) -> None:
        """For the coming step: a force and torque on a body, or an effort of a joint.

            sim.apply("cube", force=(1, 0, 0))
            sim.apply("elbow", effort=2.5)
        """
        if effort is not None:
            if force is not None or torque is not None:
                raise TypeError("effort is for joints, force and torque for bodies")
            self.joint(name).apply(effort)
        else:
            self.body(name).apply((0.0, 0.0, 0.0) if force is None else force,
                                  (0.0, 0.0, 0.0) if torque is None else torque)

    def set_pair_friction(self, a: Union[str, int], b: Union[str, int], mu: float) -> None:
        """Friction of a pair of bodies, of this simulation alone; NaN: the scene's."""
        _core.set_parameter(self, "pair_friction", _index(self._bodies, a, "body"), mu,
                            float(_index(self._bodies, b, "body")), _NAN)

    def set_spring(self, spring: int, stiffness: float = _NAN, damping: float = _NAN,
                   rest: float = _NAN) -> None:
        """A spring by its number in the scene; NaN: the scene's value."""
        _core.set_parameter(self, "spring", spring, stiffness, damping, rest)

    def set_controller(self, name: Union[str, int], kp: float = _NAN, ki: float = _NAN,
                       kd: float = _NAN, target: Optional[float] = None) -> None:
        """Gains and target of a controller; NaN: the scene's value."""
        index = _index(self._scene.controllers, name, "controller")
        if target is not None:
            _core.set_parameter(self, "target", index, target, _NAN, _NAN)
        if not (math.isnan(kp) and math.isnan(ki) and math.isnan(kd)):
            _core.set_parameter(self, "gains", index, kp, ki, kd)

    # ---- queries ----

    def ray(self, origin: Vector, direction: Vector, max_distance: float = math.inf,
            ignore: Union[str, int, None] = None) -> Optional[RayHit]:
        """The first surface on a ray, or None."""
        skip = -1 if ignore is None else _index(self._bodies, ignore, "body")
        hit = _core.query_ray(self, _three(origin, self.planar, "origin"),
                              _three(direction, self.planar, "direction"), max_distance, skip)
        if hit is None:
            return None
        return RayHit(self._bodies[hit[0]], hit[1], _arrays.vector(hit[2]), _arrays.vector(hit[3]))

    def distance(self, a: Union[str, int], b: Union[str, int]) -> Distance:
        """The distance of two bodies."""
        found = _core.query_distance(self, _index(self._bodies, a, "body"),
                                     _index(self._bodies, b, "body"))
        return Distance(found[0], *(_arrays.vector(x) for x in found[1:]))

    def contact_force(self, body: Union[str, int], other: Union[str, int, None] = None
                      ) -> ContactForce:
        """Sum of the contact forces of another body, or of all, on a body in the last step."""
        found = _core.query_contact_sum(self, _index(self._bodies, body, "body"),
                                        -1 if other is None else _index(self._bodies, other, "body"))
        return ContactForce(found[0], *(_arrays.vector(x) for x in found[1:]))

    # ---- copies ----

    def clone(self) -> "Sim":
        """An independent simulation in the same state, whose future has the same bits."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        self._clone_into(other)
        return other

    def __copy__(self) -> "Sim":
        return self.clone()

    def __deepcopy__(self, memo: Any) -> "Sim":
        return self.clone()

    def __reduce__(self) -> Any:
        raise TypeError("a simulation cannot be pickled: send its scene and save() instead")

    def restore_frame(self, recording: Any, frame: int = -1) -> None:
        """The state of a frame of a recording of the same scene, warm start included."""
        self._restore_frame(getattr(recording, "path", recording), frame)

    # ---- pictures ----

    def html(self) -> str:
        """A page of the present state."""
        import tempfile

        from ._recording import Recording
        with tempfile.TemporaryDirectory(prefix="perp-") as folder:
            path = os.path.join(folder, "state.h5")
            self._run(-math.inf, path)
            return Recording(path).html()

    def _repr_html_(self) -> str:
        from ._page import frame
        return frame(self.html())

    def __repr__(self) -> str:
        try:
            return f"<perp.Sim {self._scene.name!r} at t = {self.time:.6g}>"
        except (RuntimeError, AttributeError):
            return "<perp.Sim>"
