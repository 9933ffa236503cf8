#!/usr/bin/env python3
"""Runs the bundles that build.py made on this machine's GPU: numerics, then times beside PyTorch.

    check.py [--json FILE] [--seconds N] [NAME…]

Needs Python 3.11 or later, PyTorch and NVIDIA's driver; no compiler. Results are compared with
PyTorch in float64; the bound of an element is the rounding of the result and of what the program
rounds on the way. Times are medians of CUDA events over bursts, ours and PyTorch's in turns. Cases
run in a process of their own each time one has failed, since a GPU error ends all work of its
process. Without a GPU it says "unsupported".
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cases import CASES, Case

ROUNDING = {"fp32": 2.0**-24, "bf16": 2.0**-8, "fp16": 2.0**-11}
F32 = ROUNDING["fp32"]


def torch_type(dtype: str):
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[dtype]


def peer(function: str, arguments: list):
    """PyTorch's own way to compute it."""
    import torch
    import torch.nn.functional as nn

    first = arguments[0]
    if function == "add":
        return lambda: torch.add(*arguments)
    if function == "gelu_chain":
        return lambda: nn.gelu(first) * arguments[1] + first
    if function == "softmax":
        return lambda: torch.softmax(first, -1)
    if function == "layer_norm":
        return lambda: nn.layer_norm(first, first.shape[-1:], arguments[1], arguments[2])
    if function == "row_sum":
        return lambda: first.sum(-1)
    if function == "matmul":
        return lambda: torch.matmul(*arguments)
    if function == "linear_gelu":
        a, b, c = arguments
        return lambda: nn.gelu(torch.addmm(c, a, b))
    causal = function == "causal_attention"
    return lambda: nn.scaled_dot_product_attention(*arguments, is_causal=causal)


def attention_in_parts(q, k, v, causal: bool):
    """Attention in float64, head by head: all scores at once would not fit."""
    import torch

    out = torch.empty_like(q, dtype=torch.float64)
    spread = torch.empty_like(out)
    size = q.shape[-2]
    mask = torch.ones(size, size, dtype=torch.bool, device=q.device).tril() if causal else None
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = q[b, h].double() @ k[b, h].double().T / math.sqrt(q.shape[-1])
            if mask is not None:
                scores.masked_fill_(~mask, -math.inf)
            weights = torch.softmax(scores, -1)
            out[b, h] = weights @ v[b, h].double()
            spread[b, h] = weights @ v[b, h].double().abs()
    return out, spread


def reference(function: str, arguments: list, dtype: str):
    """The result in float64, and how far each element may be from it."""
    import torch

    unit = ROUNDING[dtype]
    if "attention" in function:
        exact, spread = attention_in_parts(*arguments, function == "causal_attention")
        # The weights are rounded before they meet v.
        return exact, unit * exact.abs() + 1.5 * unit * spread
    wide = [one.double() for one in arguments]
    exact = peer(function, wide)()
    bound = 1.01 * unit * exact.abs()
    if function == "gelu_chain":
        bound += 16 * F32 * (wide[0] * wide[1]).abs() + 4 * F32 * wide[0].abs()
    elif function == "softmax":
        bound += 64 * F32 * exact
    elif function == "layer_norm":
        bound += 64 * F32 * (wide[1].abs() * (1 + wide[0].abs()) + wide[2].abs())
    elif function == "row_sum":
        bound += 64 * F32 * wide[0].abs().sum(-1)
    elif function in ("matmul", "linear_gelu"):
        depth = wide[0].shape[1]
        bound += 16 * math.sqrt(depth) * F32 * torch.matmul(wide[0].abs(), wide[1].abs())
    return exact, bound + 1e-30


def measure(ours, theirs, seconds: float) -> tuple[float, float]:
    """Milliseconds of one call each: medians of bursts, in turns."""
    import torch

    def burst(call, count: int) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count

    for call in (ours, theirs):
        burst(call, 5)
    longest = max(burst(ours, 3), burst(theirs, 3))
    count = max(3, min(200, int(10 / max(longest, 1e-3))))
    rounds = max(5, min(40, int(seconds * 1e3 / (2 * count * longest))))
    pairs = [(burst(ours, count), burst(theirs, count)) for _ in range(rounds)]
    return tuple(statistics.median(column) for column in zip(*pairs))


