"""One draw on the CPU: compiled, checked against float64, timed beside its peers.

This is the process that runs items one after another (integration/gpu/isolate.py), with one number
of threads:

    measure.py --seed N --threads N [--prepare] [--compile] [--seconds S] JOB LOG
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(TOP / "build/python"), str(TOP / "integration/gpu")]

import isolate  # noqa: E402
import numpy as np  # noqa: E402

import tessera as tsr  # noqa: E402
from draws import numerics, peers, values  # noqa: E402
from draws.distributions import Draw, draw  # noqa: E402
from draws.program import FUNCTION  # noqa: E402
from tessera.bench import harness, latency  # noqa: E402
from tessera.bench.peers import pytorch  # noqa: E402

OVERHEAD = "overhead"  # the item that is no draw: the time of a call without work
_ROUNDS = 5
_LONG = 1.0  # seconds of a call, from which on there are fewer of them


def load(one: Draw, folder: Path, sampled: bool = False) -> tsr.Function:
    """The program as a function, from a file that `tessera explain` can also read."""
    path = folder / f"{one.program.digest}{'_sampled' if sampled else ''}.py"
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(one.program.source(sampled))
    part.replace(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, FUNCTION)


def check(one: Draw, function: Any, arrays: list[np.ndarray], folder: Path) -> str | None:
    """The error of the result, or None. Its memory is poisoned before."""
    program = one.program
    chosen = numerics.sample(one)
    sampled = load(one, folder, True) if program.index else function
    reference = numerics.expected(one, sampled, chosen)
    out = numerics.poisoned(program)
    function(*arrays, out=out)
    if wrong := numerics.compare(numerics.at(program, out, chosen), reference):
        return wrong
    if not pytorch.available():
        return None
    tensors = [peers.tensor(array) for array in arrays]
    return numerics.rough(
        program, tensors, peers.tensor(out), numerics.allowance(program, reference)
    )


def blas(one: Draw, arrays: list[np.ndarray]) -> peers.Calls:
    """NumPy's GEMM, if there is nothing else to the program."""
    program = one.program
    plain = program.family == "gemm" and len(program.lines) == 2
    if not plain or program.dtype not in ("fp32", "fp64"):
        return {}
    operands = []
    for argument, array in zip(program.arguments, arrays):
        turned = argument.dims[-2:] in (("K", "M"), ("N", "K"))
        operands.append(np.swapaxes(array, -1, -2) if turned else array)
    return {"numpy": lambda: np.matmul(*operands)}


def torch_calls(one: Draw, arrays: list[np.ndarray], compiled: bool) -> tuple[peers.Calls, dict]:
    """PyTorch's forms that run here, and why the others do not. Of long ones, only those that can
    be the fastest."""
    if not pytorch.available():
        return {}, {}
    tensors = [peers.tensor(array) for array in arrays]
    kinds = ("compile",) if compiled else ()
    calls: peers.Calls = {}
    seconds = {}
    failed = {}
    for name, form in peers.contenders(one.program, tensors, "cpu", kinds).items():
        try:
            start = time.perf_counter()
            form(*tensors)
            seconds[name] = time.perf_counter() - start
        except Exception as error:  # a type or a shape that it lacks
            failed[name] = (str(error).splitlines() or [type(error).__name__])[0][:200]
            continue
        if seconds[name] < 10 * _LONG:  # the first call may compile
            start = time.perf_counter()
            form(*tensors)
            seconds[name] = time.perf_counter() - start
        calls[name] = functools.partial(form, *tensors)
    for name, found in seconds.items():
        if found > max(_LONG, 3 * min(seconds.values())):
            failed[name] = f"{found:.1f} s for a call"
            del calls[name]
    return calls, failed


def prepare(one: Draw, folder: Path, compiled: bool) -> dict:
    """Compiles our code and PyTorch's; both are cached on disk."""
    arrays = [values.whole(one.program, a, one.seed) for a in one.program.arguments]
    start = time.perf_counter()
    load(one, folder)(*arrays)
    result = {"good": True, "compile_s": time.perf_counter() - start}
    if compiled:
        start = time.perf_counter()
        _, failed = torch_calls(one, arrays, True)
        result |= {"torch_s": time.perf_counter() - start, "failed": failed}
    return result


def run(one: Draw, folder: Path, compiled: bool, seconds: float) -> dict:
    """Numerics, then times."""
    program = one.program
    arrays = [values.whole(program, argument, one.seed) for argument in program.arguments]
    function = load(one, folder)
    start = time.perf_counter()
    function(*arrays)
    first = time.perf_counter() - start
    about = {"first_call_s": first, "checked_s": 0.0}
    start = time.perf_counter()
    wrong = check(one, function, arrays, folder)
    about["checked_s"] = time.perf_counter() - start
    if wrong:
        return {"good": False, "wrong": wrong, **about}
    calls: peers.Calls = {harness.OURS: lambda: function(*arrays)}
    calls |= blas(one, arrays)
    others, failed = torch_calls(one, arrays, compiled)
    start = time.perf_counter()
    function(*arrays)
    rounds = _ROUNDS if time.perf_counter() - start < _LONG else 2
    timing = harness.measure(calls | others, seconds, rounds)
    ratios = {name: timing.ratio(name) for name in timing.rounds if name != harness.OURS}
    against = min(ratios, key=lambda name: ratios[name][0], default="")
    result = {
        "good": True,
        "medians": {name: timing.median(name) for name in timing.rounds},
        "failed": failed,
        **about,
    }
    if against:
        ratio, low, high = ratios[against]
        best = timing.best_ratio(against)
        result |= {"against": against, "ratio": ratio, "low": low, "high": high, "best": best}
    return result


def overhead() -> dict:
    """Microseconds of a call whose work takes nanoseconds."""
    found = {"tessera": latency.small_call()[0]}
    if pytorch.available():
        import torch

        x, y, z = (torch.ones(2, 8) for _ in range(3))
        found["eager"] = latency.microseconds(lambda: x * 0.5 + y * z)[0]
        found["torch.add"] = latency.microseconds(lambda: torch.add(x, y))[0]
    return {"good": True, "overhead_us": found}


def item(name: str, options: argparse.Namespace) -> dict:
    if name == OVERHEAD:
        return overhead()
    one = draw(options.seed, int(name.split("_")[0]))
    assert one.name == name, f"expected draw {one.name}, found {name}"
    if pytorch.available():
        import torch

        torch._dynamo.reset()
    try:
        if options.prepare:
            return prepare(one, options.folder, options.compile)
        return run(one, options.folder, options.compile, options.seconds)
    except tsr.TesseraError as error:
        return {"good": False, "refused": str(error)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("job", type=Path)
    parser.add_argument("log", type=Path)
    options = parser.parse_args()
    assert os.environ.get("TESSERA_NUM_THREADS") == str(options.threads)
    pytorch.set_threads(options.threads)
    isolate.work(options.job, options.log, functools.partial(item, options=options))


if __name__ == "__main__":
    main()
