"""Latencies besides the work itself: a first call, a call on small arrays, new lengths.

Processes are timed alternately with `python -c "import numpy"`, and the difference is shown.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

import numpy as np
import tessera as tsr
from .harness import Figure

PROGRAMS = Path(os.path.abspath(__file__)).parent / "programs"  # links to benchmarks/cpu
FIRST_CALL = [sys.executable, str(PROGRAMS / "first_call.py")]
IMPORT_NUMPY = [sys.executable, "-c", "import numpy"]


def _children() -> float:
    """Processor time of the processes that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(command: list[str], cache: str, clock: str) -> float:
    environment = {"TESSERA_TIER": "2", **os.environ, "TESSERA_CACHE": cache}
    now = _children if clock == "cpu" else time.perf_counter
    start = now()
    subprocess.run(command, env=environment, check=True)
    return now() - start


def first_call(cached: bool, clock: str, rounds: int = 9) -> list[float]:
    """Milliseconds beyond importing NumPy, one value per round."""
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as scratch:
        _seconds(FIRST_CALL, f"{scratch}/warm", clock)
        _seconds(IMPORT_NUMPY, scratch, clock)
        found = []
        for number in range(rounds):
            base = _seconds(IMPORT_NUMPY, scratch, clock)
            cache = f"{scratch}/warm" if cached else f"{scratch}/cold-{number}"
            found.append((_seconds(FIRST_CALL, cache, clock) - base) * 1e3)
        return found


def microseconds(call: Callable[[], object], rounds: int = 50, length: int = 200) -> list[float]:
    """Microseconds of one of `length` calls, by round, the fastest first: other load does not make
    a round faster."""
    call()
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(length):
            call()
        found.append((time.perf_counter() - start) / length * 1e6)
    return sorted(found)


@tsr.function
def small(x, y, z):
    return x * 0.5 + y * z


def small_call(rounds: int = 200) -> list[float]:
    """Microseconds of one call on arrays of 16 elements, whose work takes nanoseconds."""
    arrays = [np.ones((2, 8), np.float32) for _ in range(3)]
    # Rounds in which another process ran are discarded.
    return microseconds(lambda: small(*arrays), rounds)[: max(9, rounds // 4)]


def new_lengths(lengths: range) -> float:
    """How many times attention is compiled for all these lengths."""
    from .kernels.attention import causal as function

    before = len(function.specializations())
    for length in lengths:
        q = np.ones((1, 2, length, 48), np.float32)  # a width that no other benchmark uses
        function(q, q, q)
    return float(len(function.specializations()) - before)


def figures(clock: str = "wall") -> list[Figure]:
    return [
        Figure("latency", "first call, no cache", "ms", 400.0, lambda: first_call(False, clock)),
        Figure(
            "latency", "first call, from the cache", "ms", 60.0, lambda: first_call(True, clock)
        ),
        Figure("latency", "call on small arrays", "us", 5.0, small_call),
        Figure(
            "latency",
            "compilations, 64 lengths of a class",
            "",
            1.0,
            lambda: new_lengths(range(513, 641, 2)),
        ),
        Figure(
            "latency",
            "compilations, lengths 2 9 16 ... 3999",
            "",
            None,
            lambda: new_lengths(range(2, 4000, 7)),
        ),
    ]


def memory_growth(cached: bool) -> float:
    """MiB by which long attention raises a process's peak memory beyond its arrays."""
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as scratch:
        environment = {"TESSERA_TIER": "2", **os.environ, "TESSERA_CACHE": scratch}
        command = [sys.executable, str(PROGRAMS / "long_attention.py")]
        for _ in range(2 if cached else 1):
            done = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            )
        return float(done.stdout)


def memory_figures() -> list[Figure]:
    return [
        Figure(
            "memory",
            "attention S=32768 D=64, from the cache",
            "MiB",
            100.0,
            lambda: memory_growth(True),
        ),
        Figure(
            "memory",
            "attention S=32768 D=64, with compiling",
            "MiB",
            100.0,
            lambda: memory_growth(False),
        ),
    ]


def summary(values: float | list[float]) -> tuple[float, float, float]:
    """Median, least, greatest."""
    if isinstance(values, (int, float)):
        return values, values, values
    return statistics.median(values), min(values), max(values)
