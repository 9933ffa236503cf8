"""The exceptions that Tessera raises. Messages are lower case and have no full stop.

A traceback shows the user's lines and none of ours: an error in a program ends in the line of the
function that has the error, with the calls of helpers that lead there, as if Python had run it; an
error in an argument ends in the call.
"""

from __future__ import annotations

import ast
import functools
import re
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class TesseraError(Exception):
    """The base class of all Tessera errors."""

    #: The traceback was made for readers; the extension takes our own last frame off it.
    _placed = False


class FixIt(NamedTuple):
    """A suggestion of a diagnostic: a text that replaces a range of characters, which may be
    empty."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


class Diagnostic(NamedTuple):
    """One message of the compiler at a source location; lines and columns count from 1."""

    severity: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    notes: tuple[Diagnostic, ...] = ()
    fixits: tuple[FixIt, ...] = ()


class CompileError(TesseraError):
    """The program has errors, or its target cannot run it; the text renders `diagnostics`."""

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...] = (), function: str = ""):
        super().__init__(text)
        self.diagnostics = diagnostics
        self.function = function  # that was to be compiled


class ArgumentError(TesseraError, ValueError, TypeError):
    """An argument of a call is invalid: names it, what was expected and what was found."""


class OutOfRangeError(TesseraError, IndexError):
    """An element of an argument is an index out of range."""


class DeviceError(TesseraError):
    """A device is missing, or cannot do what was requested."""


class OutOfMemoryError(DeviceError, MemoryError):
    """A result or a temporary does not fit into the device's memory."""


_SEVERITIES = ("error", "warning", "note", "remark")


def compile_error(text: str, records: list, function: str = "") -> CompileError:
    """The exception for diagnostics: (severity, file, four numbers, message, suggestions) each."""
    diagnostics: list[Diagnostic] = []
    for severity, *rest, fixits in records:
        suggested = tuple(FixIt(*fixit) for fixit in fixits)
        diagnostic = Diagnostic(_SEVERITIES[severity], *rest, fixits=suggested)
        if diagnostic.severity == "note" and diagnostics:
            owner = diagnostics[-1]
            diagnostics[-1] = owner._replace(notes=owner.notes + (diagnostic,))
        else:
            diagnostics.append(diagnostic)
    return CompileError(
        text.rstrip("\n") or "the compiler failed without a message", tuple(diagnostics), function
    )


def warn(records: list) -> None:
    """Python's warnings for those among the diagnostics."""
    import warnings

    for severity, file, line, *_, message, _fixits in records:
        if _SEVERITIES[severity] == "warning":
            warnings.warn_explicit(message, UserWarning, file or "<tessera>", line or 1)


# -- tracebacks ---------------------------------------------------------------------------------

_CALL = re.compile(r"(?:in the call of|the value of) '(.+)' (?:is needed )?here")


class _Here(Exception):
    """Raised to get a frame at a location in the user's source."""


def _entry(
    place: Diagnostic, function: str, following: types.TracebackType | None
) -> types.TracebackType:
    """A traceback's entry for a range of the source in a function of this name."""
    raising = ast.parse("raise here")
    ends = (place.end_line, place.end_column) > (place.line, place.column)
    for node in ast.walk(raising):
        if isinstance(node, (ast.stmt, ast.expr)):
            # Lines count from the code's first one, which is set below.
            node.lineno, node.col_offset = 1, place.column - 1
            node.end_lineno = 1 + (place.end_line - place.line if ends else 0)
            node.end_col_offset = (place.end_column if ends else place.column + 1) - 1
    code = compile(raising, place.file, "exec")
    code = code.replace(co_name=function, co_qualname=function, co_firstlineno=place.line)
    try:
        exec(code, {"here": _Here, "__name__": "", "__builtins__": {}})  # noqa: S102 (our own text)
    except _Here as here:
        assert here.__traceback__ and here.__traceback__.tb_next
        entry = here.__traceback__.tb_next
    return types.TracebackType(following, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)


def source_traceback(error: BaseException) -> types.TracebackType | None:
    """The first error's line, under the calls that lead to it; None for errors without a
    location."""
    diagnostics = error.diagnostics if isinstance(error, CompileError) else ()
    for first in diagnostics:
        if first.severity != "error" or not first.line:
            continue
        places, names = [first], []
        for note in first.notes:
            if (call := _CALL.fullmatch(note.message)) and note.line:
                places.append(note)
                names.append(call[1])
        names.append(error.function or "<function>")
        traceback = None
        for place, name in zip(places, names):
            traceback = _entry(place, name, traceback)
        return traceback
    return None


def placed(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """A method whose errors show the user's source instead of our frames."""

    @functools.wraps(method)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        __tracebackhide__ = True  # of pytest
        try:
            return method(*args, **kwargs)
        except TesseraError as error:
            error._placed = True
            raise error.with_traceback(source_traceback(error))

    return wrapper


def kind_of(value: Any) -> str:
    """The description in a message of a value that is neither an array nor a number."""
    return "None" if value is None else type(value).__name__


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    import difflib

    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{close[0]}'" if close else ""
