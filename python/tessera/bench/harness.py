"""Benchmarks, and how contenders are timed against each other.

Contenders run alternately in short bursts within one process, so that other load on the machine
affects all of them alike. A round gives one time per contender, and a ratio is the median over the
rounds of (peer's time / ours in the same round), with a distribution-free confidence interval.

Every library has its own threads, which spin while they wait for the next call: OpenMP's for about
7 ms, OpenBLAS's for an eighth of a second, ours for less than 0.1 ms. On as many cores as threads
they would run beside the next contender's burst and halve its speed. Therefore a burst starts only
when all other threads of the process are asleep (Linux shows each state), and its first call, which
wakes the contender's own threads and fills the caches, is not counted. Within a burst, calls follow
each other directly and threads spin as they would alone. One setting is changed, to shorten the
pauses: OpenBLAS's threads spin for 2 ms (command.py), still long compared to the microseconds
between two calls. A contender's interleaved times were found equal to its times alone, within
noise.
"""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Iterable

import numpy as np

from .judge import median_interval

OURS = "tessera"
UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

_BURST = 1e-2  # seconds of consecutive calls
_LONG = 0.1  # a call of this many seconds needs no warm-up
_REST = 1e-3  # between contenders, and between checks whether the other's threads are asleep
_LONGEST_REST = 0.3
_WARM_UP = 0.05


@dataclass(frozen=True)
class Target:
    """The target ratio, against the fastest of some contenders."""

    label: str
    contenders: tuple[str, ...]
    ratio: float


@dataclass
class Prepared:
    """A case with its arrays: the calls to time, and a check that returns the error, or None."""

    calls: dict[str, Callable[[], object]]
    check: Callable[[], str | None]


@dataclass
class Case:
    """One row of the table. `prepare` creates its arrays; it runs only if the case is selected."""

    group: str
    name: str
    prepare: Callable[[], Prepared]
    targets: tuple[Target, ...]
    flops: float = 0.0
    bytes: float = 0.0
    quick: bool = True  # part of a --quick run
    roofed: bool = True  # whether it is compared with the machine's fp32 roofline

    @property
    def title(self) -> str:
        return f"{self.group} {self.name}".rstrip()


@dataclass
class Timing:
    """Times of one case, in seconds: per contender, one value per round."""

    rounds: dict[str, list[float]]
    best: dict[str, float]

    def median(self, contender: str) -> float:
        return statistics.median(self.rounds[contender])

    def interval(self, contender: str) -> tuple[float, float]:
        """The ends of the median's 95 % confidence interval."""
        times = sorted(self.rounds[contender])
        low, high = median_interval(len(times))
        return times[low], times[high]

    def ratio(self, contender: str) -> tuple[float, float, float]:
        """Median of peer / ours over the rounds, and the ends of its 95 % confidence interval."""
        ratios = sorted(p / o for p, o in zip(self.rounds[contender], self.rounds[OURS]))
        low, high = median_interval(len(ratios))
        return statistics.median(ratios), ratios[low], ratios[high]

    def best_ratio(self, contender: str) -> float:
        """The same of the fastest rounds: the ratio with the least disturbance by other load."""
        return self.best[contender] / self.best[OURS]


def measure(
    calls: dict[str, Callable[[], object]],
    seconds: float,
    least: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Times contenders alternately for about `seconds` in total, in at least `least` rounds."""
    lengths = {}
    for name, call in calls.items():
        end = time.perf_counter() + _WARM_UP
        fastest = math.inf
        while True:
            start = time.perf_counter()
            call()
            now = time.perf_counter()
            fastest = min(fastest, now - start)
            if now >= end:
                break
        lengths[name] = max(1, min(1000, int(_BURST / fastest))), fastest < _LONG

    rounds: dict[str, list[float]] = {name: [] for name in calls}
    best = dict.fromkeys(calls, math.inf)
    names = list(calls)
    end = time.perf_counter() + seconds
    while len(rounds[OURS]) < least or time.perf_counter() < end:
        for name in names:
            times = _burst(calls[name], *lengths[name], clock)
            rounds[name].append(statistics.median(times))
            best[name] = min([best[name], *times])
        names.append(names.pop(0))  # so that no contender always follows the same one
    return Timing(rounds, best)


def _others_run() -> bool:
    """Whether a thread of this process other than the calling one is running or runnable."""
    own = str(threading.get_native_id())
    for thread in os.listdir("/proc/self/task"):
        if thread == own:
            continue
        try:
            with open(f"/proc/self/task/{thread}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue  # ended in the meantime
        if state == "R":
            return True
    return False


def _rest() -> None:
    """Waits until the thread pools of earlier contenders are asleep."""
    end = time.perf_counter() + _LONGEST_REST
    time.sleep(_REST)
    while _others_run() and time.perf_counter() < end:
        time.sleep(_REST)


def _burst(
    call: Callable[[], object], length: int, lead: bool, clock: Callable[[], float]
) -> list[float]:
    _rest()
    if lead:
        call()
    times = []
    for _ in range(length):
        start = clock()
        call()
        times.append(clock() - start)
    return times


# -- numerics -------------------------------------------------------------------------------------


def gamma(count: float, unit: float = UNIT_ROUNDOFF["float32"]) -> float:
    """The relative error of `count` roundings in a row."""
    return count * unit / (1 - count * unit)


def compare(found: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> str | None:
    """None if `found` is within `bound` of `expected` everywhere, otherwise the error."""
    if found.shape != expected.shape:
        return f"expected shape {expected.shape}, found {found.shape}"
    rounding = UNIT_ROUNDOFF[str(found.dtype)] if str(found.dtype) != "float32" else 0.0
    subnormal = 2.0**-25 if found.dtype == np.float16 else 1e-30
    limit = bound + rounding * np.abs(expected) + subnormal
    error = np.abs(found.astype(np.float64) - expected)
    wrong = ~(error <= limit)
    if not wrong.any():
        return None
    worst = np.unravel_index(np.nanargmax(np.where(wrong, error / limit, 0)), error.shape)
    return (
        f"{wrong.sum()} of {wrong.size} elements are wrong; at {tuple(map(int, worst))}: expected "
        f"{expected[worst]:.6g} within {limit[worst]:.2g}, found {float(found[worst]):.6g}"
    )


@dataclass
class Figure:
    """A single measured quantity, such as a latency or a growth of memory."""

    group: str
    name: str
    unit: str
    limit: float | None  # pass when at most this; None: shown only

    measure: Callable[[], float | Iterable[float]] = field(repr=False)
    quick: bool = True

    @property
    def title(self) -> str:
        return f"{self.group} {self.name}"
