"""Drawn programs for random targets compile with the compiler's own choice, and with candidates that
it lists; seeded by the commit, within a time limit.

How much shared memory a kernel needs follows from the layouts of its tiles, so that a few candidates
turn out not to fit. Their errors name the limit, and the tuner leaves them out."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
import time
from pathlib import Path

import tessera as tsr
from tessera import Tensor
from tessera.targets import chips

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "benchmarks"))

from draws.distributions import draw, seed_of  # noqa: E402
from draws.program import FUNCTION, Program  # noqa: E402

SECONDS = 25
LEAST = 20  # compilations, also on a slow machine
KERNELS, CANDIDATES = 3, 2  # of a program; of a kernel
SHARE = 0.9  # of the candidates that must compile
LIMITS = ("are too large for shared memory", "cannot be kept")  # what may be wrong with the others
CPUS = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "aarch64"]


def load(program: Program, folder: Path) -> tsr.Function:
    path = folder / f"{program.digest}.py"
    path.write_text(program.source())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, FUNCTION)


def test_choices_and_candidates_compile(tmp_path):
    seed = seed_of("commit")
    rng = random.Random(seed)
    targets = [*(f"{chip}:ptx" for chip in chips()), *CPUS]
    end = time.monotonic() + SECONDS
    compiled, failures, number = 0, [], 0
    while compiled < LEAST or time.monotonic() < end:
        program = draw(seed, number).program
        number += 1
        function, target = load(program, tmp_path), rng.choice(targets)
        types = tuple(
            Tensor[(*(program.sizes[dim] for dim in one.dims), getattr(tsr, one.dtype))]
            for one in program.arguments
        )
        bound = function._bind_types(types, {})
        stage = "ptx" if target.startswith("sm_") else "llvm"

        def unit(**options):
            return function._unit(bound, target, {"tuning": "false", **options})[1]

        result = unit().compile([stage, "candidates"], no_code=True)
        for i, kernel in enumerate(json.loads(result["report"])["candidates"][:KERNELS]):
            listed = kernel["candidates"]
            assert sum(one["chosen"] for one in listed) == 1, (program.title, target)
            for one in rng.sample(listed, min(CANDIDATES, len(listed))):
                schedule = f"kernel={i},{one['schedule']}"
                try:
                    unit(schedule=schedule).compile([stage], no_code=True)
                except tsr.CompileError as error:
                    failures.append(f"{program.title} for {target}, {schedule}: {error}")
                compiled += 1
    print(f"{compiled} schedules of {number} programs, {len(failures)} do not fit")
    unknown = [one for one in failures if not any(limit in one for limit in LIMITS)]
    assert not unknown, "\n".join(unknown)
    assert len(failures) <= (1 - SHARE) * compiled, "\n".join(failures)
