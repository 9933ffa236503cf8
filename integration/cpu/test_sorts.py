"""sort, argsort and topk: all types, odd sizes, ties, nan, every dimension and layout."""

import numpy as np
import pytest
from harness import DTYPES, FLOATS, LAYOUTS, check, define, has_bf16, numpy_dtype, random

SHAPES = [(0,), (1,), (2,), (13,), (131,), (17, 31), (3, 0, 5), (3, 1, 5), (4, 67, 9), (2, 3, 5, 7)]


def skip_without_bf16(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")


def ordered(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Indices as PyTorch has them: stable, nan is the largest."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iub" else x.astype(np.int64)
    if not descending:
        return np.argsort(wide, axis=dim, kind="stable")
    # NumPy has nan last: backwards it is first, and so are later ones of equals.
    flipped = np.argsort(np.flip(wide, dim), axis=dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - flipped, dim)


def check_sorted(x, dim, descending, values, indices, count=None):
    expected = ordered(x, dim, descending)
    if count is not None:
        expected = np.take(expected, np.arange(count), axis=dim)
    assert indices.dtype == np.int64 and values.dtype == x.dtype
    assert (indices == expected).all()
    taken = np.take_along_axis(x, expected, axis=dim)
    assert values.tobytes() == taken.tobytes() or np.array_equal(values.astype(np.float64), taken.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(dtype, descending):
    skip_without_bf16(dtype)
    for dim in (0, -1):
        f = define(f"def f(x):\n    return tsr.sort(x, dim={dim}, descending={descending})\n")
        for shape in SHAPES if dtype in ("fp32", "int64") else SHAPES[:5]:
            x = random(shape, dtype)
            check_sorted(x, dim % len(shape), descending, *check(f, x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype):
    skip_without_bf16(dtype)
    x = np.array([3, np.nan, -np.inf, np.inf, 0.0, -0.0, np.nan, 3, -1, np.inf, -np.inf, 1e-7] * 3).astype(numpy_dtype(dtype))
    for descending in (False, True):
        f = define(f"def f(x):\n    return x.sort(descending={descending}, stable=True)\n")
        values, indices = f(x)
        check_sorted(x, 0, descending, values, indices)


def test_integer_limits():
    for dtype in ("int64", "int32", "int16", "int8", "uint8"):
        limits = np.iinfo(dtype)
        x = np.array([0, limits.max, limits.min, limits.max - 1, limits.min + 1, 5, limits.max, limits.min], dtype)
        check_sorted(x, 0, False, *define("def f(x):\n    return tsr.sort(x)\n")(x))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int32", "uint8"])
def test_topk(dtype, largest):
    for count in (0, 1, 3, 13):
        f = define(f"def f(x):\n    return tsr.topk(x, {count}, dim=1, largest={largest})\n")
        x = random((5, 13, 3), dtype)
        check_sorted(x, 1, largest, *check(f, x), count=count)
    f = define("def f(x, k: int):\n    return x.topk(k)\n")
    for count in (1, 2, 50, 97):
        x = random((7, 97), dtype)
        check_sorted(x, 1, True, *check(f, x, count), count=count)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    f = define("def f(x):\n    values, indices = tsr.sort(x, 0)\n    return values, indices, tsr.argsort(x, 1, descending=True)\n")
    x = random((17, 31), "fp32", layout)
    values, indices, second = check(f, x)
    check_sorted(x, 0, False, values, indices)
    assert (second == ordered(x, 1, True)).all()


@pytest.mark.parametrize("shape", [(1, 2048), (3, 1000), (1000, 3)])
def test_long(shape):
    f = define("def f(x):\n    return tsr.sort(x, dim=1)\n")
    x = random(shape)
    check_sorted(x, 1, False, *f(x))


def test_scalar():
    values, index = define("def f(x):\n    return tsr.sort(x)\n")(np.float32(3))
    assert values == 3 and index == 0


@pytest.mark.parametrize("text", [
    "tsr.sort(tsr.exp(x) + 1.0, dim=1)[0] * 2.0",
    "tsr.sum(tsr.topk(x, 3, dim=1)[0], dim=1)",
    "tsr.topk(tsr.softmax(x, dim=1), 2, dim=1)[0]",
    "tsr.sort(tsr.sum(x, dim=0))[1]",
    "tsr.cumsum(tsr.sort(x, dim=1)[0], 1)",
    "tsr.sort(x.transpose(0, 1), dim=0)[0]",
    "tsr.sort(tsr.sort(x, dim=0)[0], dim=1)[0]",
])
def test_fused(text):
    f = define(f"def f(x):\n    return {text}\n")
    for shape in [(5, 7), (12, 40)]:
        check(f, random(shape), least=0.3)
