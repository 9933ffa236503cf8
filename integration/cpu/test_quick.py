"""Fast forms of elementary functions: programs of one 16-bit type, all of its 65,536 numbers,
against float64."""

import math
import os

import numpy as np
import pytest
import tessera as tsr
from harness import check, define, numpy_dtype, random

pytest.importorskip("ml_dtypes")

# The error of a fast form before the rounding to the type, relative to the result (CpuBackend.cpp).
QUICK = 2.0**-13
# Below it quotients by 1 + exp(-x) are zero: the exponential is infinite.
TINY = 2.0**-120
TABLE = "TESSERA_ULP_TABLE" in os.environ  # print what is measured
DIGITS = {"bf16": 8, "fp16": 11}
LEAST = {"bf16": 2.0**-133, "fp16": 2.0**-24}  # subnormal numbers are multiples of it

erf = np.vectorize(math.erf, otypes=[float])


def logistic(x):
    return np.where(
        x > 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
    )


def gelu_tanh(x):
    slope = 2 * np.sqrt(2 / np.pi)
    return x * logistic(slope * (x + 0.044715 * x**3))


# name: ours, exact, and the factor where errors are relative to the argument (0: they are not)
FUNCTIONS = {
    "exp": ("tsr.exp(x)", np.exp, 0),
    "exp2": ("tsr.exp2(x)", np.exp2, 0),
    "sigmoid": ("tsr.sigmoid(x)", logistic, 0),
    "silu": ("tsr.silu(x)", lambda x: x * logistic(x), 0),
    "tanh": ("tsr.tanh(x)", np.tanh, 0),
    "erf": ("tsr.erf(x)", erf, 0),
    "sqrt": ("tsr.sqrt(x)", np.sqrt, 0),
    "rsqrt": ("tsr.rsqrt(x)", lambda x: 1 / np.sqrt(x), 0),
    "reciprocal": ("tsr.reciprocal(x)", lambda x: 1 / x, 0),
    "gelu": ("tsr.gelu(x)", lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, 1),
    "gelu_scaled": ("tsr.gelu(x) * 1.5", lambda x: 1.5 * (x * (1 + erf(x / np.sqrt(2))) / 2), 1.5),
    "silu_scaled": ("tsr.silu(x) * 0.75", lambda x: 0.75 * (x * logistic(x)), 0),
    "gelu_tanh": ('tsr.gelu(x, approximate="tanh")', gelu_tanh, 1),
}


def usual_and_exact(expression: str):
    text = f"def f(x):\n    return {expression}\n\n\n"
    text += f"@tsr.function(fast_math=False)\ndef g(x):\n    return {expression}\n"
    return define(text), define(text, "g")


def every_number(dtype: str) -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(numpy_dtype(dtype)).reshape(64, 1024)


def error_in_units(found, exact, dtype, scale):
    """Units in the last place of `scale`; an overflow of the type is where its rounding says."""
    _, exponent = np.frexp(scale)
    unit = np.maximum(np.ldexp(1.0, exponent - DIGITS[dtype]), LEAST[dtype])
    return np.abs(found - exact) / unit


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number(name, dtype):
    expression, exact, argument_factor = FUNCTIONS[name]
    f, without_quick_forms = usual_and_exact(expression)
    x = every_number(dtype)
    found = f(x)
    assert found.dtype == x.dtype
    with np.errstate(all="ignore"):
        wide, y = x.astype(np.float64), exact(x.astype(np.float64))
        expected = y.astype(x.dtype).astype(np.float64)
        exactly = without_quick_forms(x).astype(np.float64)
    found = found.astype(np.float64)
    assert np.array_equal(np.isnan(found), np.isnan(exactly))
    # Zeros have the sign of the result, except where the exact form loses it too: gelu(-0), x - x
    # far on the left.
    lost = (exactly == 0) & (np.signbit(exactly) != np.signbit(y))
    if argument_factor:  # nor has a result that is negligible compared to the argument
        lost |= np.abs(y) < argument_factor * 2.0**-25 * np.abs(wide)
    zeros = (found == 0) & ~lost
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(y[zeros]))
    finite = np.isfinite(expected) & np.isfinite(found)
    infinite = np.isinf(wide)
    assert np.array_equal(found[infinite], exactly[infinite], equal_nan=True)
    # Infinite where the exact result is, except for numbers that almost reach the largest of the
    # type.
    beyond = np.isinf(expected) != np.isinf(found)
    with np.errstate(invalid="ignore"):
        limit = float(np.finfo(x.dtype).max) if dtype == "fp16" else 2.0**128
        assert np.all(np.abs(y[beyond & ~np.isnan(y)]) / limit - 1 < 2.0 ** (1 - DIGITS[dtype]))
    scale = np.maximum(np.abs(y), np.abs(wide)) if argument_factor else np.abs(y)
    error = error_in_units(found[finite], y[finite], dtype, scale[finite])
    error[np.abs(found - y)[finite] <= TINY] = 0
    if TABLE:
        print(f"{name:10} {dtype} {error.max():.3f} units")
    bound = 0.5 + QUICK * 2.0 ** DIGITS[dtype]
    assert error.max() <= bound, (error.max(), wide[finite][error.argmax()])


