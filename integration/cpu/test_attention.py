"""Attention as users write it, in many variants, against the reference."""

import math

import numpy as np
import pytest
from harness import FLOATS, check, define, has_bf16, random

SIZES = [
    (1, 1, 1, 1, 2),
    (1, 2, 5, 5, 8),
    (2, 3, 17, 31, 16),
    (1, 2, 64, 64, 64),
    (1, 1, 130, 257, 32),
]

# Score modifications between the scores and the softmax. i and j are the positions.
VARIANTS = {
    "plain": "",
    "causal": "s = tsr.where(j <= i, s, -tsr.inf)",
    "window": "s = tsr.where((j <= i) & (j > i - 7), s, -tsr.inf)",
    "alibi": "s = s - 0.1 * abs(i - j)",
    "softcap": "s = 5.0 * tsr.tanh(s / 5.0)",
    "prefix": "s = tsr.where((j <= i) | (j < 4), s, -tsr.inf)",
    "dilated": "s = tsr.where((i - j) % 3 == 0, s, -tsr.inf)",
    "causal_alibi_softcap": "s = tsr.where(j <= i, 9.0 * tsr.tanh((s - 0.05 * (i - j)) / 9.0), -tsr.inf)",
    "finite_mask": "s = tsr.where(j <= i, s, -1e9)",
}

# Masks whose live keys are no interval, or one that only |i - j| tells.
HOLES = {
    "near": "abs(i - j) <= 7",
    "far": "abs(i - j) > 3",
    "local_and_global": "(abs(i - j) < 7) | (j < 4) | (i < 2)",
    "blocks": "(i // 16 - j // 16) % 3 == 0",
    "two_dimensions": "(abs(i // 8 - j // 8) <= 2) & (abs(i % 8 - j % 8) <= 3)",
    "scaled": "abs(i - 32 * (j // 32)) < 16",
    "bands": "(i - j) % 50 < 9",
    "halves": "(i >= 70) == (j >= 70)",
    "folded": "tsr.where(i >= 70, i - 70, i) // 9 >= tsr.minimum(j, 150 - j) // 9",
}


def attention(body: str, arguments: str = "q, k, v", result: str = "p @ v"):
    return define(f"""def f({arguments}):
    s = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    {body or "pass"}
    p = tsr.softmax(s, dim=-1)
    return {result}
""")


def inputs(b, h, s, t, d, dtype="fp32"):
    return (
        random((b, h, s, d), dtype),
        random((b, h, t, d), dtype, seed=1),
        random((b, h, t, d), dtype, seed=2),
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name):
    f = attention(VARIANTS[name])
    for b, h, s, t, d in SIZES:
        # No row may be empty here: with a mask a query attends at least to itself.
        t = t if name in ("plain", "alibi", "softcap") else s
        check(f, *inputs(b, h, s, t, d))


@pytest.mark.parametrize("name", HOLES)
def test_masks_with_holes(name):
    f = attention(f"s = tsr.where({HOLES[name]}, s, -tsr.inf)")
    for b, h, s, t, d in [(1, 1, 1, 1, 8), (1, 2, 17, 17, 16), (1, 1, 150, 150, 32)]:
        check(f, *inputs(b, h, s, t, d))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["plain", "causal"])
