"""PTX run by an interpreter, through the runtime and a fake libcuda: everything below placed Tile
IR, without a GPU.

The simulator rounds every operation of placed Tile IR separately and never sees PTX. LLVM fuses
multiplications with additions there, and instructions are approximate: formulas that rely on more
fail here. `make interpret` runs the CPU's suite this way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import arithmetic
import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[2]
if not (TOP / "build/lib/libfake_cuda.so").exists():
    pytest.skip("unsupported: the fake libcuda is not built", allow_module_level=True)

import ptx_calls  # noqa: E402
from harness import define, numpy_dtype, random  # noqa: E402


def check(text: str, *arguments) -> None:
    before = sum(ptx_calls.launched.values())
    result = ptx_calls.call(define(text), list(arguments))
    assert result["good"] and result["compared"], result
    assert sum(ptx_calls.launched.values()) > before


# -- what the interpreter computes ------------------------------------------------------------------


def nearest(exact: Fraction, dtype: type) -> float:
    """A fraction's nearest number, ties to even."""
    near = np.array([dtype(float(exact))])
    with np.errstate(over="ignore"):
        some = np.concatenate(
            [near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))]
        )
    bits = np.uint32 if dtype is np.float32 else np.uint64
    best = min(
        some, key=lambda one: (abs(Fraction(float(one)) - exact), int(np.array(one).view(bits)) & 1)
    )
    return float(best)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_products_are_rounded_once(dtype):
    random_numbers = np.random.default_rng(3)
    a, b = (random_numbers.standard_normal(3000).astype(dtype) for _ in range(2))
    c = random_numbers.standard_normal(3000) * 2.0 ** random_numbers.integers(-60, 60, 3000)
    c = np.where(np.arange(3000) % 3 == 0, -(a * b), c).astype(
        dtype
    )  # the rounding error of a product
    c[1::3] *= dtype(2.0**-27)
    a[:4], b[:4], c[:4] = [3, 0, -0.0, 2.0**-100], [0.1, 5, 1, 2.0**-40], [-0.3, -0.0, -0.0, 0]
    found = arithmetic.fma(a, b, c)
    for x, y, z, one in zip(a, b, c, found):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert float(one) == nearest(exact, dtype), (x, y, z)


def test_sums_of_products_at_the_ends():
    """Overflow of Dekker's product, infinities and NaN."""
    a = np.array([1e200, 1e-200, 1e308, np.inf, np.inf, 1e-310, 0.0])
    b = np.array([1e200, 1e-200, 10, 0, 2, 0.5, -1.0])
    c = np.array([-np.inf, 0, -np.inf, 1, -np.inf, 1e-320, 0.0])
    expected = [-np.inf, 0, -np.inf, np.nan, np.nan, 1e-310 / 2 + 1e-320, 0.0]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(arithmetic.fma(a, b, c), expected)


def test_approximations_stay_within_their_bounds():
    """They are not exact: no program may rely on that."""
    x = np.random.default_rng(5).uniform(0.1, 30, 20000).astype(np.float32)
    wide = x.astype(np.float64)
    exact = {
        "ex2.approx": np.exp2(wide),
        "rcp.approx": 1 / wide,
        "rsqrt.approx": wide**-0.5,
        "sqrt.approx": wide**0.5,
    }
    units = {"ex2.approx": 2, "rcp.approx": 1, "rsqrt.approx": 2, "sqrt.approx": 1}
    for name, answer in exact.items():
        found = arithmetic.APPROXIMATE[name](x).astype(np.float64)
        error = np.abs(found - answer) / np.spacing(answer.astype(np.float32))
        assert 0.5 < error.max() <= units[name], name
    found, answer = arithmetic.APPROXIMATE["lg2.approx"](x).astype(np.float64), np.log2(wide)
    is_near = (x > 0.5) & (x < 2)
    assert 0 < np.abs(found - answer)[is_near].max() <= 2**-21.5
    error = np.abs(found - answer) / np.spacing(np.abs(answer).astype(np.float32))
    assert 0.5 < error[~is_near].max() <= 2
    y = np.arange(1, 2000, dtype=np.float32)
    quotients = arithmetic.APPROXIMATE["div.full"](y, y)
    assert (np.abs(quotients - 1) <= 2 * np.spacing(np.float32(1))).all() and (quotients < 1).any()


