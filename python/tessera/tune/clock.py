"""How candidates are timed: alternately, so that other load affects all of them alike.

On a GPU the L2 cache is flushed between calls if all data fits into it, and short calls are
replayed from a CUDA graph (bench/gpu/timing.py).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Calls = dict[str, Callable[[], object]]

_BURST = 2e-3  # seconds of consecutive calls
_MOST_CALLS = 500


class CpuClock:
    """Bursts of calls in turn; the fastest burst of each contender counts."""

    def __init__(self, arrays: list[Any]):
        del arrays

    def times(self, calls: Calls, rounds: int) -> dict[str, float]:
        """The seconds of one call of each contender."""
        lengths = {}
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            spent = max(time.perf_counter() - start, 1e-7)
            lengths[name] = max(1, min(_MOST_CALLS, int(_BURST / spent)))
        best = dict.fromkeys(calls, math.inf)
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                for _ in range(lengths[name]):
                    call()
                best[name] = min(best[name], (time.perf_counter() - start) / lengths[name])
        return best


class GpuClock:
    """The interleaved bursts of the benchmarks, with PyTorch's arrays."""

    def __init__(self, arrays: list[Any]):
        folder = str(Path(__file__).parents[1] / "bench" / "gpu")
        if folder not in sys.path:
            sys.path.insert(0, folder)
        import timing

        self.timing = timing
        self.moved = sum(one.numel() * one.element_size() for one in arrays)

    def times(self, calls: Calls, rounds: int) -> dict[str, float]:
        plan = self.timing.Plan(rounds, 0.02, 0.0)
        first = next(iter(calls))
        flush = self.timing.cache_flush(self.moved)
        measured = self.timing.measure(calls, plan, first, flush=flush)
        return {name: one["burst_ms"] * 1e-3 for name, one in measured.items() if "burst_ms" in one}
