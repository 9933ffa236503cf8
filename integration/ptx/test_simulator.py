"""Kernels of each kind on the simulator: no finding in a kernel, and a finding in each mutant.

Every synchronization operation of these kernels is mutated in every way that the simulator has; each mutant is killed, or
proven equivalent in all distinct orders. `make simulate` runs the whole CPU suite.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr


@tsr.function
def matmul(a, b):
    return a @ b


@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v


@tsr.function
def heads(x, w):
    """Scores in another memory order than an MMA operand."""
    split = (x @ w).reshape(x.shape[0], 4, -1).transpose(0, 1)
    scores = split @ split.transpose(-2, -1)
    return (tsr.softmax(scores, dim=-1) @ split).transpose(0, 1).reshape(x.shape[0], -1)


@tsr.function
def statistics(h, w):
    """A stream whose elements are contractions with several k-steps."""
    return tsr.logsumexp(h @ w.mT, dim=-1)


@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)


@tsr.function
def layer_norm(x, w, b):
    return tsr.layer_norm(x, weight=w, bias=b)


@tsr.function
def column_sum(x):
    return x.sum(dim=0)


@tsr.function
def cumsum(x):
    return x.cumsum(dim=-1)


@tsr.function
def transpose(x):
    return x.mT * 2.0


@tsr.function
def gather(x, index):
    return x[index]


@tsr.function
def add_at(x, index, y):
    return tsr.scatter_add(x, 0, index, y)


@tsr.function
def sort(x):
    return tsr.sort(x, -1)


def draw(*shape, dtype="float32", high=None):
    rng = np.random.default_rng(len(shape))
    if high:
        return rng.integers(0, high, shape).astype(dtype)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


FP8 = ml_dtypes.float8_e4m3fn

# Sizes that reach every loop, and loops with more iterations than stages.
CASES = {
    "matmul": (matmul, lambda: (draw(64, 1024, dtype="float16"), draw(1024, 32, dtype="float16"))),
    "matmul of fp32": (matmul, lambda: (draw(32, 256), draw(256, 32))),
    "matmul of fp64": (
        matmul,
        lambda: (draw(32, 64, dtype="float64"), draw(64, 32, dtype="float64")),
    ),
    "matmul of fp8": (matmul, lambda: (draw(32, 256, dtype=FP8), draw(256, 32, dtype=FP8))),
    "matmul of uint8": (
        matmul,
        lambda: (draw(32, 256, dtype="uint8", high=9), draw(256, 32, dtype="uint8", high=9)),
    ),
    "attention": (
        attention,
        lambda: tuple(draw(1, s, 64, dtype="float16") for s in (64, 1088, 1088)),
    ),
    "statistics of products": (
        statistics,
        lambda: (draw(32, 320, dtype="float16"), draw(300, 320, dtype="float16")),
    ),
    "heads": (heads, lambda: (draw(33, 12), draw(12, 32))),
    "softmax": (softmax, lambda: (draw(8, 1000),)),
    "softmax of long rows": (softmax, lambda: (draw(2, 8192),)),
    "layer norm": (layer_norm, lambda: (draw(4, 4096), draw(4096), draw(4096))),
    "column sum": (column_sum, lambda: (draw(300, 64),)),
    "cumsum": (cumsum, lambda: (draw(3, 700),)),
    "cumsum of long rows": (cumsum, lambda: (draw(1, 9000),)),
    "transpose": (transpose, lambda: (draw(96, 130),)),
    "sums at indices": (
        add_at,
        lambda: (draw(9, 40, dtype="int64", high=50), *(draw(70, 40, dtype="int64", high=9),) * 2),
    ),
    "sort": (sort, lambda: (draw(9, 33),)),
    "sort of long rows": (sort, lambda: (draw(2, 1500, dtype="float16"),)),
    "sort by runs": (sort, lambda: (draw(1, 9000),)),
    "gather": (gather, lambda: (draw(8, 64), draw(16, dtype="int32", high=8))),
}


@pytest.mark.parametrize("case", CASES)
def test_no_findings(case):
    function, arguments = CASES[case]
    simulation = function.simulate(*arguments(), seeds=6)
    assert simulation.ok, simulation.text
    assert all(one["checked"] and not one["wrong"] for one in simulation.report["results"])


@pytest.mark.parametrize("case", CASES)
def test_one_order_is_all(case):
    """Without a race all orders are equivalent, so that there is one to run."""
    function, arguments = CASES[case]
    simulation = function.simulate(*arguments(), exhaustive=True)
    assert simulation.ok, simulation.text
    for launch in simulation.report["launches"]:
        assert launch["complete"] and launch["runs"] == 1


@pytest.mark.parametrize("case", CASES)
def test_mutants_are_killed(case):
    function, arguments = CASES[case]
    simulation = function.simulate(*arguments(), seeds=1, mutants=True)
    mutants = simulation.report["mutants"]
    assert not mutants or any(mutant["killed"] for mutant in mutants)
    for mutant in mutants:
        assert mutant["killed"] or mutant["equivalent"] or not mutant["reached"], mutant


def test_older_chips():
    """Without asynchronous copies tiles go through registers."""
    for target in ("sm_70", "sm_75", "sm_80"):
        simulation = matmul.simulate(*CASES["matmul"][1](), target=target, seeds=2)
        assert simulation.ok, simulation.text


@tsr.function
def scaled(x, y):
    """A sum that cancels."""
    return x @ y + tsr.gelu(x @ (y * 3))


def test_factors_stay():
    """An MMA rounds its operands: a factor is not moved across the rounding of the program."""
    for seed in range(0, 40, 2):
        x, y = (
            np.random.default_rng(seed + i).standard_normal(shape).astype(ml_dtypes.bfloat16)
            for i, shape in enumerate([(8, 5), (5, 8)])
        )
        simulation = scaled.simulate(x, y, seeds=1)
        assert simulation.ok, simulation.text
        assert all(one["checked"] and not one["wrong"] for one in simulation.report["results"])


def run_suite(*files: str, **variables: str) -> str:
    top = Path(__file__).resolve().parents[2]
    paths = [os.environ.get("PYTHONPATH", ""), str(top / "integration/ptx")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "simulated"]
    run = subprocess.run(
        [*command, *(str(top / "integration/cpu" / file) for file in files)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "TESSERA_SIMULATED_MOST": "20000",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]
    return run.stdout


def test_suite():
    """A part of the CPU suite; `make simulate` runs all of it."""
    text = run_suite("test_attention.py", "test_scans.py", "test_gathers.py", "test_reductions.py")
    assert " clean" in text and "wrong" not in text, text[-4000:]


def test_mutants_of_the_suite():
    """The equivalent mutants are the listed ones."""
    text = run_suite(
        "test_scans.py",
        "test_gathers.py",
        "test_float8.py",
        "test_windows.py",
        TESSERA_SIMULATED_MUTANTS="1",
    )
    assert " killed" in text and " survived" not in text, text[-4000:]