def test_types(name, dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    check(attention(VARIANTS[name]), *inputs(1, 2, 33, 33, 16, dtype))


def test_document_mask():
    f = define("""def f(q, k, v, doc):
    s = (q @ k.transpose(-2, -1)) * 0.25
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    s = tsr.where((doc[:, None] == doc[None, :]) & (j <= i), s, -tsr.inf)
    return tsr.softmax(s, dim=-1) @ v
""")
    for length in (1, 17, 200):
        doc = np.sort(np.arange(length) * 7 % 5).astype(np.int32)
        check(f, *inputs(1, 2, length, length, 16), doc)


def test_mask_of_documents_and_positions():
    f = attention(
        "s = tsr.where((d.unsqueeze(1) == d) | (j < 4), s, -tsr.inf)", arguments="q, k, v, d"
    )
    documents = np.random.default_rng(7).integers(0, 5, 13).repeat(11)
    check(f, *inputs(1, 2, 143, 143, 16), documents.astype(np.int32))


def test_mask_of_data_that_overflow():
    """Differences of bytes wrap around; bounds of a block must not."""
    f = attention("s = tsr.where(d.unsqueeze(1) - d < 9, s, -tsr.inf)", arguments="q, k, v, d")
    numbers = np.random.default_rng(8).integers(-128, 128, 143).astype(np.int8)
    numbers[::2] = 100
    check(f, *inputs(1, 2, 143, 143, 16), numbers)


def test_lengths():
    f = define("""def f(q, k, v, length):
    s = (q @ k.transpose(-2, -1)) * 0.25
    j = tsr.iota(s.shape, dim=-1)
    s = tsr.where(j < length[:, None, None, None], s, -tsr.inf)
    return tsr.softmax(s, dim=-1) @ v
""")
    check(f, *inputs(3, 2, 17, 31, 16), np.array([1, 20, 31], np.int64))


def test_bias():
    f = attention("s = s + bias", "q, k, v, bias")
    for b, h, s, t, d in SIZES[1:4]:
        check(f, *inputs(b, h, s, t, d), random((h, s, t), seed=3))


def test_grouped_queries():
    f = define("""def f(q, k, v):
    g = q.reshape(q.shape[0], k.shape[1], -1, q.shape[2], q.shape[3])
    s = (g @ k.unsqueeze(2).transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    s = tsr.where(j <= i, s, -tsr.inf)
    return (tsr.softmax(s, dim=-1) @ v.unsqueeze(2)).reshape(q.shape)
""")
    for group in (1, 2, 4):
        check(
            f,
            random((2, 2 * group, 33, 16)),
            random((2, 2, 33, 16), seed=1),
            random((2, 2, 33, 16), seed=2),
        )


def test_sink():
    f = define("""def f(q, k, v, sink):
    s = (q @ k.transpose(-2, -1)) * 0.25
    m = tsr.maximum(tsr.amax(s, dim=-1, keepdim=True), sink[:, None, None])
    p = tsr.exp(s - m)
    total = p.sum(dim=-1, keepdim=True) + tsr.exp(sink[:, None, None] - m)
    return (p @ v) / total
""")
    check(f, *inputs(2, 3, 17, 31, 16), random((3,), seed=4))


def test_by_hand_with_statistics():
    f = define("""def f(q, k, v):
    s = (q @ k.transpose(-2, -1)) * 0.2
    m = tsr.amax(s, dim=-1, keepdim=True)
    e = tsr.exp(s - m)
    z = e.sum(dim=-1, keepdim=True)
    return (e @ v) / z, (m + tsr.log(z)).squeeze(-1)
""")
    for b, h, s, t, d in SIZES:
        check(f, *inputs(b, h, s, t, d))


def test_other_dimension_orders():
    f = define("""def f(q, k, v):
    s = q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1) * 0.25
    return (tsr.softmax(s, dim=-1) @ v.permute(0, 2, 1, 3)).permute(0, 2, 1, 3)
""")
    check(f, random((2, 33, 3, 16)), random((2, 47, 3, 16), seed=1), random((2, 47, 3, 16), seed=2))
    over_keys = define("""def f(q, k, v):
    s = k @ q.transpose(-2, -1) * 0.25
    return tsr.softmax(s, dim=-2).transpose(-2, -1) @ v
""")
    check(over_keys, *inputs(1, 2, 33, 47, 16))


def test_empty_rows():
    safe = "s = tsr.where(j < i, s, -tsr.inf)\n    "
    f = define(f"""def f(q, k, v):
    s = q @ k.transpose(-2, -1)
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    {safe}return tsr.softmax(s, dim=-1, safe=True) @ v
""")
    out = check(f, *inputs(1, 2, 17, 17, 8))[0]
    assert not out[:, :, 0].any()


def test_other_lengths_do_not_recompile():
    """Sizes of one shape class (runtime/src/SizeClass.cpp) share code."""
    f = attention(VARIANTS["causal"])
    for length in (131, 150, 170, 189):
        check(f, *inputs(1, 1, length, length, 16))
    assert len(f.specializations()) == 1


def test_values_are_large():
    f = attention("")
    q, k, v = inputs(1, 1, 31, 63, 16)
    check(f, 30 * q, 30 * k, v)
    assert np.isfinite(f(100 * q, 100 * k, v)).all() and math.isfinite(float(v.sum()))


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("scale", ["0.125", "1.0"])
def test_rows_that_finite_numbers_mask(dtype, scale):
    """All scores of a row are the same large number, so its weights are equal, too."""
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    q, k, v = (random((5, 130, 16), dtype, seed=i) for i in range(3))
    mask = np.ones((5, 130, 130), bool)
    mask[:, 3] = False
    mask[:, 7, 5:] = False
    for number in ("-1e4", "-1e9", "-1e10", "-1e30"):
        f = define(
            f"def f(q, k, v, m):\n    return tsr.softmax(tsr.where(m, q @ k.mT, {number}) * {scale}, dim=-1) @ v\n"
        )
        check(f, q, k, v, mask)


@pytest.mark.parametrize("dtype", FLOATS)
def test_scaled_operands(dtype):
    """Both operands are scaled, as in PyTorch's own mathematics of attention."""
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")
    f = define("""def f(q, k, v):
    s = (q * 0.334370152488211) @ (-k / 2.99).mT
    return tsr.softmax(s, dim=-1) @ v
""")
    check(f, *inputs(1, 2, 40, 73, 80, dtype))
    # Without the factor, the sums exceed the largest fp16.
    products = define("def f(x, y):\n    return (x * 0.001) @ y, tsr.sum((x * 0.001) @ y, dim=0)\n")
    check(products, 100 * random((33, 72), dtype), 100 * random((72, 35), dtype, seed=1))
