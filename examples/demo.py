#!/usr/bin/env python3
"""`make demo`: flash attention from its plain mathematics, checked against float64 and timed.

The functions are those of attention.py: scores, mask, softmax, a second matrix product. The table shows
the largest error and the bound that the reference derives for it, the time, the rate, and the times of
NumPy and, if it is installed, PyTorch.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

os.environ.setdefault("TESSERA_TIER", "2")  # compiled code is timed

import tessera as tsr  # noqa: E402
from attention import attention, full_attention  # noqa: E402

CASES = [  # batch, heads, sequence, width of a head, causal
    (1, 4, 256, 64, False),
    (1, 4, 512, 64, True),
    (1, 2, 1024, 64, True),
    (1, 2, 1021, 128, True),
]
TURNS, REST = 2, 0.15  # bursts of each contender; seconds of rest before each


def numpy_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    scores = (q @ k.swapaxes(-2, -1)) * np.float32(1 / math.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, np.float32(-np.inf))
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return (scores / scores.sum(-1, keepdims=True)) @ v


def torch_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> Callable | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(tsr.get_num_threads())
    tensors = [torch.from_numpy(a) for a in (q, k, v)]
    return lambda: torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)


def best_times(calls: list[Callable], seconds: float) -> list[float]:
    """The fastest call of each contender.

    They alternate, so that other work on the machine affects all of them, and rest in between: idle
    threads spin for a while (those of OpenBLAS, which NumPy uses, for an eighth of a second) and would
    occupy a core.
    """
    best = [math.inf] * len(calls)
    for _ in range(TURNS):
        for number, call in enumerate(calls):
            time.sleep(REST)
            end = time.perf_counter() + seconds / TURNS
            while (start := time.perf_counter()) < end or best[number] == math.inf:
                call()
                best[number] = min(best[number], time.perf_counter() - start)
    return best


def flops(batch: int, heads: int, length: int, width: int, causal: bool) -> float:
    pairs = length * (length + 1) / 2 if causal else length * length
    return 4.0 * batch * heads * pairs * width


def run_case(case: tuple[int, int, int, int, bool], seconds: float) -> tuple[list[str], bool]:
    *shape, causal = case
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    function = attention if causal else full_attention
    out = np.full(shape, np.nan, np.float32)
    function(q, k, v, out=out)
    expected = function.reference(q, k, v, bounds=True)
    error = np.abs(out - expected.value)
    good = bool(np.all((error <= expected.bound) | expected.excluded))

    calls = [lambda: function(q, k, v), lambda: numpy_attention(q, k, v, causal)]
    peer = torch_attention(q, k, v, causal)
    ours, plain, *torch_time = best_times(calls + ([peer] if peer else []), seconds)
    rate = flops(*case) / ours / 1e9
    row = [
        "x".join(map(str, shape)) + (" causal" if causal else ""),
        f"{error.max():.1e}",
        f"{expected.bound.max():.1e}",
        f"{ours * 1e3:.2f}",
        f"{rate:.1f}",
        f"{plain * 1e3:.2f}",
        f"{plain / ours:.1f}x",
    ]
    for other in torch_time:
        row += [f"{other * 1e3:.2f}", f"{other / ours:.1f}x"]
    return row + ["ok" if good else "WRONG"], good


def print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths))
        ]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * w for w in widths))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds per measurement")
    arguments = parser.parse_args()
    print(
        f"Tessera {tsr.__version__}, flash attention in fp32 on {tsr.get_num_threads()} threads\n"
    )
    try:
        import torch  # noqa: F401

        has_torch = True
    except ImportError:
        has_torch = False
    header = ["B x H x S x D", "error", "bound", "ms", "GFLOP/s", "NumPy ms", "faster"]
    header += ["PyTorch ms", "faster"] if has_torch else []
    rows, good = [[*header, "check"]], True
    for case in CASES:
        row, right = run_case(case, arguments.seconds)
        rows.append(row)
        good = good and right
    print_table(rows)
    print(
        "\nerror: largest difference from float64; bound: the largest that rounding can explain; times: best of many."
    )
    print('The kernels: print(attention.inspect_ir("sched")) in examples/attention.py.')
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
