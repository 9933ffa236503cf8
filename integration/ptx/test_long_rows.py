"""Rows that are longer than a tile and read twice: cached in shared memory, with per-thread
statistics.

Without a GPU: the kernels run on the simulator, against the reference, and their synchronisation is
mutated.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_right
from programs import (
    centered,
    cross_entropy,
    layer_norm,
    log_softmax,
    residual,
    rms_norm,
    running,
    running_down,
    softmax,
    total,
)


def draw(*shape, dtype="float32"):
    rng = np.random.default_rng(shape[-1])
    if dtype == "int32":
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def classes(count, most):
    return np.random.default_rng(count).integers(0, most, (count,)).astype("int64")


# Whole tiles, followed by a partial one, unaligned rows; as many CTAs per SM as can cache a row.
CASES = {
    "softmax of fp16": (softmax, lambda: (draw(2, 50264, dtype="float16"),)),
    "softmax of whole tiles": (softmax, lambda: (draw(2, 57344, dtype="float16"),)),
    "softmax of odd rows": (softmax, lambda: (draw(2, 20001, dtype="float16"),)),
    "softmax of fp32": (softmax, lambda: (draw(2, 28672),)),
    "softmax of one row": (softmax, lambda: (draw(1, 114688, dtype="float16"),)),
    "softmax of rows that are too long": (softmax, lambda: (draw(1, 120000),)),
    "RMS norm of one row": (rms_norm, lambda: (draw(1, 60001), draw(60001))),
    "log softmax": (log_softmax, lambda: (draw(2, 16392),)),
    "layer norm": (
        layer_norm,
        lambda: (draw(2, 20008, dtype="float16"), *(draw(20008, dtype="float16"),) * 2),
    ),
    "RMS norm": (rms_norm, lambda: (draw(2, 16400), draw(16400))),
    "RMS norm of odd rows": (rms_norm, lambda: (draw(2, 16387), draw(16387))),
    "RMS norm of two tensors": (
        residual,
        lambda: (*(draw(2, 17000, dtype="float16"),) * 2, draw(17000, dtype="float16")),
    ),
    "cross-entropy": (cross_entropy, lambda: (draw(3, 32776, dtype="float16"), classes(3, 32776))),
    "sums": (total, lambda: (draw(3, 40000),)),
    "integers": (centered, lambda: (draw(2, 20000, dtype="int32"),)),
    "running sums in parts": (running, lambda: (draw(2, 64 * 9001, dtype="float16"),)),
    "running sums of integers in parts": (running, lambda: (draw(1, 64 * 17000, dtype="int32"),)),
    "running sums of columns in parts": (running_down, lambda: (draw(64 * 6000, 3),)),
    "running sums of odd rows": (running, lambda: (draw(2, 20001, dtype="float16"),)),
}
KEPT = {
    "softmax of fp16": 7 * 8192 * 2,
    "softmax of fp32": 7 * 4096 * 4,
    "softmax of odd rows": 7 * 4096 * 2,
    "layer norm": 7 * 4096 * 2,
}


@pytest.mark.parametrize("case", CASES)
def test_no_findings(case):
    function, arguments = CASES[case]
    assert_right(function, *arguments(), seeds=2)


@pytest.mark.parametrize("case", KEPT)
def test_rows_are_kept(case):
    """If no cluster splits the few rows."""
    function, arguments = CASES[case]
    launches = function.simulate(*arguments(), target="sm_80", seeds=1).report["launches"]
    assert max(launch["shared_bytes"] for launch in launches) >= KEPT[case]


@pytest.mark.parametrize("size", [16392, 16387])
def test_mutants_are_killed(size):
    spoilt = centered.simulate(draw(1, size, dtype="int32"), seeds=1, mutants=True).report[
        "mutants"
    ]
    assert any(mutant["killed"] for mutant in spoilt)
    for mutant in spoilt:
        assert mutant["killed"] or mutant["equivalent"] or not mutant["reached"], mutant


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_120"])
def test_chips(target):
    """Without asynchronous copies rows go through registers, and with less shared memory more of
    them are read twice."""
    for size in (20000, 50000):
        simulation = softmax.simulate(draw(1, size, dtype="float16"), target=target, seeds=1)
        assert simulation.ok, simulation.text


def test_extreme_numbers():
    """A thread without elements, an empty row, and NaN."""
    x = draw(5, 20008)
    x[0, :20000] = -np.inf
    x[1, :] = -np.inf
    x[2, 77] = np.nan
    x[3, 19999] = np.inf
    x[4, 5] = 3e38
    assert_right(softmax, x, seeds=1)
