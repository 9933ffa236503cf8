"""Attention over a long sequence does not store its scores; results larger than all caches are
complete."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness import define

PROGRAM = """
import resource
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from harness import define

f = define('''def f(q, k, v):
    s = (q @ k.transpose(-2, -1)) * 0.125
    return tsr.softmax(s, dim=-1) @ v
''')
arrays = [np.random.default_rng(i).standard_normal((1, 1, {length}, 64), dtype=np.float32) for i in range(3)]
f(*(a[:, :, :4160].copy() for a in arrays))  # the same code: loads the compiler, which is not counted
out = np.zeros_like(arrays[0])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
f(*arrays, out=out)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert np.isfinite(out).all()
print((after - before) / 1024)
"""


def test_long_attention_stays_small():
    folder = str(Path(__file__).resolve().parent)
    program = PROGRAM.format(folder=folder, length=32768)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown = float(done.stdout)
    assert grown < 100, f"a call raised the peak by {grown:.0f} MiB; the scores alone would be 4096"


@pytest.mark.parametrize("first", [0, 1, 16])
@pytest.mark.parametrize("columns", [1024, 1003])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_large_results_wherever_they_begin(first, columns, dtype):
    """Non-temporal stores need whole cache lines; other parts use regular stores."""
    f = define(
        "def f(x, w):\n    m = x.mean(-1, keepdim=True)\n    return (x - m) * w + (x * x).sum(-1, keepdim=True)\n"
    )
    rows = 20 * 1024 * 1024 // (columns * np.dtype(dtype).itemsize)
    rng = np.random.default_rng(columns + first)
    x = rng.standard_normal((rows, columns), dtype=np.float32).astype(dtype)
    w = rng.standard_normal(columns, dtype=np.float32).astype(dtype)
    memory = np.full(64 + rows * columns, np.nan, dtype)
    begin = -memory.ctypes.data % 64 // memory.itemsize + first
    out = memory[begin : begin + rows * columns].reshape(rows, columns)
    f(x, w, out=out)
    wide = x.astype("f8")
    expected = (wide - wide.mean(-1, keepdims=True)) * w + (wide * wide).sum(-1, keepdims=True)
    error = np.abs(out - expected) / np.abs(expected).max()
    # The result is rounded once, a sum of fp32 in any order once for each of its terms.
    assert error.max() < np.finfo(dtype).eps + columns * np.finfo(np.float32).eps / 2
    assert np.isnan(memory[:begin]).all() and np.isnan(memory[begin + rows * columns :]).all()
