"""Gradients of attentions: streams that compute scores again, for any mask and change of scores.

No tensor of as many elements as the scores is stored, and gradients are those of the reference.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import tessera as tsr
from judge import check_gradients, define, random

BODY = """def f(q, k, v{more}):
    scores = q @ k.mT * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    {change}
    out = tsr.softmax(scores, dim=-1) @ v
    return (out * out * 0.5).sum()
"""
CHANGES = {
    "plain": "scores = scores",
    "causal": "scores = tsr.where(j <= i, scores, -tsr.inf)",
    "window": "scores = tsr.where((j <= i) & (j > i - 100), scores, -tsr.inf)",
    "soft cap": "scores = tsr.tanh(scores / 5.0) * 5.0",
    "document": "scores = tsr.where(more[:, None] == more[None, :], scores, -tsr.inf)",
    "holes": "scores = tsr.where((abs(i - j) < 40) | (j < 20) | (i < 9), scores, -tsr.inf)",
    "slope": "scores = tsr.where(j <= i, scores - 0.01 * (i - j), -tsr.inf)",
}


def program(name: str):
    more = ", more" if "more" in CHANGES[name] else ""
    return define(BODY.format(more=more, change=CHANGES[name]))


def arguments(name: str, heads: int, rows: int, columns: int, depth: int, dtype: str) -> list:
    shapes = [(heads, rows, depth), (heads, columns, depth), (heads, columns, depth)]
    tensors = [random(shape, dtype, seed=seed) for seed, shape in enumerate(shapes)]
    document = np.arange(rows, dtype=np.int32) // 117
    return tensors + ([document] if "more" in CHANGES[name] else [])


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("name", CHANGES)
def test_on_the_cpu(name, dtype):
    if dtype == "bf16":
        pytest.importorskip("ml_dtypes")
    check_gradients(program(name), *arguments(name, 1, 1301, 1301, 16, dtype), wrt=(0, 1, 2))


@pytest.mark.parametrize("target", ["x86-64-v4", "aarch64", "sm_80", "sm_90"])
@pytest.mark.parametrize("name", CHANGES)
def test_no_scores_are_stored(name, target):
    pytest.importorskip("ml_dtypes")
    heads, size, depth = 8, 2048, 64
    gradient = tsr.grad(program(name), (0, 1, 2))
    values = arguments(name, heads, size, size, depth, "bf16")
    text = gradient.inspect_ir("sched", *values, target=target)
    stored = re.findall(r"%out\w* : !gir.tensor<([^>]*)>", text)
    assert stored
    sizes = {"0": heads, "1": size, "2": depth}
    for tensor in stored:
        dims = [dim.strip(' "') for dim in tensor.split(",")[:-1]]
        count = np.prod([int(dim) if dim.isdigit() else sizes[dim[-1]] for dim in dims])
        assert count <= heads * size * depth, tensor


@pytest.mark.parametrize("depth", [64, 72, 128])
@pytest.mark.parametrize("name", CHANGES)
def test_on_the_simulator(name, depth):
    pytest.importorskip("ml_dtypes")
    gradient = tsr.grad(program(name), (0, 1, 2))
    values = arguments(name, 1, 7 * depth + 5, 7 * depth + 5, depth, "bf16")
    simulation = gradient.simulate(*values, target="sm_90", seeds=1)
    assert simulation.ok, simulation.text
    for result in simulation.report["results"]:
        assert result["checked"] and not result["wrong"] and not result["left_out"]
