"""Profiles one call: figures of the compiler and the assembler, times where the code can run,
counters, and advice."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _tessera
from ..compiled import Compiled
from ..compiler import specialise
from ..errors import ArgumentError, CompileError, TesseraError
from ..options import merge
from ..targets import call_options, is_gpu, target_for
from . import counters, measure, simulated
from .advice import Adviser
from .case import Case, Figures, Variant
from .lines import lines_of
from .model import Access, Advice, Kernel, Line

if TYPE_CHECKING:
    from ..function import Function
    from ..parameters import Bound

#: Fields of a kernel's report that the assembler gives.
_FIGURES = ("registers", "shared_bytes", "spill_bytes", "occupancy", "threads")


@dataclass
class Profile:
    """The result of `f.profile(...)`. Times are in microseconds."""

    function: str
    target: str
    backend: str
    file: str
    first_line: int
    source: str  # the text of the function
    kernels: list[Kernel]
    lines: list[Line]
    advice: list[Advice]
    notes: list[str] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    ir: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def us(self) -> float:
        return sum(kernel.us for kernel in self.kernels)

    @property
    def roofline_us(self) -> float:
        return sum(kernel.roofline_us for kernel in self.kernels)

    @property
    def causes(self) -> dict[str, float]:
        """Microseconds of the gap by cause."""
        sums: dict[str, float] = {}
        for kernel in self.kernels:
            for cause in kernel.causes:
                sums[cause.name] = sums.get(cause.name, 0.0) + cause.us
        return dict(sorted(sums.items(), key=lambda one: -one[1]))

    @property
    def measured(self) -> bool:
        return bool(self.kernels) and all(one.source != "predicted" for one in self.kernels)

    def text_of(self, line: int) -> str:
        """A line of the source."""
        lines = self.source.splitlines()
        number = line - self.first_line
        return lines[number] if 0 <= number < len(lines) else ""

    def __str__(self) -> str:
        from .text import render

        return render(self)

    def json(self) -> dict[str, Any]:
        from .export import as_json

        return as_json(self)

    def html(self) -> str:
        """One page, without scripts and without references to other files."""
        from .page import render

        return render(self)


def profile(
    function: Function,
    args: tuple,
    kwargs: dict[str, Any],
    target: str | None = None,
    options: dict[str, Any] | None = None,
    counters_file: str | os.PathLike[str] | None = None,
    simulate: bool = False,
    verify: bool = False,
) -> Profile:
    counted = counters.read(Path(counters_file)) if counters_file is not None else {}
    bound = function._bind_types(args, kwargs)
    chosen = target_for(target or function._target, bound)
    more = call_options(bound) if is_gpu(chosen) else {}
    case = Case(function, bound, chosen, {**more, **merge({}, options or {})})
    runs = _runs_here(bound, chosen)
    made = _profile(case, runs, args, kwargs)
    _count(made, counted)
    if simulate:
        _simulate(made, case)
    if verify:
        _verify(made, case, runs, args, kwargs)
    return made


def _runs_here(bound: Bound, target: str) -> bool:
    """Whether the arguments are arrays on a device that runs the target's code."""
    if bound.library is None:
        return False
    if bound.device:
        return target == _tessera.device_target(bound.device)
    return target == "cpu"


def _profile(case: Case, runs: bool, args: tuple, kwargs: dict) -> Profile:
    figures = case.figures()
    unit = case.unit()
    home = unit.source.line
    adviser = Adviser(case, figures, home)
    advice = adviser.run()  # before measured times replace predicted ones
    notes: list[str] = []
    _assemble(case, figures, notes)
    if runs:
        predicted = figures.us
        _measure(case, figures, args, kwargs, notes)
        _scale(advice, sum(kernel.us for kernel in figures.kernels) / predicted)
    else:
        notes.append(f"times are predicted: code for {_short(case.target)} does not run here")
    _halt_if_empty(figures)
    return Profile(
        function=case.function.__name__,
        target=_short(figures.report.get("target", case.target)),
        backend=figures.report.get("backend", ""),
        file=unit.source.file,
        first_line=unit.source.line,
        source=unit.source.text,
        kernels=figures.kernels,
        lines=lines_of(figures.kernels, home),
        advice=advice,
        notes=notes,
        ir=_stages(case),
    )


def _short(target: str) -> str:
    """Without the features of a CPU."""
    return target.partition(":")[0]


def _halt_if_empty(figures: Figures) -> None:
    if not figures.kernels:
        raise TesseraError("the function has no kernels: its results are views of its arguments")


