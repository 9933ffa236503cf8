"""A few kernels serve many sizes, and are not much slower than kernels for one."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera as tsr

SIZES = Path(__file__).resolve().parents[2] / "benchmarks" / "cpu" / "sizes.py"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))


def numbers(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def most(function, count):
    found = function.specializations()
    assert len(found) <= count, "\n".join(map(repr, found))
    return found


@pytest.mark.parametrize("lengths", [range(1, 201), range(17, 3401, 17)], ids=["short", "long"])
def test_attention_of_200_lengths(lengths):
    @tsr.function
    def attention(q, k, v):
        return tsr.softmax(q @ k.mT * 0.25, dim=-1) @ v

    for length in lengths:
        q, k, v = (numbers(2, length, 16) + i for i in range(3))
        found = attention(q, k, v)
        if length % 7 == 0 or length < 8:
            scores = q.astype(np.float64) @ k.transpose(0, 2, 1) * 0.25
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            expected = weights / weights.sum(-1, keepdims=True) @ v
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    found = most(attention, 8)
    assert found[0].reason == "first call"
    wide = "argument 'q': dimension 1 is of many sizes, this is for a wide class"
    assert wide in [one.reason for one in found]
    assert "n<=" in found[-1].arguments[0]


def test_rows_and_widths():
    @tsr.function
    def norm(x):
        return tsr.layer_norm(x, (x.shape[-1],))

    for length in range(2, 202):
        for shape in ((length, 96), (5, 3 * length)):
            x = numbers(*shape)
            centred = x - x.mean(-1, keepdims=True)
            expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
            np.testing.assert_allclose(norm(x), expected, rtol=1e-3, atol=1e-4)
    most(norm, 16)


def test_calls_of_classes_that_were_seen_stay_quick():
    """A size that a wide kernel accepted once is accepted again directly."""

    @tsr.function
    def doubled(x):
        return x + x

    for length in range(2, 300):
        doubled(numbers(length))
    before = [one.keys.copy() for one in doubled.specializations()]
    for length in range(2, 300):
        np.testing.assert_array_equal(doubled(numbers(length)), numbers(length) * 2)
    assert [one.keys for one in doubled.specializations()] == before
    assert doubled.inspect_ir("sched")


def test_sizes_that_a_program_needs_are_not_shared():
    @tsr.function
    def folded(x):
        total = x[0]
        for i in range(1, x.shape[0]):
            total = total + x[i]
        return total

    for count in (3, 5, 9, 17, 20, 9, 3):
        x = numbers(count, 6)
        np.testing.assert_allclose(folded(x), x.sum(0), rtol=1e-4, atol=1e-5)
    assert len(folded.specializations()) == 5


def test_sizes_of_one_broadcast_after_many():
    @tsr.function
    def total(x, y):
        return x + y

    for length in (2, 5, 9, 17, 33, 70, 1, 0, 130):
        x, y = numbers(3, length), numbers(3, length)
        np.testing.assert_array_equal(total(x, y), x + y)
    x = numbers(3, 130)
    np.testing.assert_array_equal(total(x, x[:, :1]), x + x[:, :1])


def test_shared_code_is_not_slow():
    """Loosely: `benchmarks/cpu/sizes.py` measures it."""
    spec = importlib.util.spec_from_file_location("sizes", SIZES)
    sizes = importlib.util.module_from_spec(spec)
    sys.modules["sizes"] = sizes
    spec.loader.exec_module(sizes)
    import tempfile

    tsr.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("attention", "product, rows"):
                row = sizes.measure(name, True, Path(folder))
                assert row["kernels"] <= sizes.KERNELS
                assert max(row["ratios"].values()) > 0.7, row
    finally:
        tsr.set_num_threads(0)


@tsr.function
def of_many_rows(x, w):
    return x @ w


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_products_of_every_short_length(dtype):
    """Blocks of rows and k-steps end where the sizes do: one code, every size of a class."""
    rng = np.random.default_rng(0)
    for size in [*range(2, 68), 95, 96, 97, 127, 128, 129]:
        x = rng.integers(-8, 8, (size, size)).astype(dtype)
        w = rng.integers(-8, 8, (size, 40)).astype(dtype)
        expected = x.astype(np.int64) @ w.astype(np.int64)
        np.testing.assert_array_equal(
            of_many_rows(x, w).astype(np.int64), expected.astype(dtype).astype(np.int64)
        )
    assert len(of_many_rows.specializations()) <= 30
