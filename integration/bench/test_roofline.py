"""The machine's roofline is measured by code that our compiler did not generate, and nothing is
faster."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from tessera import _tessera
from tessera.bench import roofline

KINDS = _tessera.peak_kinds()


def seconds(call, repeat: int = 20) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return best


@pytest.mark.parametrize("dtype, name", KINDS)
def test_chains_do_the_work_that_they_count(dtype, name):
    one = _tessera.peak_work(dtype, name, 1)
    assert one >= 16 and _tessera.peak_work(dtype, name, 1000) == 1000 * one
    short, long = (
        seconds(lambda: _tessera.peak_work(dtype, name, rounds)) for rounds in (20000, 80000)
    )
    assert 2 < long / short < 8, "not a loop of so many rounds"
    # No processor does 4096 operations of one thread in a cycle of a tenth of a nanosecond.
    assert 20000 * one / short < 4096e10


def test_kinds():
    assert {"fp32", "fp64"} <= {dtype for dtype, _ in KINDS}
    with pytest.raises(ValueError, match="this machine has no abacus of fp32"):
        _tessera.peak_work("fp32", "abacus", 1)


def test_streams_do_what_stream_does():
    first, second = (np.random.default_rng(seed).standard_normal(8 * 1024) for seed in range(2))
    expected = {
        "copy": first,
        "scale": 3 * first,
        "add": first + second,
        "triad": first + 3 * second,
    }
    names = _tessera.stream_loops()
    assert set(names) == {f"{name}{past}" for name in expected for past in ("", " past caches")}
    arrays = [roofline._array(first.size) for _ in range(3)]
    arrays[1][:], arrays[2][:] = first, second
    addresses = [one.ctypes.data for one in arrays]
    for name in names:
        arrays[0][:] = 0
        plain = name.split()[0]
        assert _tessera.stream_work(name, *addresses, first.nbytes) == first.nbytes * (
            2 if plain in ("copy", "scale") else 3
        )
        # A fused triad does not round the product, which is below 16.
        np.testing.assert_allclose(arrays[0], expected[plain], rtol=1e-15, atol=2.0**-50)
    with pytest.raises(ValueError, match="expected multiples of 64 bytes"):
        _tessera.stream_work("copy", addresses[0] + 8, *addresses[1:], 64)
    with pytest.raises(ValueError, match="there is no loop 'fill'"):
        _tessera.stream_work("fill", *addresses, 64)


def test_all_threads_work(monkeypatch):
    done = []
    work = roofline._shared(lambda number: done.append(number) or 10.0 + number, 3)
    assert work() == 33 and sorted(done) == [0, 1, 2]
    assert roofline._best(lambda: 5.0, 0.0, iter(range(100)).__next__) == 5


def test_the_best_kind_counts(monkeypatch):
    rates = {"avx2": 10.0, "avx512": 20.0, "amx": 300.0}
    kinds = [("fp32", "avx512"), ("fp32", "avx2"), ("bf16", "amx")]
    monkeypatch.setattr(roofline, "memory_rate", lambda threads, clock: (7.0, "triad"))
    monkeypatch.setattr(
        roofline,
        "arithmetic_rates",
        lambda threads, clock: {
            dtype: max((rates[name], name) for kind, name in kinds if kind == dtype)
            for dtype, _ in kinds
        },
    )
    found = roofline.measure(2)
    assert found == {
        "threads": 2,
        "copy": 7.0,
        "loop": "triad",
        "fp32": 50.0,
        "by": "amx, 6 products of bf16",
        "bf16": 300.0,
    }
    kinds.pop()
    assert roofline.measure(2)["fp32"] == 20 and roofline.measure(2)["by"] == "avx512"


PROGRAM = """
import json, sys, time
from tessera.bench import roofline
clock = time.thread_time
found = roofline.measure(1, clock)
from tessera import _tessera
alone = not _tessera.compiler_loaded() and not [name for name in sys.modules if "kernels" in name]

import numpy as np
from tessera.bench.kernels.matmul import matmul
a, b = (np.random.default_rng(0).standard_normal((1024, 1024), np.float32) for _ in range(2))
out = np.empty_like(a)
big = np.ones(roofline._length() // 8)
copy = np.empty_like(big)
calls = {
    "tessera": (lambda: matmul(a, b, out=out), 2.0 * 1024**3),
    "numpy": (lambda: np.matmul(a, b, out=out), 2.0 * 1024**3),
    "copy": (lambda: np.copyto(copy, big), 2.0 * big.nbytes),
}
rates = {}
for name, (call, work) in calls.items():
    call()
    best = 1e9
    for _ in range(10):
        start = clock()
        call()
        best = min(best, clock() - start)
    rates[name] = work / best
again = roofline.measure(1, clock)  # the clock may have risen
roof = {key: max(found[key], again[key]) for key in ("copy", "fp32")}
print(json.dumps({"alone": alone, "roof": roof, "rates": rates}))
"""


def test_nothing_is_above_the_roof():
    """Neither our own contractions, nor a library's, nor a copy exceeds the roofline; the
    measurement loads no compiler."""
    environment = {
        **os.environ,
        "TESSERA_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["alone"]
    roof, rates = found["roof"], found["rates"]
    assert rates["tessera"] < 1.2 * roof["fp32"] and rates["numpy"] < 1.2 * roof["fp32"], found
    assert rates["copy"] < 1.2 * roof["copy"], found
    # It is not far above the speed of a matrix library.
    assert max(rates["tessera"], rates["numpy"]) > 0.1 * roof["fp32"], found
