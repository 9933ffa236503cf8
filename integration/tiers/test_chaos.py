"""Many threads call functions while guards fail at random, code is swapped and dropped, and the
compiler fails: every answer is right. TESSERA_CHAOS_CALLS says how many calls."""

import os
import random
import threading
import time

import numpy as np
import pytest
import tessera as tsr
from programs import wait_for
from tessera import variants
from tessera.background import pending
from threads import run_threads

CALLS = int(os.environ.get("TESSERA_CHAOS_CALLS", "12000"))
THREADS = 8
SIZES = (33, 34, 35, 60, 64)


class Fault(Exception):
    """What the injected compiler raises."""


def functions():
    """Functions, and what they compute with NumPy."""

    @tsr.function(hot=0)
    def power(x, p: float, n: int):
        return x**p + n

    @tsr.function(hot=0)
    def attend(q, k, mask):
        return tsr.softmax(tsr.where(mask, q @ k.T, -1e9), dim=-1) @ k

    @tsr.function(hot=0)
    def rows(table, i):
        return table[i] * 2 + 1

    @tsr.function(hot=0, tier=3)
    def total(x, y):
        return (x * y).sum(0), (x + y).sum(-1)

    @tsr.function(hot=0, deterministic=True)
    def exact(x, p: float):
        return tsr.tanh(x * p).sum()

    def attended(q, k, mask):
        scores = np.where(mask, q.astype(np.float64) @ k.T, -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ k

    return {
        power: lambda x, p, n: x.astype(np.float64) ** p + n,
        attend: attended,
        rows: lambda table, i: table[i] * 2 + 1,
        total: lambda x, y: ((x * y).sum(0), (x + y).sum(-1)),
        exact: lambda x, p: np.tanh(x.astype(np.float64) * p).sum(),
    }


class Traffic:
    """Arguments that stay the same for a while, then change: some of them in place."""

    def __init__(self, seed):
        self.choice = random.Random(seed)
        self.data = np.random.default_rng(seed)
        self.shift()

    def array(self, *shape):
        return self.data.random(shape, np.float32) + np.float32(0.5)

    def shift(self):
        """Another phase of traffic."""
        pick = self.choice.choice
        n, m = pick(SIZES), pick(SIZES)
        self.p, self.n = pick((2.0, 2.0, 3.0, -1.0, 0.5)), pick((0, 1, 7))
        self.x, self.y = self.array(n, m), self.array(n, m)
        self.q, self.k = self.array(n, 8), self.array(m, 8)
        shape = (n, m)
        self.mask = pick(
            [
                np.tri(*shape, dtype=bool),
                np.ones(shape, bool),
                np.abs(np.subtract(*np.indices(shape))) < 5,
                self.data.random(shape) < 0.5,
            ]
        )
        self.i = pick([np.arange(n), np.zeros(n, np.int64), self.data.integers(0, n, n)])

    def arguments(self, name):
        chance = self.choice.random
        if chance() < 0.01:
            self.shift()
        if chance() < 0.05:
            self.mask[self.data.integers(len(self.mask)), 0] ^= True
            self.i[self.data.integers(len(self.i))] = 0
        p = self.p if chance() < 0.95 else chance() * 3
        return {
            "power": (self.x, p, self.n),
            "attend": (self.q, self.k, self.mask),
            "rows": (self.x, self.i),
            "total": (self.x, self.y),
            "exact": (self.x, p),
        }[name]


class Broken:
    """A compiler that raises in the background, or hangs for a while, every so many times."""

    def __init__(self, compiler, raises, hangs):
        self.compiler, self.raises, self.hangs = compiler, raises, hangs
        self.count = 0
        self.lock = threading.Lock()

    def __call__(self, *arguments, **keywords):
        if threading.current_thread().name == "tessera-compile":
            with self.lock:
                self.count += 1
                count = self.count
            if count % self.raises == 0:
                raise Fault("injected")
            if count % self.hangs == 0:
                time.sleep(1.5)
        return self.compiler(*arguments, **keywords)


@pytest.mark.filterwarnings("ignore")
def test_every_answer_is_right(monkeypatch, events):
    monkeypatch.setenv("TESSERA_COMPILE_TIMEOUT", "1")
    monkeypatch.setenv("TESSERA_COMPILE_THREADS", "2")
    scope = tsr.function.__globals__
    monkeypatch.setitem(scope, "specialise", Broken(scope["specialise"], 5, 7))
    monkeypatch.setattr(variants, "predicted_us", Broken(variants.predicted_us, 61, 97))
    monkeypatch.setattr(variants, "_PER_MINUTE", 10**6)
    known = functions()
    seeds, done = iter(range(THREADS)), []

    def drop(choice, function):
        """What is compiled is forgotten, or a variant."""
        found = [(place, one) for record in function.specializations()
                 for place in record.places for one in place.variants]  # fmt: skip
        if found and choice.random() < 0.5:
            place, one = choice.choice(found)
            place.table.retire(one._number)
        else:
            function._forget()

    def body():
        traffic = Traffic(next(seeds))
        for _ in range(CALLS // THREADS):
            function = traffic.choice.choice(list(known))
            arguments = traffic.arguments(function.__name__)
            expected = known[function](*arguments)
            results = function(*arguments)
            if not isinstance(results, tuple):
                results, expected = (results,), (expected,)
            for got, one in zip(results, expected, strict=True):
                np.testing.assert_allclose(got, one, rtol=2e-4, atol=2e-4)
            if traffic.choice.random() < 0.002:
                drop(traffic.choice, function)
        done.append(True)

    run_threads(THREADS, body)
    assert len(done) == THREADS
    assert wait_for(lambda: pending() == 0)
    kinds = {event.kind for event in events}
    assert {"swap", "failure"} <= kinds
    if CALLS >= 10**5:
        assert any("longer than" in event.reason for event in events)
        assert any(event.kind == "swap" and event.reason for event in events)  # tier 3
    assert wait_for(
        lambda: "tessera-compile" not in [thread.name for thread in threading.enumerate()]
    )


def test_a_compiler_that_hangs_is_told_once(monkeypatch, events):
    monkeypatch.setenv("TESSERA_COMPILE_TIMEOUT", "0.2")
    scope = tsr.function.__globals__
    compiler, hangs = scope["specialise"], threading.Event()

    def hang(*arguments, **keywords):
        hangs.wait(20)
        return compiler(*arguments, **keywords)

    monkeypatch.setitem(scope, "specialise", hang)

    @tsr.function(hot=0)
    def double(x):
        return x + x

    @tsr.function(hot=0)
    def other(x):
        return x * 3

    x = np.ones((30, 30), np.float32)
    for _ in range(3):
        double(x)
    assert wait_for(lambda: events)
    assert [(one.kind, one.reason) for one in events] == [("failure", "it takes longer than 0.2 s")]
    monkeypatch.setitem(scope, "specialise", compiler)
    monkeypatch.delenv("TESSERA_COMPILE_TIMEOUT")
    for _ in range(3):
        other(x)
    assert wait_for(lambda: other.specializations()[0].tier != 1)  # others are compiled
    with pytest.raises(tsr.TesseraError, match="the compilation failed: it takes longer"):
        double.warm(x)
    hangs.set()
    assert wait_for(lambda: double.specializations()[0].job is None)
    assert double.specializations()[0].tier == 1  # its code came too late
    np.testing.assert_array_equal(double(x), 2 * x)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_a_wrong_timeout(monkeypatch, text):
    monkeypatch.setenv("TESSERA_COMPILE_TIMEOUT", text)

    @tsr.function
    def double(x):
        return x + x

    x = np.ones(30, np.float32)
    double(x)
    for _ in range(2):
        with pytest.raises(tsr.TesseraError, match="TESSERA_COMPILE_TIMEOUT: expected a number"):
            double.warm(x)
