"""Functions of these tests, made anew for each."""

import math
import threading

import numpy as np
import tessera as tsr
from tessera import Tensor, fp32
from tessera.reference import Reference


#: Options with which results must not depend on the tier.
EXACT = [
    {"numerics": "strict"},
    {"deterministic": True},
    {"batch_invariant": True},
    {"accum": tsr.fp64},
]


def power(**options):
    """A function that is faster if it knows its number."""

    @tsr.function(hot=0, **options)
    def power(x, p: float):
        return x**p

    return power


def make(**options):
    """A function whose results tell operands apart."""

    @tsr.function(**options)
    def mix(x, y):
        z = tsr.exp(-x * x) + tsr.tanh(x)
        return tsr.softmax(z @ tsr.tanh(y).T / math.sqrt(x.shape[1]), dim=-1)

    return mix


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def check(function, *arguments, result=None):
    """Whether a result is within the reference's bounds."""
    expected = function.reference(*arguments, bounds=True)
    expected = [expected] if isinstance(expected, Reference) else expected
    results = function(*arguments) if result is None else result
    results = results if isinstance(results, tuple) else (results,)
    for got, one in zip(results, expected, strict=True):
        assert got.shape == one.value.shape
        good = np.abs(got.astype(np.float64) - one.value) <= one.bound
        good |= (got == one.value) | (np.isnan(got) & np.isnan(one.value)) | one.excluded
        assert good.all()


def wait_for(condition, seconds=60.0):
    """Whether a condition holds in time."""
    done = threading.Event()
    for _ in range(int(seconds * 100)):
        if condition():
            return True
        done.wait(0.01)
    return False


def with_regions(**options):
    @tsr.function(**options)
    def update(state: Tensor["N", fp32], x: Tensor["N", fp32]):
        return state + x, (state * x).sum()

    return update
