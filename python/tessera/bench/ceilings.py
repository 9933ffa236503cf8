"""What this machine can do at most: the speed of a copy, and of the fastest product that any library here computes.

A roof is the least time that both allow for a benchmark's operations and bytes; what fits into caches may be quicker.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Callable

import numpy as np

_COPY = 128 << 20  # bytes that are read, and as many that are written
_SIZE = 1024  # of the matrices


Clock = Callable[[], float]


def _best(call: Callable[[], object], seconds: float, clock: Clock) -> float:
    call()
    best, end = math.inf, time.perf_counter() + seconds
    while best == math.inf or time.perf_counter() < end:
        start = clock()
        call()
        best = min(best, clock() - start)
    return best


def copy_rate(threads: int, clock: Clock, seconds: float = 0.5) -> float:
    """Bytes read and written in a second by a copy that is shared among threads."""
    source = np.ones(_COPY, np.uint8)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads)))

    def run() -> None:
        helpers = [threading.Thread(target=np.copyto, args=part) for part in parts[1:]]
        for helper in helpers:
            helper.start()
        np.copyto(*parts[0])
        for helper in helpers:
            helper.join()

    return 2 * _COPY / _best(run, seconds, clock)


def product_rates(clock: Clock, seconds: float = 0.5) -> dict[str, float]:
    """Operations in a second of products of fp32 matrices, by library."""
    from .kernels.matmul import matmul
    from .peers import openblas, pytorch

    a, b = (np.random.default_rng(0).standard_normal((_SIZE, _SIZE), np.float32) for _ in range(2))
    out = np.empty_like(a)
    calls: dict[str, Callable[[], object]] = {
        "tessera": lambda: matmul(a, b, out=out),
        "numpy": lambda: np.matmul(a, b, out=out),
    }
    if openblas.available():
        calls["openblas"] = openblas.matmul(a, b)
    calls |= pytorch.contenders(lambda torch, f, x, y: x @ y, (a, b), compiled=False)
    return {name: 2.0 * _SIZE**3 / _best(call, seconds, clock) for name, call in calls.items()}


def measure(threads: int, clock: Clock = time.perf_counter) -> dict:
    rates = product_rates(clock)
    fastest = max(rates, key=rates.__getitem__)
    copied = copy_rate(threads, clock)
    return {"threads": threads, "copy": copied, "fp32": rates[fastest], "by": fastest}


def roof(flops: float, count: float, ceiling: dict | None) -> float:
    """Seconds that a benchmark takes at least; 0 where nothing is known."""
    if not ceiling:
        return 0.0
    return max(flops / ceiling["fp32"], count / ceiling["copy"])


def text(ceiling: dict) -> str:
    copied, product = ceiling["copy"] / 1e9, ceiling["fp32"] / 1e9
    return f"ceilings here: copy {copied:.1f} GB/s, fp32 product {product:.0f} GF/s ({ceiling['by']})"


