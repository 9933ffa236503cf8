"""Processes that are killed (SIGKILL) at random moments of their compilations, with one cache.

At any moment: completed entries stay, no entry is corrupt, and every function can be compiled and
loaded afterwards. TESSERA_KILLS=200 is the number of compilations, with a small default;
TESSERA_SEED selects other moments.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

COUNT = int(os.environ.get("TESSERA_KILLS", 12))
SEED = int(os.environ.get("TESSERA_SEED", 1))

# The functions differ in a constant and in their operations, so that entries have many lengths.
PROGRAM = """
import sys
import numpy as np
import tessera as tsr
from tessera import _tessera

def make(number):
    terms = 1 + number % 5

    @tsr.function
    def f(x):
        total = x * number
        for i in range(terms):
            total = total + tsr.softmax(total, dim=0)
        return total

    return f, terms

def call(number):
    f, terms = make(number)
    x = np.linspace(-1.0, 1.0, 32, dtype=np.float32)
    expected = x.astype(np.float64) * number
    for i in range(terms):
        e = np.exp(expected - expected.max())
        expected = expected + e / e.sum()
    np.testing.assert_allclose(f(x), expected, rtol=1e-4, atol=1e-4)

for number in map(int, sys.argv[1:]):
    print("begin", number, flush=True)
    call(number)
    print("end", number, "compiled" if _tessera.compiler_loaded() else "cached", flush=True)
"""


class Processes:
    def __init__(self, folder: Path):
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM)

    def start(self, numbers) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, str(self.program), *map(str, numbers)],
            env={**os.environ, "TESSERA_LOG": "info"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, numbers) -> tuple[list[str], str]:
        """Runs to the end: the source of each function's code, and the log."""
        out, log = self.start(numbers).communicate(timeout=600)
        ends = [line.split() for line in out.splitlines() if line.startswith("end")]
        assert [int(words[1]) for words in ends] == list(numbers), log
        return [words[2] for words in ends], log

    def kill(self, number: int, delay: float) -> bool:
        """Kills one `delay` seconds after its compilation started; returns whether it had
        completed."""
        process = self.start([number])
        assert process.stdout.readline().startswith("begin")
        timer = threading.Timer(delay, process.send_signal, [signal.SIGKILL])
        timer.start()
        out = process.stdout.read()  # until it ends, one way or the other
        timer.cancel()
        status = process.wait()
        assert status in (0, -signal.SIGKILL), process.stderr.read()
        process.stderr.close()
        process.stdout.close()
        return "end" in out


@pytest.fixture
def processes(tmp_path, cache):
    return Processes(tmp_path)


def test_killed_compilations_lose_nothing(processes, cache):
    start = time.monotonic()
    processes.run([COUNT])
    whole = time.monotonic() - start  # with the start of Python, which takes about half of it
    moments = random.Random(SEED)
    delays = [moments.uniform(0, whole) for _ in range(COUNT)]
    with ThreadPoolExecutor(2) as pool:
        completed = list(pool.map(processes.kill, range(COUNT), delays))
    done = [number for number in range(COUNT) if completed[number]]
    assert 0 < len(done) < COUNT, "moments that are neither all too early nor all too late"

    # Nothing that was completed is compiled again, and nothing is corrupt.
    how, log = processes.run(done)
    assert set(how) == {"cached"}
    assert "damaged" not in log
    # The others are in the cache, complete, or are compiled now; a later process finds them all.
    _, log = processes.run(range(COUNT))
    assert "damaged" not in log
    how, log = processes.run(range(COUNT))
    assert set(how) == {"cached"} and "damaged" not in log

    # Partially written files are removed when they are old.
    leftovers = list((cache / "tmp").iterdir())
    assert len(leftovers) <= COUNT - len(done)
    for path in leftovers:
        os.utime(path, (time.time() - 7200,) * 2)
    assert processes.run([COUNT + 1])[0] == ["compiled"]
    assert not list((cache / "tmp").iterdir())
