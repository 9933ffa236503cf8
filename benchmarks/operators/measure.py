"""What a worker process does with a case: check it, then time it.

A case is first prepared: its results are compared with float64, and the peers are compiled. The
process keeps it until it is told to time it, which happens when no other process works.
"""

from __future__ import annotations

import copy
import gc
import math
import os
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import nn

from .programs import draw_one
from .sizes import tensors

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
#: The bound of an error, over the largest element of the result: twice the error of eager mode, which
#: adds up the same numbers with the same precision (TF32 in convolutions on a GPU, where PyTorch's
#: defaults allow it, and not in products). Twice, since another order of a sum has another error of
#: the same size. Eager mode may be exact by chance; then a few roundings of the type are allowed:
#: 16 in fp32, about what a sum of a thousand terms in order loses, and two in types of 16 bits, whose
#: sums and functions are computed in fp32. With convolutions in TF32, 2^-10 is allowed: cuDNN may
#: use fp32 all the same, and each factor loses at most 2^-11.
TIMES_EAGER = 2.0
TF32 = 2.0**-10
ROUNDINGS = {torch.float32: 16.0, torch.bfloat16: 2.0, torch.float16: 2.0}
FALLBACK = "Tessera runs a part of the graph by PyTorch"
IN_GRAPH, SHORT = 20, 50e-6  # calls of a CUDA graph; below this time, calls are timed in one


@dataclass(frozen=True)
class Settings:
    seed: int
    device: str
    dtype: str
    threads: int


def first_line(error: BaseException | str, length: int = 300) -> str:
    """The line of a message that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = "" if isinstance(error, str) else f"{type(error).__name__}: "
    return (name + " / ".join(lines[:3]))[:length]


def difference(got: torch.Tensor, exact: torch.Tensor, eager: torch.Tensor) -> float:
    """The largest error over the largest element, or the share of integers that differ. What is not
    finite in eager mode is not compared."""
    if not got.is_floating_point():
        return (got != exact).double().mean().item() if got.numel() else 0.0
    finite = eager.isfinite() & exact.isfinite()
    got, exact = got[finite].double(), exact[finite].double()
    if not got.numel():
        return 0.0
    found = (got - exact).abs().max().item() / max(exact.abs().max().item(), 1e-30)
    return found if math.isfinite(found) else math.inf


def compare(
    got: list[torch.Tensor], eager: list[torch.Tensor], exact: list[torch.Tensor], least: float
) -> dict[str, Any]:
    kinds = [[(tuple(one.shape), one.dtype) for one in those] for those in (got, eager)]
    if kinds[0] != kinds[1]:
        return {"failed": f"results are {kinds[0]}, expected {kinds[1]}"}
    worst: dict[str, Any] = {"error": 0.0, "bound": 1.0, "eager_error": 0.0}
    for mine, theirs, reference in zip(got, eager, exact):
        floats = theirs.is_floating_point()
        own = difference(theirs, reference, theirs)
        roundings = (
            ROUNDINGS.get(theirs.dtype, 16.0) * torch.finfo(theirs.dtype).eps if floats else 1e-9
        )
        one = {"error": difference(mine, reference, theirs), "eager_error": own}
        one["bound"] = max(TIMES_EAGER * own, roundings, least if floats else 0)
        if one["error"] / one["bound"] >= worst["error"] / worst["bound"]:
            worst = one
    return worst


def rounds(module: nn.Module, given: list[torch.Tensor]) -> bool:
    """Whether PyTorch may round the factors of the module's convolutions to TF32."""
    on_gpu = any(one.is_cuda and one.dtype == torch.float32 for one in given)
    has_convolution = any(isinstance(one, nn.modules.conv._ConvNd) for one in module.modules())
    return on_gpu and has_convolution and torch.backends.cudnn.allow_tf32


def exact_results(module: nn.Module, given: list, eager: list) -> tuple[list, bool]:
    """In float64 on the same data; eager mode's own where that is impossible."""
    wide = [one.double() if one.is_floating_point() else one for one in given]
    try:
        found = tensors(copy.deepcopy(module).double()(*wide))
    except Exception:
        return eager, False
    return found, len(found) == len(eager)


class _Counted:
    """Counts the operations of the graphs that Tessera gets while it compiles them."""

    def __init__(self) -> None:
        self.compiled, self.foreign = 0, Counter()

    def __enter__(self) -> _Counted:
        from tessera import dynamo

        self.original = original = dynamo.compile_graph

        def compile_graph(module: Any, *args: Any) -> Any:
            left = dynamo.unsupported(module.graph)
            for node in module.graph.nodes:
                name = dynamo.name_of(node.target)
                if node.op != "call_function" or name == "operator.getitem":
                    continue
                if node in left:
                    self.foreign[f"{name}: {left[node]}"] += 1
                else:
                    self.compiled += 1
            return original(module, *args)

        dynamo.compile_graph = compile_graph
        return self

    def __exit__(self, *_: Any) -> None:
        from tessera import dynamo

        dynamo.compile_graph = self.original


