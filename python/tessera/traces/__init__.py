"""Traces: what was found out about calls, kept in the cache for the next process.

A class of calls of a function has one entry, a set of lines. Each line is a decision about facts:
"active", a variant is compiled; "missed" or "slower", it was given up; "none", no gain was
predicted. An index entry names all of them, for `tessera traces`. Lines only add up, so that
processes and files merge; of lines about the same facts the last one counts. If two processes write
at once, the lines of one may be lost: what they say is found out again.

Lines may be corrupt or untrusted: what is malformed is not there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _tessera
from ..compiler import Keys, Unit, _parsed, _text
from ..facts import Fact, fact_from, fact_line
from ..specialization import arguments_text

FORMAT = 1
_STATES = ("active", "missed", "slower", "none")
#: Lines of one class of calls.
MOST_LINES = 64
INDEX = f'["traces",{FORMAT}]'


class Trace(NamedTuple):
    """One decision."""

    state: str
    facts: list[Fact]
    gain: float  # the predicted share of the time that a call saves
    saved_us: float  # that time


def has_cache() -> bool:
    return bool(_tessera.cache_folder() or _tessera.cache_shared_folder())


def lines_of(key: str) -> list[str]:
    data = _tessera.cache_get(key) or b""
    return data.decode("utf-8", "replace").splitlines()


def entry(digest: str) -> str:
    return f'["trace",{FORMAT},"{digest}"]'


def _digest(unit: Unit) -> str:
    return _tessera.cache_key(Keys(unit).base)


def read(unit: Unit) -> list[Trace]:
    """What is known about a unit, the last decision about the same facts only."""
    if not has_cache():
        return []
    found: dict[str, Trace] = {}
    for line in lines_of(entry(_digest(unit))):
        trace = _trace(unit, _parsed(line))
        if trace is not None:
            key = _text(sorted(str(fact) for fact in trace.facts))
            found.pop(key, None)
            found[key] = trace
    return list(found.values())


def is_whole(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and found.get("v") == FORMAT
        and found.get("state") in _STATES
        and isinstance(found.get("facts"), list)
        and all(isinstance(found.get(name), (int, float)) for name in ("gain", "saved_us"))
    )


def _trace(unit: Unit, found: Any) -> Trace | None:
    if not is_whole(found):
        return None
    facts = [fact_from(unit, one) for one in found["facts"]]
    if None in facts:
        return None
    return Trace(found["state"], [fact for fact in facts if fact], found["gain"], found["saved_us"])


def add(
    unit: Unit, state: str, facts: list[Fact], gain: float = 0.0, saved_us: float = 0.0
) -> None:
    """Keeps a decision."""
    if not _tessera.cache_folder():
        return
    digest = _digest(unit)
    known = lines_of(entry(digest))
    line = {
        "v": FORMAT,
        "n": len(known),  # lines are a set: the same decision may be taken again
        "state": state,
        "facts": [fact_line(fact) for fact in facts],
        "gain": round(gain, 4),
        "saved_us": round(saved_us, 3),
    }
    if len(known) >= MOST_LINES:
        return
    _tessera.cache_add_line(entry(digest), _text(line))
    named = {"v": FORMAT, "key": digest, "function": unit.name, "target": unit.target}
    named["arguments"] = list(arguments_text(unit))
    _tessera.cache_add_line(INDEX, _text(named))
