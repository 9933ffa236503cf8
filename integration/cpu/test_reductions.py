"""Reductions, normalisations and their uses: all types, odd sizes, every dimension."""

import numpy as np
import pytest
from harness import FLOATS, INTEGERS, LAYOUTS, check, define, has_bf16, numpy_dtype, random

REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp")
SHAPES = [(1,), (13,), (1031,), (17, 31), (3, 1, 5), (4, 67, 9), (2, 3, 5, 7)]


def skip_without_bf16(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_one_dimension(name, dtype):
    skip_without_bf16(dtype)
    for keep in (False, True):
        for dim in (0, -1):
            f = define(f"def f(x):\n    return tsr.{name}(x, dim={dim}, keepdim={keep})\n")
            for shape in SHAPES:
                check(f, random(shape, dtype))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_several_dimensions(name):
    for dim in ("(0, 1)", "(0, -1)", "(1, 2)", "None"):
        text = (
            f"tsr.{name}(x)"
            if dim == "None" and name != "logsumexp"
            else f"tsr.{name}(x, dim={dim})"
        )
        if dim == "None" and name == "logsumexp":
            continue
        f = define(f"def f(x):\n    return {text}\n")
        for shape in [(3, 5, 7), (1, 1, 1), (17, 2, 33)]:
            check(f, random(shape))


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_integer_sum(dtype):
    f = define("def f(x):\n    return tsr.sum(x, dim=-1), x.sum()\n")
    check(f, random((13, 37), dtype))
    check(f, random((3, 0), dtype))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_integer_extremes(dtype):
    f = define("def f(x):\n    return tsr.amax(x, dim=-1), tsr.amin(x, dim=0)\n")
    check(f, random((13, 37), dtype))


def test_empty():
    for text in (
        "tsr.sum(x, dim=-1)",
        "tsr.mean(x, dim=-1)",
        "tsr.sum(x)",
        "tsr.logsumexp(x, dim=-1)",
    ):
        f = define(f"def f(x):\n    return {text}\n")
        check(f, random((3, 0)))
    check(define("def f(x):\n    return tsr.sum(x, dim=0), tsr.amax(x, dim=1)\n"), random((0, 3)))


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("dtype", FLOATS)
def test_var(dtype, correction):
    skip_without_bf16(dtype)
    f = define(f"def f(x):\n    return tsr.var(x, dim=-1, correction={correction})\n")
    for shape in [(3, 2), (5, 31), (2, 3, 257)]:
        check(f, random(shape, dtype))
        check(f, random(shape, dtype, low=10, high=11))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, dtype):
    skip_without_bf16(dtype)
    for dim in (-1, 0):
        f = define(f"def f(x):\n    return tsr.{name}(x, dim={dim})\n")
        for shape in [(1,), (7,), (5, 1), (17, 31), (3, 1031), (2, 3, 5, 7)]:
            check(f, random(shape, dtype))
            check(f, random(shape, dtype, low=-20, high=20))


def test_softmax_special_rows():
    f = define(
        "def f(x):\n    return tsr.softmax(x, dim=-1), tsr.log_softmax(x, dim=-1), tsr.logsumexp(x, dim=-1)\n"
    )
    x = random((6, 37))
    x[0] = -np.inf
    x[1, :-1] = -np.inf
    x[2, 5] = np.inf
    x[3, 5] = np.nan
    x[4] = 1e30
    check(f, x)
    safe = define("def f(x):\n    return tsr.softmax(x, dim=-1, safe=True)\n")
    x[2:4] = 0
    assert not np.asarray(check(safe, x)[0][0]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.125, 0.3, 1.0, 2.5])
