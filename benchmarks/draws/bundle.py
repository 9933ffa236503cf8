"""Draws for a machine with a GPU: bundles, and what their results have to be.

    bundle.py --seed N --target sm_90:x86_64 --folder DIR JOB LOG

Compiles each draw of the job into DIR/NUMBER.tsb, and evaluates the reference at sampled indices
into DIR/NUMBER.npz (numerics.py), since the machine with the GPU has no compiler. build.py of
integration/gpu runs it; gpu.py reads what it wrote.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(TOP / "build/python"), str(TOP / "integration/gpu")]

import isolate  # noqa: E402
import numpy as np  # noqa: E402

import tessera as tsr  # noqa: E402
from draws import numerics, report, values  # noqa: E402
from draws.distributions import Draw, draw  # noqa: E402
from draws.measure import load  # noqa: E402


def types(one: Draw) -> list:
    program = one.program
    return [
        tsr.Tensor[(*values.sizes_of(program, argument), getattr(tsr, argument.dtype))]
        for argument in program.arguments
    ]


def write(one: Draw, target: str, folder: Path, programs: Path) -> dict:
    function = load(one, programs)
    try:
        compiled = function.compile(*types(one), target=target)
    except tsr.TesseraError as error:
        return {"good": False, "refused": str(error)}
    compiled.save(folder / f"{one.number:03}.tsb")
    chosen = numerics.sample(one)
    sampled = load(one, programs, True) if one.program.index else function
    reference = numerics.expected(one, sampled, chosen)
    if reference is not None:
        np.savez_compressed(
            folder / f"{one.number:03}.npz",
            value=reference.value,
            bound=np.asarray(reference.bound).astype(np.float32),
            excluded=reference.excluded,
        )
    return {"good": True, "explained": "\n".join(report.reasons(compiled.inspect_ir("explain")))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("job", type=Path)
    parser.add_argument("log", type=Path)
    options = parser.parse_args()

    def item(name: str, programs: Path) -> dict:
        one = draw(options.seed, int(name.split("_")[0]), "gpu")
        return write(one, options.target, options.folder, programs)

    with tempfile.TemporaryDirectory() as programs:
        isolate.work(options.job, options.log, functools.partial(item, programs=Path(programs)))


if __name__ == "__main__":
    main()