class Worker:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.held: dict[tuple[str, int], dict[str, Callable]] = {}
        torch.set_grad_enabled(False)
        torch.set_num_threads(settings.threads)
        for name in ("recompile_limit", "accumulated_recompile_limit"):
            setattr(torch._dynamo.config, name, 1000)  # cases share the code of their modules

    def synchronize(self) -> None:
        if self.settings.device == "cuda":
            torch.cuda.synchronize()

    def settle(self) -> None:
        """An error of a kernel ends the process, before it answers."""
        if self.settings.device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def prepare(
        self, kind: str, number: int, peer: bool, send: Callable[[dict[str, Any]], None]
    ) -> None:
        """Sends what the case is, then its errors, then the state of the peers."""
        if not self.held:
            torch._dynamo.reset()
            gc.collect()
        device, dtype = self.settings.device, DTYPES[self.settings.dtype]
        case = draw_one(self.settings.seed, kind, number, device)
        about = {"name": case.name, "kind": kind, "flops": case.flops, "bytes": case.bytes}
        send(about | {"text": str(case)})
        module = case.module(device).to(dtype)
        given = [one.to(dtype) if one.is_floating_point() else one for one in case.inputs(device)]
        calls: dict[str, Callable] = {"eager": lambda: module(*given)}
        try:
            eager = tensors(module(*given))
            self.synchronize()
        except Exception as error:
            self.settle()
            send({"skipped": first_line(error)})
            return
        found = self._check(module, given, eager, calls)
        del eager
        self.settle()
        send(found)
        if found.get("failed"):
            return
        found = {"ready": True}
        if peer:
            compiled = torch.compile(module, dynamic=False)
            try:
                compiled(*given)
                self.synchronize()
                calls["inductor"] = lambda: compiled(*given)
            except Exception as error:
                found["inductor_failed"] = first_line(error)
        self.held[kind, number] = calls
        self.settle()
        send(found)

    def _check(self, module: nn.Module, given: list, eager: list, calls: dict) -> dict[str, Any]:
        from tessera.dynamo import backend

        exact, is_wide = exact_results(module, given, eager)
        found: dict[str, Any] = {} if is_wide else {"no_float64": True}
        compiled = torch.compile(module, backend=backend, dynamic=False)
        counted, start = _Counted(), time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as warned, counted:
                warnings.simplefilter("always")
                got = tensors(compiled(*given))
                self.synchronize()
            found["compile_s"] = time.perf_counter() - start
            found |= compare(got, eager, exact, TF32 if rounds(module, given) else 0.0)
            texts = [str(one.message) for one in warned]
            if fallbacks := [text for text in texts if text.startswith(FALLBACK)]:
                found["failed"] = first_line(fallbacks[0])
        except Exception as error:
            found["failed"] = first_line(error)
        if "failed" not in found and not found["error"] <= found["bound"]:
            found["failed"] = f"wrong: error {found['error']:.1e}, bound {found['bound']:.1e}"
        calls["tessera"] = lambda: compiled(*given)
        return found | {"compiled": counted.compiled, "foreign": dict(counted.foreign)}

    def time(self, kind: str, number: int) -> dict[str, Any]:
        calls = self.held.pop((kind, number))
        take = _on_gpu if self.settings.device == "cuda" else _on_cpu
        try:
            found = take(calls)
        except Exception as error:
            found = {"failed": f"timing: {first_line(error)}"}
        self.settle()
        return found


def _on_cpu(calls: dict[str, Callable]) -> dict[str, Any]:
    """The best of five turns; short calls are repeated within a turn."""

    def turn(call: Callable, count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count

    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = min(1000, math.ceil(2e-3 / turn(call, 1)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(5):
        for name, call in calls.items():
            times[name].append(turn(call, counts[name]))
    return {"us": {name: 1e6 * min(those) for name, those in times.items()}}


def _elapsed(run: Callable) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    end.synchronize()
    return 1e-3 * start.elapsed_time(end)


def _captured(call: Callable) -> Callable | None:
    """Some calls as a CUDA graph, or None. torch.cuda.graph would collect garbage each time."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    try:
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            call()
            torch.cuda.synchronize()
            graph.capture_begin()
            try:
                for _ in range(IN_GRAPH):
                    call()
            finally:
                graph.capture_end()
        graph.replay()
        torch.cuda.synchronize()
        return graph.replay
    except Exception:
        torch.cuda.synchronize()
        return None


def _repeated(call: Callable, count: int) -> Callable:
    def run() -> None:
        for _ in range(count):
            call()

    return run


def _on_gpu(calls: dict[str, Callable]) -> dict[str, Any]:
    """Medians of turns that alternate. If one contender is short, all are timed in CUDA graphs, so
    that the time of the host does not count; `loop_us` are the times of plain calls."""
    loops, runs, counts, uncaptured = {}, {}, {}, []
    for name, call in calls.items():
        _elapsed(_repeated(call, 3))
        loops[name] = min(_elapsed(_repeated(call, 10)) / 10 for _ in range(3))
    for name, call in calls.items():
        replay = _captured(call) if min(loops.values()) < SHORT else None
        if replay is not None:
            runs[name], counts[name] = replay, IN_GRAPH
        else:
            counts[name] = max(1, math.ceil(1e-3 / loops[name]))
            runs[name] = _repeated(call, counts[name])
            uncaptured += [name] if min(loops.values()) < SHORT else []
    once = sum(_elapsed(run) for run in runs.values())
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(max(5, min(40, int(0.25 / once)))):
        for name, run in runs.items():
            times[name].append(_elapsed(run) / counts[name])
    found: dict[str, Any] = {
        "us": {name: 1e6 * statistics.median(those) for name, those in times.items()},
        "loop_us": {name: 1e6 * one for name, one in loops.items()},
    }
    return found | ({"uncaptured": uncaptured} if uncaptured else {})


def serve(connection: Connection, settings: Settings, log: str) -> None:
    """Answers ("prepare", kind, number, peer) and ("time", kind, number) until the end."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    import tessera.dynamo  # noqa: F401

    worker = Worker(settings)
    connection.send({})
    while True:
        try:
            order, *words = connection.recv()
        except EOFError:
            return
        if order == "time":
            connection.send(worker.time(*words))
        else:
            worker.prepare(*words, connection.send)
        sys.stdout.flush()