def test_softmax_of_rows_far_from_zero(scale, dtype):
    """Partial sums are relative to the same reference in all parts, and to one that is close
    enough."""
    f = define(f"def f(x):\n    return tsr.softmax(x * {scale}, dim=-1)\n")
    for columns in (37, 5003, 60001):
        for offset in (0, 1e4, -1e6, 1e8, -1e9, 1e10, -1e20, 1e30):
            x = np.array(
                [random((columns,), low=-9, high=9) + dtype(offset), np.full(columns, offset)],
                dtype,
            )
            x[1, columns // 2] = np.nextafter(
                dtype(offset), dtype(np.inf)
            )  # after a block of others
            exact = x.astype(np.longdouble) * np.longdouble(dtype(scale))
            exact = np.exp(exact - exact.max(-1, keepdims=True))
            exact /= exact.sum(-1, keepdims=True)
            # The exponent is accurate to its last digit, a power to about 2^-21. Of equal terms all
            # additions may round in one direction; a sum has at least 16 partial sums.
            bound = 2.0**-19 + columns / 16 * 2.0**-24
            assert np.all(np.abs(np.asarray(f(x)) - exact) <= bound * exact.max()), (
                columns,
                offset,
            )


def test_softmax_at_the_end_of_the_range():
    f = define("def f(x):\n    return tsr.softmax(x, dim=-1)\n")
    for columns in (37, 5003, 60001):
        x = np.full((5, columns), -np.inf, np.float32)
        x[0, 3:9] = 3e38
        x[1, [7, -9]] = 3e38, 3.1e38
        x[2] = -3.4e38
        x[3, [11, -2]] = -3.4e38, 5
        x[4, [2, 4, -1]] = 3e38, -3e38, 2e37
        check(f, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_few_long_columns(dtype):
    """A GPU reduces them in parts, and reads them again with all CTAs."""
    skip_without_bf16(dtype)
    f = define("""def f(x):
    y = x - x.mean(dim=0)
    return tsr.softmax(x, dim=0), y * tsr.rsqrt((y * y).mean(dim=0) + 1e-5), tsr.var(x, dim=0), tsr.argmax(x, dim=0)
""")
    for shape in ((9001, 40), (20011, 3), (300, 257), (900001, 1)):
        check(f, random(shape, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_norms(dtype):
    skip_without_bf16(dtype)
    plain = define(
        "def f(x):\n    return tsr.layer_norm(x, (x.shape[-1],)), tsr.rms_norm(x, (x.shape[-1],), eps=1e-6)\n"
    )
    scaled = define(
        "def f(x, w, b):\n    return tsr.layer_norm(x, (x.shape[-1],), w, b, eps=1e-3)\n"
    )
    by_hand = define("""def f(x, w):
    y = x - x.mean(dim=-1, keepdim=True)
    return y * tsr.rsqrt((y * y).mean(dim=-1, keepdim=True) + 1e-5) * w
""")
    for rows, columns in [(1, 2), (5, 31), (3, 769), (64, 64)]:
        x, w, b = (
            random((rows, columns), dtype),
            random((columns,), dtype),
            random((columns,), dtype, seed=2),
        )
        check(plain, x)
        check(scaled, x, w, b)
        check(by_hand, x, w)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("columns", [129, 191, 1030, 1100, 4097, 5000, 8192, 9001, 16384, 16385])
def test_rows_shorter_than_their_block(columns, dtype):
    """Reductions stop at the end of the row: the rest of the block has no effect."""
    skip_without_bf16(dtype)
    f = define("""def f(x, w):
    y = x - x.mean(dim=-1, keepdim=True)
    return tsr.softmax(x, dim=-1), tsr.amax(y * w, dim=-1), tsr.amin(x, dim=-1), tsr.var(x, dim=-1), (x * w).sum(dim=0)
""")
    for rows in (1, 5):
        check(f, random((rows, columns), dtype, low=1, high=2), random((columns,), dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    f = define(
        "def f(x):\n    return tsr.softmax(x, dim=-1), x.sum(dim=0), tsr.amax(x, dim=-1, keepdim=True) - x\n"
    )
    for shape in [(5, 31), (3, 17, 13)]:
        check(f, random(shape, "fp32", layout))


def test_reductions_of_reductions():
    f = define("""def f(x, y):
    m = tsr.amax(x, dim=-1, keepdim=True)
    s = tsr.sum(tsr.exp(x - m), dim=-1, keepdim=True)
    p = tsr.exp(x - m) / s
    entropy = -(p * tsr.log(p + 1e-9)).sum(dim=-1)
    return p, entropy, (p * y).sum(dim=0).mean()
""")
    for shape in [(1, 1), (5, 31), (37, 257)]:
        check(f, random(shape), random(shape, seed=1))


def test_extremes_with_positions():
    f = define("def f(x):\n    value, index = tsr.max(x, dim=-1)\n    return value\n")
    check(f, random((5, 31)))


def extreme_rows(dtype, size):
    """Ties, nan first, last and twice, infinities, and the ends of the type."""
    rng = np.random.default_rng(size)
    rows = rng.integers(0, 2, (12, size)) if dtype == "bool" else rng.integers(-3, 4, (12, size))
    rows = rows.astype(numpy_dtype(dtype))
    if dtype in INTEGERS:
        ends = np.iinfo(rows.dtype)
        rows[0], rows[1, :: max(1, size // 2)], rows[2, size // 3 :] = ends.min, ends.max, ends.min
        rows[3] = ends.max
    elif dtype != "bool":
        rows[0], rows[1], rows[2, size // 2 :] = -np.inf, np.inf, np.inf
        rows[3, 0] = rows[4, -1] = rows[5, size // 2 :: max(1, size // 5)] = rows[6] = np.nan
        rows[7, size // 3], rows[7, -1] = np.inf, np.nan
    return rows


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_positions_of_extremes(dtype):
    """The first of equal elements, NaN before all, in one pass over the row."""
    skip_without_bf16(dtype)
    last = define("def f(x):\n    return tsr.argmax(x, dim=-1), tsr.argmin(x, dim=-1)\n")
    first = define("def f(x):\n    return tsr.argmax(x, dim=0), tsr.argmin(x, dim=0)\n")
    both = define(
        "def f(x):\n    a, i = x.max(dim=-1)\n    b, j = x.min(dim=-1)\n    return a, i, b, j\n"
    )
    for size in (1, 5, 1025, 20011):
        x = extreme_rows(dtype, size)
        wide = x if dtype in INTEGERS else x.astype(np.float64)
        for found, expected in zip(last(x), (wide.argmax(-1), wide.argmin(-1)), strict=True):
            assert found.dtype == np.int64 and (found == expected).all(), size
        for found, expected in zip(
            first(np.ascontiguousarray(x.T)), (wide.argmax(-1), wide.argmin(-1)), strict=True
        ):
            assert (found == expected).all(), size
        largest, at, least, there = both(x)
        for values, places, expected in (
            (largest, at, wide.argmax(-1)),
            (least, there, wide.argmin(-1)),
        ):
            assert (places == expected).all(), size
            chosen = np.take_along_axis(x, expected[:, None], 1)[:, 0]
            assert np.array_equal(
                values.astype(np.float64), chosen.astype(np.float64), equal_nan=True
            )


def test_positions_of_one_long_row():
    """Parts of it are merged, and a part with NaN comes before all others."""
    f = define("def f(x):\n    return tsr.argmax(x), tsr.argmin(x)\n")
    x = random((3_000_001,))
    assert [int(one) for one in f(x)] == [int(x.argmax()), int(x.argmin())]
    x[[2_000_000, 2_999_999]] = np.nan
    assert [int(one) for one in f(x)] == [2_000_000, 2_000_000]


@pytest.mark.parametrize(
    "body",
    [
        "tsr.var(tsr.softmax(x, dim=-1), dim=-1, correction=0)",
        "tsr.var(tsr.exp2(tsr.sigmoid(x * 0.01)), dim=-1, correction=0)",
        "x[..., 0] + (3 - tsr.floor(tsr.logsumexp(x, dim=-1)))",
    ],
)
def test_small_differences_of_powers(body):
    """Sums of powers that would cancel use differences; sums keep the program's order."""
    f = define(f"def f(x):\n    return {body}\n")
    for columns in (2, 20, 300):
        check(f, random((9, columns)))
        check(f, random((9, columns)) * np.float32(1e-3))
