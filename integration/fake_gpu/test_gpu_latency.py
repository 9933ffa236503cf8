"""The overhead of a GPU call over the driver's launch: the best of many rounds on the fake
libcuda."""

import time

import fake
import pytest
from fake import gpu

import tessera as tsr
from tessera import Tensor, fp32
from tessera.bench.latency import microseconds

pytestmark = pytest.mark.assembles


@tsr.function
def five(a, b, c, d, e):
    return a * b + c * d + e


@pytest.fixture(scope="module")
def arrays():
    return [gpu(64, 64) for _ in range(5)], gpu(64, 64)


def least(measure, bound):
    """The least of some measurements: others may use the core's second thread for a while."""
    found = measure()
    for _ in range(40):
        if found < bound:
            break
        time.sleep(0.25)
        found = min(found, measure())
    return found


def check(function, arrays, name):
    arguments, out = arrays
    function(*arguments, out=out)
    before = fake.launches()
    function(*arguments, out=out)
    assert fake.launches() == before + 1
    ours = least(lambda: microseconds(lambda: function(*arguments, out=out), rounds=100)[0], 2)
    print(f"{name}: {ours:.2f} microseconds with the fake libcuda's launch")
    assert ours < 2, f"{ours:.2f} microseconds"


def test_functions(arrays):
    check(five, arrays, "a function")


def test_functions_of_bundles(arrays, tmp_path):
    compiled = five.compile(*[Tensor[64, 64, fp32]] * 5, target="sm_90")
    compiled.save(tmp_path / "five.tsb")
    check(tsr.load(tmp_path / "five.tsb").five, arrays, "a function of a bundle")
    check(compiled, arrays, "a compiled function")
