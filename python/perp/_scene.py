"""Scenes: read from files or dicts, looked into, changed."""
from __future__ import annotations

import json
import operator
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _core
from ._arrays import plain
from ._errors import InputError

PathLike = Union[str, "os.PathLike[str]"]

# Settings of a simulation by keyword, and where they stand in a scene.
SETTINGS = {
    "step": "/step", "duration": "/duration", "stepper": "/stepper", "contact": "/contact",
    "solver": "/solver", "cone": "/friction/cone", "directions": "/friction/directions",
    "friction": "/friction/default", "gravity": "/gravity", "margin": "/margin",
    "tolerance": "/tolerance", "allow_overlap": "/allow_overlap",
    "joint_correction": "/joint_correction", "restitution": "/restitution",
    "record_every": "/record/every", "measures": "/measures", "stop": "/stop",
}


def _json(value: Any, where: str = "scene") -> str:
    try:
        return json.dumps(value, default=plain, allow_nan=False)
    except ValueError:
        shown = f", got {value}" if isinstance(value, float) else ""
        error = InputError(f"{where}: numbers must be finite{shown}")
        error.pointer = where if where.startswith("/") else None if where == "scene" else f"/parameters/{where}"
        error.message = f"numbers must be finite{shown}"
        raise error from None


class Scene:
    """A scene: bodies, joints, forces, and how they are simulated.

    Made by `perp.load`. A scene can be changed with `set` at any time: simulations that exist keep
    the scene they were made from.
    """

    _handle: "_core.Scene"

    def __init__(self, handle: "_core.Scene", from_file: bool = False) -> None:
        self._handle = handle
        self._from_file = from_file

    def set(self, *where: Any, **parameters: Any) -> "Scene":
        """Change parameters by name, or any place of the scene by its JSON pointer.

            scene.set(mu=0.2)
            scene.set("/bodies/1/mass", 3)
            scene.set({"mu": 0.2, "/bodies/1/position": [0, 0, 1]})

        All changes are made, or none: a value that the scene cannot take raises InputError with its
        pointer and leaves the scene as it was. Returns the scene.
        """
        changes: Dict[str, Any] = {}
        if len(where) == 2:
            changes[where[0]] = where[1]
        elif len(where) == 1 and isinstance(where[0], Mapping):
            changes.update(where[0])
        elif where:
            raise TypeError("set takes a pointer and a value, a dict, or keywords")
        changes.update(parameters)
        if not changes:
            return self
        pairs: List[Tuple[str, Any]] = [
            (name, value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0
             else value) for name, value in changes.items()]
        simple = all(isinstance(value, (int, float)) and not isinstance(value, bool)
                     for _, value in pairs)
        if simple and not self._handle.in_use and self._set_in_place(pairs):
            return self
        # Another handle: simulations of the old one keep it.
        changes_of = [(name, _json(value, name)) for name, value in pairs]
        source, text = self._source, self._handle.text
        try:
            self._handle = _core.parse(source, self._handle.origin, changes_of, self._from_file)
        except InputError:
            # bodies and joints of an included file or copies, which only the scene as simulated has
            if source == text or not all(name.startswith(("/bodies/", "/joints/")) for name, _ in pairs):
                raise
            self._handle = _core.parse(text, self._handle.origin, changes_of, self._from_file)
        return self

    def _set_in_place(self, pairs: List[Tuple[str, Any]]) -> bool:
        """The quick way: no parsing. False: it did not work, and the slow way says why."""
        old = self._source
        try:
            self._handle.set(pairs)
        except Exception:
            self._handle = _core.parse(old, self._handle.origin, [], self._from_file)
            return False
        return True

    @property
    def _source(self) -> str:
        """The scene to be read again: parameters still act on what is included, copied and configured."""
        source = self._handle.source
        if source == self._handle.text:
            return source
        tree = json.loads(source)
        _make_absolute(tree, os.path.dirname(os.path.abspath(self._handle.origin)))
        return json.dumps(tree)

    def copy(self) -> "Scene":
        """An independent scene."""
        return Scene(_core.parse(self._source, self._handle.origin, [], self._from_file),
                     self._from_file)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _unpickle, (self._source, self._handle.origin, self._from_file)

    def save(self, path: PathLike) -> None:
        """Write the scene to a file."""
        self._handle.save(path)

    @property
    def name(self) -> str:
        """The scene's name."""
        return self._handle.name

    @property
    def text(self) -> str:
        """The scene as it will be simulated, as JSON."""
        return self._handle.text

    @property
    def dict(self) -> Dict[str, Any]:
        """The same as a new dict."""
        found: Dict[str, Any] = json.loads(self._handle.text)
        return found

    @property
    def bodies(self) -> List[str]:
        """Names of the bodies, in the order of q and v."""
        return self._handle.bodies

    @property
    def joints(self) -> List[str]:
        """Names of the joints."""
        return self._handle.joints

    @property
    def controllers(self) -> List[str]:
        """Names of the controllers."""
        return self._handle.controllers

    @property
    def parameters(self) -> Dict[str, float]:
        """Parameters and their values."""
        return self._handle.parameters

    @property
    def measures(self) -> List[str]:
        """Names of the measures."""
        return self._handle.measures

    @property
    def settings(self) -> Dict[str, Any]:
        """How the scene is simulated: step, duration, stepper, contact, solver, cone, ..."""
        return self._handle.settings

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return int(self._handle.settings["dimension"])

    def quantities(self) -> List[str]:
        """Names that recordings, plots and measures take (docs/quantities.md); those of pairs of
        bodies, as distance.A.B, are not listed."""
        return self._handle.quantities()

    def body(self, name: str) -> Dict[str, Any]:
        """Type, mass, inertia, friction and restitution of a body."""
        return self._handle.body(_index(self.bodies, name, "body"))

    def joint(self, name: str) -> Dict[str, Any]:
        """Type, bodies, limits, friction and damping of a joint."""
        return self._handle.joint(_index(self.joints, name, "joint"))

    def __repr__(self) -> str:
        return (f"<perp.Scene {self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, "
                f"{self.settings['duration']:g} s>")


