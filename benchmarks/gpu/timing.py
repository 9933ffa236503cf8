"""Interleaved timing on a GPU.

Under load the card's power cap slows a matrix kernel by a fifth, so one number says little.
*Burst*: about 25 ms of calls after a pause, in rounds, contenders interleaved; a ratio is the
median over the rounds of (peer's time / ours in the same round). *Sustained*: one contender at a
time, back to back for most of a second, of which the last third counts; only ours and the fastest
of each goal, so that a run of all rows takes minutes. If a contender takes less than 0.3 ms, all of
the row are replayed from a CUDA graph of many calls, so that the time is the kernel's and not that
of the host.

If all data of a row fits into the L2 cache, repeated calls would find it there. Then the cache is
flushed before each call, and each call is timed separately; below `cold_graph_ms`, as a graph of
one call, so that the time is not that of several launches.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import Callable, Sequence

_BURST_MS = 25
_MOST_CALLS = 400
_MOST_COLD = 2000  # calls after a flush: each has two events
_GRAPHED_MS = 0.3


SUSTAINED = 0.75  # seconds of load for each contender that is measured under it


@dataclass(frozen=True)
class Plan:
    """How long a row is measured; pauses cool the card, which only compute-bound kernels heat."""

    rounds: int
    rest: float
    sustained: float  # seconds of load, of which the last third is timed; 0: no such measurement


def plan(arithmetic: bool, sustained: float) -> Plan:
    return Plan(5, 0.2, sustained) if arithmetic else Plan(7, 0.02, sustained)


def cache_flush(moved: int) -> Callable[[], object] | None:
    """A function that flushes the L2 cache if `moved` bytes fit into it, or None."""
    import torch

    cache = torch.cuda.get_device_properties(0).L2_cache_size
    if moved > cache:
        return None
    other = torch.empty(2 * cache, dtype=torch.int8, device="cuda")
    return other.zero_


class Contender:
    """A warm call; `ms` is its approximate time. `flush` runs before each call, and is not
    timed."""

    def __init__(self, call: Callable[[], object], flush: Callable[[], object] | None = None):
        self.call = self.step = call
        self.flush = flush
        self.calls = 1
        self._run(2)
        self.ms = self._run(3)

    @property
    def graphed(self) -> bool:
        return self.step is not self.call

    def as_graph(self) -> None:
        """Several calls, or one after a flush, become one step, if they can be captured."""
        if self._capture(1 if self.flush else max(2, min(50, int(3 / self.ms)))):
            self._run(1)
            self.ms = self._run(max(1, 3 // self.calls))

    def _capture(self, calls: int) -> bool:
        import torch

        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.call()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(calls):
                    self.call()
        except (
            Exception
        ):  # calls that cannot be captured are timed one by one, and the result says so
            torch.cuda.synchronize()
            return False
        self.step, self.calls = graph.replay, calls
        return True

    def _run(self, steps: int) -> float:
        """Milliseconds of one call."""
        import torch

        if not self.flush:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(steps):
                self.step()
            end.record()
            end.synchronize()
            return max(begin.elapsed_time(end) / (steps * self.calls), 1e-5)
        pairs = []
        for _ in range(steps):
            self.flush()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            self.step()
            end.record()
            pairs.append((begin, end))
        torch.cuda.synchronize()
        return max(statistics.median(begin.elapsed_time(end) for begin, end in pairs), 1e-5)

    def burst(self) -> float:
        self._run(max(1, 2 // self.calls))
        return self._run(self._steps(_BURST_MS, _MOST_CALLS))

    def sustained(self, seconds: float) -> float:
        end = time.perf_counter() + seconds * 2 / 3
        while time.perf_counter() < end:
            self._run(self._steps(100, _MOST_COLD if self.flush else 10**6))
        most = _MOST_COLD if self.flush else 10**6
        return self._run(self._steps(seconds * 1e3 / 3, most))

    def _steps(self, milliseconds: float, most: int) -> int:
        return max(1, min(most, math.ceil(milliseconds / self.ms)) // self.calls)


def measure(
    calls: dict[str, Callable[[], object]],
    plan: Plan,
    ours: str,
    groups: Sequence[Sequence[str]] = (),
    flush: Callable[[], object] | None = None,
    cold_graph_ms: float = 0.0,
    graph_ms: float = _GRAPHED_MS,
) -> dict[str, dict]:
    """Times all contenders; under load ours and the fastest of each group, by default all. Calls
    below `graph_ms` are replayed from a CUDA graph. A peer that fails is omitted with its reason;
    ours must not fail."""
    contenders: dict[str, Contender] = {}
    results: dict[str, dict] = {}
    for name, call in calls.items():
        try:
            contenders[name] = Contender(call, flush)
        except Exception as error:  # a peer without support for the row
            if name == ours:
                raise
            line = (str(error).splitlines() or [""])[0]
            results[name] = {"failure": f"{type(error).__name__}: {line}"}
    shortest = min(one.ms for one in contenders.values())
    if shortest < (cold_graph_ms if flush else graph_ms):
        for contender in contenders.values():
            contender.as_graph()
    rounds: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(plan.rounds):
        for name in order:
            time.sleep(plan.rest)
            rounds[name].append(contenders[name].burst())
        order.append(order.pop(0))  # so that no contender always follows the same one
    for name, contender in contenders.items():
        ratios = [own / other for own, other in zip(rounds[name], rounds[ours])]
        results[name] = {
            "burst_ms": statistics.median(rounds[name]),
            "ratio": statistics.median(ratios),
            "spread": [min(ratios), max(ratios)],
            "graph": contender.graphed,
            "cold": bool(flush),
        }
    if plan.sustained:
        present = [
            [name for name in group if name in contenders]
            for group in groups or [[n] for n in contenders]
        ]
        fastest = [
            min(group, key=lambda name: results[name]["burst_ms"]) for group in present if group
        ]
        loaded = list(dict.fromkeys([ours, *fastest]))
        for name in loaded:
            time.sleep(plan.rest)
            results[name]["sustained_ms"] = contenders[name].sustained(plan.sustained)
        for name in loaded:
            results[name]["sustained_ratio"] = (
                results[name]["sustained_ms"] / results[ours]["sustained_ms"]
            )
    return results


def host_microseconds(call: Callable[[], object], calls: int = 2000) -> float:
    """Host time of one call that returns before the GPU has completed it."""
    import torch

    best = math.inf
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls // 5):
            call()
        best = min(best, (time.perf_counter() - start) / (calls // 5))
        torch.cuda.synchronize()
    return best * 1e6
