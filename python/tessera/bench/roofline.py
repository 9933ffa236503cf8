"""The peak performance of this machine, by loops that are independent of our compiler
(python/ext/Peak.cpp).

Arithmetic is chains of multiply-adds in registers, for each vector width and for AMX and similar
units; memory is the loops of STREAM. A roof is the minimum time that both allow for a benchmark's
operations and bytes; data that fits into caches may be faster.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Callable

import numpy as np

from .. import _tessera

_LEAST = 384 << 20  # bytes of the three arrays
_ROUNDS = 1 << 16
_PRODUCTS = 6  # bf16 operations on AMX that make one of fp32 (lib/CodeGen/CPU: three parts, orders up to two)

Clock = Callable[[], float]


def _shared(work: Callable[[int], float], threads: int) -> Callable[[], float]:
    """The work of all threads as one call; each gets its number."""

    def run() -> float:
        done = [0.0] * threads

        def part(number: int) -> None:
            done[number] = work(number)

        helpers = [threading.Thread(target=part, args=(number,)) for number in range(1, threads)]
        for helper in helpers:
            helper.start()
        part(0)
        for helper in helpers:
            helper.join()
        return sum(done)

    return run


def _best(call: Callable[[], float], seconds: float, clock: Clock) -> float:
    """The highest rate of a call."""
    call()
    best, end = 0.0, time.perf_counter() + seconds
    while not best or time.perf_counter() < end:
        start = clock()
        done = call()
        best = max(best, done / max(clock() - start, 1e-9))
    return best


def arithmetic_rates(
    threads: int, clock: Clock, seconds: float = 0.2
) -> dict[str, tuple[float, str]]:
    """Operations per second by type, and the instructions that reach them."""
    found: dict[str, tuple[float, str]] = {}
    for dtype, name in _tessera.peak_kinds():
        # Rounds of some milliseconds: threads start one after the other.
        start = time.perf_counter()
        _tessera.peak_work(dtype, name, _ROUNDS)
        rounds = max(1, int(_ROUNDS * 5e-3 / max(time.perf_counter() - start, 1e-6)))
        work = _shared(lambda _: _tessera.peak_work(dtype, name, rounds), threads)
        found[dtype] = max(found.get(dtype, (0.0, "")), (_best(work, seconds, clock), name))
    return found


def _array(count: int) -> np.ndarray:
    """Doubles whose first one is at the start of a cache line."""
    raw = np.ones(count + 8)
    start = -raw.ctypes.data % 64 // 8
    return raw[start : start + count]


def _length() -> int:
    """Bytes of one of the three arrays: together twice the last-level cache, but at most a
    sixteenth of the memory."""
    names = os.sysconf_names
    cache = os.sysconf("SC_LEVEL3_CACHE_SIZE") if "SC_LEVEL3_CACHE_SIZE" in names else 0
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(_LEAST, min(2 * max(cache, 0), memory // 16)) // 3 // 4096 * 4096


def memory_rate(threads: int, clock: Clock, seconds: float = 0.2) -> tuple[float, str]:
    """Bytes read and written per second, and the loop that reaches it."""
    part = _length() // threads // 64 * 64
    arrays = [_array(part * threads // 8) for _ in range(3)]
    addresses = [one.ctypes.data for one in arrays]
    rates = []
    for name in _tessera.stream_loops():
        work = lambda number: _tessera.stream_work(
            name, *(at + number * part for at in addresses), part
        )  # noqa: E731
        rates.append((_best(_shared(work, threads), seconds, clock), name))
    return max(rates)


def measure(threads: int, clock: Clock = time.perf_counter) -> dict:
    rates = arithmetic_rates(threads, clock)
    fp32, by = rates["fp32"]
    bf16, unit = rates.get("bf16", (0.0, ""))
    if unit == "amx":
        fp32, by = max((fp32, by), (bf16 / _PRODUCTS, f"{unit}, {_PRODUCTS} products of bf16"))
    copied, loop = memory_rate(threads, clock)
    ceiling = {"threads": threads, "copy": copied, "loop": loop, "fp32": fp32, "by": by}
    return ceiling | {dtype: rate for dtype, (rate, _) in rates.items() if dtype != "fp32"}


def roof(flops: float, count: float, ceiling: dict | None) -> float:
    """The minimum seconds of a benchmark; 0 if unknown."""
    if not ceiling:
        return 0.0
    return max(flops / ceiling["fp32"], count / ceiling["copy"])


def text(ceiling: dict) -> str:
    moved, fp32 = ceiling["copy"] / 1e9, ceiling["fp32"] / 1e9
    others = "".join(
        f", {dtype} {ceiling[dtype] / 1e9:.0f} GF/s"
        for dtype in ("fp64", "bf16")
        if dtype in ceiling
    )
    loop = f" ({ceiling['loop']})" if "loop" in ceiling else ""
    return f"roofline here: memory {moved:.1f} GB/s{loop}, fp32 {fp32:.0f} GF/s ({ceiling['by']}){others}"
