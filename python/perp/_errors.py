"""Exceptions: what went wrong, in which file, at which JSON pointer."""
from __future__ import annotations

import re
from typing import Optional

from . import _core

_POINTER = re.compile(r"(/\S*?): ")


class Error(Exception):
    """An error of perp.

    `file` is the file that the message is about, or None; `pointer` the place in it as a JSON pointer
    ("/bodies/1/mass"), or None; `message` the sentence without either.
    """

    file: Optional[str] = None
    pointer: Optional[str] = None
    message: str = ""


class InputError(Error, ValueError):
    """Bad input: a scene, a study, an argument."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class UnsupportedError(Error, NotImplementedError):
    """A known name that is not implemented."""


class NumericError(Error, ArithmeticError):
    """A number that must be finite is not."""


class SolveError(Error):
    """The problem of a step was not solved to its tolerance. The state is that before the step."""


class CancelledError(Error):
    """A computation was asked to stop."""


_CLASSES = {1: InputError, 3: FileError, 4: UnsupportedError, 5: NumericError, 6: SolveError,
            7: CancelledError}


def _make_error(status: int, text: str, file: Optional[str]) -> Error:
    """The exception of a status of the library (perp_status)."""
    error = _CLASSES.get(status, Error)(text)
    rest = text
    if file is not None and rest.startswith(file + ": "):
        rest = rest[len(file) + 2:]
    elif not rest.startswith("/") and ": /" in rest and file is None:
        rest = rest[rest.index(": /") + 2:]
    match = _POINTER.match(rest)
    error.file = file
    error.pointer = match[1] if match else None
    error.message = rest[match.end():] if match else rest
    return error


_core.set_error_factory(_make_error)
