"""Studies: sweeps in worker processes, and the database of their results."""
from __future__ import annotations

import contextlib
import json
import operator
import os
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _arrays, _core, _errors
from ._scene import PathLike, Scene, _json, load, with_settings

_DICT = "study"  # the name of a study that is a dict
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


def _write_study(study: Union[PathLike, Mapping[str, Any]], folder: str) -> Tuple[str, str]:
    """The study as a file for other processes, and what it is called in messages; scenes are looked for beside that."""
    if isinstance(study, Mapping):
        content = dict(study)
        scene = content.get("scene")
        if isinstance(scene, (Mapping, Scene)):
            text = scene._source if isinstance(scene, Scene) else _json(scene)
            content["scene"] = _write(folder, "scene.json", text)
        elif isinstance(scene, (str, os.PathLike)):
            content["scene"] = os.path.abspath(scene)
        return _write(folder, "study.json", _json(content, "study")), _DICT
    path = os.fspath(study)  # a number would be a file descriptor
    with open(path, encoding="utf-8") as file:
        return _write(folder, "study.json", file.read()), os.path.abspath(path)


@contextlib.contextmanager
def _files_of(study: Any, jobs: int) -> Iterator[Tuple[str, str, str]]:
    """A folder, the study as a file in it, and its name in messages. What stands there of a dict is called study, scene and
    data in messages."""
    import tempfile
    if operator.index(jobs) < 0:
        raise ValueError(f"jobs: must be at least 0, got {jobs}")
    with tempfile.TemporaryDirectory(prefix="perp-") as folder:
        try:
            path, origin = _write_study(_with_files(study, folder), folder)
            yield folder, path, origin
        except _errors.Error as error:
            text = str(error).replace(os.path.join(folder, "scene.json"), "scene").replace("--resume", "resume=True")
            text = re.sub(re.escape(folder) + r"/data(-[0-9]+)?\.csv:([0-9]+)",
                          lambda m: f"data{m[1] or ''}, row {int(m[2]) - 2}", text)
            of_dict = error.file is None or error.file == _DICT or error.file.startswith(folder)
            raise _errors._fill(error, text, None if of_dict else error.file) from None


def sweep(study: Union[PathLike, Mapping[str, Any]], out: PathLike, *, jobs: int = 0,
          resume: bool = False, shard: Tuple[int, int] = (1, 1),
          progress: Optional[Callable[[int, int], Any]] = None) -> Results:
    """Run a study: what `perp sweep` does, with the same bits.

    study: a study file, or a dict with its content, in which "scene" may be a path, a dict or a Scene.
    out: the database. jobs: worker processes (0: one for each processor). resume: go on with the
    database if it is there. progress: called with (done, total) several times a second. A run that
    fails, hangs or crashes is a row.
    """
    with _files_of(study, jobs) as (_, path, origin):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        database = os.path.dirname(os.path.abspath(out))
        worker = [sys.executable, "-c", _WORKER, path, origin, database, *sys.path]
        report = _core.sweep(text, origin, os.path.abspath(out), jobs, resume, shard[0], shard[1],
                             worker, progress)
    results = Results(out)
    results.report = report
    return results


def _in_child(what: str, program: str, arguments: Sequence[str],
              progress: Optional[Callable[..., Any]]) -> Dict[str, Any]:
    """Runs a program that prints lines of JSON: lists for `progress`, then its answer."""
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", program, *arguments, *sys.path], stdout=subprocess.PIPE, text=True)
    answer: Any = None
    try:
        assert child.stdout is not None
        for line in child.stdout:
            answer = json.loads(line)
            if isinstance(answer, list) and progress is not None:
                progress(*answer)
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        if child.stdout is not None:
            child.stdout.close()
    status = child.wait()
    if not isinstance(answer, dict):
        raise _errors.Error(f"the process of the {what} ended with status {status}")
    if "error" in answer:
        kind, text, file = answer["error"]
        raise _errors._fill(getattr(_errors, kind)(text), text, file)
    return answer