def test_who_takes_them():
    """Programs of one narrow type, unless the policy says otherwise; the policy decides for
    others."""

    def activation(x):
        return tsr.sqrt(tsr.sigmoid(x) + 1.0)

    def widened(x):
        return tsr.sqrt(tsr.sigmoid(x.to(tsr.fp32)) + 1.0).to(tsr.bf16)

    target = "x86_64:avx512f,avx512vl,avx512bw,avx512dq,fma,f16c"

    def is_quick(function, dtype, target=target, **options):
        text = tsr.function(**options)(function).inspect_ir(
            "asm", tsr.Tensor[256, 256, dtype], target=target
        )
        quick = "vrcp14ps" in text and "vrsqrt14ps" in text
        assert quick != ("vdivps" in text and "vsqrtps" in text)
        return quick

    assert is_quick(activation, tsr.bf16) and is_quick(activation, tsr.fp16)
    assert not is_quick(activation, tsr.fp32) and is_quick(activation, tsr.fp32, fast_math=True)
    assert not is_quick(activation, tsr.bf16, numerics="strict")
    assert not is_quick(activation, tsr.bf16, fast_math=False)
    assert not is_quick(widened, tsr.bf16)
    assert not is_quick(activation, tsr.bf16, target="x86_64:avx2,fma,f16c")


def test_who_takes_them_on_aarch64():
    """Powers and quotients inside of functions; quotients of the program are exact."""

    def activation(x):
        return tsr.sigmoid(x)

    def is_quick(dtype, **options):
        text = tsr.function(**options)(activation).inspect_ir(
            "asm", tsr.Tensor[256, 256, dtype], target="aarch64:neon"
        )
        quick = "frecpe" in text
        assert quick != ("fdiv" in text)
        return quick

    assert is_quick(tsr.bf16) and is_quick(tsr.fp16) and is_quick(tsr.fp32, fast_math=True)
    assert not is_quick(tsr.fp32) and not is_quick(tsr.bf16, fast_math=False)

    def quotient(x):
        return tsr.reciprocal(x)

    assert "fdiv" in tsr.function(quotient).inspect_ir(
        "asm", tsr.Tensor[256, 256, tsr.bf16], target="aarch64:neon"
    )


def test_halves_are_added_as_they_are():
    """f16 products accumulated in f32: one instruction instead of two, with the same result."""

    def shifted(x, y):
        return (x.to(tsr.fp32) + y, y - x.to(tsr.fp32), x.to(tsr.fp32) - y, x.to(tsr.fp32))

    types = tsr.Tensor[64, 1024, tsr.fp16], tsr.Tensor[64, 1024, tsr.fp32]
    with_products = tsr.function(shifted).inspect_ir(
        "asm", *types, target="aarch64:neon,fullfp16,fp16fml"
    )
    assert "fmlal" in with_products
    assert "fmlal" not in tsr.function(shifted).inspect_ir(
        "asm", *types, target="aarch64:neon,fullfp16"
    )
    x = every_number("fp16")
    y = np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    y[:, ::7] = -0.0
    wide = x.astype(np.float32)
    with np.errstate(invalid="ignore"):
        expected = wide + y, y - wide, wide - y, wide
    for found, want in zip(tsr.function(shifted)(x, y), expected):
        assert np.array_equal(found, want, equal_nan=True)
        numbers = ~np.isnan(want)
        assert np.array_equal(np.signbit(found[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_a_number_has_one_result(dtype):
    """The result does not depend on the number of lanes."""
    f = define("def f(x):\n    return tsr.sqrt(tsr.sigmoid(x) * tsr.exp(x))\n")
    x = np.random.default_rng(0).standard_normal((3, 1000)).astype(numpy_dtype(dtype))
    whole = f(x)
    for width in (1, 5, 16, 31, 40, 999):
        assert f(np.ascontiguousarray(x[:, :width])).tobytes() == whole[:, :width].tobytes()


@pytest.mark.parametrize(
    "unused",
    [
        "x.to(fp32) + 1.0",
        "x.to(fp16)",
        "x[tsr.gelu(tsr.full_like(x[0], 3)).to(int8).to(int64) % x.shape[0]]",
    ],
)
def test_the_bound_knows_which_casts_stay(unused):
    """Redundant casts prevent neither fast forms nor the reference's bound."""
    f = define(f"def f(x):\n    y = {unused}\n    return tsr.silu(x)\n")
    x = every_number("fp16")
    x = x[np.abs(x.astype("f4")).max(1) < 1e4]
    expected = f.reference(x, bounds=True)
    error = np.abs(f(x).astype("f8") - expected.value)
    assert (error <= expected.bound).all()
    assert error.max() > 0


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_few_lanes(dtype):
    """The last lanes of a row, and rows that are shorter than a register."""
    for columns in (1, 2, 3, 5, 7, 17):
        check(define("def f(x):\n    return tsr.sigmoid(x)\n"), random((3, columns), dtype))
