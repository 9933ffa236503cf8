#!/usr/bin/env python3
"""Whole models through torch.compile(backend="tessera"), beside eager PyTorch.

    run.py [--only NAME…] [--training] [--threads N] [--table FILE]

Each model has random weights and is called once in eager mode and once compiled. The error is the
largest difference of a result (with --training, also of a gradient) over the largest element; for
gradients over the largest of all gradients. The table has the share of operations that are
compiled, the time until the first result, and the times of later calls. It needs PyTorch, torchvision,
timm and transformers.
"""

from __future__ import annotations

import argparse
import copy
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

BOUND = 1e-4  # of a result in fp32
HERE = Path(__file__).resolve().parent


def tensors(result: Any) -> list:
    import torch

    if isinstance(result, torch.Tensor):
        return [result]
    if hasattr(result, "to_tuple"):
        result = result.to_tuple()
    if isinstance(result, dict):
        result = tuple(result.values())
    if not isinstance(result, (tuple, list)):
        return []
    return [one for part in result for one in tensors(part)]


def difference(got: Any, expected: Any, scale: float | None = None) -> float:
    scale = scale or max(expected.abs().max().item(), 1e-6)
    return (got.double() - expected.double()).abs().max().item() / scale


def best(call: Callable, count: int = 5) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def judge(make: Callable, inputs: Callable, training: bool) -> dict[str, Any]:
    import torch
    from tessera.dynamo import backend, coverage

    torch.manual_seed(0)
    torch._dynamo.reset()
    model, given = make().train(training), inputs()
    for part in model.modules():  # the random numbers of eager mode are others
        if "Dropout" in type(part).__name__ or "StochasticDepth" in type(part).__name__:
            part.p = 0.0
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend=backend)

    def step(one: Callable) -> list:
        torch.manual_seed(1)  # for dropout
        if not training:
            with torch.no_grad():
                return tensors(one(*given))
        result = tensors(one(*given))
        weight = torch.linspace(-1, 1, result[0].numel()).view(result[0].shape)
        (result[0] * weight).sum().backward()
        return [one.detach() for one in result]

    start = time.perf_counter()
    got = step(compiled)
    first = time.perf_counter() - start
    expected = step(model)
    pairs = [pair for pair in zip(got, expected) if pair[0].is_floating_point()]
    error = max(difference(*pair) for pair in pairs)
    if training:
        gradients = [
            (mine.grad, theirs.grad)
            for mine, theirs in zip(other.parameters(), model.parameters())
            if theirs.grad is not None
        ]
        largest = max(theirs.abs().max().item() for _, theirs in gradients)
        error = max(error, *(difference(*pair, largest) for pair in gradients))
    eager, ours = best(lambda: step(model)), best(lambda: step(compiled))
    if training:
        share = None
    else:
        with torch.no_grad():
            found = coverage(model, *given)
        share = found.compiled.total() / (found.compiled.total() + found.foreign.total())
    return {"error": error, "first": first, "eager": eager, "ours": ours, "share": share}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--training", action="store_true", help="a step forward and backward")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", type=Path, help="write the results there, as Markdown")
    arguments = parser.parse_args()
    os.environ["TESSERA_NUM_THREADS"] = str(arguments.threads)
    sys.path.insert(0, str(HERE))
    warnings.filterwarnings("ignore")
    import torch
    from architectures import models

    torch.set_num_threads(arguments.threads)
    kind = "training steps" if arguments.training else "inference"
    lines = [
        f"# Models: {kind}",
        "",
        f"{platform.machine()}, PyTorch {torch.__version__.partition('+')[0]}, fp32, "
        f"threads: {arguments.threads}. `benchmarks/models/run.py` made this table.",
        "",
        "| model | compiled operations | error | first result (s) | eager (ms) | Tessera (ms) | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    failed, product, count = 0, 1.0, 0
    for name, (make, inputs) in models().items():
        if arguments.only and name not in arguments.only:
            continue
        try:
            one = judge(make, inputs, arguments.training)
        except Exception as error:
            failed += 1
            lines.append(f"| {name} | | {str(error).splitlines()[0][:80]} | | | | |")
            print(lines[-1], flush=True)
            continue
        failed += one["error"] > BOUND
        ratio = one["eager"] / one["ours"]
        product, count = product * ratio, count + 1
        share = "" if one["share"] is None else f"{100 * one['share']:.1f} %"
        lines.append(
            f"| {name} | {share} | {one['error']:.1e} | {one['first']:.1f} "
            f"| {1e3 * one['eager']:.2f} | {1e3 * one['ours']:.2f} | {ratio:.2f} |"
        )
        print(lines[-1], flush=True)
    if count:
        lines += [
            "",
            f"{count} models, {failed} wrong or failed; geometric mean of the ratios "
            f"{product ** (1 / count):.2f}.",
        ]
        print(lines[-1])
    if arguments.table:
        arguments.table.write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
