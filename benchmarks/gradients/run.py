#!/usr/bin/env python3
"""Gradients of attention and of work that is bound by memory, on a GPU, beside PyTorch's.

    run.py [--seed N] [--draws N] [--only NAME…] [--jobs N] [--json FILE] [--table FILE.md]

Attention is called by PyTorch's autograd, as its peers are: backward from a saved forward pass, and
forward and backward. Peers are eager SDPA, whose backend PyTorch chooses, SDPA by cuDNN, and
FlexAttention. Other work is one function that returns results and gradients, beside torch.compile.
Every gradient is compared with float64.

Processes compile and check rows in parallel, and fill the caches on disk. Then one process measures
them in turn.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parent / "gpu")]

import timing  # noqa: E402
from draws import peers, values  # noqa: E402
from draws.distributions import seed_of  # noqa: E402
from gradients import programs, report  # noqa: E402
from gradients.programs import Row  # noqa: E402

WRAPPER = """

@tsr.function
def both({names}, g):
    {found} = tsr.vjp(draw)({names}, g)
    return draw({names}), {found}
"""
#: Of an error over the largest element: twice eager mode's, or a few roundings of the type.
TIMES_EAGER, ROUNDINGS = 2.0, 3.0
PLAN = timing.Plan(rounds=5, rest=0.05, sustained=0.0)


def load(row: Row, folder: Path) -> Any:
    names = ", ".join(one.name for one in row.program.arguments)
    path = folder / f"{row.program.digest}.py"
    part = path.with_suffix(f".{time.monotonic_ns()}")
    floats = [one.name for one in row.program.arguments if not one.dtype.startswith("int")]
    found = ", ".join(f"d{name}" for name in floats)
    part.write_text(row.program.source() + WRAPPER.format(names=names, found=found))
    part.replace(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(row: Row) -> list:
    """The arguments, then the cotangent."""
    import torch

    found = []
    for one in row.program.arguments:
        table = peers.tensor(values.table(row.program, one, 7), "cuda")
        sizes = values.sizes_of(row.program, one)
        count = math.prod(sizes)
        found.append(table.repeat(math.ceil(count / table.numel()))[:count].reshape(sizes))
    torch.manual_seed(1)
    sizes = [row.program.sizes[dim] for dim in row.program.result]
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[
        row.program.dtype
    ]
    return [*found, torch.randn(sizes, device="cuda").to(dtype)]


def _wanted(row: Row, given: list) -> list[int]:
    """The arguments with a gradient."""
    text = "\n".join(row.program.lines)
    return [
        at
        for at, one in enumerate(row.program.arguments)
        if given[at].is_floating_point() and f"{one.name}.detach()" not in text
    ]


def backward(form: Any, given: list, wanted: list[int], saved: bool) -> Any:
    """A call that computes gradients, from a saved forward pass or with the forward pass."""
    import torch

    *tensors, cotangent = given
    tensors = [
        one.detach().requires_grad_() if at in wanted else one for at, one in enumerate(tensors)
    ]
    leaves = [tensors[at] for at in wanted]
    result = form(*tensors) if saved else None

    def call() -> Any:
        out = form(*tensors) if result is None else result
        return torch.autograd.grad(out, leaves, cotangent, retain_graph=saved)

    return call


def forms(row: Row, given: list) -> dict[str, Any]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    tensors = given[:-1]
    program = row.program
    if row.work == "memory":
        eager = peers.define(program, program.lines, tensors, "cuda")
        return {"compile": torch.compile(eager, dynamic=False)}
    found = {
        name: peers.define(program, lines, tensors, "cuda", name)
        for name, lines in program.forms.items()
    }
    if "sdpa" in found:
        sdpa = found["sdpa"]

        def cudnn(*those: Any) -> Any:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return sdpa(*those)

        found["cudnn"] = cudnn
    return found


def _sliced(row: Row, given: list, wanted: list[int]) -> tuple[dict[str, int], list]:
    """The last index of each leading dimension that all arguments with gradients have."""
    dims = [row.program.arguments[at].dims for at in wanted]
    sliced = [d for d in ("B", "H") if row.work == "attention" and all(d in one for one in dims)]
    every = [*(one.dims for one in row.program.arguments), row.program.result]
    found = []
    for tensor, axes in zip(given, every):
        for at, dim in enumerate(axes):
            if dim in sliced:
                tensor = tensor.narrow(at, tensor.shape[at] - 1, 1)
        found.append(tensor)
    return {dim: 1 for dim in sliced}, found


def check(row: Row, got: list, given: list) -> dict:
    """The errors of the gradients, and those of eager mode."""
    import dataclasses

    import torch

    wanted = _wanted(row, given)
    one, parts = _sliced(row, given, wanted)
    program = dataclasses.replace(row.program, sizes=row.program.sizes | one)
    wide = [part.double() if part.is_floating_point() else part for part in parts]
    lines = tuple(
        line.replace(".to(fp32)", "").replace(".to(bf16)", "").replace(".to(fp16)", "")
        for line in program.lines
    )
    exact = backward(peers.define(program, lines, wide[:-1], "cuda"), wide, wanted, False)()
    eager = backward(
        peers.define(program, program.lines, parts[:-1], "cuda"), parts, wanted, False
    )()
    found: dict[str, Any] = {"errors": {}}
    for mine, at in zip(got, wanted):
        argument = row.program.arguments[at]
        for axis, dim in enumerate(argument.dims):
            if dim in one:
                mine = mine.narrow(axis, mine.shape[axis] - 1, 1)
        reference, theirs = exact[wanted.index(at)], eager[wanted.index(at)]
        scale = reference.abs().max().item()
        error = (mine.double() - reference).abs().max().item() / scale
        own = (theirs.double() - reference).abs().max().item() / scale
        bound = max(TIMES_EAGER * own, ROUNDINGS * torch.finfo(mine.dtype).eps)
        found["errors"][argument.name] = [error, own]
        if not error <= bound:
            found["failed"] = f"wrong: d{argument.name} errs by {error:.1e}, bound {bound:.1e}"
    return found


def own(row: Row, module: Any, given: list, saved: bool = False) -> Callable[[], list]:
    """A call that computes the gradients by Tessera."""
    wanted = _wanted(row, given)
    if row.work == "attention":
        call = backward(module.draw, given, wanted, saved)
        return lambda: list(call())
    floats = [at for at, tensor in enumerate(given[:-1]) if tensor.is_floating_point()]

    def both() -> list:
        found = module.both(*given)[1:]
        return [found[floats.index(at)] for at in wanted]

    return both


def warm(row: Row, folder: Path, timed: bool) -> dict:
    """Compiles, checks, and fills the caches of the peers."""
    import torch

    given = arguments(row)
    module = load(row, folder)
    start = time.perf_counter()
    try:
        got = own(row, module, given)()
        torch.cuda.synchronize()
        found = {"first_s": time.perf_counter() - start}
        found |= check(row, got, given)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"}
    if timed:
        for name, form in forms(row, given).items():
            if name in ("flex", "compile"):
                try:
                    backward(form, given, _wanted(row, given), False)()
                    torch.cuda.synchronize()
                except Exception:  # the measurement tells
                    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return found


def measure(row: Row, folder: Path) -> dict:
    import torch

    torch._dynamo.reset()
    given = arguments(row)
    wanted = _wanted(row, given)
    module = load(row, folder)
    calls = {"tessera both": own(row, module, given)}
    if row.work == "attention":
        calls["tessera"] = own(row, module, given, saved=True)
    failed = {}
    for name, form in forms(row, given).items():
        calls[f"{name} both"] = backward(form, given, wanted, False)
        try:
            if row.work == "attention":
                calls[name] = backward(form, given, wanted, True)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
    if row.work == "memory":
        source = torch.empty(row.bytes // 2, dtype=torch.int8, device="cuda")
        target = torch.empty_like(source)
        calls["copy"] = lambda: target.copy_(source)
    # The host's part of autograd counts, and what it saves cannot be captured: no CUDA graphs.
    base = report.OURS if report.OURS in calls else f"{report.OURS} both"
    times = timing.measure(calls, PLAN, base, graph_ms=0.0)
    failed |= {name: one["failure"] for name, one in times.items() if "failure" in one}
    ms = {name: one["burst_ms"] for name, one in times.items() if "failure" not in one}
    return {"ms": ms, "failed_peers": failed}


def _start() -> None:
    """Of each process: a saved forward pass of FlexAttention may run backward several times."""
    import torch
    import torch._functorch.config

    torch.set_num_threads(1)
    torch._functorch.config.donated_buffer = False


def main() -> int:
    made = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = made.add_argument
    add("--seed", default="commit", help="of the drawn rows: a number, or commit (default)")
    add("--draws", type=int, default=20, help="how many are drawn, default %(default)s")
    add(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="rows whose names contain one of these",
    )
    add("--jobs", type=int, default=8, help="processes that compile, default %(default)s")
    add("--no-peer", action="store_true", help="check only")
    add("--budget", type=float, default=1e9, metavar="SECONDS", help="stop in this time")
    add("--json", type=Path, help="write the results there")
    add("--table", type=Path, metavar="FILE.md", help="write the results there, as Markdown")
    options = made.parse_args()
    seed = seed_of(options.seed)
    end = time.monotonic() + options.budget
    those = programs.rows(seed, options.draws)
    if options.only:
        those = [row for row in those if any(text in row.name for text in options.only)]
    results: dict[str, dict] = {}

    def write() -> None:
        if options.json:
            text = {"seed": seed, "results": results}
            options.json.write_text(json.dumps(text, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = multiprocessing.get_context("spawn")
        with futures.ProcessPoolExecutor(options.jobs, context, _start) as pool:
            waiting = {pool.submit(warm, row, folder, not options.no_peer): row for row in those}
            for one in futures.as_completed(waiting):
                row = waiting[one]
                try:
                    results[row.name] = one.result()
                except Exception as error:
                    results[row.name] = {"failed": f"{type(error).__name__}: {error}"}
                print(row.name, results[row.name].get("failed", "right"), flush=True)
                write()
        _start()
        for row in those if not options.no_peer else []:
            if time.monotonic() > end:
                break
            if "failed" in results[row.name]:
                continue
            try:
                results[row.name] |= measure(row, folder)
            except Exception as error:
                results[row.name].setdefault(
                    "failed", f"timing: {str(error).splitlines()[0][:200]}"
                )
            print(report.line(row, results[row.name]), flush=True)
            write()
    text = report.table(those, results, report.about(seed))
    print(text)
    if options.table:
        options.table.write_text(text)
    return 1 if any("failed" in one for one in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
