"""Gradients of small models: finite differences in float64, and compiled gradients."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import tessera as tsr
from judge import check_differences, check_gradients, define, random

MLP = """def f(x, w1, b1, w2, y):
    h = tsr.gelu(x @ w1 + b1)
    return tsr.mse_loss(h @ w2, y)
"""
CLASSIFIER = """def f(x, w, b, y):
    return tsr.cross_entropy(tsr.layer_norm(x, (x.shape[-1],)) @ w + b, y)
"""
ATTENTION = """def f(q, k, v):
    scores = tsr.matmul(q, k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    out = tsr.matmul(tsr.softmax(scores, dim=-1), v)
    return (out * out).sum()
"""
ROPE = """def f(x):
    half = x.shape[-1] // 2
    angle = tsr.iota((x.shape[0], half), dim=0) * tsr.exp(tsr.iota((x.shape[0], half), dim=1) * -0.3)
    a, b = x[:, :half], x[:, half:]
    y = tsr.concat((a * tsr.cos(angle) - b * tsr.sin(angle), b * tsr.cos(angle) + a * tsr.sin(angle)), dim=-1)
    return (y * y * y).sum()
"""
SWIGLU = """def f(x, w, u, d, scale):
    h = tsr.rms_norm(x, (x.shape[-1],), scale)
    return ((tsr.silu(h @ w) * (h @ u)) @ d + x).square().mean()
"""


def arrays(shapes, dtype):
    return [random(shape, dtype, seed=seed) for seed, shape in enumerate(shapes)]


MODELS = {
    "mlp": (MLP, [(5, 7), (7, 11), (11,), (11, 3), (5, 3)], 4),
    "attention": (ATTENTION, [(2, 9, 8), (2, 9, 8), (2, 9, 8)], 3),
    "rope": (ROPE, [(7, 8)], 1),
    "swiglu": (SWIGLU, [(5, 8), (8, 12), (8, 12), (12, 8), (8,)], 5),
}


@pytest.mark.parametrize("name", MODELS)
def test_differences(name):
    text, shapes, count = MODELS[name]
    check_differences(define(text), *arrays(shapes, "fp64"), wrt=tuple(range(count)))


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_compiled(name, dtype):
    if dtype == "bf16":
        pytest.importorskip("ml_dtypes")
    text, shapes, count = MODELS[name]
    check_gradients(define(text), *arrays(shapes, dtype), wrt=tuple(range(count)))


@pytest.mark.parametrize("dtype", ["fp64", "fp32"])
def test_classifier(dtype):
    f = define(CLASSIFIER)
    x, w, b = arrays([(6, 8), (8, 10), (10,)], dtype)
    y = np.array([1, 9, 0, 3, 3, 7])
    if dtype == "fp64":
        check_differences(f, x, w, b, y, wrt=(0, 1, 2))
    check_gradients(f, x, w, b, y, wrt=(0, 1, 2))


def test_long_attention():
    f = define(ATTENTION)
    q, k, v = arrays([(1, 150, 16)] * 3, "fp32")
    check_gradients(f, q, k, v, wrt=(0, 1, 2))


def test_training_reduces_the_loss():
    step = tsr.value_and_grad(define(MLP), wrt=("w1", "b1", "w2"))
    x, w1, b1, w2, y = arrays([(16, 7), (7, 32), (32,), (32, 3), (16, 3)], "fp32")
    first = None
    for _ in range(60):
        loss, *gradients = step(x, w1, b1, w2, y)
        first = float(loss) if first is None else first
        w1, b1, w2 = (p - np.float32(0.05) * g for p, g in zip((w1, b1, w2), gradients))
    assert float(loss) < 0.3 * first


def test_example_trains(tmp_path):
    """examples/train.py, for some steps."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
    import train

    values, losses = train.train(40)
    assert losses[-1] < 0.5 * losses[0]
    assert all(np.isfinite(one).all() for one in values.values())
    start = "two plus three is "
    completed = train.complete(values, start)
    assert completed.startswith(start) and len(start) < len(completed) <= len(start) + 12
    train.plot(losses, tmp_path / "loss.svg")
    drawing = ElementTree.parse(tmp_path / "loss.svg").getroot()
    (curve,) = [one for one in drawing if one.tag.endswith("polyline")]
    heights = [float(point.split(",")[1]) for point in curve.attrib["points"].split()]
    assert len(heights) == 40 and min(heights) == heights[0] < heights[-1] < 210
