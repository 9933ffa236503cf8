"""Every elementwise operation: all types, odd sizes, all layouts, special values."""

import numpy as np
import pytest
from harness import (
    DTYPES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    check,
    define,
    has_bf16,
    numpy_dtype,
    random,
    spell,
)

# name: the operand's range; None is a normal distribution
UNARY = {
    "exp": None,
    "exp2": None,
    "expm1": None,
    "sin": (-30, 30),
    "cos": (-30, 30),
    "tan": (-1.4, 1.4),
    "sinh": (-5, 5),
    "cosh": (-5, 5),
    "tanh": None,
    "asin": (-0.99, 0.99),
    "acos": (-0.99, 0.99),
    "atan": None,
    "erf": None,
    "erfc": (-3, 3),
    "log": (0.01, 90),
    "log2": (0.01, 90),
    "log1p": (-0.9, 90),
    "sqrt": (0, 90),
    "rsqrt": (0.01, 90),
    "reciprocal": (0.1, 9),
    "square": None,
    "abs": None,
    "sign": None,
    "floor": (-9, 9),
    "ceil": (-9, 9),
    "round": (-9, 9),
    "trunc": (-9, 9),
    "relu": None,
    "sigmoid": None,
    "silu": None,
    "gelu": None,
    "isnan": None,
    "isinf": None,
    "isfinite": None,
    "leaky_relu": None,
    "elu": None,
    "selu": None,
    "softplus": None,
    "mish": None,
    "hardsigmoid": None,
    "hardswish": None,
    "neg": None,
}
SHAPES = [(0,), (1,), (7,), (1031,), (3, 0, 5), (17, 31), (2, 3, 5, 7), ()]
floats = pytest.mark.parametrize("dtype", FLOATS)


def skip_without_bf16(dtype):
    if dtype == "bf16" and not has_bf16():
        pytest.skip("NumPy has no bf16 without ml_dtypes")


@floats
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    skip_without_bf16(dtype)
    f = define(f"def f(x):\n    return tsr.{name}(x)\n")
    low, high = UNARY[name] or (None, None)
    for shape in SHAPES if dtype == "fp32" else SHAPES[1:3]:
        check(f, random(shape, dtype, low=low, high=high))
    check(f, random((257,), dtype, low=low, high=high))


@pytest.mark.parametrize("layout", LAYOUTS)
@floats
def test_layouts(dtype, layout):
    skip_without_bf16(dtype)
    f = define("def f(x, y):\n    return tsr.tanh(x) * y + 1.0, x - y\n")
    for shape in [(1,), (13,), (17, 31), (3, 5, 7), (2, 3, 5, 7)]:
        check(f, random(shape, dtype, layout), random(shape, dtype, "dense", seed=1))
        check(f, random(shape, dtype, "dense"), random(shape, dtype, layout, seed=1))


BINARY = (
    "x + y",
    "x - y",
    "x * y",
    "tsr.maximum(x, y)",
    "tsr.minimum(x, y)",
    "x < y",
    "x <= y",
    "x > y",
    "x >= y",
    "x == y",
    "x != y",
    "tsr.where(x > y, x, y)",
)


@pytest.mark.parametrize("text", BINARY)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_binary(text, dtype):
    skip_without_bf16(dtype)
    f = define(f"def f(x, y):\n    return {text}\n")
    pairs = [((5, 1, 3), (4, 1)), ((13,), (13,)), ((5, 7), (7,)), ((), (9,)), ((0, 3), (3,))]
    for left, right in pairs if dtype in ("fp32", "int32") else pairs[:1]:
        check(f, random(left, dtype), random(right, dtype, seed=1))
    check(f, random((1000,), dtype), random((1000,), dtype, seed=1))


@pytest.mark.parametrize(
    "text",
    [
        "x / (abs(y) + 1.0)",
        "tsr.atan2(x, y)",
        "tsr.pow(abs(x) + 0.5, y)",
        "tsr.lerp(x, y, 0.3)",
        "tsr.fmod(x, y)",
        "tsr.remainder(x, y)",
        "x // y",
        "x ** 2",
        "x ** 3",
        "x ** 0.5",
    ],
)
@floats
def test_float_binary(text, dtype):
    skip_without_bf16(dtype)
    f = define(f"def f(x, y):\n    return {text}\n")
    check(f, random((311,), dtype, low=0.2, high=4), random((311,), dtype, seed=1, low=0.5, high=3))


@floats
def test_quotients_of_whole_multiples(dtype):
    """An approximate quotient, a product with the reciprocal, is below the integer for some: 41 /
    41, 47 / 47, …"""
    skip_without_bf16(dtype)
    f = define("def f(x, y):\n    return x // y, x % y\n")
    most = {"bf16": 127, "fp16": 500}.get(dtype, 2000)  # products have so many digits
    y = np.arange(1, most, dtype=np.float64)
    for factor in (1, -1, 2, 16):
        check(f, (factor * y).astype(numpy_dtype(dtype)), y.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_quotients_of_products(dtype):
    """A product that is fused into one sum without rounding differs from its rounded value in the
    others: x - x is then not 0."""
    f = define(
        "def f(x, y, z):\n    return (x * y) // (abs(z) + 1.0), (x * y) % (abs(z) + 1.0), tsr.sign(x * y)\n"
    )
    x, y, z = (random((1000,), dtype, seed=seed) for seed in range(3))
    x[:6], y[:6] = (
        np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, np.inf]),
        np.array([2.0, 3.0, 1.0, 5.0, 1.0, 0.0]),
    )
    z[5] = np.inf
    check(f, x, y, z)


