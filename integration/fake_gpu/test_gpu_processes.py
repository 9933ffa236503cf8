"""Threads, a forked child, and process exit, while functions run on a GPU."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fake
import pytest
from fake import gpu

import tessera as tsr

HERE = Path(__file__).resolve().parent
pytestmark = pytest.mark.assembles


def run(tmp_path, text: str) -> str:
    program = tmp_path / "program.py"
    head = f"""
        import os, sys, threading
        sys.path[:0] = {[str(HERE), str(HERE.parent / "python")]!r}
        import fake, tessera as tsr
        from exchange import array
        from fake import gpu

        @tsr.function
        def double(x):
            return x + x
    """
    program.write_text(textwrap.dedent(head) + textwrap.dedent(text))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_compile_and_call_one_function():
    @tsr.function
    def scaled(x, factor: float):
        return x * factor

    stream = fake.new_stream()
    before = fake.launches()

    def work(seed: int) -> None:
        rows = 3 + seed % 5  # of the classes up to 4 and up to 8
        x, out = gpu(rows, 64), gpu(rows, 64)
        for _ in range(100):
            assert scaled(x, float(seed), out=out, stream=stream) is out
            assert scaled(x, float(seed)).shape == (rows, 64)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    assert fake.launches() == before + 2400
    assert len(scaled.specializations()) == 2
    assert fake.counts().misuses == 0 and fake.counts().contexts_on_stack == 0


def test_a_forked_child_gets_an_error(tmp_path):
    out = run(
        tmp_path,
        """
        x, out = gpu(8), gpu(8)
        double(x, out=out)
        child = os.fork()
        if child == 0:
            for call in (lambda: double(x, out=out), lambda: double(gpu(9)), lambda: double(x)):
                try:
                    call()
                except tsr.DeviceError as error:
                    print(error, flush=True)
            double(array(8))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        double(x, out=out)
        """,
    )
    lines = out.splitlines()
    assert len(lines) == 3 and all("forked from one that used CUDA" in line for line in lines)


def test_a_child_of_a_process_that_did_not_use_cuda(tmp_path):
    out = run(
        tmp_path,
        """
        double(array(8))
        child = os.fork()
        if child == 0:
            print(double(gpu(8)).shape, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """,
    )
    assert out == "(8,)\n"


def test_the_end_of_a_process_with_work_in_flight(tmp_path):
    out = run(
        tmp_path,
        """
        x, out = gpu(8), gpu(8)
        double(x, out=out)

        def forever():
            while True:
                double(x, out=out)
                double(x)

        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        for _ in range(1000):
            double(x, out=out)
        print("end")
        """,
    )
    assert out == "end\n"


def test_nothing_stays_behind():
    import gc

    @tsr.function
    def offset(x):
        return x + 3.0

    gc.collect()
    before = fake.counts()
    offset(gpu(8))
    offset(gpu(8, offset=4))
    assert fake.counts().libraries == before.libraries + 2
    del offset
    gc.collect()
    after = fake.counts()
    assert after.libraries == before.libraries and after.allocations == before.allocations
