"""Threads, forks and the GIL."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import tessera as tsr
from threads import run_threads


@tsr.function
def chain(x):
    y = tsr.exp(-x * x)
    return tsr.sqrt(y + 1.0) * tsr.tanh(x)


@tsr.function
def rows(x):
    return tsr.sum(x * x, dim=-1)


def data(*shape):
    return np.random.default_rng(3).standard_normal(shape, np.float32)


def test_several_threads_call():
    x = data(300, 700)
    expected = chain(x)

    def body():
        for _ in range(20):
            np.testing.assert_array_equal(chain(x), expected)

    run_threads(6, body)


def test_several_threads_compile_one_function():
    @tsr.function
    def fresh(x):
        return x * 3.0 - 1.0

    x = data(50)
    barrier = threading.Barrier(6)

    def body():
        barrier.wait()
        np.testing.assert_allclose(fresh(x), x * 3 - 1, rtol=1e-6, atol=1e-6)

    run_threads(6, body)
    assert len(fresh.specializations()) == 1


def test_the_lock_is_released():
    x = data(4000, 2000)
    chain(x)
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    before = ticks
    start = time.perf_counter()
    while time.perf_counter() - start < 0.3:
        chain(x)
    seen = ticks - before
    done.set()
    thread.join()
    assert seen > 20


def test_the_number_of_threads_does_not_change_results():
    x = data(513, 1027)
    results = []
    for threads in (1, 2, 5):
        tsr.set_num_threads(threads)
        results.append((chain(x), rows(x)))
    tsr.set_num_threads(0)
    for other in results[1:]:
        np.testing.assert_array_equal(other[0], results[0][0])
        np.testing.assert_array_equal(other[1], results[0][1])


def test_forked_children_run_and_compile():
    x = data(500, 800)
    expected = chain(x)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            status = 1
            try:
                np.testing.assert_array_equal(chain(x), expected)
                np.testing.assert_allclose(tsr.function(_square)(x), x * x, rtol=1e-6)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(chain(x), expected)


def _square(x):
    return x * x


def test_multiprocessing_pool():
    code = (
        "import multiprocessing, numpy as np, test_threads as t\n"
        "x = np.ones((200, 300), np.float32)\n"
        "t.chain(x)\n"
        "with multiprocessing.get_context('fork').Pool(3) as pool:\n"
        "    results = pool.map(t.chain, [x] * 6)\n"
        "assert all((r == results[0]).all() for r in results)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
    }
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def test_metrics():
    before = tsr.metrics()
    chain(data(4, 4))
    after = tsr.metrics()
    assert after["calls"] == before["calls"] + 1
    assert after["launches"] > before["launches"]
    assert after["memory_in_use"] >= before["memory_in_use"] > 0  # the threads' scratch memory
    assert after["compilations"] + after["cache_hits"] > 0
    assert (after["compile_nanoseconds"] > 0) == (after["compilations"] > 0)
    assert f"tessera_calls_total {after['calls']}\n" in tsr.metrics_text()
