"""Tunes the kernels of one function for the arguments of a call.

Kernels are tuned one after another, those with the longest predicted times first. Candidates are
compiled in parallel and then timed in batches, each batch beside the cost model's choice, so that a
change of the clock affects both. At the end the best few are timed again, longer. A schedule
replaces the first one only if it is faster by more than noise.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tessera
from ..compiled import Compiled
from ..compiler import Unit, compile_unit, table_name
from ..errors import ArgumentError, TesseraError, did_you_mean
from ..targets import call_options, is_gpu, target_of_call
from . import table
from .clock import CpuClock, GpuClock
from .progress import Progress
from .search import STRATEGIES, Search

if TYPE_CHECKING:
    from ..function import Function

Schedule = dict[str, "int | None"]

BATCH = 4
_ROUNDS, _LAST_ROUNDS = 3, 9
_FINALISTS = 3
_NOISE = 0.01  # smaller gains are ignored
_FIRST = "first"


@dataclass
class Trial:
    """A measured candidate; `seconds` is None if it failed."""

    schedule: str
    predicted_us: float
    seconds: float | None = None
    failure: str = ""


@dataclass
class KernelTuning:
    """What was found for one kernel. Times are those of the whole function."""

    name: str
    signature: str
    via: str
    schedule: str  # the fastest, as `--schedule` takes it
    seconds: float
    first: str  # the cost model's choice
    first_seconds: float
    candidates: int
    trials: list[Trial] = field(default_factory=list, repr=False)

    @property
    def speedup(self) -> float:
        return self.first_seconds / self.seconds


@dataclass
class Tuning:
    """The result of `f.tune(...)`."""

    function: str
    target: str
    kernels: list[KernelTuning]
    seconds: float
    interrupted: bool = False

    @property
    def speedup(self) -> float:
        result = 1.0
        for one in self.kernels:
            result *= one.speedup
        return result

    def __str__(self) -> str:
        lines = [
            f"{self.function} for {self.target}: {self.speedup:.2f} times as fast as the cost "
            f"model's choice, after {self.seconds:.0f} s"
            + (" (interrupted)" if self.interrupted else "")
        ]
        for one in self.kernels:
            failed = sum(trial.seconds is None for trial in one.trials)
            lines += [
                f"  kernel {one.name}: {one.first_seconds * 1e6:.1f} -> {one.seconds * 1e6:.1f} us, "
                f"{len(one.trials)} of {one.candidates} candidates measured"
                + (f", {failed} failed" if failed else ""),
                f"    {one.schedule}"
                + ("" if one.schedule != one.first else " (the first choice)"),
            ]
        return "\n".join(lines)


def seconds_of(budget: float | str) -> float:
    """Seconds, "30s" or "2m"."""
    if isinstance(budget, (int, float)) and not isinstance(budget, bool) and budget > 0:
        return float(budget)
    if isinstance(budget, str) and budget[-1:] in ("s", "m"):
        try:
            value = float(budget[:-1])
            if value > 0:
                return value * (60 if budget[-1] == "m" else 1)
        except ValueError:
            pass
    raise ArgumentError(f"budget: expected seconds, '30s' or '2m', found {budget!r}")


def parse_schedule(text: str) -> Schedule:
    """The values of a schedule's text, by name."""
    pairs = (part.split("=") for part in text.split(",") if part)
    return {name: None if value == "none" else int(value) for name, value in pairs}


def schedule_text(schedule: Schedule) -> str:
    return ",".join(
        f"{name}={'none' if value is None else value}" for name, value in schedule.items()
    )