def _answer(function: Callable[..., Any], path: str, *arguments: Any) -> None:
    """The program of a child: it has one thread, so that it may fork workers. Lines of JSON go to the parent."""
    from ._errors import Error

    def show(*values: float) -> None:
        print(json.dumps(values), flush=True)

    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        print(json.dumps(function(text, *arguments, show)), flush=True)
    except Error as error:
        print(json.dumps({"error": [type(error).__name__, str(error), error.file]}), flush=True)


_DESIGN = """import sys; sys.path[:] = sys.argv[6:]; import perp._study as s; s._search(*sys.argv[1:6])"""


def _search(path: str, origin: str, out: str, jobs: str, resume: str) -> None:
    _answer(_core.design, path, origin, out, int(jobs), resume == "True")


class Design(Results):
    """The results of a design: `values` of the unknowns in the best candidate, its `value`, and `report`. The rows of
    all runs are those of `Results`; `evaluations` has one for each candidate."""

    @property
    def values(self) -> Dict[str, float]:
        """The unknowns in the best candidate; empty if none has a value."""
        found: Dict[str, float] = self.report["values"]
        return found

    @property
    def value(self) -> float:
        """The objective of the best candidate."""
        return float(self.report["best_value"])

    @property
    def feasible(self) -> bool:
        """Whether the best candidate satisfies the constraints."""
        return bool(self.report["feasible"])

    @property
    def evaluations(self) -> Dict[str, List[Any]]:
        """Columns of all candidates."""
        names, rows = self._query("SELECT * FROM evaluations ORDER BY id")
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def __repr__(self) -> str:
        return f"<perp.Design: {self.value:.9g} at {self.values}, {self.report['end']}>"


def design(study: Union[PathLike, Mapping[str, Any]], out: PathLike, *, jobs: int = 0, resume: bool = False,
           progress: Optional[Callable[[int, int, float], Any]] = None) -> Design:
    """Find the values of the unknowns that minimise an expression of measures: what `perp design` does.

    study: as for `sweep`, with `unknown` and `minimise` (docs/studies.md). progress: called with (evaluations,
    at most, best value so far). The search runs in a process of its own.
    """
    with _files_of(study, jobs) as (_, path, origin):
        answer = _in_child("design", _DESIGN, [path, origin, os.path.abspath(out), str(jobs), str(resume)], progress)
    result = Design(out)
    result.report = answer
    return result


_ESTIMATE = """import sys; sys.path[:] = sys.argv[7:]; import perp._study as s; s._fit(*sys.argv[1:7])"""


def _fit(path: str, origin: str, jobs: str, action: str, data: str, folder: str) -> None:
    def fit(text: str, *arguments: Any) -> Dict[str, Any]:
        report, curves = _core.estimate(text, *arguments)
        return {"report": json.loads(report), "curves": None if curves is None else json.loads(curves)}

    _answer(fit, path, origin, int(jobs), action, data, folder)


def _field(value: Any) -> Any:
    """A field of a CSV file, whose number is read back with the same bits; empty: a gap."""
    if value is None or value != value:
        return ""
    return value.__index__() if hasattr(value, "__index__") else value if isinstance(value, str) else float(value)


def _write_table(data: Any, path: str) -> None:
    """Columns by name as a CSV file."""
    import csv
    columns = {str(name): list(data[name]) for name in data}
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError("data: columns of different lengths: "
                         + ", ".join(f"{name} {len(values)}" for name, values in columns.items()))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_field(value) for value in row] for row in zip(*columns.values()))


def _is_table(data: Any) -> bool:
    return hasattr(data, "keys") and not isinstance(data, (str, bytes, os.PathLike))


def _file_of(data: Any, folder: str, number: int) -> str:
    """A CSV file of a table, or the file that `data` names."""
    if not _is_table(data):
        return os.path.abspath(os.fsdecode(data))
    path = os.path.join(folder, "data.csv" if number == 0 else f"data-{number + 1}.csv")
    _write_table(data, path)
    return path


