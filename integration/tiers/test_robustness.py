"""Processes that end, fork or are interrupted while the compiler works, and threads."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import tessera as tsr
from programs import check, data, make, wait_for
from threads import run_threads

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import tessera as tsr

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background

@tsr.function(hot=0)
def layer(x, w):
    for _ in range(6):
        x = tsr.softmax(tsr.layer_norm(x @ w, 64), dim=-1) + tsr.gelu(x)
    return x

x, w = np.ones((32, 64), np.float32), np.ones((64, 64), np.float32)

def tier():
    return layer.specializations()[0].tier

def start():
    "Calls until the compiler works."
    layer(x, w)
    layer(x, w)
    assert tsr.tiers.stats()["pending"] or tier() == 2
"""


def start(tmp_path, body):
    script = tmp_path / "script.py"
    script.write_text(HEAD + textwrap.dedent(body))
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(tmp_path, body, status=0):
    """The output of a program that must end in time, without a word on standard error."""
    process = start(tmp_path, body)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, err) == (status, ""), err
    return out


def test_the_interpreter_exits_while_compiling(tmp_path):
    assert run(tmp_path, "start()\nprint('ends')") == "ends\n"


def test_the_interpreter_exits_with_much_to_do(tmp_path):
    """What waits is dropped."""
    body = """
    functions = []
    for i in range(40):
        source = f"@tsr.function(hot=0)\\ndef f{i}(x):\\n    return tsr.exp(x) * {i}.5 + x\\n"
        path = os.path.join(os.path.dirname(__file__), f"f{i}.py")
        with open(path, "w") as file:
            file.write("import tessera as tsr\\n" + source)
    sys.path.insert(0, os.path.dirname(__file__))
    for i in range(40):
        f = getattr(__import__(f"f{i}"), f"f{i}")
        f(x), f(x)
    print(tsr.tiers.stats()["pending"] > 20)
    import atexit
    start_of_exit = time.monotonic()
    atexit.register(lambda: print(time.monotonic() - start_of_exit < 20))
    """
    assert run(tmp_path, body) == "True\nTrue\n"


def test_an_exception_ends_the_program_while_compiling(tmp_path):
    process = start(tmp_path, "start()\nraise SystemExit(7)")
    assert process.wait(timeout=120) == 7
    process.communicate()


def test_forks_while_compiling(tmp_path):
    body = """
    start()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            result = layer(x, w)
            deadline = time.monotonic() + 60
            while tier() != 2 and time.monotonic() < deadline:
                layer(x, w)
            os._exit(0 if tier() == 2 and np.allclose(result, layer(x, w), atol=1e-3) else 1)
        children.append(child)
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
    layer.warm(x, w)
    print(tier())
    """
    assert run(tmp_path, body) == "[0, 0, 0]\n2\n"


def test_a_child_compiles_what_its_parent_had_to(tmp_path):
    body = """
    os.environ["TESSERA_COMPILE_THREADS"] = "1"
    start()

    @tsr.function(hot=0)
    def other(x):
        return tsr.exp(x) - 1.5

    other(x), other(x)  # waits behind the first
    child = os.fork()
    if child == 0:
        deadline = time.monotonic() + 60
        while other.specializations()[0].tier != 2 and time.monotonic() < deadline:
            other(x)
        os._exit(0 if other.specializations()[0].tier == 2 else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(tmp_path, body) == "0\n"


def test_interrupts_do_not_disturb(tmp_path):
    body = """
    start()
    try:
        print("started", flush=True)
        layer.warm(x, w)
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    layer.warm(x, w)
    print(tier(), np.isfinite(layer(x, w)).all())
    """
    process = start(tmp_path, body)
    assert process.stdout.readline() == "started\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "interrupted\n2 True\n", ""), err


def test_interrupt_while_a_call_tells_that_it_is_hot(tmp_path):
    body = """
    def interrupted():
        raise KeyboardInterrupt

    type(layer)._heat = lambda self: None  # calls that run without Python code tell it themselves
    layer._heated = interrupted
    layer(x, w)
    try:
        for _ in range(4):
            layer(x, w)
    except KeyboardInterrupt:
        print("interrupted")
    """
    assert run(tmp_path, body) == "interrupted\n"


@pytest.mark.parametrize("warms", [False, True])
def test_threads_call_while_code_is_swapped(warms):
    mix = make(hot=0)
    x, y = data(60, 30), data(40, 30, seed=1)
    expected = mix(x, y)
    swapped = threading.Event()
    if warms:
        threading.Thread(target=lambda: (mix.warm(x, y), swapped.set())).start()

    def body():
        deadline = time.monotonic() + 60
        while not swapped.is_set() and time.monotonic() < deadline:
            np.testing.assert_allclose(mix(x, y), expected, rtol=1e-4, atol=1e-6)
            if mix.specializations()[0].tier != 1:
                swapped.set()
        for _ in range(50):
            np.testing.assert_allclose(mix(x, y), expected, rtol=1e-4, atol=1e-6)

    run_threads(8, body)
    assert [one.tier in (2, 3) for one in mix.specializations()] == [True]


def test_threads_make_the_first_call():
    mix = make(hot=0)
    run_threads(8, lambda: check(mix, data(60, 30), data(40, 30, seed=1)))
    assert len(mix.specializations()) == 1


def test_at_most_so_many_compile_at_once(monkeypatch):
    monkeypatch.setenv("TESSERA_COMPILE_THREADS", "2")
    working, most, lock = [], [0], threading.Lock()
    compiled = tsr.function.__globals__["specialise"]

    def watched(*arguments):
        with lock:
            working.append(1)
            most[0] = max(most[0], len(working))
        time.sleep(0.1)
        try:
            return compiled(*arguments)
        finally:
            with lock:
                working.pop()

    monkeypatch.setitem(tsr.function.__globals__, "specialise", watched)
    functions = [make(hot=0) for _ in range(5)]
    for mix in functions:
        mix(data(20, 30), data(40, 30))
        mix(data(20, 30), data(40, 30))
    assert wait_for(lambda: all(one.specializations()[0].tier == 2 for one in functions))
    assert most[0] == 2


def test_a_wrong_number_of_threads(monkeypatch):
    monkeypatch.setenv("TESSERA_COMPILE_THREADS", "many")
    mix = make()
    check(mix, data(20, 30), data(40, 30))
    with pytest.raises(tsr.TesseraError, match="TESSERA_COMPILE_THREADS: expected a number"):
        mix.warm(data(20, 30), data(40, 30))
    monkeypatch.setenv("TESSERA_COMPILE_THREADS", "1")
    assert mix.warm(data(20, 30), data(40, 30)).tier == 2


def test_captured_constants_that_change():
    scale = 2.0

    @tsr.function(hot=0)
    def scaled(x):
        return x * scale

    x = data(9)
    for _ in range(2):
        np.testing.assert_array_equal(scaled(x), x * np.float32(scale))
    scale = 3.0
    for _ in range(2):
        np.testing.assert_array_equal(scaled(x), x * np.float32(3))
    records = scaled.specializations()
    assert wait_for(lambda: all(one.tier == 2 for one in records)) and len(records) == 2
    np.testing.assert_array_equal(scaled(x), x * np.float32(3))
    scale = 2.0
    np.testing.assert_array_equal(scaled(x), x * np.float32(2))
    assert len(scaled.specializations()) == 2
