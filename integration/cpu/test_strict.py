"""Numerics policies: roundings bit by bit; sums in wider types; fast forms."""

import numpy as np
import pytest
import tessera as tsr
from harness import numpy_dtype
from tessera import accum, bf16, fp32, fp64

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = numpy_dtype("bf16")


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def both(program):
    """The program with strict and with default numerics."""
    return tsr.function(numerics="strict")(program), tsr.function(program)


def same(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    return found.tobytes() == expected.tobytes()


def numbers(rng, *shape, dtype=BF16):
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


# Every step rounds to the type. NumPy and ml_dtypes compute each in fp32 and round.
def chain(x, y, z):
    return (x * y + z) * x - y / z


def branches(x, y, z):
    return tsr.where(x > y, x * y + z, abs(x - z) * y)


def powers(x, y, z):
    return tsr.square(x) + tsr.maximum(x * z, y - x) - tsr.reciprocal(z) * y


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("shape", [(7,), (64, 129), (3, 1000)])
@pytest.mark.parametrize("program", [chain, branches, powers])
def test_every_step_rounds(rng, program, shape, dtype):
    x, y, z = (numbers(rng, *shape, dtype=numpy_dtype(dtype)) for _ in range(3))
    numpy = {
        chain: lambda: (x * y + z) * x - y / z,
        branches: lambda: np.where(x > y, x * y + z, abs(x - z) * y),
        powers: lambda: x * x + np.maximum(x * z, y - x) - (np.ones_like(z) / z) * y,
    }[program]
    strict, usual = both(program)
    expected = numpy()
    assert same(strict(x, y, z), expected)
    if np.prod(shape) > 8000:  # whole tiles: their edges may be computed step by step
        assert not same(usual(x, y, z), expected), "the usual policy rounds as often: no test"


def test_a_product_is_rounded_before_it_is_used(rng):
    """The sums are exact in fp32 and not in bf16."""
    a = rng.integers(-30, 30, (33, 65)).astype(BF16)
    b = rng.integers(-30, 30, (65, 47)).astype(BF16)
    c = rng.integers(-30, 30, (33, 47)).astype(BF16)

    def program(a, b, c):
        return a @ b + c

    exact = a.astype(np.float32) @ b.astype(np.float32)
    strict, usual = both(program)
    assert same(strict(a, b, c), exact.astype(BF16) + c)
    assert same(usual(a, b, c), (exact + c.astype(np.float32)).astype(BF16))
    assert not same(exact.astype(BF16) + c, (exact + c.astype(np.float32)).astype(BF16))


def test_a_sum_is_rounded_before_it_is_used(rng):
    x = rng.integers(-99, 99, (40, 700)).astype(BF16)

    def program(x):
        return tsr.sum(x, dim=-1, keepdim=True) * x

    total = x.astype(np.float32).sum(-1, keepdims=True)
    strict, usual = both(program)
    assert same(strict(x), total.astype(BF16) * x)
    assert not same(usual(x), total.astype(BF16) * x)


def test_weights_are_rounded_before_the_second_product(rng):
    """A third has no finite expansion: as bf16 and as fp32 it is another number."""
    scores = np.zeros((5, 3), BF16)
    v = rng.integers(-9, 9, (3, 40)).astype(BF16)

    def program(scores, v):
        return tsr.softmax(scores, dim=-1) @ v

    third = np.float32(BF16.type(1 / 3))
    expected = (np.full((5, 3), third, np.float32) @ v.astype(np.float32)).astype(BF16)
    strict, usual = both(program)
    assert same(strict(scores, v), expected)
    assert not same(usual(scores, v), expected)


def test_factors_are_not_rearranged(rng):
    """(x * s) @ y rounds x * s, wherever s could be applied."""
    x, y = numbers(rng, 20, 3, dtype=np.float32), numbers(rng, 3, 30, dtype=np.float32)
    s = numbers(rng, 3, dtype=np.float32)

    @tsr.function(numerics="strict")
    def program(x, s, y):
        return tsr.sum((x * s)[:, :, None] * y[None], dim=1)

    scaled = (x * s).astype(np.float32)
    bound = 4 * np.finfo(np.float32).eps * (abs(scaled) @ abs(y))
    assert (abs(program(x, s, y) - scaled.astype(float) @ y.astype(float)) <= bound).all()


def test_statistics_come_first():
    """Deviations from a mean are computed from the mean, not from moments."""
    x = (np.arange(64, dtype=np.float32) + 2.0**20).reshape(1, 64).repeat(9, 0)

    @tsr.function(numerics="strict")
    def variance(x):
        centred = x - tsr.mean(x, dim=-1, keepdim=True)
        return tsr.sum(centred * centred, dim=-1)

    centred = x - x.astype(np.float64).mean(-1, keepdims=True).astype(np.float32)
    assert same(variance(x), (centred.astype(np.float64) ** 2).sum(-1).astype(np.float32))


def test_strict_attention_is_right(rng):
    @tsr.function(numerics="strict")
    def attention(q, k, v):
        return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v

    for dtype in (np.float32, BF16):
        q, k, v = (numbers(rng, 2, 70, 64, dtype=dtype) for _ in range(3))
        found = attention(q, k, v)
        reference = attention.reference(q, k, v, bounds=True)
        assert (abs(found.astype(np.float64) - reference.value) <= reference.bound).all()


def test_explicit_conversions_round_under_any_policy(rng):
    x = numbers(rng, 300, dtype=np.float32)

    def program(x):
        return x.to(bf16).to(fp32) * 3.0

    expected = x.astype(BF16).astype(np.float32) * np.float32(3)
    for function in both(program):
        assert same(function(x), expected)


# -- @accum ----------------------------------------------------------------------------------------


def test_sums_in_fp64(rng):
    """Large numbers cancel: nothing remains of the others in fp32."""
    x = rng.permutation(np.tile(np.float32([1e8, 1.0, -1e8, 1.0]), 2500))

    def total(x):
        return tsr.sum(x)

    assert tsr.function(total)(x) != 5000
    for wide in (
        accum(fp64)(tsr.function(total)),
        tsr.function(accum(fp64)(total)),
        tsr.function(accum=fp64)(total),
        tsr.function(numerics=tsr.numerics(accum=fp64))(total),
    ):
        assert wide(x) == 5000 and wide(x).dtype == np.float32


def test_products_and_composites_in_fp64(rng):
    a, b = numbers(rng, 50, 3000, dtype=np.float32), numbers(rng, 3000, 30, dtype=np.float32)

    @accum(fp64)
    @tsr.function
    def product(a, b):
        return a @ b

    @accum(fp64)
    @tsr.function
    def running(x):
        return tsr.cumsum(x, dim=-1)

    @accum(fp64)
    @tsr.function
    def mean(x):
        return tsr.mean(x, dim=0)

    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert same(product(a, b), exact.astype(np.float32))
    assert same(running(a), np.cumsum(a.astype(np.float64), -1).astype(np.float32))
    sums = a.astype(np.float64).sum(0).astype(np.float32)
    assert same(mean(a), sums / np.float32(50))


def test_a_narrower_type_changes_nothing(rng):
    x = numbers(rng, 1000, dtype=np.float64)

    def total(x):
        return tsr.sum(x)

    assert same(accum(fp32)(tsr.function(total))(x), tsr.function(total)(x))


@pytest.mark.parametrize("dtype", [tsr.fp16, tsr.int32, "fp32", None])
def test_what_accumulates(dtype):
    with pytest.raises(tsr.ArgumentError, match="expected fp32 or fp64"):
        accum(dtype)
    with pytest.raises(tsr.ArgumentError, match="expected fp32 or fp64"):
        tsr.numerics(accum=dtype)


# -- the other fields ------------------------------------------------------------------------------


def test_products_of_rounded_factors():
    """A policy for contractions is recorded in the graph, and the GPU's operands are rounded to
    it."""

    def product(a, b):
        return a @ b

    types = [tsr.Tensor[256, 256, fp32]] * 2
    texts = {
        policy: tsr.function(numerics=tsr.numerics(matmul=policy))(product).inspect_ir(
            "tileir", *types, target="sm_90"
        )
        for policy in ("fp32", "tf32", "bf16")
    }
    assert "tf32" in texts["tf32"] and texts["tf32"].count("mmaf") < texts["fp32"].count("mmaf")
    assert "bf16" in texts["bf16"] and "bf16" not in texts["tf32"]


def test_quick_quotients(rng):
    """On a GPU by another rounding mode, on a CPU by reciprocals."""

    def quotient(x, y):
        return x / y

    types = [tsr.Tensor[256, 256, fp32]] * 2
    gpu = {
        policy: tsr.function(numerics=tsr.numerics(fast_math=policy))(quotient).inspect_ir(
            "tile" if policy is None else "tileir", *types, target="sm_90"
        )
        for policy in (True, False)
    }
    assert gpu[True] != gpu[False]
    usual = tsr.function(quotient).inspect_ir("tileir", *types, target="sm_90")
    assert usual == gpu[False]
    narrow = [tsr.Tensor[256, 256, bf16]] * 2
    assert tsr.function(fast_math=False)(quotient).inspect_ir(
        "tileir", *narrow, target="sm_90"
    ) != tsr.function(quotient).inspect_ir("tileir", *narrow, target="sm_90")
    x, y = numbers(rng, 90, 1000, dtype=np.float32), numbers(rng, 90, 1, dtype=np.float32)
    quick = tsr.function(fast_math=True)(quotient)(x, y)
    np.testing.assert_allclose(quick, x / y, rtol=4e-7)


def test_unknown_fields():
    with pytest.raises(
        tsr.ArgumentError, match="there is no option 'fastmath'; did you mean 'fast_math'"
    ):
        tsr.numerics(fastmath=True)
    with pytest.raises(tsr.ArgumentError, match="'deterministic': expected a bool, found 'yes'"):
        tsr.numerics(deterministic="yes")
