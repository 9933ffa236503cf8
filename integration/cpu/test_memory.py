"""Attention over a long sequence does not store its scores."""

import subprocess
import sys
from pathlib import Path

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
