"""Studies: sweeps in worker processes, and the database of their results."""
from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _arrays, _core
from ._arrays import plain
from ._scene import PathLike, Scene

_WORKER = "import sys; sys.path[:] = sys.argv[4:]; import perp._study as s; s._serve(*sys.argv[1:4])"


def _serve(text: str, origin: str, folder: str) -> None:
    """The program of a worker process."""
    with open(text, encoding="utf-8") as file:
        _core.serve(file.read(), origin, folder)


class Results:
    """The results of a sweep: an SQLite database, one row a run (docs/studies.md)."""

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(self.path)
        self.report: Dict[str, Any] = {}

    def _query(self, text: str) -> Tuple[List[str], List[Tuple[Any, ...]]]:
        import sqlite3
        from urllib.parse import quote
        connection = sqlite3.connect(f"file:{quote(self.path)}?mode=ro", uri=True)
        try:
            cursor = connection.execute(text)
            return [column[0] for column in cursor.description], cursor.fetchall()
        finally:
            connection.close()

    def __len__(self) -> int:
        return int(self._query("SELECT count(*) FROM runs")[1][0][0])

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        names, rows = self._query("SELECT * FROM runs ORDER BY id")
        return (dict(zip(names, row)) for row in rows)

    def __getitem__(self, column: str) -> Any:
        """A column over all runs, in the order of their ids; None where a run has no value."""
        names, rows = self._query("SELECT * FROM runs ORDER BY id")
        if column not in names:
            raise KeyError(f"no column {column!r}: there are {', '.join(names)}")
        values = [row[names.index(column)] for row in rows]
        np = _arrays.numpy()
        numbers = all(isinstance(value, (int, float)) for value in values)
        return np.array(values) if np is not None and numbers else values

    @property
    def columns(self) -> List[str]:
        """Names of the columns."""
        return self._query("SELECT * FROM runs LIMIT 0")[0]

    def to_dict(self) -> Dict[str, Any]:
        """All columns."""
        names, rows = self._query("SELECT * FROM runs ORDER BY id")
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def to_dataframe(self) -> Any:
        """The same as a DataFrame of pandas, with the id as index."""
        pandas = _arrays.optional("pandas")
        if pandas is None:
            raise ImportError("to_dataframe needs pandas (Debian: python3-pandas); to_dict does not")
        return pandas.DataFrame(self.to_dict()).set_index("id")

    def __repr__(self) -> str:
        return f"<perp.Results: {len(self)} runs, {self.path}>"


def _write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def sweep(study: Union[PathLike, Mapping[str, Any]], out: PathLike, *, jobs: int = 0,
          resume: bool = False, shard: Tuple[int, int] = (1, 1),
          progress: Optional[Callable[[int, int], Any]] = None) -> Results:
    """Run a study: what `perp sweep` does, with the same bits.

    study: a study file, or a dict with its content, in which "scene" may be a path, a dict or a Scene.
    out: the database. jobs: worker processes (0: one for each processor). resume: go on with the
    database if it is there. progress: called with (done, total) several times a second. A run that
    fails, hangs or crashes is a row.
    """
    import tempfile
    with tempfile.TemporaryDirectory(prefix="perp-") as folder:
        if isinstance(study, Mapping):
            content = dict(study)
            scene = content.get("scene")
            if isinstance(scene, (Mapping, Scene)):
                text = scene.text if isinstance(scene, Scene) else json.dumps(scene, default=plain)
                content["scene"] = _write(folder, "scene.json", text)
            elif isinstance(scene, (str, os.PathLike)):
                content["scene"] = os.path.abspath(scene)
            text, origin = json.dumps(content, default=plain), os.path.join(os.getcwd(), "study.json")
        else:
            origin = os.path.abspath(study)
            with open(study, encoding="utf-8") as file:
                text = file.read()
        path = _write(folder, "study.json", text)
        database = os.path.dirname(os.path.abspath(out))
        worker = [sys.executable, "-c", _WORKER, path, origin, database, *sys.path]
        report = _core.sweep(text, origin, os.path.abspath(out), jobs, resume, shard[0], shard[1],
                             worker, progress)
    results = Results(out)
    results.report = report
    return results


def design(*args: Any, **settings: Any) -> Any:
    """Find the parameters that minimise a measure. Not part of this version."""
    raise NotImplementedError("perp.design is not part of this version (docs/status.md); "
                              "perp.rollout with an optimiser of your own does what it will do")


def estimate(*args: Any, **settings: Any) -> Any:
    """Find parameters from measured motion. Not part of this version."""
    raise NotImplementedError("perp.estimate is not part of this version (docs/status.md); "
                              "python/examples/estimate_friction.py does it with perp.rollout")


def gradient(*args: Any, **settings: Any) -> Any:
    """Derivatives of measures by parameters. Not part of this version."""
    raise NotImplementedError("perp.gradient is not part of this version (docs/status.md); "
                              "perp.rollout gives difference quotients")
