"""Timing on a GPU, contenders in turns.

Under load the card's power cap slows a matrix kernel by a fifth, so one number says little. *Burst*:
about 25 ms of calls after a rest, in rounds, contenders in turns; a ratio is the median over the rounds
of (peer's time / ours in the same round). *Sustained*: one contender at a time, after it has kept the
card busy for a while. Where a contender takes less than 0.3 ms, all of the row are replayed from a CUDA
graph of many calls, so that the time is the kernel's and not that of the host that launches it.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import Callable

_BURST_MS = 25
_MOST_CALLS = 400
_GRAPHED_MS = 0.3


@dataclass(frozen=True)
class Plan:
    """How long a row is measured; rests cool the card, which only arithmetic heats."""

    rounds: int
    rest: float
    busy: float  # seconds of load before the sustained measurement; 0: no such measurement
    loaded: float = 0.25  # seconds of that measurement


def plan(arithmetic: bool, sustained: bool) -> Plan:
    if arithmetic:
        return Plan(5, 0.2, 0.6 if sustained else 0.0)
    return Plan(7, 0.02, 0.1 if sustained else 0.0, 0.1)


class Contender:
    """A call, warm; `ms` is about what it takes."""

    def __init__(self, call: Callable[[], object]):
        self.call = self.step = call
        self.calls = 1
        self._run(2)
        self.ms = self._run(3)

    @property
    def graphed(self) -> bool:
        return self.step is not self.call

    def as_graph(self) -> None:
        """Several calls become one step, if they can be captured."""
        if self._capture(max(2, min(50, int(3 / self.ms)))):
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
        except Exception:  # whatever cannot be captured is timed call by call, and the result says so
            torch.cuda.synchronize()
            return False
        self.step, self.calls = graph.replay, calls
        return True

    def _run(self, steps: int) -> float:
        """Milliseconds of one call."""
        import torch

        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(steps):
            self.step()
        end.record()
        end.synchronize()
        return max(begin.elapsed_time(end) / (steps * self.calls), 1e-5)

    def burst(self) -> float:
        self._run(max(1, 2 // self.calls))
        return self._run(self._steps(_BURST_MS, _MOST_CALLS))

    def sustained(self, plan: Plan) -> float:
        end = time.perf_counter() + plan.busy
        while time.perf_counter() < end:
            self._run(self._steps(100, 10**6))
        return self._run(self._steps(plan.loaded * 1e3, 10**6))

    def _steps(self, milliseconds: float, most: int) -> int:
        return max(1, min(most, math.ceil(milliseconds / self.ms)) // self.calls)


def measure(calls: dict[str, Callable[[], object]], plan: Plan, ours: str) -> dict[str, dict]:
    """Times all contenders. A peer that fails is left out with its reason; ours may not fail."""
    contenders: dict[str, Contender] = {}
    results: dict[str, dict] = {}
    for name, call in calls.items():
        try:
            contenders[name] = Contender(call)
        except Exception as error:  # a peer without support for the row
            if name == ours:
                raise
            results[name] = {"failure": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    if min(one.ms for one in contenders.values()) < _GRAPHED_MS:
        for contender in contenders.values():
            contender.as_graph()
    rounds: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(plan.rounds):
        for name in order:
            time.sleep(plan.rest)
            rounds[name].append(contenders[name].burst())
        order.append(order.pop(0))  # nobody always follows the same one
    for name, contender in contenders.items():
        ratios = [own / other for own, other in zip(rounds[name], rounds[ours])]
        results[name] = {
            "burst_ms": statistics.median(rounds[name]),
            "ratio": statistics.median(ratios),
            "spread": [min(ratios), max(ratios)],
            "graph": contender.graphed,
        }
        if plan.busy:
            time.sleep(plan.rest)
            results[name]["sustained_ms"] = contender.sustained(plan)
    if plan.busy:
        own = results[ours]["sustained_ms"]
        for name in contenders:
            results[name]["sustained_ratio"] = results[name]["sustained_ms"] / own
    return results


def host_microseconds(call: Callable[[], object], calls: int = 2000) -> float:
    """Time of the calling thread for one call that returns before the GPU has done it."""
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
