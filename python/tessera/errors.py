"""The exceptions that Tessera raises. Messages are lower case and have no full stop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class TesseraError(Exception):
    """The root of all errors of Tessera."""


class Diagnostic(NamedTuple):
    """One message of the compiler about a place in the source; lines and columns count from 1."""

    severity: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    notes: tuple[Diagnostic, ...] = ()


class CompileError(TesseraError):
    """The program is wrong, or its target cannot run it; the text renders `diagnostics`."""

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...] = ()):
        super().__init__(text)
        self.diagnostics = diagnostics


class ArgumentError(TesseraError, ValueError, TypeError):
    """An argument of a call is wrong: names it, what was expected and what was found."""


class DeviceError(TesseraError):
    """A device is missing, or cannot do what was asked of it."""


class OutOfMemoryError(DeviceError, MemoryError):
    """A result or a temporary does not fit into the device's memory."""


_SEVERITIES = ("error", "warning", "note", "remark")


def compile_error(text: str, records: list) -> CompileError:
    """The exception for diagnostics: (severity, file, four numbers, message) each."""
    diagnostics: list[Diagnostic] = []
    for severity, *rest in records:
        diagnostic = Diagnostic(_SEVERITIES[severity], *rest)
        if diagnostic.severity == "note" and diagnostics:
            owner = diagnostics[-1]
            diagnostics[-1] = owner._replace(notes=owner.notes + (diagnostic,))
        else:
            diagnostics.append(diagnostic)
    return CompileError(
        text.rstrip("\n") or "the compiler failed without a message", tuple(diagnostics)
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    import difflib

    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{close[0]}'" if close else ""
