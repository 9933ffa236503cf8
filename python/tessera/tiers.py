"""The tiers of a function's calls: `tsr.tiers`, docs/tiers.md.

Tier 1 interprets the function over ready code, at once. Tier 2 runs compiled code, which a thread in
the background compiles when it pays. Tier 3 runs code that is compiled for what calls have in common
(variants.py).
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ArgumentError, TesseraError

if TYPE_CHECKING:
    from .specialization import Specialization

__all__ = ["Event", "on_event", "stats"]

#: The share of a compilation's expected time that calls spend in tier 1 before it starts.
HOT = 0.1
#: The expected time of a process's first compilation, in seconds.
_FIRST_ESTIMATE = 0.5


class Choice(NamedTuple):
    """What `tier=` and `hot=` of a function say."""

    tier: str = "auto"
    hot: float = HOT


class Event(NamedTuple):
    """Something that happened to a specialisation.

    kind: "swap", calls run other code from now on, in tier 3 with the facts in `reason`;
        "fallback", the interpreter does not run it, so that the call waited for the compiler;
        "miss", code of tier 3 is given up; "failure", a compilation in the background failed, and
        the function stays in its tier.
    """

    kind: str
    function: str
    arguments: tuple[str, ...]
    seconds: float  # of the compilation
    reason: str  # or the facts of tier 3


def read_choice(tier: Any, hot: Any) -> Choice:
    text = str(tier) if type(tier) in (int, str) else ""
    if text not in ("auto", "1", "2", "3"):
        raise ArgumentError(f"option 'tier': expected 'auto', 1, 2 or 3, found {tier!r}")
    if hot is None:
        hot = HOT
    if isinstance(hot, bool) or not isinstance(hot, (int, float)) or not hot >= 0:
        raise ArgumentError(f"option 'hot': expected a number of at least 0, found {hot!r}")
    return Choice(text, float(hot))


def effective(choice: Choice) -> str:
    """The tier of a function; TESSERA_TIER pins that of all functions."""
    pinned = os.environ.get("TESSERA_TIER")
    if not pinned:
        return choice.tier
    if pinned not in ("auto", "1", "2", "3"):
        raise TesseraError(f"TESSERA_TIER: expected auto, 1, 2 or 3, found '{pinned}'")
    return choice.tier if pinned == "auto" else pinned


# -- figures ------------------------------------------------------------------------------------

_lock = threading.Lock()
_specializations: weakref.WeakSet[Specialization] = weakref.WeakSet()
_counts = {"swaps": 0, "fallbacks": 0, "failures": 0, "misses": 0}
_compilations = [0, 0.0]  # how many, and their seconds


def register(record: Specialization) -> None:
    with _lock:
        _specializations.add(record)


def count_compilation(seconds: float) -> None:
    with _lock:
        _compilations[0] += 1
        _compilations[1] += seconds


def expected_compile_seconds() -> float:
    """The mean of what compilations of this process took."""
    count, seconds = _compilations
    return seconds / count if count else _FIRST_ESTIMATE


def stats() -> dict[str, Any]:
    """Figures of all functions of this process: specialisations in each tier, calls that each tier
    answered, swaps, fall-backs, failures, and misses that gave up code of tier 3, compilations that
    wait or run, seconds that compilations took and calls saved."""
    from .background import pending

    with _lock:
        records = list(_specializations)
        count, seconds = _compilations
    return {
        "tier1": sum(record.tier == 1 for record in records),
        "tier2": sum(record.tier == 2 for record in records),
        "tier3": sum(record.tier == 3 for record in records),
        "tier1_calls": sum(record.calls - record.hits for record in records),
        "tier2_calls": sum(record.hits - record.special_hits for record in records),
        "tier3_calls": sum(record.special_hits for record in records),
        **_counts,
        "pending": pending(),
        "compilations": count,
        "compile_seconds": seconds,
        "seconds_saved": sum(record.seconds_saved for record in records),
    }


# -- events -------------------------------------------------------------------------------------

_callbacks: list[Callable[[Event], Any]] = []


def on_event(callback: Callable[[Event], Any]) -> Callable[[], None]:
    """Calls `callback(event)` for every event, in the thread where it
    happened. The result is a function that ends this."""
    if not callable(callback):
        raise ArgumentError(f"on_event: expected a function, found {type(callback).__name__}")
    with _lock:
        _callbacks.append(callback)

    def remove() -> None:
        with _lock:
            if callback in _callbacks:
                _callbacks.remove(callback)

    return remove


_PLURALS = {
    "swap": "swaps",
    "fallback": "fallbacks",
    "failure": "failures",
    "miss": "misses",
}


def emit(event: Event) -> None:
    with _lock:
        _counts[_PLURALS[event.kind]] += 1
        callbacks = list(_callbacks)
    for callback in callbacks:
        try:
            callback(event)
        except Exception:  # noqa: BLE001 (the user's; the call that caused the event goes on)
            sys.unraisablehook(_Unraisable(callback))
    if event.kind == "failure" and not callbacks:
        arguments = ", ".join(event.arguments)
        message = (
            f"'{event.function}({arguments})' stays in its tier: its compilation failed: "
            f"{event.reason}"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=2)


class _Unraisable:
    """What sys.unraisablehook shows of an exception."""

    def __init__(self, callback: Callable):
        self.exc_type, self.exc_value, self.exc_traceback = sys.exc_info()
        self.err_msg = "error in a callback of tessera.tiers.on_event"
        self.object = callback
