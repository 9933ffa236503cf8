"""Tier 3: variants of a specialisation, for what its calls have in common.

The table observes calls of a specialisation in tier 2. When that has taken long enough, facts about
these calls (facts.py) and the cost model decide whether a variant pays; it is compiled in the
background. A call runs the variant if its guards hold, otherwise tier 2. A fact that keeps failing
is given up, and the next variant does without it, or is for its other value. Every attempt makes the
next one wait longer.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from . import background, tiers, traces
from .compiler import Artifact, Unit, find
from .errors import CompileError
from .facts import Fact, facts_of, specialised
from .targets import is_gpu
from .tiers import Event

if TYPE_CHECKING:
    from .function import Function
    from .specialization import Specialization

#: Calls that one observation sees.
_CALLS = 32
#: The predicted gain that pays for compiling.
_LEAST_GAIN = 0.05
#: The variants of one class of calls that may be active.
_MOST_VARIANTS = 4
#: Variants compiled for one class of calls, and observations without a gain, before it stops.
_MOST_COMPILED = 8
_MOST_FRUITLESS = 6
#: How often a fact may fail before it is given up for good.
_MOST_FAILURES = 3
#: The misses for each hit that a variant may have, where checking guards costs nothing.
_MOST_MISSES = 8
#: What a variant counts that was not faster: a second one is not tried.
_FAILURES_OF_SLOWER = 2
#: Variants that one function compiles in a minute.
_PER_MINUTE = 6


class Variant:
    """Code for calls with certain facts.

    tier: 3
    facts: what holds for its calls, each with a guard
    hits: calls that it answered
    misses: for each fact, the calls of its class for which it was the first that did not hold
    state: "active"; "missed", a fact kept failing; "slower" than tier 2 when it was measured
    predicted_gain: the share of the predicted time of tier 2 that it saves
    """

    tier = 3

    def __init__(self, table: Any, number: int, facts: list[Fact], artifact: Artifact, gain: float):
        self._table = table
        self._number = number
        self._facts = facts
        self.facts = tuple(map(str, facts))
        self.seconds = artifact.seconds
        self.cached = artifact.cached
        self.predicted_gain = gain
        self.is_settled = False  # whether its end was told

    def _figures(self) -> tuple[str, int, int, list[int]]:
        return self._table.variant(self._number)

    @property
    def state(self) -> str:
        return self._figures()[0]

    @property
    def hits(self) -> int:
        return self._figures()[1]

    @property
    def misses(self) -> tuple[int, ...]:
        return tuple(self._figures()[3])

    def failing(self) -> Fact | None:
        """The fact that failed most often."""
        misses = self.misses
        most = max(misses, default=0)
        return self._facts[misses.index(most)] if most else None

    def __repr__(self) -> str:
        return f"<tier 3, {self.state}: {', '.join(self.facts)}>"


class Place:
    """One class of calls of a specialisation: its variants, and what was learned about it."""

    def __init__(
        self, function: Function, record: Specialization, table: Any, number: int, key: bytes
    ):
        self.function = function
        self.record = record
        self.table = table
        self.number = number
        self.count = len(record.unit.description) - key[-1]  # without defaults: Arguments::key
        self.variants: list[Variant] = []
        self.failures: Counter[tuple] = Counter()
        self.compiled = 0
        self.fruitless = 0
        self.job: background.Job | None = None
        self.is_failed = False
        self.note = ""  # why there is no variant, or none any more

    def start(self) -> None:
        """Goes on where earlier processes were, and observes calls from now on."""
        for trace in traces.read(self.record.unit):
            if trace.state == "none":
                self.fruitless += 1
            elif trace.state != "active":
                self._learn(trace.state, trace.facts)
            elif (artifact := find(specialised(self.record.unit, [], trace.facts))) is not None:
                self._install(trace.facts, artifact, trace.gain, False, trace.saved_us)
        if self.variants or self.fruitless:
            self._wait(self.note)
        else:
            self._observe(0)

    def _learn(self, state: str, facts: list[Fact]) -> None:
        """A variant for these facts was given up."""
        count = _FAILURES_OF_SLOWER if state == "slower" else 1
        self.failures.update({fact.key: count for fact in facts})

    def _observe(self, skipped: int) -> None:
        hot = self.function._choice.hot * tiers.expected_compile_seconds()
        self.table.observe(self.number, skipped, _CALLS, int(hot * 1e9))

    def _stop(self, note: str) -> None:
        self.note = note
        self.table.observe(self.number, 0, 0, 0)

    def _wait(self, note: str) -> None:
        """Observes again after more calls than the last time."""
        self.note = note
        attempts = self.compiled + self.fruitless
        if self.fruitless >= _MOST_FRUITLESS or self.compiled >= _MOST_COMPILED:
            self._stop(note)
        else:
            self._observe(_CALLS << (2 * attempts))

    def ripen(self) -> None:
        """What the table observed is complete, or a variant is not active any more."""
        if self._settle() and not self.is_failed:
            return self._wait(self.note)
        if self.is_failed:
            return self._stop(self.note)
        if sum(one.state == "active" for one in self.variants) >= _MOST_VARIANTS:
            return self._stop(self.note)
        seen, observed = self.table.observed(self.number) or (0, [])
        self.table.observe(self.number, 0, 0, 0)
        if seen == 0:
            return self._wait(self.note)
        self.job = background.Job(lambda: self._run(observed), self._dropped, self._fail)
        background.submit(self.job)

    def _dropped(self) -> None:
        self.job = None
        self._wait(self.note)

    def _settle(self) -> bool:
        """Learns from variants that ended; whether there were any."""
        ended = [one for one in self.variants if not one.is_settled and one.state != "active"]
        for variant in ended:
            variant.is_settled = True
            failing = variant.failing()
            if variant.state == "slower":
                self.note = "not faster than tier 2 when it was measured"
                self._learn("slower", variant._facts)
            elif failing is not None:
                self._learn("missed", [failing])
                self.note = f"{failing} does not hold any more"
            traces.add(self.record.unit, variant.state, variant._facts)
            self._tell("miss", 0.0, self.note)
        return bool(ended)

    def _install(
        self,
        facts: list[Fact],
        artifact: Artifact,
        gain: float,
        is_measured: bool,
        saved_us: float,
    ) -> None:
        number = self.table.add_variant(
            self.number,
            artifact.module,
            self.record.unit.name,
            self.count,
            [fact.guard for fact in facts],
            is_measured,
            _patience(facts, saved_us),
        )
        self.variants.append(Variant(self.table, number, facts, artifact, gain))

    def _tell(self, kind: str, seconds: float, reason: str) -> None:
        name = self.function.__name__
        tiers.emit(Event(kind, name, self.record.arguments, seconds, reason))

    def _run(self, observed: list) -> None:
        """In the background: decides on a variant, and compiles it."""
        try:
            self._compile(observed)
        except CompileError as error:  # the program does not accept a constant
            self._end_of_job(f"no variant compiles: {str(error).partition(chr(10))[0]}")
        except BaseException as error:  # noqa: BLE001 (a fault of the compiler is told, once)
            self._fail(str(error).partition("\n")[0] or type(error).__name__)
        finally:
            self.job = None

    def _fail(self, why: str) -> None:
        """The compiler failed; there is no further attempt."""
        if self.is_failed:
            return
        self.is_failed = True
        with self.function._lock:
            self._stop(f"the compilation failed: {why}")
        self._tell("failure", 0.0, why)

    def _end_of_job(self, note: str) -> None:
        with self.function._lock:
            if self.is_failed:
                return
            self.fruitless += 1
            self._wait(note)

    def _candidates(self, observed: list) -> list[Fact]:
        regions = self.function._parameters.regions
        unwritten = {name for name in self.record.unit.names if name not in regions}
        facts = facts_of(self.record.unit, observed, unwritten)
        facts = [fact for fact in facts if self.failures[fact.key] < _MOST_FAILURES]
        # The sizes of what is computed are those of the tensors that it meets.
        fixed = {(fact.position, fact.dim) for fact in facts if fact.kind == "size"}
        are_exact = all(
            dim[3] or dim[0] <= 1 or (position, d) in fixed
            for position, one in enumerate(self.record.unit.description)
            if one[0] == 0
            for d, dim in enumerate(one[-1])
        )
        return [fact for fact in facts if fact.kind != "content" or are_exact]

    def _compile(self, observed: list) -> None:
        facts = self._candidates(observed)
        if not facts:
            return self._end_of_job("calls have nothing in common")
        unit = self.record.unit
        general = predicted_us(specialised(unit, observed, []))
        facts, time_us = _needed(unit, observed, facts)
        gain = 1 - time_us / general if general else 0.0
        if gain < _LEAST_GAIN or not facts:
            traces.add(unit, "none", [])
            return self._end_of_job("no gain predicted")
        if not self.function._may_compile_variant():
            return self._end_of_job("many variants were compiled in the last minute")
        self.compiled += 1
        artifact = self.function._compiled(specialised(unit, observed, facts), quiet=True)
        with self.function._lock:
            if self.is_failed:
                return  # it came too late
            is_measured = is_measurable(unit, observed)
            self._install(facts, artifact, gain, is_measured, general - time_us)
            self._wait("")
        traces.add(unit, "active", facts, gain, general - time_us)
        self._tell("swap", artifact.seconds, ", ".join(map(str, facts)))


def _patience(facts: list[Fact], saved_us: float) -> int:
    """The misses that a hit makes up for: a guard that fails costs its time."""
    guards = sum(fact.guard_us for fact in facts)
    return int(min(saved_us / guards, _MOST_MISSES)) if guards else _MOST_MISSES


def is_measurable(unit: Unit, observed: list) -> bool:
    """Whether times of calls can be compared: they are not those of other sizes, or of launches on a
    GPU."""
    return not is_gpu(unit.target) and all(
        one is None or one[0] != "tensor" or all(always for _, always in one[2]) for one in observed
    )


def predicted_us(unit: Unit) -> float:
    """The cost model's time of a call."""
    result = unit.compile(["sched"], no_code=True, quiet=True)
    kernels = json.loads(result["report"] or "{}").get("kernels", [])
    return sum(kernel["predicted_us"] + kernel["remainder_us"] for kernel in kernels)


def _needed(unit: Unit, observed: list, facts: list[Fact]) -> tuple[list[Fact], float]:
    """The facts that make a call faster, and its predicted time with their guards."""

    def time_of(some: list[Fact]) -> float:
        guards = sum(fact.guard_us for fact in some)
        return predicted_us(specialised(unit, observed, some)) + guards

    best = time_of(facts)
    groups = [[fact] for kind in ("content", "number") for fact in facts if fact.kind == kind]
    for group in [*groups, [fact for fact in facts if fact.kind == "size"]]:
        rest = [fact for fact in facts if fact not in group]
        has_content = any(fact.kind == "content" for fact in rest)
        if not rest or (group and group[0].kind == "size" and has_content):
            continue
        without = time_of(rest)
        if without <= best * 1.01:
            facts, best = rest, without
    return facts, best


class Budget:
    """How many variants a function compiles in a minute."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def take(self) -> bool:
        now = time.monotonic()
        while self._times and now - self._times[0] > 60:
            self._times.popleft()
        if len(self._times) >= _PER_MINUTE:
            return False
        self._times.append(now)
        return True
