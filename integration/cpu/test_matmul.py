"""Contractions: shapes, batches, transposed operands, vectors, types, layouts, prologues,
epilogues."""

import numpy as np
import pytest
import tessera as tsr
from harness import FLOATS, INTEGERS, LAYOUTS, check, define, has_bf16, random


def skip_without_bf16(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")


@pytest.fixture(scope="module")
def matmul():
    return define("def f(x, y):\n    return x @ y\n")


SIZES = [
    (1, 1, 1),
    (1, 7, 1),
    (2, 3, 5),
    (13, 1, 17),
    (17, 31, 13),
    (64, 64, 64),
    (65, 33, 129),
    (100, 257, 3),
    (1, 300, 77),
]


@pytest.mark.parametrize("dtype", FLOATS)
def test_sizes(matmul, dtype):
    skip_without_bf16(dtype)
    for m, k, n in SIZES:
        check(matmul, random((m, k), dtype), random((k, n), dtype, seed=1))


@pytest.mark.parametrize("m,k,n", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_empty(matmul, m, k, n):
    check(matmul, random((m, k)), random((k, n)))


@pytest.mark.parametrize(
    "left,right",
    [
        ((5, 3, 4), (5, 4, 2)),
        ((5, 3, 4), (4, 2)),
        ((3, 4), (5, 4, 2)),
        ((2, 1, 3, 4), (1, 5, 4, 2)),
        ((2, 5, 3, 4), (5, 4, 2)),
        ((7,), (7,)),
        ((3, 7), (7,)),
        ((7,), (7, 5)),
        ((2, 3, 7), (7,)),
        ((7,), (2, 7, 5)),
    ],
)
def test_batches_and_vectors(matmul, left, right):
    check(matmul, random(left), random(right, seed=1))


@pytest.mark.parametrize("batch", [(2, 3), (4, 70), (3, 2, 33), (7, 1), (2, 0)])
def test_batches_by_one_matrix(batch):
    """Rows of all batches are one dimension, unless something distinguishes them."""
    matrix, x = random((20, 50), seed=1), random((*batch, 20))
    f = define("def f(x, w, r):\n    return tsr.gelu(tsr.rms_norm(x, (20,)) @ w) + r\n")
    check(f, x, matrix, random((*batch, 50), seed=2))
    check(f, x, matrix, random((batch[-1], 50), seed=2))
    check(f, x, matrix, random((50,), seed=2))
    g = define(
        "def f(x, w):\n    y = x @ w\n    return y.reshape(-1, 5), tsr.softmax(y, dim=-2), y.sum(dim=-1)\n"
    )
    check(g, x, matrix)
    check(g, random((*batch, 40))[..., ::2], matrix)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts(matmul, dtype, layout):
    skip_without_bf16(dtype)
    check(matmul, random((37, 19), dtype, layout), random((19, 23), dtype, seed=1))
    check(matmul, random((37, 19), dtype), random((19, 23), dtype, layout, seed=1))
    check(matmul, random((2, 37, 19), dtype, layout), random((2, 19, 23), dtype, layout, seed=1))


@pytest.mark.parametrize(
    "text", ["x.transpose(-2, -1) @ y", "tsr.matmul(x.T, y)", "(y.T @ x).T", "x.mT @ y"]
)
def test_transposed(text):
    f = define(f"def f(x, y):\n    return {text}\n")
    check(f, random((19, 37)), random((19, 23), seed=1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_prologue_and_epilogue(dtype):
    skip_without_bf16(dtype)
    f = define("def f(x, w, b):\n    return tsr.gelu(tsr.silu(x) @ w + b) * 0.5, tsr.relu(x @ w)\n")
    for m, k, n in [(1, 3, 5), (33, 17, 65)]:
        check(f, random((m, k), dtype), random((k, n), dtype, seed=1), random((n,), dtype, seed=2))


def test_chain():
    f = define("def f(x, y, z):\n    h = tsr.relu(x @ y)\n    return h @ z, h.sum(dim=-1)\n")
    check(f, random((13, 31)), random((31, 65), seed=1), random((65, 7), seed=2))


def test_same_operand_twice():
    f = define("def f(x):\n    return x @ x.T, x.T @ x\n")
    for shape in [(1, 1), (5, 7), (65, 33)]:
        check(f, random(shape))


def test_row_statistics_of_a_product():
    f = define(
        "def f(x, w):\n    y = x @ w\n    return tsr.softmax(y, dim=-1), tsr.logsumexp(y, dim=-1), y.amax(dim=0)\n"
    )
    for m, k, n in [(3, 5, 7), (65, 17, 130)]:
        check(f, random((m, k)), random((k, n), seed=1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_strips(matmul, dtype):
    """Right-hand sides of several strips with partial ends; an unsplittable number in one of
    them."""
    skip_without_bf16(dtype)
    for m, k, n in [
        (64, 64, 256),
        (64, 100, 257),
        (80, 300, 600),
        (150, 33, 290),
        (128, 256, 1100),
    ]:
        x, y = random((m, k), dtype), random((k, n), dtype, seed=1)
        check(matmul, x, y)
        y[k // 2, n - 20] = np.inf
        check(matmul, x, y, least=0.9)


def test_products_of_one_left_side():
    f = define("def f(x, v, w):\n    return tsr.silu(x @ v) * (x @ w)\n")
    for m, k, n in [(64, 96, 300), (70, 300, 64)]:
        x = random((m, k))
        check(f, x, random((k, n), seed=1), random((k, n), seed=2))
        x[m // 2, k // 2] = np.inf
        check(f, x, random((k, n), seed=1), random((k, n), seed=2), least=0.9)


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_and_nans(matmul, dtype):
    """Numbers that AMX cannot split: each is multiplied by zeros and exact values."""
    skip_without_bf16(dtype)
    x, y = random((70, 66), dtype), random((66, 90), dtype, seed=1)
    x[3, 5], x[4, 6], x[50, 60] = np.inf, -np.inf, np.nan
    y[5, 7], y[6, 8], y[5, 9], y[40, 80] = 1, 0, 3, np.nan
    check(matmul, x, y, least=0.9)
    x[3:, 5:], y[40:] = 1, 1
    largest = {"fp64": 1.7e308, "fp32": 3.4028235e38, "bf16": 3.3895e38, "fp16": 65504}[dtype]
    x[10, 10], y[10, 10:20] = largest, [0, 0.5, -0.5, 0.25, 1e-3, -1e-3, 0, 0.125, 0.5, 0]
    check(matmul, x, y, least=0.9)


PAIRS = {
    "rows": "x @ y",
    "columns": "x @ y.T",
    "left columns": "x.T @ y",
    "computed left": "tsr.relu(x * 2) @ y",
    "computed right": "x @ tsr.relu(y * 2)",
    "twice": "x @ y + tsr.gelu(x @ (y * 3))",
}


@pytest.mark.parametrize("form", PAIRS)
def test_pairs_of_rows_and_columns(form):
    """BFMMLA operands are packed by two rows and columns and four elements of K, with partial
    ends."""
    skip_without_bf16("bf16")
    f = define(f"def f(x, y):\n    return {PAIRS[form]}\n")
    sizes = [
        (5, 4, 4),
        (7, 3, 5),
        (8, 5, 8),
        (9, 64, 12),
        (64, 129, 17),
        (127, 131, 67),
        (130, 1, 129),
        (1, 200, 64),
        (300, 520, 140),
    ]
    for m, k, n in sizes:
        x, y = random((m, k), "bf16"), random((k, n), "bf16", seed=1)
        x = np.ascontiguousarray(x.T) if form == "left columns" else x
        y = np.ascontiguousarray(y.T) if form == "columns" else y
        check(f, x, y)


def test_pairs_in_batches(matmul):
    skip_without_bf16("bf16")
    for left, right in [
        ((3, 13, 31), (3, 31, 22)),
        ((2, 70, 64), (64, 96)),
        ((70, 64), (5, 64, 9)),
    ]:
        check(matmul, random(left, "bf16"), random(right, "bf16", seed=1))
        check(matmul, random(left, "bf16", "permuted"), random(right, "bf16", "permuted", seed=1))


def test_pairs_and_memory_beyond():
    """The elements past the edges of the operands are NaN: they must not be multiplied by zeros."""
    skip_without_bf16("bf16")
    f = define("def f(x, y):\n    return x @ y\n")
    for m, k, n in [(9, 3, 5), (17, 61, 33), (70, 130, 71)]:
        x, y = (
            np.full((2 * s, 2 * t), np.nan).astype(random((1,), "bf16").dtype)
            for s, t in [(m, k), (k, n)]
        )
        x[:m, :k], y[:k, :n] = random((m, k), "bf16"), random((k, n), "bf16", seed=1)
        check(f, x[:m, :k], y[:k, :n], least=1)


@pytest.mark.parametrize("scale", [2.0**-70, 2.0**-40, 2.0**-20, 2.0**40, 2.0**60])
def test_magnitudes(matmul, scale):
    x, y = random((64, 96)) * np.float32(scale), random((96, 64), seed=1)
    check(matmul, x, y)
    check(matmul, x, y * np.float32(2.0**-20))


def test_magnitudes_of_bf16(matmul):
    """Factors, products or sums are subnormal: bf16 instructions may flush them to zero, but
    nothing larger."""
    skip_without_bf16("bf16")
    dtype = random((1,), "bf16").dtype
    for left, right in [
        (-70, -70),
        (-62, -62),
        (-60, -56),
        (-130, 20),
        (4, -128),
        (-55, -55),
        (60, 60),
    ]:
        x, y = random((64, 96), "fp64") * 2.0**left, random((96, 64), "fp64", seed=1) * 2.0**right
        check(matmul, x.astype(dtype), y.astype(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(matmul, dtype):
    """Exact modulo the type's size."""
    info = np.iinfo(dtype)
    for m, k, n in [(1, 1, 1), (7, 33, 5), (64, 64, 64), (70, 130, 65)]:
        x = random((m, k), dtype, low=info.min, high=info.max)
        check(matmul, x, random((k, n), dtype, low=info.min, high=info.max, seed=1))


@pytest.mark.parametrize("form", ["x @ y", "x @ y.mT", "x.mT @ y", "x.mT @ y.mT"])
def test_bytes(form):
    """Exact in int32, also where all bytes are the least ones."""
    left, right = (f"({one}).to(int32)" for one in form.split(" @ "))
    f = define(f"def f(x, y):\n    return {left} @ {right}\n")
    for m, k, n in [(1, 1, 1), (3, 161, 7), (17, 66, 33), (70, 300, 65), (150, 257, 4)]:
        shapes = (m, k), (k, n)
        x, y = (
            random(shape[::-1] if "mT" in one else shape, "int8", seed=seed, low=-128, high=127)
            for seed, (shape, one) in enumerate(zip(shapes, form.split(" @ ")))
        )
        check(f, x, y)
    least = np.full((40, 40), -128, np.int8)
    check(f, least, least)


def before_nans(array):
    """The same array, followed in memory by values that no sum may have."""
    memory = np.full(array.size + 256, np.nan, array.dtype)
    memory[: array.size] = array.ravel()
    return memory[: array.size].reshape(array.shape)


@pytest.mark.parametrize("form", ["x @ y", "x @ y.mT", "x.mT @ y"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_few_rows_and_columns(form, dtype):
    """Few rows are multiplied without packing; few columns become rows."""
    skip_without_bf16(dtype)
    f = define(f"def f(x, y):\n    return {form}\n")
    left, right = form.split(" @ ")
    for m, k, n in [
        (9, 70, 300),
        (16, 33, 40),
        (2, 1030, 19),
        (300, 70, 9),
        (33, 1, 3),
        (70, 47, 2),
    ]:
        x = random((k, m) if "mT" in left else (m, k), dtype)
        y = random((n, k) if "mT" in right else (k, n), dtype, seed=1)
        check(f, before_nans(x), before_nans(y))


@pytest.mark.parametrize("policy", ["tf32", "bf16", "fp32"])
def test_policies(policy):
    """The bound is the one that the policy allows, on targets that use it."""
    f = define("def f(x, y):\n    return x @ y, tsr.gelu(x @ y) @ y.T\n")
    f = tsr.function(f.__wrapped__, numerics=tsr.numerics(matmul=policy))
    check(f, random((70, 66)), random((66, 90), seed=1))


@pytest.mark.parametrize(
    "pair", ["bf16 fp32", "fp16 fp32", "fp32 fp64", "bf16 fp16", "int8 uint8", "int8 fp16"]
)
def test_two_types(matmul, pair):
    x, y = pair.split()
    skip_without_bf16(x)
    check(matmul, random((37, 66), x), random((66, 41), y, seed=1))
