"""Arrays that are read and created through DLPack's C exchange interface, on the CPU."""

import numpy as np
import pytest
from exchange import array, fake_arrays, filled, values

import tessera as tsr
from tessera.bench.latency import microseconds


@tsr.function
def double(x):
    return x + x


@tsr.function
def five(a, b, c, d, e):
    return a * b + c * d + e


@tsr.function
def both(x, y):
    return x + y, x - y


def test_results_are_of_the_same_library():
    x = filled(4, 6, value=1.5)
    before = fake_arrays.allocations()
    for _ in range(3):
        y = double(x)
        assert type(y) is fake_arrays.Array and (values(y) == 3).all()
    assert fake_arrays.allocations() == before + 3


def test_results_that_are_given():
    x, y, out = filled(4, 6), filled(4, 6, value=2), (array(4, 6), array(4, 6))
    both(x, y)
    before = fake_arrays.allocations()
    assert both(x, y, out=out) == out
    assert (values(out[0]) == 3).all() and (values(out[1]) == -1).all()
    assert fake_arrays.allocations() == before


def test_results_that_cannot_be_written_as_they_are():
    x = np.ones((4, 6), np.float32)
    double(x)
    wide = np.zeros((4, 12), np.float32)
    assert double(x, out=wide[:, ::2]) is not None
    assert (wide[:, ::2] == 2).all() and (wide[:, 1::2] == 0).all()
    assert double(x, out=x) is x and (x == 2).all()
    with pytest.raises(tsr.ArgumentError, match="overlaps an argument partly"):
        double(wide[:, 2:8], out=wide[:, 4:10])
    frozen = np.zeros((4, 6), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(tsr.ArgumentError, match="found a read-only one"):
        double(x, out=frozen)
    with pytest.raises(tsr.ArgumentError, match=r"expected fp32\[4, 6\], found fp32\[6, 4\]"):
        double(x, out=np.zeros((6, 4), np.float32))


def test_the_first_array_decides():
    x, y = filled(3, 5), np.full((3, 5), 2, np.float32)
    assert type(both(x, y)[0]) is fake_arrays.Array
    assert type(both(y, x)[0]) is np.ndarray


def test_element_types():
    with pytest.raises(tsr.ArgumentError, match="argument 'x': expected an element type of"):
        double(array(4, dtype="complex"))
    half = double(array(8, dtype="bf16"))
    assert type(half) is fake_arrays.Array and half.shape == (8,)


def test_no_memory():
    x = filled(4, 6)
    double(x)
    fake_arrays.set_failing(True)
    try:
        with pytest.raises(tsr.OutOfMemoryError, match=r"a result has the shape \(4, 6\)"):
            double(x)
    finally:
        fake_arrays.set_failing(False)
    assert (values(double(x)) == 2).all()


def test_other_threads_call_meanwhile():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        rows = 3 + seed % 5
        x = filled(rows, 16, value=float(seed))
        return all((values(double(x)) == 2 * seed).all() for _ in range(300))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(16)))


def test_calls_are_as_quick_as_numpys():
    arrays, out = [filled(8, 64) for _ in range(5)], array(8, 64)
    others = [np.ones((8, 64), np.float32) for _ in range(5)]
    five(*arrays), five(*others)
    ours = microseconds(lambda: five(*arrays, out=out))[0]
    numpys = microseconds(lambda: five(*others))[0]
    assert ours < numpys + 2, f"{ours:.2f} microseconds, {numpys:.2f} with NumPy"
