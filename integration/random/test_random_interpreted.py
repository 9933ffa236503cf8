"""Random programs through the PTX backend, their PTX interpreted; `run.py --interpret sm_90` runs
more of them.

The interpreter covers what the simulator cannot: the simulator executes placed Tile IR and rounds
each operation separately, while LLVM fuses multiplications with additions. The simulator's mutants
change only synchronisation.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run  # noqa: E402
import seeds  # noqa: E402
from budget import judge  # noqa: E402

COUNT = 40

if not (Path(__file__).resolve().parents[2] / "build/lib/libfake_cuda.so").exists():
    pytest.skip("the fake libcuda is not built", allow_module_level=True)


def test_programs_of_the_commit(tmp_path):
    judge(tmp_path, seeds.first(), COUNT, mode=("interpret", "sm_90"), options="--interpret sm_90")


@pytest.mark.parametrize(
    "seed",
    [
        7112,  # the floor of a quotient whose dividend is a product that LLVM fuses with a sum
        7222,  # a contraction under a condition, whose accumulator is in shared memory
        294071634263,  # a loop bound that follows from a tile which CTAs of a cluster share
    ],
)
def test_programs_that_failed(seed, tmp_path):
    mode = ("interpret", "sm_90")
    results = run.run(seed, seed + 1, tmp_path / "report.jsonl", 1, float("inf"), 1, mode)
    assert not run.failures(results), "\n".join(run.failures(results))
    assert results[seed]["status"] == "ok"