def _with_files(study: Union[PathLike, Mapping[str, Any]], folder: str) -> Union[PathLike, Mapping[str, Any]]:
    """The study with tables of its "data" as files."""
    data = study.get("data") if isinstance(study, Mapping) else None
    several = isinstance(data, (list, tuple))
    items: List[Any] = list(data) if several else [data]  # type: ignore[arg-type]
    if not isinstance(study, Mapping) or not any(_is_table(item) for item in items):
        return study
    files = [_file_of(item, folder, i) for i, item in enumerate(items)]
    return {**study, "data": files if several else files[0]}


class Estimate:
    """What an estimate found: `values`, `intervals` (of 95 %; infinite where the data cannot tell), `report`, as
    `perp estimate --json` prints it, and `curves`, data and fit over time."""

    def __init__(self, answer: Dict[str, Any], study: str, scene: str) -> None:
        self.report: Dict[str, Any] = answer["report"]
        self.curves: Any = answer["curves"]
        self._study, self._scene = study, scene

    @property
    def values(self) -> Dict[str, float]:
        """The estimated parameters."""
        return {name: item["value"] for name, item in self.report["estimates"].items()}

    @property
    def intervals(self) -> Dict[str, Tuple[float, float]]:
        """Intervals of 95 %."""
        def end(value: Optional[float], sign: float) -> float:
            return sign * float("inf") if value is None else float(value)

        return {name: (end(item["interval"][0], -1.0), end(item["interval"][1], 1.0))
                for name, item in self.report["estimates"].items()}

    @property
    def scene(self) -> Scene:
        """The scene with the estimated parameters."""
        return load(json.loads(self._scene))

    def save(self, path: PathLike) -> None:
        """Write the fitted study, with its scene inside: `perp estimate FITTED --predict DATA.csv` takes it."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._study)

    @property
    def converged(self) -> bool:
        """Whether the search ended at a minimum; `report["message"]` says more."""
        return bool(self.report["status"] == "converged")

    def predict(self, data: Any, *, jobs: int = 0) -> Dict[str, Any]:
        """Errors of predictions of new data, from their first rows; and the curves, as "curves".

        data: a CSV file with the columns of the study's data, or columns by name (a dict, a DataFrame)."""
        return _predict(json.loads(self._study), data, jobs)

    def __repr__(self) -> str:
        found = ", ".join(f"{name} = {value:.6g}" for name, value in self.values.items())
        return f"<perp.Estimate: {found}{'' if self.converged else ', not converged'}>"


def _predict(study: Union[PathLike, Mapping[str, Any]], data: Any, jobs: int) -> Dict[str, Any]:
    with _files_of(study, jobs) as (folder, path, origin):
        answer = _in_child("prediction", _ESTIMATE,
                           [path, origin, str(jobs), "predict", _file_of(data, folder, 0), folder], None)
    return {**answer["report"], "curves": answer["curves"]}


def predict(study: Union[PathLike, Mapping[str, Any]], data: Any, *, jobs: int = 0) -> Dict[str, Any]:
    """Errors of predictions of new data by a fitted study: what `perp estimate FITTED --predict DATA.csv` does.

    study: a study file, as `Estimate.save` and `perp estimate` write it, or a dict. data: a CSV file, or columns by
    name (a dict, a DataFrame)."""
    return _predict(study, data, jobs)


def estimate(study: Union[PathLike, Mapping[str, Any]], *, jobs: int = 0,
             progress: Optional[Callable[[int, float], Any]] = None) -> Estimate:
    """Find parameters and start states from measured motion: what `perp estimate` does.

    study: as for `sweep`, with `data`, `observe` and `unknown` (docs/studies.md). In a dict "data" may also be
    columns by name (a dict of lists or arrays, a DataFrame), in which None and NaN are gaps, or a list of these, one
    a trajectory. progress: called with (iteration, objective). The fit runs in a process of its own.
    """
    with _files_of(study, jobs) as (folder, path, origin):
        answer = _in_child("estimate", _ESTIMATE, [path, origin, str(jobs), "run", "", folder], progress)
        with open(os.path.join(folder, "fitted.json"), encoding="utf-8") as file:
            fitted = file.read()
        with open(os.path.join(folder, "fitted-scene.json"), encoding="utf-8") as file:
            return Estimate(answer, fitted, file.read())


