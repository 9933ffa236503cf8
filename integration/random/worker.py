"""Runs a range of seeds in this process and writes one JSON line per seed.

    worker.py FIRST END REPORT DEADLINE CALLS
              [gradients | simulate CHIP | interpret CHIP | assemble BACKEND CHIP…]

A line is {"seed", "status": "ok" | "wrong" | "error" | "skipped", "message", "calls", "excluded",
"checked"}. The line {"start": seed} precedes each: a seed that was started and has no result
crashed the process. No seed is started after the deadline (of the monotonic clock). With
`gradients`, the gradients of each program are computed instead. With
`simulate`, the kernels of the PTX backend are simulated instead; with `interpret`, their PTX is
interpreted; with `assemble`, each program is compiled for one of the chips, in turn, and must be
assembled by NVIDIA's assembler. A program that the compiler rejects with a message is skipped.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import platform
import re
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import differences
import numpy as np
from generate import Program, generate, module_source

PER_MODULE = 25
VARIANTS = 2  # sets of sizes per program by default
DIFFERENCES = 4  # every so many programs have their gradients compared with differences
SECONDS = 60  # of processor time for one program; then the process ends, as in a crash
SIMULATED_SECONDS = 600  # or interpreted


def poisoned(expected) -> tuple:
    """Memory for results, filled with a pattern that no kernel writes."""
    from generate import numpy_dtype

    outs = []
    for one in expected:
        dtype = numpy_dtype(one.dtype.name)
        memory = np.full(one.value.size * dtype.itemsize, 0xFF, np.uint8)
        outs.append(memory.view(dtype).reshape(one.value.shape))
    return tuple(outs)


def compare(result: np.ndarray, expected) -> tuple[str, int]:
    """The error of a result ("" if none), and the number of excluded elements."""
    from generate import numpy_dtype

    if result.shape != expected.value.shape:
        return f"shape {result.shape}, expected {expected.value.shape}", 0
    if result.dtype != numpy_dtype(expected.dtype.name):
        return f"elements of {result.dtype}, expected {expected.dtype.name}", 0
    keep = ~expected.excluded
    if expected.value.dtype.kind == "f":
        got = result.astype(np.float64)
        with np.errstate(invalid="ignore"):
            good = (np.abs(got - expected.value) <= expected.bound) | (got == expected.value)
        good |= np.isnan(got) & np.isnan(expected.value)
    else:
        got, good = result, result == expected.value
    bad = np.argwhere(keep & ~good)
    excluded = int(expected.excluded.sum())
    if not len(bad):
        return "", excluded
    at = tuple(int(i) for i in bad[0])
    return (
        f"{len(bad)} of {result.size} elements wrong; at {at} expected {expected.value[at]!r} "
        f"within {expected.bound[at]:.3g}, got {got[at]!r}"
    ), excluded


def check(program: Program, function, calls: int) -> dict:
    """Calls the function with this many sets of sizes, alternately with given memory for its
    results and without."""
    if "bf16" in program.source and importlib.util.find_spec("ml_dtypes") is None:
        return {"status": "skipped", "message": "NumPy has no bf16 without ml_dtypes"}
    excluded = checked = 0
    for variant in range(calls):
        arguments = program.arguments(variant)
        expected = function.reference(*arguments, bounds=True)
        expected = expected if type(expected) is tuple else (expected,)
        if (variant + program.seed * (calls % 2)) % 2 == 0:
            outs = poisoned(expected)
            function(*arguments, out=outs if len(outs) > 1 else outs[0])
        else:
            outs = function(*arguments)
            outs = outs if type(outs) is tuple else (outs,)
        for number, (result, one) in enumerate(zip(outs, expected, strict=True)):
            wrong, left_out = compare(np.asarray(result), one)
            excluded += left_out
            checked += one.value.size - left_out
            if wrong:
                sizes = program.sizes(variant)
                return {"status": "wrong", "message": f"result {number}, sizes {sizes}: {wrong}"}
    return {"status": "ok", "calls": calls, "excluded": excluded, "checked": checked}


def differentiate(program: Program, function, calls: int) -> dict:
    """Compiled gradients of the float results against the differentiated reference, and that one
    against finite differences, for some programs."""
    import tessera

    if not program.loss:
        return {"status": "skipped", "message": "nothing to differentiate"}
    gradient = tessera.grad(function, wrt=program.differentiable)
    line = check(program, gradient, calls)
    if line["status"] == "ok" and program.seed % DIFFERENCES == 0 and differences.applies(program):
        wrong = differences.check(program, function, gradient, program.arguments(0))
        if wrong:
            return {"status": "wrong", "message": f"sizes {program.sizes(0)}: {wrong}"}
        line["differences"] = "nothing" if wrong is None else "right"
    return line


def simulate(program: Program, function, calls: int, chip: str) -> dict:
    """No race, no out-of-bounds access, no early use, and results within their bounds."""
    from tessera import TesseraError

    checked = 0
    for variant in range(calls):
        arguments = program.arguments(variant)
        try:
            simulation = function.simulate(*arguments, target=chip, seeds=1)
        except TesseraError as error:
            refuses = "internal" not in str(error)
            return {"status": "skipped" if refuses else "error", "message": str(error)}
        if not simulation.ok or any(one["wrong"] for one in simulation.report["results"]):
            return {
                "status": "wrong",
                "message": f"sizes {program.sizes(variant)}: {simulation.text}",
            }
        checked += sum(one["checked"] for one in simulation.report["results"])
    return {"status": "ok", "calls": calls, "checked": checked}


def assemble(program: Program, function, calls: int, backend: str, chips: list[str]) -> dict:
    """Compiled for one chip, by its seed; kernels must be assembled, and fit."""
    from tessera import TesseraError, targets

    chip = chips[program.seed % len(chips)]
    is_legacy = targets.chips()[chip]["last_cuda"] < 1300
    if is_legacy and os.environ.get("TESSERA_PTXAS_12"):
        os.environ["TESSERA_PTXAS"] = os.environ["TESSERA_PTXAS_12"]
    else:
        os.environ.pop("TESSERA_PTXAS", None)
    kernels = 0
    for variant in range(calls):
        try:
            report = function.compile(
                *program.arguments(variant), target=chip, via=backend
            ).report()
        except TesseraError as error:
            refuses = not re.search(r"internal|ptxas|tileiras|assembler", str(error))
            # A signal ended NVIDIA's assembler: nothing is known about the module.
            crashed = re.search(r"tileiras \S+ refused a module for \S+ \(status -", str(error))
            status = "skipped" if refuses or crashed else "error"
            return {"status": status, "message": f"{chip}: {error}"}
        if backend == "ptx" and not all(
            kernel.get("registers") or "same_as" in kernel for kernel in report["kernels"]
        ):
            return {"status": "error", "message": f"{chip}: a kernel was not assembled"}
        kernels += len(report["kernels"])
    return {"status": "ok", "calls": calls, "kernels": kernels}


def interpret(program: Program, function, calls: int, chip: str) -> dict:
    """Results within their bounds, of calls by the runtime whose PTX an interpreter runs."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "ptx"))
    import ptx_calls

    checked = 0
    for variant in range(calls):
        result = ptx_calls.call(
            function, program.arguments(variant), f"{chip}:ptx,{platform.machine()}"
        )
        if reason := result.get("refused"):
            return {"status": "error" if "internal" in reason else "skipped", "message": reason}
        if not result["good"]:
            return {
                "status": "wrong",
                "message": f"sizes {program.sizes(variant)}: {result['wrong']}",
            }
        checked += result["compared"]
    return {"status": "ok", "calls": calls, "checked": checked}