def _unpickle(text: str, origin: str, from_file: bool) -> Scene:
    return Scene(_core.parse(text, origin, [], from_file), from_file)


def _index(names: List[str], name: Union[str, int], kind: str) -> int:
    """The number of a body or joint; the nearest name is suggested."""
    if hasattr(name, "__index__"):
        name = operator.index(name)
        if not -len(names) <= name < len(names):
            raise IndexError(f"no {kind} {name}: there are {len(names)}")
        return name % len(names)
    try:
        return names.index(name)
    except ValueError:
        import difflib
        near = difflib.get_close_matches(str(name), names, 1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no {kind} {name!r}{hint}") from None


def load(source: Union[PathLike, Mapping[str, Any], Scene], *,
         set: Optional[Mapping[str, Any]] = None, package: Optional[PathLike] = None,
         floating: bool = False, self_collision: bool = True) -> Scene:
    """Read a scene.

    source: a scene file (.json), a robot (.urdf, .xml), or a dict with the content of a scene
    file, in which arrays may stand for lists. set: changes as in `Scene.set`. Of robots: package,
    the folder of package:// names; floating, the root is not attached to the world;
    self_collision, links may touch each other.
    """
    changes = [(name, _json(value, name)) for name, value in (set or {}).items()]
    if isinstance(source, Scene):
        scene = source.copy()
        return scene.set(set) if set else scene
    if isinstance(source, Mapping):
        if package is not None or floating or not self_collision:
            raise TypeError("package, floating and self_collision are for files of robots")
        return Scene(_core.parse(_json(source), "scene", changes, False))
    folder = None if package is None else os.fspath(package)
    return Scene(_core.load(source, changes, folder, floating, self_collision), True)


def _make_absolute(tree: Any, folder: str) -> None:
    """Names of files in a scene, so that they are found from another folder too."""
    items: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        if key in ("file", "table") and isinstance(value, str):
            tree[key] = os.path.join(folder, value)
        else:
            _make_absolute(value, folder)


def with_settings(scene: Union[Scene, PathLike, Mapping[str, Any]], settings: Dict[str, Any]) -> Scene:
    """The scene itself, or a copy with settings by keyword."""
    base = scene if isinstance(scene, Scene) else load(scene)
    if not settings:
        return base
    changes: Dict[str, Any] = {}
    for name, value in settings.items():
        if name in SETTINGS:
            changes[SETTINGS[name]] = value
        elif name in base.parameters:
            changes[name] = value
        else:
            import difflib
            near = difflib.get_close_matches(name, [*SETTINGS, *base.parameters], 1)
            raise TypeError(f"no setting or parameter {name!r}"
                            + (f": did you mean {near[0]!r}?" if near else ""))
    handle = base._handle
    return Scene(_core.parse(base._source, handle.origin,
                             [(name, _json(value, name)) for name, value in changes.items()],
                             base._from_file), base._from_file)