def plan(study: Union[PathLike, Mapping[str, Any]], *, jobs: int = 0) -> Dict[str, Any]:
    """Which of the study's `candidates` would shrink the intervals most: what `perp estimate --plan --json` prints."""
    with _files_of(study, jobs) as (folder, path, origin):
        answer = _in_child("plan", _ESTIMATE, [path, origin, str(jobs), "plan", "", folder], None)
    found: Dict[str, Any] = answer["report"]
    return found


class Gradient(NamedTuple):
    """A measure and its derivatives. `flagged` says at how many steps the run has no derivative, or only one-sided ones
    ("steps" of "of"): never read a gradient without it (docs/gradients.md)."""

    value: float
    gradient: Dict[str, float]
    flagged: Dict[str, Any]
    start: Optional[Dict[str, Any]]
    check: Optional[Dict[str, Tuple[float, float]]]
    smoothed: Optional[Dict[str, Any]] = None


def _smoothed(value: float, names: Sequence[str], own: Sequence[float], kappa: float, exact_value: float, bias: float,
              exact: Sequence[float], flagged: Dict[str, Any]) -> Dict[str, Any]:
    compared = flagged["steps"] == 0
    return {"kappa": kappa, "value": value, "exact_value": exact_value, "bias": bias,
            "exact_gradient": dict(zip(names, exact)), "exact_flagged": flagged,
            "gradient_bias": {name: a - b if compared else None for name, a, b in zip(names, own, exact)}}


def gradient(scene: Union[Scene, PathLike, Mapping[str, Any]], of: str, by: Union[str, Sequence[str]], *,
             forward: bool = False, checkpoints: bool = False, threshold: float = 1e-6, check: bool = False,
             smooth: Optional[float] = None, **settings: Any) -> Gradient:
    """The derivative of a measure by parameters (names or JSON pointers): what `perp gradient` does.

    Backwards (adjoint) unless `forward`; backwards there are also derivatives by the start state: `start`, for each
    body displacement, rotation vector, velocity, angular velocity. checkpoints: less memory, more time.
    threshold: margins below it flag a step. check: differences of whole runs and how far they are certain.
    smooth: the barrier parameter of a smoothed gradient, from 1e-8 to 1. `value` and `gradient` are then those of a run with
    smoothed laws, and `smoothed` says what that changed: "kappa", "value", "exact_value", "bias" of the measure,
    "exact_gradient", its flags "exact_flagged", and "gradient_bias" (None for a run that has no gradient to compare with).
    """
    base = with_settings(scene, settings).copy()
    if of not in base.measures:
        raise _errors._fill(_errors.InputError(), f"/measures: the scene has no measure {of!r}"
                            + (f": there are {', '.join(base.measures)}" if base.measures else "")
                            + "; a quantity becomes one with scene.set(\"/measures\", {\"name\": \"body.position.x\"})", None)
    names = [by] if isinstance(by, str) else list(by)
    if smooth is not None and not 0.0 < smooth:
        raise ValueError(f"smooth: expected a barrier parameter from 1e-8 to 1, got {smooth!r}")
    value, derivatives, flagged, start, differences, smoothed = _core.gradient(
        base._handle, of, names, forward, checkpoints, threshold, 0.0 if smooth is None else smooth, check)
    return Gradient(value, dict(zip(names, derivatives)), flagged,
                    None if start is None else {name: None if row is None else _arrays.vector(row)
                                                for name, row in zip(base.bodies, start)},
                    None if differences is None else dict(zip(names, zip(*differences))),
                    None if smoothed is None else _smoothed(value, names, derivatives, *smoothed))