class Tuner:
    """The state of one tuning: the arguments, the clock, and the best schedule of each kernel."""

    def __init__(self, function: Function, args: tuple, kwargs: dict, settings: dict[str, Any]):
        self.function = function
        self.settings = settings
        if function._self is not None:
            args = (function._self, *args)
        self.bound = function._parameters.bind(function._parameters.assign(args, kwargs))
        function._parameters.check(self.bound)
        self.target = target_of_call(function._target, self.bound)
        self.args, self.kwargs = args[function._self is not None :], kwargs
        self.best: dict[int, str] = {}
        self.outs: Any = None
        self.expected: list[np.ndarray] = []

    def unit(self, schedules: dict[int, str]) -> Unit:
        options = {"tuning": "false"}
        if is_gpu(self.target):
            options |= call_options(self.bound)
        given = [self.function._options["schedule"]] if "schedule" in self.function._options else []
        groups = [f"kernel={number},{text}" for number, text in schedules.items()]
        if given or groups:
            options["schedule"] = ";".join([*given, *groups])
        return self.function._unit(self.bound, self.target, options)[1]

    def compiled(self, schedules: dict[int, str]) -> Compiled:
        unit = self.unit(schedules)
        return Compiled(self.function._parameters, self.function._self, unit, compile_unit(unit)[0])

    def kernels(self) -> list[dict[str, Any]]:
        """The kernels with their candidates, as the compiler lists them."""
        report = json.loads(self.unit({}).compile(["candidates"], no_code=True)["report"])
        if report.get("writes"):
            raise ArgumentError(
                f"function '{self.function.__name__}' writes its argument '{report['writes'][0]}', "
                "and tuning would call it many times; tune a function without Region arguments"
            )
        via = report.get("backend", "cpu")
        for one in report["candidates"]:
            one["via"] = via if via != "ptx+tileir" else "ptx"
        return report["candidates"]

    def call(self, compiled: Compiled) -> Callable[[], object]:
        return lambda: compiled(*self.args, **self.kwargs, out=self.outs)

    def start(self) -> None:
        """Runs the first choice, whose result the others are compared with."""
        first = self.compiled({})
        self.outs = first(*self.args, **self.kwargs)
        results = self.outs if type(self.outs) is tuple else (self.outs,)
        self.expected = [_host(one) for one in results]
        arrays = [one for one in [*self.args, *results] if hasattr(one, "shape")]
        self.clock = GpuClock(arrays) if is_gpu(self.target) else CpuClock(arrays)

    def check(self) -> str:
        """What is wrong with the result of the last call."""
        results = self.outs if type(self.outs) is tuple else (self.outs,)
        for found, expected in zip(map(_host, results), self.expected):
            if not _is_close(found, expected):
                return "the result differs from that of the first choice"
        return ""

    def tune_kernel(
        self, number: int, kernel: dict, end: float, progress: Progress
    ) -> KernelTuning:
        first = _chosen(kernel["candidates"])
        restricted = _restricted(kernel["candidates"], self.settings)
        candidates = [first, *(one for one in restricted if one["schedule"] != first["schedule"])]
        search = Search(
            [parse_schedule(one["schedule"]) for one in candidates],
            [one["predicted_us"] for one in candidates],
            self.settings["strategy"],
            self.settings["seed"],
        )
        base = self.compiled({**self.best, number: first["schedule"]})
        first_call = self.call(base)
        found = KernelTuning(
            kernel["name"], kernel["signature"], kernel["via"], first["schedule"],
            self.clock.times({_FIRST: first_call}, _ROUNDS)[_FIRST], first["schedule"], 0.0,
            len(candidates),
        )  # fmt: skip
        found.first_seconds = found.seconds
        search.tell(candidates.index(first), found.seconds)
        calls: dict[str, Callable[[], object]] = {}
        try:
            for batch in search.batches(BATCH):
                if time.monotonic() >= end:
                    break
                made = self._compile(number, [candidates[one] for one in batch], found)
                times = self._measure({_FIRST: first_call, **made}, found)
                drift = times.pop(_FIRST, found.first_seconds) / found.first_seconds
                for one in batch:
                    text = candidates[one]["schedule"]
                    seconds = times[text] / drift if text in times else None
                    search.tell(one, seconds)
                    if seconds is not None:
                        found.trials.append(Trial(text, candidates[one]["predicted_us"], seconds))
                        calls[text] = made[text]
                best = sorted(
                    (one for one in found.trials if one.seconds is not None),
                    key=lambda one: one.seconds or 0,
                )[:_FINALISTS]
                calls = {one.schedule: calls[one.schedule] for one in best if one.schedule in calls}
                progress.show(found, best[0].seconds if best else None, len(search.left), end)
        finally:
            self._settle(found, first_call, calls)
        return found

    def _compile(
        self, number: int, batch: list[dict], found: KernelTuning
    ) -> dict[str, Callable[[], object]]:
        def one(candidate: dict) -> Compiled | str:
            try:
                return self.compiled({**self.best, number: candidate["schedule"]})
            except TesseraError as error:
                return str(error).splitlines()[0]

        with ThreadPoolExecutor(min(len(batch), os.cpu_count() or 1)) as pool:
            made = list(pool.map(one, batch))
        calls = {}
        for candidate, compiled in zip(batch, made):
            if isinstance(compiled, str):
                found.trials.append(
                    Trial(candidate["schedule"], candidate["predicted_us"], None, compiled)
                )
            else:
                calls[candidate["schedule"]] = self.call(compiled)
        return calls

    def _measure(
        self, calls: dict[str, Callable[[], object]], found: KernelTuning
    ) -> dict[str, float]:
        """The times of those that run and have the right result."""
        for name, call in list(calls.items()):
            failure = ""
            try:
                call()
                failure = self.check()
            except TesseraError as error:
                failure = str(error).splitlines()[0]
            if failure:
                del calls[name]
                found.trials.append(Trial(name, 0.0, None, failure))
        return self.clock.times(calls, _ROUNDS) if calls else {}

    def _settle(
        self,
        found: KernelTuning,
        first_call: Callable[[], object],
        calls: dict[str, Callable[[], object]],
    ) -> None:
        """Times the best few and the first choice again, and chooses."""
        if not calls:
            return
        times = self.clock.times({_FIRST: first_call, **calls}, _LAST_ROUNDS)
        found.first_seconds = found.seconds = times.pop(_FIRST)
        best = min(times, key=lambda one: times[one])
        if times[best] < (1 - _NOISE) * found.first_seconds:
            found.schedule, found.seconds = best, times[best]


