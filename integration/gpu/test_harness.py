"""The GPU check's own machinery, without a GPU: isolation, results that continue, timing."""

from __future__ import annotations

import dataclasses
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
from rows import ROWS, Goal, Row  # noqa: E402

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
    """Time that advances only on request."""

    def __init__(self) -> None:
        self.now = 0.0

    def passing(self, seconds: float) -> Callable[[], None]:
        """A call that takes this long."""

        def call() -> None:
            self.now += seconds

        return call


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """A clock instead of the machine's and of the GPU's."""
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
    times = timing.measure(calls, timing.Plan(3, 0.1, 0.3), "tessera")
    assert times["tessera"]["ratio"] == pytest.approx(1)
    assert times["slow"]["ratio"] == pytest.approx(2) == times["slow"]["sustained_ratio"]
    assert times["slow"]["burst_ms"] == pytest.approx(2) and not times["slow"]["graph"]
    assert times["fails"] == {"failure": "RuntimeError: unsupported head size"}
    with pytest.raises(RuntimeError):
        timing.measure({"tessera": fails}, timing.Plan(1, 0.0, 0.0), "tessera")
    found = bench.verdict(times, Goal(("slow", "fails", "absent"), 0.9))
    assert found["against"] == "slow" and found["burst"] == times["slow"]["ratio"]
    assert bench.verdict(times, Goal(("absent",), 0.9)) is None
    copied = {
        **times,
        "copy": {"ratio": 0.96},
        "copy_kernel": {"failure": "no"},
    }  # ours at 0.96 of a copy that is twice as fast as the other one
    assert bench.verdict(copied, Goal(("slow",), 5.0, of_copy=0.95))["goal"] == pytest.approx(
        0.95 * 2 / 0.96
    )
    assert bench.verdict(times, Goal(("slow",), 5.0, of_copy=0.95))["goal"] == 5
    result = {"good": True, "error": 0.5, "unit": "GB/s", "times": times, "goals": [found]}
    times["tessera"]["burst_rate"] = 1.0
    assert "2.00/2.00 of slow" in bench.line("row", result)


def test_under_load_are_ours_and_the_fastest_of_each_goal(clock):
    calls = {
        name: clock.passing(ms * 1e-3)
        for name, ms in (("tessera", 1), ("a", 3), ("b", 2), ("c", 4), ("d", 5))
    }
    start = clock.now
    times = timing.measure(
        calls, timing.Plan(1, 0.0, 0.75), "tessera", [("a", "b"), ("c", "absent"), ("absent",)]
    )
    assert {name for name, one in times.items() if "sustained_ms" in one} == {"tessera", "b", "c"}
    assert times["c"]["sustained_ratio"] == pytest.approx(4) and times["a"][
        "ratio"
    ] == pytest.approx(3)
    assert 3 * 0.75 <= clock.now - start < 3 * 0.75 + 1.0  # the load, and bursts of 25 ms


def test_what_fits_into_the_cache_is_timed_cold(clock):
    flushes = []

    def flush():
        flushes.append(clock.now)
        clock.passing(5e-4)()

    warm = {"last": -1}

    def call():
        """Ten times as fast if nothing came between two calls."""
        cold = len(flushes) > warm["last"]
        warm["last"] = len(flushes)
        clock.passing(1e-4 if cold else 1e-5)()

    times = timing.measure({"tessera": call}, timing.Plan(2, 0.0, 0.1), "tessera", flush=flush)[
        "tessera"
    ]
    assert times["cold"] and not times["graph"] and len(flushes) > 100
    assert times["burst_ms"] == pytest.approx(0.1) and times["sustained_ms"] == pytest.approx(0.1)


def test_only_what_fits_is_flushed(monkeypatch):
    made = []

    def empty(size, dtype, device):
        made.append(size)
        return types.SimpleNamespace(zero_=lambda: "flushed")

    properties = types.SimpleNamespace(L2_cache_size=50 << 20)
    cuda = types.SimpleNamespace(get_device_properties=lambda device: properties)
    monkeypatch.setitem(
        sys.modules, "torch", types.SimpleNamespace(cuda=cuda, empty=empty, int8="int8")
    )
    assert timing.cache_flush((50 << 20) + 1) is None and not made
    assert timing.cache_flush(50 << 20)() == "flushed" and made == [100 << 20]


def measured(
    rate: float, copy: float, kernel: float, /, cold: bool = False, **loaded: float
) -> dict:
    """A memory-bound row, with the speeds of ours and of its copies."""
    times = {
        name: {"ratio": rate / speed, "burst_rate": speed, "cold": cold}
        for name, speed in (
            ("tessera", rate),
            ("copy", copy),
            ("copy_kernel", kernel),
            ("eager", rate / 2),
        )
    }
    times["tessera"]["burst_ms"] = 1.0
    for name, speed in loaded.items():
        times[name] |= {"sustained_rate": speed, "sustained_ratio": loaded["tessera"] / speed}
    return {"good": True, "error": 0.5, "unit": "GB/s", "times": times}