def run_case(case: Case, seconds: float) -> dict:
    import torch

    import tessera as tsr

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    arguments = [
        torch.randn(sizes, device="cuda").to(torch_type(dtype))
        for _, dtype, sizes in case.arguments
    ]
    dtype = case.arguments[0][1]
    start = time.perf_counter()
    function = getattr(tsr.load(HERE / case.bundle), case.function)
    result = function(*arguments)
    torch.cuda.synchronize()
    first = time.perf_counter() - start

    out = torch.full_like(result, math.nan)
    assert function(*arguments, out=out) is out
    exact, bound = reference(case.function, arguments, dtype)
    error = ((out.double() - exact).abs() / bound).nan_to_num(nan=math.inf).max().item()
    same = torch.equal(result, out)
    del exact, bound, result
    torch.cuda.empty_cache()

    theirs = peer(case.function, arguments)
    milliseconds, other = measure(lambda: function(*arguments, out=out), theirs, seconds)
    moved = sum(one.numel() * one.element_size() for one in [*arguments, out])
    return {
        "error": error,
        "deterministic": same,
        "first_call_ms": first * 1e3,
        "ms": milliseconds,
        "torch_ms": other,
        "ratio": other / milliseconds,
        "tflops": case.flops / milliseconds / 1e9 if case.flops else None,
        "gb_per_s": None if case.flops else moved / milliseconds / 1e6,
        "torch_tflops": case.flops / other / 1e9 if case.flops else None,
        "torch_gb_per_s": None if case.flops else moved / other / 1e6,
        "good": error <= 1 and same,
    }


def worker(names: list[str], log: Path, seconds: float) -> None:
    """Writes one line when a case begins and one when it ends; stops at the first failure."""
    by_name = {case.name: case for case in CASES}
    with log.open("a") as file:
        for name in names:
            print(json.dumps({"name": name, "begun": True}), file=file, flush=True)
            try:
                result = run_case(by_name[name], seconds)
            except Exception as error:  # whatever it is, the other cases go on
                result = {"good": False, "failure": f"{type(error).__name__}: {error}"}
            print(json.dumps({"name": name, **result}), file=file, flush=True)
            if "failure" in result:
                return


def run_all(names: list[str], seconds: float) -> dict[str, dict]:
    results: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        while rest := [name for name in names if name not in results]:
            log = Path(folder) / f"{len(rest)}.jsonl"
            command = [sys.executable, __file__, "--worker", str(log), "--seconds", str(seconds)]
            try:
                status = subprocess.run([*command, *rest], timeout=60 + 30 * len(rest)).returncode
            except subprocess.TimeoutExpired:
                status = "a time limit"
            lines = log.read_text().splitlines() if log.exists() else []
            for entry in map(json.loads, lines):
                name = entry.pop("name")
                if entry.pop("begun", False):
                    entry = {"good": False, "failure": f"the process ended with {status}"}
                results[name] = entry
            if not lines:
                results[rest[0]] = {"good": False, "failure": f"the process ended with {status}"}
    return results


def table(results: dict[str, dict]) -> str:
    head = f"{'case':44} {'error/bound':>11} {'ms':>8} {'torch ms':>8} {'ratio':>6} {'speed':>14}"
    lines = [head, "-" * len(head)]
    for name, result in results.items():
        if "failure" in result:
            lines.append(f"{name:44} FAILED: {result['failure'].splitlines()[0]}")
            continue
        speed = (
            f"{result['tflops']:.0f} TFLOP/s" if result["tflops"] else f"{result['gb_per_s']:.0f} GB/s"
        )
        lines.append(
            f"{name:44} {result['error']:11.3f} {result['ms']:8.3f} {result['torch_ms']:8.3f} "
            f"{result['ratio']:6.2f} {speed:>14}{'' if result['good'] else '  WRONG'}"
        )
    return "\n".join(lines)


def missing() -> str | None:
    """Why nothing can be run here."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if torch.cuda.is_available() else "there is no GPU that PyTorch can use"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of cases; default: all")
    parser.add_argument("--json", type=Path, help="the file to write results to")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for measuring a case")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.names, options.worker, options.seconds)
        return 0
    if reason := missing():
        print(f"unsupported: {reason}")
        return 0
    import torch

    chosen = [
        case.name
        for case in CASES
        if (HERE / case.bundle).exists()
        and (not options.names or any(name in case.name for name in options.names))
    ]
    device = torch.cuda.get_device_name()
    print(f"{device}, PyTorch {torch.__version__}, {len(chosen)} bundles", flush=True)
    results = run_all(chosen, options.seconds)
    print(table(results))
    if options.json:
        report = {"device": device, "torch": torch.__version__, "results": results}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    bad = [name for name, result in results.items() if not result["good"]]
    print(f"{len(results) - len(bad)} of {len(results)} right")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
