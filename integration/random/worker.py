"""Runs a range of seeds in this process and writes one JSON line per seed.

    worker.py FIRST END REPORT DEADLINE CALLS [CHIP]

A line is {"seed", "status": "ok" | "wrong" | "error" | "skipped", "message", "calls", "excluded", "checked"}. The
line {"start": seed} goes before each: a seed that was started and has no result brought the process
down. No seed is started after the deadline (of the monotonic clock). With a chip, what a GPU would run by
way of PTX is simulated instead; a program that this road refuses, and says so, is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
from generate import Program, generate, module_source

PER_MODULE = 25
VARIANTS = 2  # sets of sizes of a program, unless told
SECONDS = 60  # of processor time for one program; then the process ends, as in a crash
SIMULATED_SECONDS = 600


def poisoned(expected) -> tuple:
    """Results to be written into, filled with what no kernel writes."""
    from generate import numpy_dtype

    outs = []
    for one in expected:
        out = np.empty(one.value.shape, numpy_dtype(one.dtype.name))
        out.view(np.uint8).fill(0xFF) if out.size and out.ndim else None
        outs.append(out)
    return tuple(outs)


def compare(result: np.ndarray, expected) -> tuple[str, int]:
    """What is wrong with a result ("" if nothing), and the number of elements left out."""
    if result.shape != expected.value.shape:
        return f"shape {result.shape}, expected {expected.value.shape}", 0
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
    """Calls the function with so many sets of sizes, by turns with memory for its results and without."""
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
        for number, (result, one) in enumerate(zip(outs, expected)):
            wrong, left_out = compare(np.asarray(result), one)
            excluded += left_out
            checked += one.value.size - left_out
            if wrong:
                sizes = program.sizes(variant)
                return {"status": "wrong", "message": f"result {number}, sizes {sizes}: {wrong}"}
    return {"status": "ok", "calls": calls, "excluded": excluded, "checked": checked}


def simulate(program: Program, function, calls: int, chip: str) -> dict:
    """No race, no access outside, no early use, and results within their bounds."""
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
            return {"status": "wrong", "message": f"sizes {program.sizes(variant)}: {simulation.text}"}
        checked += sum(one["checked"] for one in simulation.report["results"])
    return {"status": "ok", "calls": calls, "checked": checked}


def load(programs: list[Program], folder: Path):
    path = folder / f"random_{programs[0].seed}.py"
    path.write_text(module_source(programs))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    first, end, report = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    deadline, calls, chip = float(sys.argv[4]), int(sys.argv[5]), "".join(sys.argv[6:])
    with open(report, "a", buffering=1) as out, tempfile.TemporaryDirectory() as folder:
        for start in range(first, end, PER_MODULE):
            programs = [generate(seed) for seed in range(start, min(start + PER_MODULE, end))]
            module = load(programs, Path(folder))
            for program in programs:
                if time.monotonic() > deadline:
                    return
                print(json.dumps({"start": program.seed}), file=out)
                signal.setitimer(signal.ITIMER_PROF, SIMULATED_SECONDS if chip else SECONDS)
                function = getattr(module, program.name)
                try:
                    line = simulate(program, function, calls, chip) if chip else check(program, function, calls)
                except Exception as error:
                    frame = traceback.extract_tb(error.__traceback__)[-1]
                    line = {"status": "error", "message": f"{type(error).__name__}: {error} ({frame.name})"}
                print(json.dumps({"seed": program.seed, **line}), file=out)


if __name__ == "__main__":
    main()