def _assemble(case: Case, figures: Figures, notes: list[str]) -> None:
    """Registers, shared memory, spills and occupancy of the machine code."""
    if not is_gpu(case.target):
        return
    try:
        report = json.loads(specialise(case.unit(), quiet=True).meta["report"] or "{}")
    except CompileError as error:
        notes.append(f"the code cannot be assembled: {str(error).splitlines()[0]}")
        return
    reported = {one["name"]: one for one in report.get("kernels", [])}
    for kernel in figures.kernels:
        found = reported.get(kernel.name, {})
        kernel.figures = {name: found[name] for name in _FIGURES if name in found}
        if "same_as" in found:
            kernel.figures["same_as"] = found["same_as"]
    if not any(kernel.figures for kernel in figures.kernels):
        notes.append("no assembler was found: registers and spills are not known")


def _measure(case: Case, figures: Figures, args: tuple, kwargs: dict, notes: list[str]) -> None:
    compiled = _compiled(case, Variant())
    times = measure.kernel_times(compiled, args, kwargs)
    for kernel in figures.kernels:
        name = kernel.figures.get("same_as", kernel.name)
        if name in times:
            kernel.measure(times[name], "measured")
    if not all(kernel.source == "measured" for kernel in figures.kernels):
        notes.append("the runtime did not time all kernels: the others' times are predicted")


def _scale(advice: list[Advice], factor: float) -> None:
    """Gains as parts of the measured time, not of the predicted one."""
    for one in advice:
        one.gain_us *= factor


def _compiled(case: Case, variant: Variant) -> Compiled:
    unit = case.unit(variant)
    function = case.function
    return Compiled(function._parameters, function._self, unit, specialise(unit, quiet=True))


def _count(made: Profile, counted: dict[str, dict[str, float]]) -> None:
    """Takes the times of hardware counters."""
    if not counted:
        return
    for kernel in made.kernels:
        found = counted.get(kernel.figures.get("same_as", kernel.name))
        if found is None:
            continue
        kernel.counters = found
        if "ns" in found:
            kernel.measure(found["ns"] / 1e3, "counted")
    if not any(kernel.counters for kernel in made.kernels):
        names = ", ".join(kernel.name for kernel in made.kernels)
        raise ArgumentError(
            f"the counters are of {', '.join(sorted(counted))}, and of none of the kernels {names}"
        )
    made.lines = lines_of(made.kernels, made.first_line)
    made.notes = [one for one in made.notes if not one.startswith("times are predicted")]
    if not made.measured:
        made.notes.append("times of kernels without counters are predicted")


def _simulate(made: Profile, case: Case) -> None:
    if not is_gpu(case.target):
        made.notes.append("the simulator runs kernels of GPUs only")
        return
    try:
        made.accesses = simulated.accesses(case)
    except TesseraError as error:
        made.notes.append(f"not simulated: {str(error).splitlines()[0]}")


def _verify(made: Profile, case: Case, runs: bool, args: tuple, kwargs: dict) -> None:
    """Compares the function with each change that can be applied."""
    for advice in made.advice:
        variant = advice.variant
        if variant is None:
            advice.verified = "the source has to be changed by hand"
        elif runs and not variant.specifications:
            advice.verified = _compare(case, variant, args, kwargs)
        elif (other := case.what_if(variant)) is not None:
            before = case.figures().us
            advice.verified = f"{before:.1f} -> {other.us:.1f} us, predicted"


def _compare(case: Case, variant: Variant, args: tuple, kwargs: dict) -> str:
    codes = {"before": _compiled(case, Variant()), "after": _compiled(case, variant)}
    calls = {name: _call(code, args, kwargs) for name, code in codes.items()}
    us = measure.call_us(calls, list(args), bool(case.bound.device))
    return f"{us['before']:.1f} -> {us['after']:.1f} us, measured"


def _call(code: Compiled, args: tuple, kwargs: dict) -> Any:
    return lambda: code(*args, **kwargs)


def _stages(case: Case) -> dict[str, str]:
    """Tile IR, and the code of the target as text."""
    texts = {}
    wanted = ["tile", "ptx", "sass"] if is_gpu(case.target) else ["tile", "asm"]
    for stage in wanted:
        try:
            texts[stage] = case.unit().compile([stage], no_code=True, quiet=True)["ir"][stage]
        except (CompileError, KeyError):
            continue  # no disassembler, or the backend has no such stage
    return texts
