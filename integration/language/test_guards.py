"""A program's assumptions about sizes are checked at every call: another size is correct, or an
error."""

import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))


@tsr.function
def parts(x: Tensor["N"], n: int):
    return x[n:], x[:-n], x[:7], tsr.arange(n)


@tsr.function
def halves(x: Tensor["N"]):
    return x.reshape(2, -1).sum(dim=0)


@tsr.function
def total(x, y):
    return x + y


@tsr.function
def chosen(x, y):
    return x * 2 if x.shape == y.shape else x[0] + y


def array(size):
    return np.arange(size, dtype=np.float32)


def test_bounds_of_slices():
    for size, n in [(10, 3), (10, 4), (12, 1), (10, 9), (10, 12), (4, 0), (2, 1), (10, 3)]:
        x = array(size)
        expected = x[n:], x[:-n], x[:7], np.arange(n)
        found = parts(x, n)
        for got, want in zip(found, expected):
            np.testing.assert_array_equal(got, want)


def test_exact_division():
    for size in [10, 6, 12]:
        np.testing.assert_array_equal(halves(array(size)), array(size).reshape(2, -1).sum(0))
    with pytest.raises(tsr.CompileError, match="'N' is not a multiple of '2'"):
        halves(array(11))
    np.testing.assert_array_equal(halves(array(14)), array(14).reshape(2, -1).sum(0))


def test_equal_sizes():
    for x, y in [(5, 5), (6, 6), (1, 6), (6, 1)]:
        np.testing.assert_array_equal(total(array(x), array(y)), array(x) + array(y))
    for x, y in [(5, 7), (7, 5)]:
        with pytest.raises(tsr.CompileError, match="sizes do not match in dimension -1"):
            total(array(x), array(y))
    np.testing.assert_array_equal(total(array(7), array(7)), array(7) * 2)


def test_branch_on_equal_sizes():
    for x, y in [(5, 5), (5, 7), (6, 6), (7, 5), (5, 5)]:
        want = array(x) * 2 if x == y else array(x)[0] + array(y)
        np.testing.assert_array_equal(chosen(array(x), array(y)), want)


@tsr.function
def rows_of(x, y):
    return x.reshape(y.shape[0], x.shape[1] * x.shape[2]) + y


def test_equal_factors():
    """A reshape to another argument's size makes the two equal, whatever the other sizes are."""
    for n in (3, 5, 3):
        x, y = array(n * 8).reshape(n, 2, 4), array(n * 8).reshape(n, 8)
        np.testing.assert_array_equal(rows_of(x, y), 2 * y)
    with pytest.raises(tsr.CompileError, match="cannot reshape"):
        rows_of(array(24).reshape(3, 2, 4), array(24).reshape(4, 6))


@tsr.function
def repeated(q, k):
    return (
        k.unsqueeze(1).expand(-1, q.shape[0] // k.shape[0], -1).reshape(q.shape[0], q.shape[1]) * q
    )


def test_repeated_heads():
    for heads, groups in ((8, 2), (6, 3), (8, 2)):
        q, k = array(heads * 5).reshape(heads, 5), array(groups * 5).reshape(groups, 5)
        np.testing.assert_array_equal(repeated(q, k), np.repeat(k, heads // groups, 0) * q)
    with pytest.raises(tsr.CompileError, match="cannot reshape"):
        repeated(array(35).reshape(7, 5), array(10).reshape(2, 5))
