"""Times of kernels where they can run: the runtime's own timing of launches, kernel by kernel."""

from __future__ import annotations

import re
import statistics
import time
from typing import Any

from .. import _tessera
from ..compiled import Compiled

_SECONDS = re.compile(
    r'^tessera_kernel_(seconds|launches)_total\{function="[^"]*",kernel="([^"]*)",[^}]*\} (\S+)$',
    re.MULTILINE,
)
_BUDGET = 0.6  # seconds of calls
_ROUNDS = 3, 200


def _totals() -> dict[str, dict[str, float]]:
    totals: dict[str, dict[str, float]] = {"seconds": {}, "launches": {}}
    for which, kernel, value in _SECONDS.findall(_tessera.metrics_text()):
        known = totals[which].get(kernel, 0.0)
        totals[which][kernel] = known + float(value)
    return totals


def kernel_times(compiled: Compiled, args: tuple, kwargs: dict) -> dict[str, float]:
    """The median microseconds of a launch of each kernel."""
    _tessera.set_profiling(True)
    try:
        compiled(*args, **kwargs)
        rounds: dict[str, list[float]] = {}
        start, before = time.perf_counter(), _totals()
        for number in range(_ROUNDS[1]):
            compiled(*args, **kwargs)
            after = _totals()
            for kernel, seconds in after["seconds"].items():
                launches = after["launches"][kernel] - before["launches"].get(kernel, 0.0)
                if launches > 0:
                    spent = seconds - before["seconds"].get(kernel, 0.0)
                    rounds.setdefault(kernel, []).append(spent / launches * 1e6)
            before = after
            if number + 1 >= _ROUNDS[0] and time.perf_counter() - start > _BUDGET:
                break
        return {kernel: statistics.median(times) for kernel, times in rounds.items()}
    finally:
        _tessera.set_profiling(False)


def call_us(calls: dict[str, Any], arrays: list[Any], on_gpu: bool) -> dict[str, float]:
    """The microseconds of whole calls, which alternate."""
    from ..tune.clock import CpuClock, GpuClock

    clock = GpuClock(arrays) if on_gpu else CpuClock(arrays)
    return {name: seconds * 1e6 for name, seconds in clock.times(calls, 7).items()}
