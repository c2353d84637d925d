"""Arrays: NumPy's where NumPy is there, memoryviews and tuples of floats where it is not.

NumPy is imported when the first array is asked for, so that `import perp` stays quick.
"""
from __future__ import annotations

import array
import struct
from collections.abc import Sequence
from typing import Any, Dict, List, Optional, Tuple

from . import _core

_numpy: Any = None
_tried = False


def numpy() -> Any:
    """The module numpy, or None."""
    global _numpy, _tried
    if not _tried:
        try:
            import numpy as module
            _numpy = module
        except ImportError:
            _numpy = None
        _tried = True
    return _numpy


def from_view(view: Any) -> Any:
    """An array over a buffer of float64, without a copy."""
    np = numpy()
    return np.asarray(view) if np is not None else memoryview(view)


def from_bytes(data: Any, shape: Sequence[int], kind: str = "d") -> Any:
    """An array over bytes that belong to nobody else, without a copy."""
    np = numpy()
    if np is not None:
        return np.frombuffer(data, dtype={"d": "f8", "i": "i4", "q": "i8"}[kind]).reshape(shape)
    if 0 in shape:
        return memoryview(data).cast("B").cast(kind)
    return memoryview(data).cast("B").cast(kind, list(shape))


def vector(values: Tuple[float, ...]) -> Any:
    """A few numbers: a new array, or the tuple."""
    np = numpy()
    return np.array(values) if np is not None else values


def doubles(values: Any) -> Any:
    """Anything that is a sequence (of sequences) of numbers, as a buffer of float64 without gaps."""
    np = numpy()
    if np is not None:
        found = np.asarray(values)
        if found.dtype.kind == "c":
            raise TypeError("expected real numbers, got complex ones")
        return np.ascontiguousarray(found, dtype="f8")
    if isinstance(values, (memoryview, array.array)):
        return values
    return array.array("d", _flatten(values))


def _flatten(values: Any) -> List[float]:
    flat: List[float] = []
    for value in values:
        if hasattr(value, "__len__") or hasattr(value, "__iter__"):
            flat.extend(_flatten(value))
        else:
            flat.append(float(value))
    return flat


_LAYOUT, _SIZE = _core.contact_layout()
_dtype: Any = None


def contact_dtype() -> Any:
    """The dtype of contacts: body_a, body_b, point, normal, tangent, gap, mu, impulse, ..."""
    global _dtype
    if _dtype is None:
        np = numpy()
        _dtype = np.dtype({
            "names": [name for name, _, _, _ in _LAYOUT],
            "formats": [form if count == 1 else (form, (count,)) for _, form, _, count in _LAYOUT],
            "offsets": [offset for _, _, offset, _ in _LAYOUT],
            "itemsize": _SIZE})
    return _dtype


def contacts(buffer: Any) -> Any:
    """Contacts in a buffer as a structured array without a copy; without NumPy a list of dicts."""
    np = numpy()
    if np is not None:
        return np.frombuffer(buffer, dtype=contact_dtype()) if len(memoryview(buffer)) else \
            np.empty(0, dtype=contact_dtype())
    letters = {"i4": "i", "u8": "Q", "f8": "d"}
    found: List[Dict[str, Any]] = []
    data = memoryview(buffer)
    for at in range(0, len(data), _SIZE):
        row: Dict[str, Any] = {}
        for name, form, offset, count in _LAYOUT:
            numbers = struct.unpack_from(f"={count}{letters[form]}", data, at + offset)
            row[name] = numbers[0] if count == 1 else numbers
        found.append(row)
    return found


def plain(value: Any) -> Any:
    """What json.dumps cannot take: arrays and numbers of NumPy, paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise TypeError(f"a scene holds numbers, strings, lists and dicts, not {type(value).__name__}")


def optional(name: str) -> Optional[Any]:
    """A module that need not be there."""
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