@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_angles_of_all_sizes(function, dtype):
    """Near multiples of a quarter turn, and for large arguments: the rounding errors of products
    are part of the angle."""
    f = define(f"def f(x, y):\n    return tsr.{function}(x), tsr.{function}(x * y)\n")
    rng, kind = np.random.default_rng(7), numpy_dtype(dtype)
    quarters = rng.integers(-(10**6), 10**6, 1000) * (np.pi / 2)
    largest = np.log2(np.finfo(kind).max) - 1
    far = rng.uniform(1, 2, 1000) * 2.0 ** rng.uniform(20, largest, 1000)
    ones = np.ones(1000, kind)
    check(f, quarters.astype(kind), ones)
    check(f, far.astype(kind), -ones)


@pytest.mark.parametrize(
    "text", ["x // y", "x % y", "x & y", "x | y", "x ^ y", "~x", "x << 2", "x >> 1", "x / y"]
)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer(text, dtype):
    f = define(f"def f(x, y):\n    return {text}\n")
    check(f, random((97,), dtype), random((97,), dtype, low=1, high=6, seed=1))


@pytest.mark.parametrize("text", ["x & y", "x | y", "x ^ y", "~x", "x == y", "tsr.logical_not(x)"])
def test_bool(text):
    f = define(f"def f(x, y):\n    return {text}\n")
    check(f, random((97,), "bool"), random((97,), "bool", seed=1))


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_cast(source, target):
    skip_without_bf16(source)
    skip_without_bf16(target)
    f = define(f"def f(x):\n    return x.to({spell(target)})\n")
    low = 0 if target == "uint8" or source == "uint8" else -100
    x = random((211,), source, low=low, high=100) if source != "bool" else random((211,), "bool")
    check(f, x)


@pytest.mark.parametrize("target", ["fp16", "bf16"])
def test_cast_rounds_once(target):
    """Numbers closer to the midpoint of two 16-bit floats than fp32 can represent."""
    skip_without_bf16(target)
    f = define(f"def f(x):\n    return x.to({target})\n")
    digits = 10 if target == "fp16" else 7
    middle = np.array(
        [(1 + (2 * k + 1) * 2.0 ** -(digits + 1)) * sign for k in range(8) for sign in (1, -1)]
    )
    check(
        f,
        np.concatenate(
            [middle, middle * (1 + 2.0**-45), middle * (1 - 2.0**-45), middle * 2.0**-16]
        ),
    )
    check(f, np.array([2**24 + 1, -(2**24) - 3, 2**30 + 1, 65519, 2**25 + 2**16 + 1], np.int32))


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_promotion(left, right):
    skip_without_bf16(left)
    skip_without_bf16(right)
    f = define("def f(x, y):\n    return x * y, x + 2\n")
    check(f, random((19,), left), random((19,), right, seed=1))


SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-40,
    -1e-40,
    1e-3,
    65504.0,
    -65504.0,
    88.0,
    -88.0,
    104.0,
    -104.0,
    0.5,
    2.5,
    3.5,
    -2.5,
]


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16"])
@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("sin", "cos", "tan")])
def test_special_values(name, dtype):
    f = define(f"def f(x):\n    return tsr.{name}(x)\n")
    check(f, np.array(SPECIAL * 3).astype(numpy_dtype(dtype)))


def test_scalar_arguments():
    f = define(
        "def f(x, a: float, n: int, on: bool):\n    return tsr.where(x > n, x * a, 0.0) + n\n"
    )
    check(f, random((37,)), 0.25, 1, True)
    check(f, random((37,)), -1.5, -1, False)


def test_long_chain():
    f = define("""def f(x, y):
    a = tsr.exp(-x * x) + tsr.sin(y)
    b = tsr.where(a > 0.5, a * y, a - x)
    c = tsr.clamp(b, -2.0, 2.0) / (1.0 + abs(y))
    return tsr.tanh(c) * 0.5 + tsr.sigmoid(b)
""")
    for shape in [(1,), (1000, 37), (33, 65)]:
        check(f, random(shape), random(shape, seed=1))


def test_perturbed_element_fails():
    """The check itself: an element that is off by twice its bound is found."""
    from harness import wrong_elements

    f = define("def f(x):\n    return tsr.exp(x)\n")
    x = random((101,), "fp64")
    expected = f.reference(x, bounds=True)
    result = f(x)
    assert len(wrong_elements(result, expected)) == 0
    for at in (0, 50, 100):
        changed = result.copy()
        changed[at] = expected.value[at] + 2 * expected.bound[at]
        assert wrong_elements(changed, expected).tolist() == [[at]]


def test_sigmoid_of_large_numbers():
    """Subnormal results are kept, in the reference as well."""
    x = np.linspace(-745, -700, 1001)
    expected = define("def f(x):\n    return tsr.sigmoid(x)\n").reference(x, bounds=True).value
    assert np.allclose(expected, np.exp(x), rtol=1e-12, atol=5e-324)
    check(define("def f(x):\n    return tsr.expm1(tsr.sigmoid(x))\n"), x)