def test_conversions_to_integers():
    with np.errstate(all="ignore"):
        x = np.array([np.nan, np.inf, -np.inf, 2.5, -2.5, 1e20])
        most, least = 2**63 - 1, -(2**63)
        assert arithmetic.to_integer(x, np.dtype("i8"), "rzi").tolist() == [
            least,
            most,
            least,
            2,
            -2,
            most,
        ]
        assert arithmetic.to_integer(x, np.dtype("i8"), "rmi").tolist()[3:5] == [2, -3]
        narrow = arithmetic.to_integer(x.astype(np.float32), np.dtype("i4"), "rni").tolist()
        assert narrow == [0, 2**31 - 1, -(2**31), 2, -2, 2**31 - 1]


# -- what kernels compute ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_floor_of_a_quotient_of_products(dtype):
    """x - x of a product x, fused, was the product's rounding error, and floors of 0 became
    that."""
    x, y, z = (random((700,), dtype, seed=seed) for seed in range(3))
    check("def f(x, y, z):\n    return (x * y) // (abs(z) + 1.0)\n", x, y, z)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_floor_of_a_quotient_of_whole_multiples(dtype):
    """Approximate quotients of these are less than the integer."""
    y = np.arange(1, 127 if dtype == "bf16" else 500, dtype=np.float64)
    x, y = (
        (3 * y if dtype != "bf16" else y).astype(numpy_dtype(dtype)),
        y.astype(numpy_dtype(dtype)),
    )
    check("def f(x, y):\n    return x // y\n", x, y)


@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_angles_far_out(function):
    """The rounding errors of products are added once."""
    draw = np.random.default_rng(11)
    check(
        f"def f(x):\n    return tsr.{function}(x)\n",
        draw.uniform(1, 2, 1000) * 2.0 ** draw.uniform(45, 1000, 1000),
    )


def test_powers_of_doubles():
    """To the last digit or two, which is less than the reference allows for large exponents."""
    draw = np.random.default_rng(13)
    x = np.exp(draw.uniform(-5, 5, 2000))
    y = draw.uniform(-700, 700, 2000) / np.log(x)
    (found,) = ptx_calls.results(define("def f(x, y):\n    return x ** y\n"), [x, y])
    assert (np.abs(found - np.power(x, y)) <= 3 * np.spacing(found)).all()


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_contractions_under_a_condition(dtype):
    """Accumulators from shared memory: these kernels caused an internal error of the code
    generator."""
    x, w = random((7, 257), dtype), random((257, 7), dtype, seed=1)
    check("def f(x, w):\n    return tsr.dropout(x, 0.25, seed=1) @ w\n", x, w)


def test_strict_numerics():
    """No product is fused into a sum without being rounded."""
    f = define("def f(x, y, z):\n    return x * y + z\n")
    usual = f.inspect_ir("ptx", *([np.zeros(256, np.float32)] * 3), target="sm_90:ptx")
    import tessera as tsr

    strict = tsr.function(numerics="strict")(f.__wrapped__)
    code = strict.inspect_ir("ptx", *([np.zeros(256, np.float32)] * 3), target="sm_90:ptx")
    assert "fma.rn.f32" in usual and "fma" not in code
    assert "mul.rn.f32" in code and "add.rn.f32" in code  # which ptxas keeps apart


def test_a_part_of_the_suite():
    """By the plugin, as `make interpret` runs all of it."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (TOP / "build/python", TOP / "integration/ptx")))
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "interpreted", "-p", "no:cacheprovider"]
    command += [
        str(TOP / "integration/cpu/test_scans.py"),
        str(TOP / "integration/cpu/test_attention.py"),
    ]
    command += ["-k", "cumsum and fp32 or causal and fp32"]
    done = subprocess.run(
        command,
        env=environment | {"TESSERA_INTERPRETED_MOST": "8192"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " right" in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize("rows, columns", [(2, 13), (5, 16), (16, 16)])
@pytest.mark.parametrize("layout", ["dense", "stepped"])
def test_gathered_operands_that_are_reduced_too(rows, columns, layout):
    """All warps hold the gathered operand of the MMA. For the sums each one takes its own rows by
    shuffles, from words that it selects by several bits of the lane."""
    x = random((rows, rows, columns), "fp16", layout)
    i = np.arange(rows)[::-1].copy() // 2
    check("def f(x, i):\n    v = x[i]\n    return v @ v.mT, v.sum(-1)\n", x, i)


def test_bytes_that_are_widened():
    x, y = random((40, 72), "int8"), random((72, 24), "int8", seed=1)
    check("def f(x, y):\n    return x.to(tsr.int32) @ y.to(tsr.int32)\n", x, y)


@pytest.mark.parametrize("shape", [(1,), (7,), (1031,), (53, 3), (5, 1, 211)])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
def test_elements_in_vectors_that_the_end_cuts(shape, dtype):
    x, y = random(shape, dtype), random(shape, dtype, seed=1)
    check("def f(x, y):\n    return x + y * x\n", x, y)