def load(programs: list[Program], folder: Path, with_losses: bool):
    path = folder / f"random_{programs[0].seed}.py"
    path.write_text(module_source(programs, with_losses))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    first, end, report = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    deadline, calls, mode = float(sys.argv[4]), int(sys.argv[5]), sys.argv[6:]
    run = check
    if mode[:1] == ["simulate"]:
        run = functools.partial(simulate, chip=mode[1])
    elif mode[:1] == ["gradients"]:
        run = differentiate
    elif mode[:1] == ["interpret"]:
        run = functools.partial(interpret, chip=mode[1])
    elif mode[:1] == ["assemble"]:
        run = functools.partial(assemble, backend=mode[1], chips=mode[2:])
    with open(report, "a", buffering=1) as out, tempfile.TemporaryDirectory() as folder:
        for start in range(first, end, PER_MODULE):
            programs = [generate(seed) for seed in range(start, min(start + PER_MODULE, end))]
            with_losses = mode[:1] == ["gradients"]
            module = load(programs, Path(folder), with_losses)
            for program in programs:
                if time.monotonic() > deadline:
                    return
                print(json.dumps({"start": program.seed}), file=out)
                signal.setitimer(signal.ITIMER_PROF, SIMULATED_SECONDS if mode else SECONDS)
                suffix = "_loss" if with_losses and program.loss else ""
                function = getattr(module, program.name + suffix)
                try:
                    line = run(program, function, calls)
                except Exception as error:
                    frame = traceback.extract_tb(error.__traceback__)[-1]
                    line = {
                        "status": "error",
                        "message": f"{type(error).__name__}: {error} ({frame.name})",
                    }
                print(json.dumps({"seed": program.seed, **line}), file=out)


if __name__ == "__main__":
    main()