ROW = Row("row", "memory", "f", (), (Goal(("copy",), 0.93), Goal(("eager",), 2.5, of_copy=0.95)))


def test_a_slow_copy_does_not_lower_the_goal():
    slow, quick = measured(4000, 2700, 2600), measured(4200, 4100, 4400)
    bench.judge(ROW, slow, bench.fastest_copies([slow]))
    first, second = slow["goals"]
    assert first == {"against": "copy", "goal": 0.93, "burst": pytest.approx(4000 / 2700)}
    assert second["goal"] == pytest.approx(
        0.95 * 2 / (4000 / 2700)
    )  # and so 1.28 of the peer would be enough
    copies = bench.fastest_copies(
        [slow, quick, {"failure": "x", "good": False}, measured(1, 9000, 9000, cold=True)]
    )
    assert copies == {"burst": 4400}
    bench.judge(ROW, slow, copies)
    first, second = slow["goals"]
    assert first["burst"] == pytest.approx(4000 / 4400) and "(!)" in bench.line("row", slow)
    assert second["goal"] == pytest.approx(0.95 * 2 / (4000 / 4400)) and second["burst"] == 2
    # Data in the cache has its own speed.
    cold = measured(4000, 2700, 2600, cold=True)
    bench.judge(ROW, cold, copies)
    assert cold["goals"][0]["burst"] == pytest.approx(4000 / 2700) and "(cold)" in bench.line(
        "row", cold
    )


def test_copies_under_load():
    row = measured(4000, 4000, 3000, tessera=3600, copy=3000)
    other = measured(4000, 4000, 4000, tessera=3600, copy=4000)
    bench.judge(ROW, row, bench.fastest_copies([row, other]))
    assert row["goals"][0]["sustained"] == pytest.approx(0.9) and "sustained" not in row["goals"][1]
    assert "4000/3600 " in bench.line("row", row) and "1.00/0.90 of copy" in bench.line("row", row)


def test_rows_are_held_to_the_fastest_copy_of_the_whole_run(monkeypatch, tmp_path, capsys):
    """The first rows of a run are judged again when a later one has a faster copy."""
    rows = [dataclasses.replace(ROW, name=name) for name in ("one", "two", "three")]
    found = {
        "one": measured(4000, 2700, 2600),
        "two": measured(4000, 4000, 4400),
        "three": measured(4400, 4400, 4400),
    }
    step = steps.Memory()
    monkeypatch.setattr(steps.Memory, "rows", rows)
    monkeypatch.setattr(step, "missing", lambda: None)
    monkeypatch.setattr(step, "names", lambda: list(found))
    monkeypatch.setattr(step, "prepare", lambda names, deadline: False)

    def run(command, names, deadline, add):
        assert command[command.index("--sustained") + 1] == "0.5"
        for name in names:
            add(name, found[name])
        return []

    monkeypatch.setattr(isolate, "run", run)
    options = types.SimpleNamespace(names=[], burst=False, sustained=0.5)
    report = check.Report(tmp_path / "results.json", {"commit": "one"})
    assert check.run_step(step, options, time.monotonic() + 60, report) == 0
    reported = capsys.readouterr().out
    assert "1 rows by the fastest copy of the run: 4400 GB/s burst" in reported
    assert [line.split()[0] for line in reported.splitlines() if "of copy" in line] == [
        "one",
        "two",
        "three",
        "one",
    ]
    kept = json.loads((tmp_path / "results.json").read_text())["steps"]["memory"]
    assert [round(one["goals"][0]["burst"], 3) for one in kept.values()] == [0.909, 0.909, 1.0]


def test_short_calls_are_all_captured(clock, monkeypatch):
    captured = []
    monkeypatch.setattr(timing.Contender, "as_graph", lambda self: captured.append(self.ms))
    calls = {"tessera": clock.passing(1e-3), "quick": clock.passing(1e-4)}
    timing.measure(calls, timing.Plan(1, 0.0, 0.0), "tessera")
    assert len(captured) == 2
    timing.measure({"tessera": calls["tessera"]}, timing.Plan(1, 0.0, 0.0), "tessera")
    timing.measure(calls, timing.Plan(1, 0.0, 0.0), "tessera", graph_ms=0.0)
    assert len(captured) == 2


def test_rows_are_large_enough():
    """Memory-bound rows do not fit into the cache of 50 MB four times over."""
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