def _chosen(candidates: list[dict]) -> dict:
    return next((one for one in candidates if one["chosen"]), candidates[0])


def _restricted(candidates: list[dict], settings: dict[str, Any]) -> list[dict]:
    """The candidates of a user's space that meet the constraints."""
    space, constraints = settings["space"], settings["constraints"]
    if space:
        known = {name for one in candidates for name in parse_schedule(one["schedule"])}
        for name in space:
            if name.startswith("tile.") and name not in known:
                raise ArgumentError(
                    f"space: there is no '{name}'{did_you_mean(name, known)}, "
                    f"expected one of {', '.join(sorted(known))}"
                )
        candidates = _product(candidates, space)
    for meets in constraints:
        candidates = [one for one in candidates if meets(parse_schedule(one["schedule"]))]
    if not candidates:
        raise ArgumentError("no candidate meets the constraints")
    return candidates


def _product(candidates: list[dict], space: dict[str, Sequence[int | None]]) -> list[dict]:
    """The chosen candidate with all combinations of the given values."""
    first = _chosen(candidates)
    predicted = {one["schedule"]: one["predicted_us"] for one in candidates}
    schedules: list[Schedule] = [parse_schedule(first["schedule"])]
    for name, values in space.items():
        schedules = [{**one, name: value} for one in schedules for value in values]
    return [
        {
            "schedule": (text := schedule_text(one)),
            "predicted_us": predicted.get(text, first["predicted_us"]),
            "chosen": False,
        }
        for one in schedules
    ]


def _host(array: Any) -> np.ndarray:
    """A copy as NumPy's array of doubles, integers or bools."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = (array.double() if array.is_floating_point() else array).numpy()
    array = np.asarray(array)
    return np.array(array, dtype=np.float64 if array.dtype.kind not in "iub" else array.dtype)


def _is_close(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two results differ by rounding only: orders of sums differ between schedules."""
    if found.dtype.kind in "iub":
        return bool((found == expected).all())
    finite = expected[np.isfinite(expected)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    return bool(np.allclose(found, expected, rtol=0.02, atol=1e-3 * scale, equal_nan=True))


def tune(
    function: Function,
    args: tuple,
    kwargs: dict,
    *,
    budget: float | str = "30s",
    strategy: str = "bayesian",
    seed: int = 0,
    space: dict[str, Sequence[int | None]] | None = None,
    constraints: Sequence[Callable[[Schedule], bool]] = (),
    objective: str = "time",
    progress: bool | None = None,
) -> Tuning:
    """Measures schedules of a function's kernels for these arguments, and keeps the fastest."""
    if strategy not in STRATEGIES:
        raise ArgumentError(
            f"strategy: expected one of {', '.join(STRATEGIES)}, found {strategy!r}"
        )
    if objective != "time":
        raise ArgumentError(f"objective: expected 'time', found {objective!r}")
    start = time.monotonic()
    limit = seconds_of(budget)
    settings = {
        "strategy": strategy,
        "seed": seed,
        "space": dict(space or {}),
        "constraints": list(constraints),
    }
    tuner = Tuner(function, args, kwargs, settings)
    kernels = tuner.kernels()
    tuner.start()
    result = Tuning(function.__name__, tuner.target.partition(":")[0], [], 0.0)
    weights = [min(one["predicted_us"] for one in kernel["candidates"]) for kernel in kernels]
    order = sorted(range(len(kernels)), key=lambda one: -weights[one])
    with Progress(function.__name__, progress) as shown:
        for number in order:
            share = weights[number] / sum(weights[one] for one in order[order.index(number) :])
            end = time.monotonic() + max(0.0, start + limit - time.monotonic()) * share
            try:
                found = tuner.tune_kernel(number, kernels[number], end, shown)
            except KeyboardInterrupt:
                result.interrupted = True
                break
            tuner.best[number] = found.schedule
            result.kernels.append(found)
    result.seconds = time.monotonic() - start
    _keep(tuner, result)
    return result


def _table_of(tuner: Tuner) -> str:
    return table_name(_tessera.host_target() if tuner.target == "cpu" else tuner.target)


def is_tuned(function: Function, args: tuple, kwargs: dict) -> bool:
    """Whether the table has all kernels of a call."""
    tuner = Tuner(function, args, kwargs, {})
    known = {one.key for one in table.read(_table_of(tuner)) if one.is_current}
    return all((one["signature"], one["via"]) in known for one in tuner.kernels())


def _keep(tuner: Tuner, result: Tuning) -> None:
    lines = [
        table.line(
            one.signature,
            one.via,
            {k: v for k, v in parse_schedule(one.schedule).items() if v is not None},
            one.seconds * 1e3,
            one.first_seconds * 1e3,
            f"{result.function}, {_device(tuner.target)}",
        )
        for one in result.kernels
    ]
    if lines and _tessera.cache_folder():
        table.merge(_table_of(tuner), lines)
        tuner.function._forget()


def _device(target: str) -> str:
    from .. import devices

    for one in devices():
        if one.get("target", "").partition(":")[0] == target.partition(":")[0]:
            return str(one.get("name", target))
    return target.partition(":")[0]
