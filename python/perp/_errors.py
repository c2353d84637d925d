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


_NO_FILE = re.compile(r": cannot (open|read|write|be opened): ")
_AT_LINE = re.compile(r"(.+?):[0-9]+: ")


def _make_error(status: int, text: str, file: Optional[str]) -> Error:
    """The exception of a status of the library (perp_status)."""
    if status == 1 and _NO_FILE.search(text):
        status = 3
    return _fill(_CLASSES.get(status, Error)(text), text, file)


def _fill(error: Error, text: str, file: Optional[str]) -> Error:
    """Sets file, pointer and message of an exception."""
    rest = text
    line = _AT_LINE.match(text)
    if file is not None and rest.startswith(file + ": "):
        rest = rest[len(file) + 2:]
    elif line is not None:  # of data: a file and a line, no pointer
        file = line[1]
    elif not rest.startswith("/") and ": /" in rest and file is None:
        rest = rest[rest.index(": /") + 2:]
    match = _POINTER.match(rest) if line is None else None
    error.args = (text,)
    error.file = file
    error.pointer = match[1] if match else None
    error.message = rest[match.end():] if match else rest
    return error


_core.set_error_factory(_make_error)
