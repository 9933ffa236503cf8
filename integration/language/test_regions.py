"""`Region[...]`: privileges of a function on its arguments, and results in the callers' memory."""

import numpy as np
import pytest
import tessera as tsr
from tessera import Region, Tensor, fp32, read, reduce_sum, write


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))


def array(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


@tsr.function
def doubled(x: Region[read, "M", "N"], y: Region[write, "M", "N"]):
    y[...] = x * 2.0


@tsr.function
def step(w: Region[read | write, "N"], g: Region["read", "N"], rate: float):
    w[...] = w - rate * g
    return tsr.sum(g * g)


@tsr.function
def collected(total: Region[reduce_sum, "N"], x: Tensor["M", "N"]):
    total[:] += tsr.sum(x, dim=0)


def test_written():
    x, y = array(5, 70), np.full((5, 70), np.nan, np.float32)
    assert doubled(x, y) is None
    np.testing.assert_array_equal(y, x * 2)
    # One array cannot be both read-only and written.
    with pytest.raises(
        tsr.ArgumentError, match="argument 'y': it is argument 'x', which is Region"
    ):
        doubled(y, y)


def test_read_and_written():
    w, g = array(1000), array(1000)[::-1].copy()
    expected = w - np.float32(0.5) * g
    squares = step(w, g, 0.5)
    np.testing.assert_array_equal(w, expected)
    np.testing.assert_allclose(squares, (g.astype(np.float64) ** 2).sum(), rtol=len(g) * 2.0**-24)


def test_added_to():
    total, x = array(40), array(3, 40)
    for _ in range(3):
        collected(total, x)
    np.testing.assert_array_equal(total, array(40) + 3 * x.sum(0))


def test_views_are_written_where_they_are():
    memory = np.zeros((8, 12), np.float32)
    doubled(array(4, 6), memory[::2, ::-2])
    expected = np.zeros_like(memory)
    expected[::2, ::-2] = array(4, 6) * 2
    np.testing.assert_array_equal(memory, expected)


def test_what_reads_other_elements():
    """Nothing is overwritten before its last read."""

    @tsr.function
    def turned(x: Region[read | write, "N", "N"]):
        x[...] = x.T @ x - x[:, :1]

    x = array(33, 33)
    expected = x.T.astype(np.float64) @ x - x[:, :1]
    turned(x)
    np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_results_beside_regions():
    @tsr.function
    def parts(y: Region[write, "N"], x: Tensor["N"]):
        y[...] = x + 1
        return x * 2, y * 3

    x, y, out = (
        array(9),
        np.empty(9, np.float32),
        (np.empty(9, np.float32), np.empty(9, np.float32)),
    )
    first, second = parts(y, x)
    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(first, x * 2)
    np.testing.assert_array_equal(second, (x + 1) * 3)
    assert parts(y, x, out=out) is not None
    np.testing.assert_array_equal(out[1], (x + 1) * 3)
    # The reference has the new values first.
    np.testing.assert_array_equal(parts.reference(y, x)[0], x + 1)


def test_compiled_and_saved(tmp_path):
    x, y = array(6, 7), np.empty((6, 7), np.float32)
    compiled = doubled.compile(x, y)
    assert compiled.report()["writes"] == ["y"]
    assert compiled(x, y) is None
    np.testing.assert_array_equal(y, x * 2)
    compiled.save(tmp_path / "doubled.tsb")
    y[...] = 0
    assert tsr.load(tmp_path / "doubled.tsb").doubled(x, y) is None
    np.testing.assert_array_equal(y, x * 2)


def test_wrong_arguments():
    x, y = array(5, 7), np.empty((5, 7), np.float32)
    with pytest.raises(tsr.ArgumentError, match="argument 'y': expected size 5 for 'M'"):
        doubled(x, np.empty((4, 7), np.float32))
    y.flags.writeable = False
    with pytest.raises(
        tsr.ArgumentError, match="argument 'y': expected an array that can be written"
    ):
        doubled(x, y)
    memory = array(100)
    with pytest.raises(tsr.ArgumentError, match="argument 'y': it overlaps an argument partly"):
        doubled(memory[:35].reshape(5, 7), memory[1:36].reshape(5, 7))


def test_two_regions_of_one_array():
    @tsr.function
    def two(x: Region[write, "N"], y: Region[write, "N"]):
        x[...] = 1.0
        y[...] = 2.0

    x = array(4)
    with pytest.raises(tsr.ArgumentError, match="argument 'y': it overlaps another array"):
        two(x, x)


def test_out_and_a_region_that_is_read():
    @tsr.function
    def negated(x: Region[read, "N"]):
        return -x

    @tsr.function
    def plain(x: Tensor["N"]):
        return -x

    x = array(10)
    with pytest.raises(
        tsr.ArgumentError,
        match=r"out: it is argument 'x', which is Region\[read, 'N'\] and cannot be written",
    ):
        negated(x, out=x)
    np.testing.assert_array_equal(x, array(10))
    assert plain(x, out=x) is x
    np.testing.assert_array_equal(x, -array(10))


# -- out= -----------------------------------------------------------------------------------------


def test_out_is_an_argument():
    """Exactly one of them: correct, also if other elements are read than written."""

    @tsr.function
    def mixed(x, y):
        return tsr.softmax(x @ y, dim=-1), tsr.flip(x, 0) + y.T

    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((40, 40)).astype(np.float32) for _ in range(2))
    first, second = mixed(x, y)
    a, b = x.copy(), y.copy()
    found = mixed(a, b, out=(b, a))
    assert found[0] is b and found[1] is a
    np.testing.assert_array_equal(b, first)
    np.testing.assert_array_equal(a, second)


