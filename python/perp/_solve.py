"""Complementarity problems from arrays: LCP, MLCP, friction."""
from __future__ import annotations

import array
import math
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _arrays, _core
from ._scene import PathLike


class LCP(NamedTuple):
    """w = M z + q, z >= 0, w >= 0, z'w = 0. M: dense or sparse (SciPy)."""

    M: Any
    q: Any


class MLCP(NamedTuple):
    """w = M z + q, lower <= z <= upper; w_i >= 0 where z_i is at its lower bound, <= 0 at its upper
    one, else 0. Bounds may be infinite, or one number for all."""

    M: Any
    q: Any
    lower: Any = 0.0
    upper: Any = math.inf


class Friction(NamedTuple):
    """u = W r + q for contacts with friction mu: in each, the normal row first, then `dimension` - 1
    tangential ones. 0 <= r_n complementary to u_n >= 0; r_t in the disc of radius mu r_n, against the
    slip."""

    W: Any
    q: Any
    mu: Any
    dimension: int = 3


class Solution(NamedTuple):
    """z: the unknowns (r of a friction problem); w: M z + q. `outcome` is "solved" exactly if the
    residual, computed anew from the problem, is within the tolerance."""

    z: Any
    w: Any
    outcome: str
    residual: float
    iterations: int
    solver: str
    seconds: float
    detail: str
    kind: str = ""
    name: str = ""

    @property
    def solved(self) -> bool:
        """The outcome is "solved"."""
        return self.outcome == "solved"


def _is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "tocsc")


def _sparse(matrix: Any) -> Tuple[int, Any, Any, Any]:
    """Size, starts of columns, rows, values."""
    if _is_sparse(matrix):
        np = _arrays.numpy()
        csc = matrix.tocsc()
        csc.sum_duplicates()
        csc.sort_indices()
        if csc.shape[0] != csc.shape[1]:
            raise ValueError(f"the matrix must be square, got {csc.shape}")
        return (csc.shape[0], np.ascontiguousarray(csc.indptr, dtype="i4"),
                np.ascontiguousarray(csc.indices, dtype="i4"),
                np.ascontiguousarray(csc.data, dtype="f8"))
    n, dense = _dense(matrix)
    np = _arrays.numpy()
    if np is not None:
        rows = dense.reshape(n, n)
        column, row = np.nonzero(rows.T)
        start = np.zeros(n + 1, dtype="i4")
        np.cumsum(np.bincount(column, minlength=n), out=start[1:])
        return n, start, np.ascontiguousarray(row, dtype="i4"), np.ascontiguousarray(rows[row, column])
    starts, found, values = array.array("i", [0]), array.array("i"), array.array("d")
    flat = memoryview(dense).cast("B").cast("d")
    for j in range(n):
        for i in range(n):
            if flat[i * n + j] != 0.0:
                found.append(i)
                values.append(flat[i * n + j])
        starts.append(len(found))
    return n, starts, found, values


def _dense(matrix: Any) -> Tuple[int, Any]:
    numbers = _arrays.doubles(matrix.toarray() if _is_sparse(matrix) else matrix)
    count = memoryview(numbers).nbytes // 8
    n = math.isqrt(count)
    nested = not hasattr(matrix, "ndim") and count > 0 and hasattr(matrix[0], "__len__")
    if n * n != count or getattr(numbers, "ndim", 1) == 2 and numbers.shape[0] != n or nested and len(matrix) != n:
        raise ValueError("the matrix must be square")
    return n, numbers


def _numbers(name: str, value: Any, n: int) -> Any:
    """n numbers."""
    numbers = _arrays.doubles(value)
    count = memoryview(numbers).nbytes // 8
    if count != n:
        raise ValueError(f"{name}: expected {n} numbers, got {count}")
    return numbers


def _filled(name: str, value: Any, n: int) -> Any:
    """A number for all, or a sequence."""
    if hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0:
        return array.array("d", [float(value)]) * n
    return _numbers(name, value, n)


def _from_dict(problem: Mapping[str, Any]) -> Union[LCP, MLCP, Friction]:
    """{"M", "q"}, with bounds an MLCP; {"W", "q", "mu"} friction."""
    kind: Any = Friction if "W" in problem else MLCP if "lower" in problem or "upper" in problem else LCP
    try:
        found: Union[LCP, MLCP, Friction] = kind(**problem)
    except TypeError:
        raise TypeError(f"solve: a dict has the keys of {kind.__name__}, {', '.join(kind._fields)}; "
                        f"got {', '.join(map(str, problem))}") from None
    return found


def solve(problem: Union[LCP, MLCP, Friction, Mapping[str, Any], PathLike, Any], q: Any = None, *,
          method: str = "auto", options: Optional[Mapping[str, float]] = None,
          tolerance: float = 1e-10, max_iter: int = 0, time_limit: float = 0.0,
          start: Any = None) -> Solution:
    """Solve a complementarity problem.

        perp.solve(M, q)                                  # an LCP
        perp.solve(perp.MLCP(M, q, lower, upper))
        perp.solve(perp.Friction(W, q, mu))
        perp.solve({"M": M, "q": q})                      # the same by names
        perp.solve("problem.json")                        # any problem file

    Matrices are nested lists, arrays of NumPy, or sparse ones of SciPy. method: a solver of
    `perp.methods()`; options: its settings. start: a first guess. The GIL is released.
    """
    settings: Dict[str, float] = {str(k): float(v) for k, v in (options or {}).items()}
    if isinstance(problem, (str, os.PathLike)):
        kind, name, z, report = _core.solve_file(problem, method, settings, tolerance, max_iter,
                                                 time_limit)
        return Solution(_arrays.from_bytes(z, (len(z) // 8,)), None, kind=kind, name=name, **report)
    if q is not None:
        problem = LCP(problem, q)
    if isinstance(problem, Mapping):
        problem = _from_dict(problem)
    lower = upper = mu = None
    starts: Any = None
    rows: Any = None
    dimension = 0
    if isinstance(problem, LCP) and not _is_sparse(problem.M):
        kind = "lcp"
        n, values = _dense(problem.M)
    elif isinstance(problem, (LCP, MLCP)):
        kind = "mlcp"
        n, starts, rows, values = _sparse(problem.M)
        lower = _filled("lower", getattr(problem, "lower", 0.0), n)
        upper = _filled("upper", getattr(problem, "upper", math.inf), n)
    elif isinstance(problem, Friction):
        kind, dimension = "friction", problem.dimension
        n, starts, rows, values = _sparse(problem.W)
        if dimension not in (1, 2, 3) or n % dimension != 0:
            raise ValueError(f"Friction: W has {n} rows, which is no number of contacts of dimension {dimension}")
        mu = _filled("mu", problem.mu, n // dimension)
    else:
        raise TypeError("solve takes M and q, an LCP, an MLCP, a Friction, or a problem file")
    right = _numbers("q", problem.q, n)
    guess = None if start is None else _numbers("start", start, n)
    z, w, report = _core.solve(kind, n, starts, rows, values, right, lower, upper, mu, guess,
                               dimension, method, settings, tolerance, max_iter, time_limit)
    return Solution(_arrays.from_bytes(z, (n,)), _arrays.from_bytes(w, (n,)), kind=kind, **report)


def methods() -> Dict[str, Tuple[str, List[str]]]:
    """Solvers: {name: (summary, forms that it takes)}."""
    return {name: (summary, forms.split()) for name, (summary, forms) in _core.methods().items()}
