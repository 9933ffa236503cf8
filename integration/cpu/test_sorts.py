"""sort, argsort and topk: all types, odd sizes, ties, nan, every dimension and layout."""

import numpy as np
import pytest
from harness import DTYPES, FLOATS, LAYOUTS, check, define, has_bf16, numpy_dtype, random

SHAPES = [(0,), (1,), (2,), (13,), (131,), (17, 31), (3, 0, 5), (3, 1, 5), (4, 67, 9), (2, 3, 5, 7)]


def skip_without_bf16(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")


def ordered(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Indices as in PyTorch: stable, NaN is the largest."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iub" else x.astype(np.int64)
    if not descending:
        return np.argsort(wide, axis=dim, kind="stable")
    # NumPy sorts NaN last: reversed it is first, and so are later ones of equal elements.
    flipped = np.argsort(np.flip(wide, dim), axis=dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - flipped, dim)


def check_sorted(x, dim, descending, values, indices, count=None):
    expected = ordered(x, dim, descending)
    if count is not None:
        expected = np.take(expected, np.arange(count), axis=dim)
    assert indices.dtype == np.int64 and values.dtype == x.dtype
    assert (indices == expected).all()
    taken = np.take_along_axis(x, expected, axis=dim)
    assert values.tobytes() == taken.tobytes() or np.array_equal(
        values.astype(np.float64), taken.astype(np.float64), equal_nan=True
    )


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
    x = np.array(
        [3, np.nan, -np.inf, np.inf, 0.0, -0.0, np.nan, 3, -1, np.inf, -np.inf, 1e-7] * 3
    ).astype(numpy_dtype(dtype))
    for descending in (False, True):
        f = define(f"def f(x):\n    return x.sort(descending={descending}, stable=True)\n")
        values, indices = f(x)
        check_sorted(x, 0, descending, values, indices)


def test_integer_limits():
    for dtype in ("int64", "int32", "int16", "int8", "uint8"):
        limits = np.iinfo(dtype)
        x = np.array(
            [0, limits.max, limits.min, limits.max - 1, limits.min + 1, 5, limits.max, limits.min],
            dtype,
        )
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
    f = define(
        "def f(x):\n    values, indices = tsr.sort(x, 0)\n    return values, indices, tsr.argsort(x, 1, descending=True)\n"
    )
    x = random((17, 31), "fp32", layout)
    values, indices, second = check(f, x)
    check_sorted(x, 0, False, values, indices)
    assert (second == ordered(x, 1, True)).all()


#: Rows from this length on are sorted by their digits; see lib/Frontend/Sema/BuiltinsSort.cpp.
LONG = 1025


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_long(dtype, descending):
    """Both ways for every type; integers have ties, floats nan and infinities."""
    skip_without_bf16(dtype)
    f = define(f"def f(x):\n    return tsr.sort(x, dim=1, descending={descending})\n")
    for shape in [(3, LONG - 1), (2, LONG), (1, 2048), (3, 5003)]:
        x = random(shape, dtype)
        if dtype in FLOATS:
            x.reshape(-1)[5 :: x.size // 7] = np.nan
            x.reshape(-1)[6 :: x.size // 5] = -np.inf
            x.reshape(-1)[7 :: x.size // 90] = -0.0
            x.reshape(-1)[8 :: x.size // 99] = 0.0
        check_sorted(x, 1, descending, *f(x))


@pytest.mark.parametrize("dtype", ["fp64", "int64", "int32", "int16"])
def test_long_bits(dtype):
    """Every digit of the keys counts."""
    rng = np.random.default_rng(3)
    bits = rng.integers(-(2**63), 2**63 - 1, (2, 3000), dtype=np.int64, endpoint=True)
    x = bits.view(np.float64) if dtype == "fp64" else bits.astype(dtype)
    x[0, :100] = x[1, 0]
    for descending in (False, True):
        f = define(f"def f(x):\n    return tsr.sort(x, descending={descending})\n")
        check_sorted(x, 1, descending, *f(x))


def test_long_sizes():
    """The program is the same for all lengths of a class."""
    f = define("def f(x):\n    return tsr.sort(x, dim=0)\n")
    for shape in [(LONG, 3), (1280, 2), (4099, 5), (70001, 2), (9001, 3)]:
        x = random(shape)
        check_sorted(x, 0, False, *f(x))
    before = len(f.specializations())
    for shape in [(LONG + 10, 3), (60001, 3), (5, 3)]:
        x = random(shape)
        check_sorted(x, 0, False, *f(x))
    assert len(f.specializations()) == before + 1
    for shape in [(5000,), (5000, 0), (5000, 1), (2, 2000, 3)]:
        x = random(shape)
        dim = int(np.argmax(shape))
        g = define(f"def f(x):\n    return tsr.argsort(x, dim={dim}, descending=True)\n")
        assert (g(x) == ordered(x, dim, True)).all()
    x = np.zeros((2, 1500), np.float32)
    assert (define("def f(x):\n    return tsr.argsort(x)\n")(x) == np.arange(1500)).all()


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "uint8"])
def test_long_topk(dtype):
    x = random((4, 3001), dtype)
    for count, largest in [(1, True), (16, True), (16, False), (2999, True)]:
        f = define(f"def f(x):\n    return tsr.topk(x, {count}, largest={largest})\n")
        check_sorted(x, 1, largest, *f(x), count=count)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_of_many(dtype, largest):
    """A few elements of a long row come from a few of its blocks; many are equal, and the last
    block is short."""
    skip_without_bf16(dtype)
    f = define(f"def f(x):\n    return tsr.topk(x, 5, dim=-1, largest={largest})\n")
    for shape in [(3, 1280), (2, 5003), (2, 2, 20000), (4099,)]:
        x = random(shape, dtype)
        if dtype in FLOATS:
            x.reshape(-1)[5 :: x.size // 3] = np.nan
            x.reshape(-1)[7 :: x.size // 90] = -0.0
            x.reshape(-1)[8 :: x.size // 99] = 0.0
        check_sorted(x, len(shape) - 1, largest, *f(x), count=5)
    for x in (np.zeros((2, 3001)), np.arange(3001.0), -np.arange(3001.0), np.full(2999, -np.inf)):
        x = (
            x.astype(numpy_dtype(dtype))
            if dtype in FLOATS
            else np.clip(x, 0, 100).astype(numpy_dtype(dtype))
        )
        check_sorted(x, x.ndim - 1, largest, *f(x), count=5)


@pytest.mark.parametrize("count", [1, 15, 64])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_few_of_short_rows(dtype, count):
    """Code of one class of sizes runs on rows that have fewer blocks than elements are wanted."""
    f = define(f"def f(x):\n    return tsr.topk(x, {count}, largest=False)\n")
    for rows, length in [(70, 2039), (33, 1031), (1, 1187)]:
        x = random((rows, length), dtype)
        x[:, 3::5] = x[:, :1]
        x[rows // 2] = np.inf
        x[0, ::7] = np.nan
        check_sorted(x, 1, False, *check(f, x), count=count)


def test_few_along_dims():
    x = random((3, 3000, 4), "fp32")
    f = define("def f(x):\n    return tsr.topk(x, 7, dim=1)\n")
    check_sorted(x, 1, True, *check(f, x), count=7)
    g = define(
        "def f(x):\n    return tsr.sum(tsr.topk(tsr.softmax(x, dim=1), 2, dim=1)[0], dim=1)\n"
    )
    check(g, random((3, 2000)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_long_layouts(layout):
    f = define("def f(x):\n    return tsr.sort(x, 0)\n")
    x = random((1100, 3), "fp32", layout)
    check_sorted(x, 0, False, *check(f, x))


@pytest.mark.parametrize(
    "text",
    [
        "tsr.sort(tsr.exp(x) + 1.0, dim=1)[0] * 2.0",
        "tsr.sort(tsr.softmax(x, dim=1), dim=1, descending=True)[0]",
        "tsr.sort(tsr.sum(x, dim=0))[0]",
        "tsr.cumsum(tsr.sort(x, dim=1)[0], 1)",
        "tsr.gather(tsr.sort(x, dim=1)[0], 1, tsr.argsort(tsr.argsort(x, 1), 1))",
    ],
)
def test_long_fused(text):
    f = define(f"def f(x):\n    return {text}\n")
    check(f, random((3, 1500)))
    # Most adjacent fp16 numbers are closer than their bounds, so that the reference cannot
    # determine their order.
    check(f, random((3, 1500), "fp16"), least=0.1)


def test_scalar():
    values, index = define("def f(x):\n    return tsr.sort(x)\n")(np.float32(3))
    assert values == 3 and index == 0


@pytest.mark.parametrize(
    "text",
    [
        "tsr.sort(tsr.exp(x) + 1.0, dim=1)[0] * 2.0",
        "tsr.sum(tsr.topk(x, 3, dim=1)[0], dim=1)",
        "tsr.topk(tsr.softmax(x, dim=1), 2, dim=1)[0]",
        "tsr.sort(tsr.sum(x, dim=0))[1]",
        "tsr.cumsum(tsr.sort(x, dim=1)[0], 1)",
        "tsr.sort(x.transpose(0, 1), dim=0)[0]",
        "tsr.sort(tsr.sort(x, dim=0)[0], dim=1)[0]",
    ],
)
def test_fused(text):
    f = define(f"def f(x):\n    return {text}\n")
    for shape in [(5, 7), (12, 40)]:
        check(f, random(shape))