def test_out_overlaps_an_argument():
    @tsr.function
    def shifted(x):
        return x * 2

    memory = array(100)
    with pytest.raises(tsr.ArgumentError, match="out: it overlaps an argument partly"):
        shifted(memory[:50], out=memory[10:60])
    with pytest.raises(tsr.ArgumentError, match="out: it overlaps an argument partly"):
        shifted(memory[::-1], out=memory)
    np.testing.assert_array_equal(memory, array(100))
    shifted(memory[:50], out=memory[50:])
    np.testing.assert_array_equal(memory[50:], 2 * array(50))


# -- programs that break their promises -----------------------------------------------------------


def wrong(program, *arguments, match):
    with pytest.raises(tsr.CompileError, match=match):
        tsr.function(program)(*arguments)


def test_privileges_are_checked():
    x = array(4)

    def reads(y: Region[write, "N"]):
        y[...] = y + 1.0

    wrong(reads, x, match="'y' cannot be read: its privilege is write; write it first, or make it")

    def writes(x: Region[read, "N"]):
        x[...] = 1.0

    wrong(writes, x, match="'x' cannot be written: its privilege is read")

    def assigns(y: Region[reduce_sum, "N"]):
        y[...] = 1.0

    wrong(assigns, x, match="'y' cannot be written: its privilege is reduce_sum")

    def looks(y: Region[reduce_sum, "N"]):
        y[...] += 1.0
        return y

    wrong(looks, x, match="'y' cannot be read: its privilege is reduce_sum")

    def forgets(y: Region[write, "N"], x: Tensor["N"]):
        return x

    wrong(forgets, x, x, match=r"'y' is never written; write y\[...\] = value")

    def rebinds(y: Region[write, "N"]):
        y = 1.0  # noqa: F841 (the name is what the test is about)

    wrong(rebinds, x, match="'y' is a region: its name cannot be bound anew")

    def partly(y: Region[write, "N"]):
        y[:2] = 1.0

    wrong(partly, x, match="a region is written as a whole")

    def widens(y: Region[write, "N"], x: Tensor["N"]):
        y[...] = x.to(tsr.fp64)

    wrong(widens, x, x, match="expected element type fp32 for region 'y', found fp64")

    def grows(y: Region[write, "N"], x: Tensor["M", "N"]):
        y[...] = x

    wrong(grows, x, array(3, 4), match=r"expected a value of shape \[N\] for region 'y'")

    def plain(y):
        y[...] = 1.0

    wrong(plain, x, match="annotated as Region\\[write\\]")


def test_what_can_be_asked_without_reading():
    @tsr.function
    def counted(y: Region[write, "M", "N"]):
        y[...] = tsr.iota(y.shape, dim=0) * y.shape[1] + y.ndim

    y = np.empty((3, 5), np.float32)

    with pytest.raises(tsr.CompileError, match="found int64"):
        counted(y)

    @tsr.function
    def typed(y: Region[write, "M", "N"]):
        y[...] = (tsr.iota(y.shape, dim=0) * y.shape[1] + y.ndim).to(y.dtype)

    typed(y)
    np.testing.assert_array_equal(y, np.arange(3, dtype=np.float32)[:, None].repeat(5, 1) * 5 + 2)


def test_forms():
    assert repr(Region[read | write, "M", fp32]) == "Region[read | write, 'M', fp32]"
    assert repr(Region["reduce_sum"]) == "Region[reduce_sum]"
    assert repr(Region[read, Tensor["M", 4]]) == "Region[read, 'M', 4]"
    with pytest.raises(tsr.ArgumentError, match="expected read, write or reduce_sum first"):
        Region["M"]
    with pytest.raises(tsr.ArgumentError, match="is an annotation"):
        Region()

    @tsr.function
    def halved(x: Region["read", Tensor["N", fp32]], y: Region["write"]):
        y[:] = x / 2

    y = np.empty(6, np.float32)
    halved(array(6), y)
    np.testing.assert_array_equal(y, array(6) / 2)

    @tsr.function
    def helper(x: Region[read, "N"]):
        return x * 2

    @tsr.function
    def caller(y: Region[write, "N"], x):
        y[...] = helper(x)

    caller(y, array(6))
    np.testing.assert_array_equal(y, array(6) * 2)

    @tsr.function
    def writer(y: Region[write, "N"]):
        y[...] = 1.0

    def indirect(x: Region[read | write, "N"]):
        writer(x)
        x[...] = x + 1

    wrong(
        indirect, y, match="only the function that is called from outside can write its arguments"
    )
