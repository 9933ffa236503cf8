"""The host time of a call beside the driver's own launch of its kernel, from Python and from C++.

`integration/gpu_calls` builds the bundle and LaunchTime.cpp, copies this file beside them, and runs
it on a machine with a GPU. All are timed in alternating bursts of one process; a time is the best
of the bursts.
"""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Callable

BURST, ROUNDS = 200, 60
DRIVER = "the driver launching that kernel"
GOAL = 2  # microseconds over the driver's launch

Burst = Callable[[int], float]


def best_times(bursts: dict[str, Burst]) -> dict[str, float]:
    """Microseconds of one call each, the best of interleaved bursts; the GPU is synchronized in
    between."""
    import torch

    best = dict.fromkeys(bursts, float("inf"))
    for _ in range(ROUNDS):
        for name, burst in bursts.items():
            best[name] = min(best[name], burst(BURST))
            torch.cuda.synchronize()
    return best


def burst_of(call: Callable[[], object]) -> Burst:
    def burst(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count * 1e6

    return burst


def bursts_from_cpp(library: Path, bundle: Path, function: str, tensors: int) -> dict[str, Burst]:
    """A call of a function of fp32[64, 64] tensors by LaunchTime.cpp."""
    loaded = ctypes.CDLL(str(library))
    loaded.launch_time_open.restype = ctypes.c_char_p
    loaded.launch_time_open.argtypes = [ctypes.c_char_p] * 2 + [ctypes.c_int] + [ctypes.c_int64] * 2
    loaded.launch_time_burst.restype = ctypes.c_double
    problem = loaded.launch_time_open(str(bundle).encode(), function.encode(), tensors, 64, 64)
    assert problem is None, problem
    kinds = (DRIVER, "C++, prepared", "C++, same shapes", "C++, whole call")
    return {
        name: lambda count, kind=kind: loaded.launch_time_burst(kind, count) / 1e3
        for kind, name in enumerate(kinds)
    }


def measure(calls: dict[str, Callable[[], object]], from_cpp: dict[str, Burst]) -> dict[str, float]:
    """The times of all, which are printed with their difference to the driver's launch."""
    best = best_times({**from_cpp, **{name: burst_of(call) for name, call in calls.items()}})
    for name, spent in best.items():
        print(f"  {name:40} {spent:6.2f}  {spent - best[DRIVER]:+6.2f}")
    return best
