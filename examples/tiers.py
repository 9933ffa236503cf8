"""One function's life: the time of each call, tier by tier.

    python examples/tiers.py [--svg FILE]

The first calls are interpreted. Meanwhile the compiler works in the background, and from one call to
the next its code takes over. The same calls that wait for the compiler, and NumPy's, stand beside
them.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time

# Nothing that earlier runs compiled.
os.environ["TESSERA_CACHE"] = tempfile.mkdtemp(prefix="tessera-tiers-")
os.environ.pop("TESSERA_TIER", None)

import numpy as np
import tessera as tsr
from tessera import Tensor

CALLS = 400


@tsr.function
def attention(q: Tensor["H", "S", "D"], k: Tensor["H", "T", "D"], v: Tensor["H", "T", "D"]):
    return tsr.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


@tsr.function(tier=2)
def compiled(q: Tensor["H", "S", "D"], k: Tensor["H", "T", "D"], v: Tensor["H", "T", "D"]):
    return tsr.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


def with_numpy(q, k, v):
    scores = q @ k.transpose(0, 2, 1) / np.float32(math.sqrt(q.shape[2]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def times(function, arguments) -> list[float]:
    """The milliseconds of each call."""
    found = []
    for _ in range(CALLS):
        start = time.perf_counter()
        function(*arguments)
        found.append((time.perf_counter() - start) * 1e3)
    return found


def drawing(curves: dict[str, tuple[str, list[float]]], swap: int) -> str:
    """An SVG of times over calls, both logarithmic."""
    width, height, left, top = 720, 360, 64, 24
    values = [value for _, points in curves.values() for value in points]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1

    def x(call):
        return left + (width - left - 24) * math.log10(call) / math.log10(CALLS)

    def y(value):
        return top + (height - top - 44) * (high - math.log10(value)) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = y(10.0**power)
        parts.append(f'<path d="M{left} {at:.1f}H{width - 24}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g} ms</text>'
        )
    for call in (1, 2, 5, 10, 20, 50, 100, 200, 400):
        parts.append(
            f'<text x="{x(call):.1f}" y="{height - 24}" text-anchor="middle">{call}</text>'
        )
    parts.append(f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">call</text>')
    if swap:
        parts.append(
            f'<path d="M{x(swap):.1f} {top}V{height - 44}" stroke="#888" stroke-dasharray="4 4"/>'
            f'<text x="{x(swap) + 6:.1f}" y="{top + 12}" fill="#555">compiled code takes over</text>'
        )
    for index, (name, (colour, points)) in enumerate(curves.items()):
        path = " ".join(f"{x(i + 1):.1f},{y(value):.1f}" for i, value in enumerate(points))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        )
        at = top + 34 + 18 * index
        parts.append(
            f'<text x="{width - 30}" y="{at}" text-anchor="end" fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", help="writes a picture to this file")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal((4, 256, 64), dtype=np.float32) for _ in range(3)]
    attention.reference(*[one[:, :4] for one in arguments])  # loads the compiler's library

    swaps = []
    tsr.tiers.on_event(lambda event: swaps.append(attention.specializations()[0].calls))
    tiered, waiting, peer = (
        times(function, arguments) for function in (attention, compiled, with_numpy)
    )
    for name, points in ("tiers", tiered), ("tier 2 only", waiting), ("NumPy", peer):
        first, last = points[0], sorted(points[-CALLS // 4 :])[CALLS // 8]
        print(f"{name:12} first call {first:8.2f} ms, later {last:6.2f} ms")
    print(attention.specializations()[0])
    print(f"compiled code takes over after call {swaps[0]}" if swaps else "no code took over")
    assert np.allclose(attention(*arguments), with_numpy(*arguments), atol=1e-4)
    if options.svg:
        curves = {
            "tiers": ("#1668c7", tiered),
            "tier 2 only: the first call waits": ("#c2410c", waiting),
            "NumPy": ("#777", peer),
        }
        with open(options.svg, "w") as file:
            file.write(drawing(curves, swaps[0] if swaps else 0))


if __name__ == "__main__":
    main()
