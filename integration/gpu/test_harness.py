"""The GPU check's own machinery, without a GPU: isolation, results that continue, timing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Callable

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "benchmarks/gpu")]

import bench  # noqa: E402
import check  # noqa: E402
import isolate  # noqa: E402
import steps  # noqa: E402
import timing  # noqa: E402
from rows import ROWS, Goal  # noqa: E402

WORKER = f"""
import os, sys, time
sys.path.insert(0, {str(HERE)!r})
import isolate
from pathlib import Path

def item(name):
    if name == "raises":
        raise ValueError("no")
    if name == "dies":
        os._exit(3)
    if name == "sleeps":
        time.sleep(60)
    return {{"good": name != "wrong", "process": os.getpid()}}

isolate.work(Path(sys.argv[1]), Path(sys.argv[2]), item)
"""


def isolated(names: list[str], seconds: float = 30.0) -> tuple[dict, list[str]]:
    results: dict[str, dict] = {}
    command = [sys.executable, "-c", WORKER]
    left = isolate.run(command, names, time.monotonic() + seconds, results.__setitem__)
    return results, left


def test_failures_do_not_stop_others():
    results, left = isolated(["a", "raises", "b", "dies", "wrong", "c"])
    assert not left and list(results) == ["a", "raises", "b", "dies", "wrong", "c"]
    assert [name for name in results if results[name]["good"]] == ["a", "b", "c"]
    assert results["raises"]["failure"] == "ValueError: no"
    assert results["dies"]["failure"] == "the process ended with 3"
    processes = [results[name]["process"] for name in "abc"]
    assert len(set(processes)) == 3 and results["wrong"]["process"] == processes[2]


def test_time_cuts():
    results, left = isolated(["a", "sleeps", "b"], seconds=5.0)
    assert list(results) == ["a"] and left == ["sleeps", "b"]


def test_worker_that_does_not_start():
    results: dict[str, dict] = {}
    command = [sys.executable, "-c", "raise SystemExit(5)"]
    left = isolate.run(command, ["a", "b"], time.monotonic() + 30, results.__setitem__)
    assert not left and all(one["failure"].endswith("with 5") for one in results.values())


def test_results_continue_by_commit(tmp_path):
    path = tmp_path / "results.json"
    first = check.Report(path, {"commit": "one"})
    first.add("bench", "a", {"good": True})
    assert json.loads(path.read_text())["steps"] == {"bench": {"a": {"good": True}}}
    assert check.Report(path, {"commit": "one"}).of("bench") == {"a": {"good": True}}
    assert check.Report(path, {"commit": "two"}).of("bench") == {}


def test_sanitizers_name_the_call():
    text = """========= COMPUTE-SANITIZER
item: right
item: first
========= Invalid __global__ read of size 2 bytes
=========     at f_0+0x280
=========     Saved host backtrace up to driver entry point at kernel launch time
item: second
========= Error: Race reported between Write access at f_0+0x137e0
=========     and Write access at f_0+0x137e0 [4052 hazards]
=========
========= RACECHECK SUMMARY: 15 hazards displayed (15 errors, 0 warnings)"""
    found = steps.findings(text.splitlines(), isolate.MARK)
    assert list(found) == ["first", "second"]
    assert found["first"] == ["Invalid __global__ read of size 2 bytes", "at f_0+0x280"]
    assert found["second"][1] == "and Write access at f_0+0x137e0 [4052 hazards]"


class Clock:
    """Time that passes only when someone says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def passing(self, seconds: float) -> Callable[[], None]:
        """A call that takes this long."""

        def call() -> None:
            self.now += seconds

        return call


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """A clock in place of the machine's and of the GPU's."""
    clock = Clock()

    class Event:
        def __init__(self, enable_timing: bool):
            assert enable_timing

        def record(self) -> None:
            self.at = clock.now

        def synchronize(self) -> None:
            pass

        def elapsed_time(self, other: Event) -> float:
            return (other.at - self.at) * 1e3

    cuda = types.SimpleNamespace(Event=Event, synchronize=lambda: None)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    fake = types.SimpleNamespace(
        perf_counter=lambda: clock.now, sleep=lambda seconds: clock.passing(seconds)()
    )
    monkeypatch.setattr(timing, "time", fake)
    return clock


def test_measure(clock):
    def fails():
        raise RuntimeError("unsupported head size\nmore")

    calls = {"tessera": clock.passing(1e-3), "slow": clock.passing(2e-3), "fails": fails}
    times = timing.measure(calls, timing.Plan(3, 0.1, 0.2, 0.2), "tessera")
    assert times["tessera"]["ratio"] == pytest.approx(1)
    assert times["slow"]["ratio"] == pytest.approx(2) == times["slow"]["sustained_ratio"]
    assert times["slow"]["burst_ms"] == pytest.approx(2) and not times["slow"]["graph"]
    assert times["fails"] == {"failure": "RuntimeError: unsupported head size"}
    with pytest.raises(RuntimeError):
        timing.measure({"tessera": fails}, timing.Plan(1, 0.0, 0.0), "tessera")
    found = bench.verdict(times, Goal(("slow", "fails", "absent"), 0.9))
    assert found["against"] == "slow" and found["burst"] == times["slow"]["ratio"]
    assert bench.verdict(times, Goal(("absent",), 0.9)) is None
    copied = {**times, "copy": {"ratio": 0.96}}  # ours at 0.96 of a copy that is twice as fast as the other one
    assert bench.verdict(copied, Goal(("slow",), 5.0, of_copy=0.95))["goal"] == pytest.approx(0.95 * 2 / 0.96)
    assert bench.verdict(times, Goal(("slow",), 5.0, of_copy=0.95))["goal"] == 5
    result = {"good": True, "error": 0.5, "unit": "GB/s", "times": times, "goals": [found]}
    times["tessera"]["burst_rate"] = 1.0
    assert "of slow" in bench.line("row", result)


def test_short_calls_are_all_captured(clock, monkeypatch):
    captured = []
    monkeypatch.setattr(timing.Contender, "as_graph", lambda self: captured.append(self.ms))
    calls = {"tessera": clock.passing(1e-3), "quick": clock.passing(1e-4)}
    timing.measure(calls, timing.Plan(1, 0.0, 0.0), "tessera")
    assert len(captured) == 2
    timing.measure({"tessera": calls["tessera"]}, timing.Plan(1, 0.0, 0.0), "tessera")
    assert len(captured) == 2


def test_rows_are_large_enough():
    """Rows bound by memory do not fit into the cache of 50 MB four times over."""
    size = {"fp32": 4, "bf16": 2, "fp16": 2, "int32": 4}
    for row in ROWS:
        total = 0
        for one in row.arguments:
            count = 1
            for extent in one.sizes:
                count *= extent
            total += count * size[one.dtype]
        assert row.flops or total >= 100e6, row.name  # the result is as large, or the row is a sum


def test_unsupported_without_gpu():
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("there is a GPU")
    command = [sys.executable, HERE / "check.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("unsupported: ")
