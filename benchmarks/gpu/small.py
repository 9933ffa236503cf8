"""Small work, a few microseconds on the GPU: the cost of a call with its launch, plain and in a
CUDA graph.

A call allocates its result, like a user's call. *Plain*: the time of host and GPU for one of many
consecutive calls, until all are done. *Graph*: one of many calls that a captured graph replays. The
goal is the fastest of PyTorch's forms; ratios are medians over rounds in which all are interleaved.
"""

from __future__ import annotations

import math
import statistics
import time
from pathlib import Path
from typing import Callable

import bench
import exact
import peers
from memory import matrix, rope
from rows import Row, product

OURS = "tessera"
CALLS, GRAPHED, ROUNDS = 200, 20, 9

SMALL_ROWS = [
    matrix("softmax", "bf16", 128, 1024),
    matrix("softmax", "fp32", 1, 50257),
    matrix("layer_norm", "bf16", 64, 4096, "xWB"),
    matrix("rms_norm", "bf16", 1, 8192, "xW"),
    matrix("residual_rms_silu", "bf16", 32, 4096, "xrW"),
    matrix("chain", "fp32", 256, 256, "xy"),
    matrix("row_sum", "fp32", 256, 1024),
    matrix("column_sum", "fp32", 256, 1024),
    matrix("argmax", "fp32", 16, 8192),
    matrix("transpose", "bf16", 512, 512),
    rope("bf16", 1, 16, 128, 128),
    product(64, 1024, 1024, 1.0),
]


def _plain(call: Callable[[], object]) -> float:
    """Microseconds of one call, including its launch."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / CALLS * 1e6


def _captured(call: Callable[[], object]) -> Callable[[], object]:
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPHED):
            call()
    return graph.replay


def _replayed(replay: Callable[[], object]) -> float:
    """Microseconds of one of the graph's calls."""
    return _plain(replay) / GRAPHED


def run(row: Row, bundle: Path) -> dict:
    """Numerics of a row, then its times beside PyTorch's."""
    import torch

    import tessera as tsr

    torch.manual_seed(0)
    arguments = [bench.fill(one) for one in row.arguments]
    function = getattr(tsr.load(bundle), row.function)
    result = function(*arguments)
    worst = exact.error(row.function, arguments, result)
    calls = {OURS: lambda: function(*arguments)}
    contenders = peers.contenders(row.function, arguments, result)
    calls |= {name: call for name, call in contenders.items() if name != "copy"}
    times: dict[str, dict] = {}
    for kind, prepare, measure in (
        ("plain", lambda call: call, _plain),
        ("graph", _captured, _replayed),
    ):
        ready = {name: prepare(call) for name, call in calls.items()}
        rounds: dict[str, list[float]] = {name: [] for name in ready}
        for call in ready.values():
            measure(call)
        for _ in range(ROUNDS):
            for name, call in ready.items():
                rounds[name].append(measure(call))
        for name, found in rounds.items():
            ratios = [theirs / ours for theirs, ours in zip(found, rounds[OURS])]
            one = times.setdefault(name, {})
            one[f"{kind}_us"] = statistics.median(found)
            one[f"{kind}_ratio"] = statistics.median(ratios)
    return {"good": worst <= 1, "error": worst, "small": times}


def line(name: str, result: dict) -> str:
    """A row of the table: our times, then ratios to the fastest of the others."""
    times = result["small"]
    reported = []
    for kind in ("plain", "graph"):
        others = {peer: one[f"{kind}_ratio"] for peer, one in times.items() if peer != OURS}
        peer = min(others, key=others.get, default="")
        ratio = others.get(peer, math.nan)
        mark = "" if ratio >= 1 else " (!)"
        reported.append(f"{kind} {times[OURS][f'{kind}_us']:6.2f} us {ratio:.2f} of {peer}{mark}")
    wrong = "" if result["good"] else "  WRONG"
    return f"{name:36} {result['error']:6.2f}  {'   '.join(reported)}{wrong}"
