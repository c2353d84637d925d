"""Many runs of a scene at once."""
from __future__ import annotations

import array
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _arrays, _core
from ._scene import PathLike, Scene, with_settings

_STATUS = ("ok", "failed", "timeout", "crashed")


class Rollout:
    """The results of many runs; run i is entry i of every list and row i of every array.

    `params` what was varied, `measures` {name: values}, `status` ("ok", "failed", "timeout"),
    `outcome`, `message`, `steps`, `seconds` of CPU, `certificate` (worst of the run), `energy_error`,
    `q` and `v` (last state), `observed` (one array a run, if anything was to be observed: a row for
    the start and for each step).
    """

    params: Dict[str, List[Any]]
    measures: Dict[str, Any]
    status: List[str]
    outcome: List[str]
    message: List[str]
    steps: Any
    seconds: Any
    certificate: Any
    energy_error: Any
    q: Any
    v: Any
    observed: List[Any]

    def __len__(self) -> int:
        return len(self.status)

    def to_dict(self) -> Dict[str, Any]:
        """One column for each varied name and each measure, and how the runs ended."""
        return {**self.params, **self.measures, "status": self.status, "outcome": self.outcome,
                "certificate": self.certificate, "steps": self.steps, "message": self.message}

    def to_dataframe(self) -> Any:
        """The same as a DataFrame of pandas."""
        pandas = _arrays.optional("pandas")
        if pandas is None:
            raise ImportError("to_dataframe needs pandas (Debian: python3-pandas); to_dict does not")
        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        good = self.status.count("ok")
        return f"<perp.Rollout: {len(self)} runs, {good} ok>"


Params = Union[Mapping[str, Sequence[Any]], Sequence[Mapping[str, Any]]]


def _columns(params: Params) -> Tuple[List[str], int, Dict[str, List[Any]]]:
    """Names, number of runs, and the values of each name."""
    if isinstance(params, Mapping):
        columns: Dict[str, List[Any]] = {}
        for name, values in params.items():
            if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
                raise TypeError(f"params: {name}: expected a sequence of values, one a run, got {values!r}")
            columns[str(name)] = list(values.tolist() if hasattr(values, "tolist") else values)
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise ValueError("params: the names have different numbers of values")
        return list(columns), lengths.pop() if lengths else 0, columns
    rows = list(params)
    names = list(rows[0]) if rows else []
    for i, row in enumerate(rows):
        if set(row) != set(names):
            raise ValueError(f"params: run {i} has other names than run 0")
    return names, len(rows), {name: [row[name] for row in rows] for name in names}


def rollout(scene: Union[Scene, PathLike, Mapping[str, Any]], params: Params, *,
            jobs: Optional[int] = None, observe: Sequence[str] = (), max_steps: int = 0,
            **settings: Any) -> Rollout:
    """Run a scene once for each set of values, on threads.

    params: {name: values} or [{name: value}, ...]; a name is a parameter of the scene or a JSON pointer.
    jobs: threads (default: all processors); results have the same bits for any number.
    observe: quantities that are sampled at the start and after every step. max_steps: limit of a run.
    A run that fails is a result: see `Rollout.status` and `.message`.
    """
    base = with_settings(scene, settings)
    names, runs, columns = _columns(params)
    values = array.array("d")
    texts: List[Optional[str]] = []
    for i in range(runs):
        for name in names:
            value = columns[name][i]
            texts.append(value if isinstance(value, str) else None)
            try:
                values.append(0.0 if isinstance(value, str) else float(value))
            except (TypeError, ValueError):
                raise TypeError(f"params: {name}: values are numbers or texts, got {value!r}; of a vector "
                                "vary the entries (\"/bodies/1/velocity/0\")") from None
    if runs:  # a name that does not exist is the caller's mistake, not a run that failed
        trial = base.copy()
        for name in names:
            if name.startswith("/") or name not in trial.parameters:
                trial._handle.set([(name, columns[name][0])])
    observe = [observe] if isinstance(observe, str) else list(observe)
    width = _width(base, observe)
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise ValueError(f"jobs: must be at least 1, got {jobs}")
    raw = _core.rollout(base._handle, names, values, texts if any(texts) else None, runs,
                        list(observe), max_steps, jobs)
    return _collect(base, columns, runs, raw, width)


def _width(base: Scene, observe: Sequence[str]) -> int:
    """How many numbers a sample has; a name that does not exist raises."""
    if not observe:
        return 0
    from ._sim import Sim
    values = [Sim(base)[name] for name in observe]
    return sum(1 if isinstance(value, float) else len(value) for value in values)


def _collect(base: Scene, columns: Dict[str, List[Any]], runs: int, raw: Dict[str, Any],
             width: int) -> Rollout:
    result = Rollout()
    bodies, planar = len(base.bodies), base.dimension == 2
    measures = base.measures
    result.params = columns
    table = _arrays.from_bytes(raw["measures"], (runs, len(measures)))
    for_measure = table.T if _arrays.numpy() is not None else \
        list(zip(*table.tolist())) if measures and runs else [()] * len(measures)
    result.measures = {name: for_measure[i] for i, name in enumerate(measures)}
    result.status = [_STATUS[s] for s in memoryview(raw["status"]).cast("i")]
    size = len(raw["outcome"]) // runs if runs else 0
    result.outcome = [bytes(raw["outcome"][i * size:(i + 1) * size]).split(b"\0")[0].decode("utf-8", "replace")
                      for i in range(runs)]
    result.message = raw["message"]
    result.steps = _arrays.from_bytes(raw["steps"], (runs,), "q")
    result.seconds = _arrays.from_bytes(raw["seconds"], (runs,))
    result.certificate = _arrays.from_bytes(raw["certificate"], (runs,))
    result.energy_error = _arrays.from_bytes(raw["energy_error"], (runs,))
    result.q = _arrays.from_bytes(raw["q"], (runs, bodies, 3 if planar else 7))
    result.v = _arrays.from_bytes(raw["v"], (runs, bodies, 3 if planar else 6))
    result.observed = [_arrays.from_bytes(data, (len(data) // 8 // width, width))
                       for data in raw["observed"]] if width else []
    return result
