"""Recordings: arrays that are read when they are asked for."""
from __future__ import annotations

import os
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _arrays, _core
from ._scene import PathLike, Scene
from ._sim import Sim


class Recording:
    """A recorded run. Arrays have one row for each frame and are read at their first use."""

    def __init__(self, path: PathLike) -> None:
        self._handle = _core.open_recording(path)
        self._about = self._handle.about
        self._cache: Dict[str, Any] = {}
        self._scene: Optional[Scene] = None
        self._sim: Optional[Sim] = None

    @property
    def path(self) -> str:
        """The file."""
        return self._handle.path

    @property
    def scene(self) -> Scene:
        """The recorded scene."""
        if self._scene is None:
            self._scene = Scene(_core.parse(self._about["scene"], self.path, [], False))
        return self._scene

    @property
    def sim(self) -> Optional[Sim]:
        """The simulation after its last step, if `perp.run` made this recording."""
        return self._sim

    def __len__(self) -> int:
        return int(self._about["frames"])

    @property
    def complete(self) -> bool:
        """The writer finished."""
        return bool(self._about["complete"])

    @property
    def finished(self) -> bool:
        """The simulation had reached its duration or a stop."""
        return bool(self._about["finished"])

    @property
    def note(self) -> str:
        """How the run ended, if not at its duration."""
        return str(self._about["note"])

    def _scalars(self) -> Any:
        if "scalars" not in self._cache:
            names = self._handle.scalar_names
            self._cache["scalars"] = _arrays.from_bytes(self._handle.scalars(),
                                                        (len(self), len(names)))
        return self._cache["scalars"]

    def _column(self, name: str) -> Any:
        index = self._handle.scalar_names.index(name)
        table = self._scalars()
        if _arrays.numpy() is not None:
            return table[:, index]
        return [row[index] for row in table.tolist()]

    @property
    def time(self) -> Any:
        """Of each frame."""
        return self._column("time")

    @property
    def energy(self) -> Dict[str, Any]:
        """kinetic, potential, total."""
        return {name: self._column(name) for name in ("kinetic", "potential", "total")}

    @property
    def certificate(self) -> Dict[str, Any]:
        """dynamics, normal, friction, joints, worst: the worst since the frame before."""
        return {name: self._column(name)
                for name in ("dynamics", "normal", "friction", "joints", "worst")}

    def _state(self, name: str, width: int) -> Any:
        if name not in self._cache:
            shape = (len(self), len(self.scene.bodies), 3 if self.scene.dimension == 2 else width)
            self._cache[name] = _arrays.from_bytes(self._handle.state(name == "v"), shape)
        return self._cache[name]

    @property
    def q(self) -> Any:
        """Poses: frames x bodies x 7 (in the plane 3)."""
        return self._state("q", 7)

    @property
    def v(self) -> Any:
        """Velocities: frames x bodies x 6 (in the plane 3)."""
        return self._state("v", 6)

    def contacts(self, frame: int) -> Any:
        """Contacts of the step that led to a frame, as in `Sim.contacts`."""
        return _arrays.contacts(self._handle.contacts(self._frame(frame)))

    def _frame(self, frame: int) -> int:
        if not -len(self) <= frame < len(self):
            raise IndexError(f"no frame {frame}: there are {len(self)}")
        return frame % len(self)

    def __getitem__(self, name: str) -> Any:
        """A quantity of all frames: rec["ball.position.x"]; a group, as "ball.position", has columns."""
        names, rows = self._read(name)
        return rows[:, 0] if len(names) == 1 and _arrays.numpy() is not None else \
            [row[0] for row in rows.tolist()] if len(names) == 1 else rows

    def _read(self, name: str) -> Tuple[List[str], Any]:
        if name not in self._cache:
            names, data = self._handle.quantities(name)
            self._cache[name] = names, _arrays.from_bytes(data, (len(self), len(names)))
        found: Tuple[List[str], Any] = self._cache[name]
        return found

    def to_dict(self, quantities: Optional[Sequence[str]] = None) -> Dict[str, Any]:
        """Columns of the given quantities, groups taken apart; without any, positions of all bodies and
        energies."""
        if quantities is None:
            quantities = [*(_quoted(name) + ".position" for name in self.scene.bodies),
                          "energy.kinetic", "energy.potential", "energy.total"]
        columns: Dict[str, Any] = {"time": self.time}
        for quantity in quantities:
            names, rows = self._read(quantity)
            for i, name in enumerate(names):
                columns[name] = rows[:, i] if _arrays.numpy() is not None else \
                    [row[i] for row in rows.tolist()]
        return columns

    def to_dataframe(self, quantities: Optional[Sequence[str]] = None) -> Any:
        """The same as a DataFrame of pandas, with the time as index."""
        pandas = _arrays.optional("pandas")
        if pandas is None:
            raise ImportError("to_dataframe needs pandas (Debian: python3-pandas); to_dict does not")
        return pandas.DataFrame(self.to_dict(quantities)).set_index("time")

    def plot(self, *quantities: str, axes: Any = None) -> Any:
        """Quantities over time with matplotlib; returns the axes."""
        if axes is None:
            pyplot = _arrays.optional("matplotlib.pyplot")
            if pyplot is None:
                raise ImportError("plot needs matplotlib (Debian: python3-matplotlib)")
            axes = pyplot.subplots()[1]
        for quantity in quantities or ("energy.total",):
            names, rows = self._read(quantity)
            for i, name in enumerate(names):
                axes.plot(self.time, [row[i] for row in rows.tolist()], label=name)
        axes.set_xlabel("time")
        axes.legend()
        return axes

    def verify(self) -> Dict[str, Any]:
        """Hashes, laws and a second run: what `perp verify` reports."""
        return _core.verify(self.path)

    def save(self, path: PathLike) -> "Recording":
        """Copy the file, and open the copy."""
        import shutil
        shutil.copyfile(self.path, path)
        return Recording(path)

    def html(self) -> str:
        """The replay page: one text, for a file or a frame."""
        from ._page import page
        return page(self.path)

    def save_html(self, path: PathLike) -> None:
        """Write the replay page, which opens in any browser."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html())

    def _repr_html_(self) -> str:
        from ._page import frame
        return frame(self.html())

    def __repr__(self) -> str:
        return f"<perp.Recording {self.scene.name!r}: {len(self)} frames, {self.path}>"


def _quoted(name: str) -> str:
    """A name as quantities take it."""
    plain = all(part.isidentifier() or part.isdigit() for part in name.split("."))
    return name if plain and not name[:1].isdigit() else f"[{name}]"


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def run(scene: Union[Scene, PathLike, Mapping[str, Any]], out: Optional[PathLike] = None, *,
        on_step: Any = None, **settings: Any) -> Recording:
    """Simulate a scene to its end and record it.

    out: the recording's file; without it, a temporary one that goes with the Recording. on_step: a
    function that is called before every step, or several. settings: as for `Sim`.
    """
    sim = Sim(scene, **settings)
    for function in () if on_step is None else on_step if isinstance(on_step, (list, tuple)) else (on_step,):
        sim.on_step(function)
    path: PathLike
    if out is None:
        import tempfile
        number, path = tempfile.mkstemp(prefix="perp-", suffix=".h5")
        os.close(number)
        os.unlink(path)  # the recorder replaces recordings only
    else:
        path = out
    try:
        sim.run(record=path)
    except BaseException:
        if out is None:
            _remove(os.fspath(path))
        raise
    recording = Recording(path)
    recording._sim = sim
    if out is None:
        weakref.finalize(recording, _remove, os.fspath(path))
    return recording


def open_recording(path: PathLike) -> Recording:
    """Open a recording that `perp run --out` or `perp.run(out=...)` wrote."""
    return Recording(path)
