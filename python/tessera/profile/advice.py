"""Advice: a line, a change, and what it is predicted to save.

Where the change is one of an option, an argument or a result, it is compiled, and the predicted
times are compared. Other changes are those of the source; their gain follows from the figures of
the operations that they remove. Nothing is said of a gain that is small.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from . import case as cases
from .case import Case, Figures, Variant
from .lines import lines_of
from .model import Advice, Kernel, Op

LEAST_SHARE, LEAST_US = 0.04, 0.3  # of the time, and in all
_LARGEST_PROGRAM = 64  # kernels, beyond which sizes are not varied
_UNITS = (8, 16, 64, 128)  # alignments of sizes that are tried
_SMALL = 32  # sizes below are not padded
_PAST = 8  # elements beyond a multiple that count as just past it
_CHAIN = 3  # kernels of a chain
_FLOAT_DIVISION = 4  # what a division costs beside a multiplication, as in the cost model

#: Options that cost time, with their values that do, and what taking them back means.
_COSTLY: dict[str, tuple[tuple[str, ...], str, str]] = {
    "schedule": (
        (),
        "schedule",
        "leave out the schedule '{value}': the cost model's own is faster",
    ),
    "numerics": (
        ("strict",),
        "strict numerics",
        "leave out numerics='strict', where rounding after each operation is not needed",
    ),
    "batch_invariant": (
        ("true",),
        "split-K disabled",
        "leave out batch_invariant=True: it forbids to split reductions among CTAs",
    ),
    "matmul": (
        ("fp32",),
        "exact products",
        "leave out matmul='fp32', or allow 'tf32', where products of fp32 may be rounded",
    ),
    "tensor_cores": (("false",), "no tensor cores", "leave out tensor_cores=False"),
    "accum": (("fp64",), "wide sums", "sum in fp32: leave out accum=fp64"),
    "alignment": (("element",), "unaligned addresses", "align the arguments to 16 bytes"),
    "indices": (("64",), "wide indices", "leave out indices=64 for tensors below 2^31 elements"),
}


class Adviser:
    """Looks for causes in the figures of one case."""

    def __init__(self, case: Case, figures: Figures, home: int):
        self.case = case
        self.figures = figures
        self.home = home
        self.found: list[Advice] = []

    def run(self) -> list[Advice]:
        """The advice, the largest gain first."""
        for look in (
            self._promotions,
            self._options,
            self._results,
            self._layouts,
            self._views,
            self._masks,
            self._divisions,
            self._sizes,
            self._launches,
        ):
            look()
        return sorted(self.found, key=lambda one: -one.gain_us)

    # -- helpers ----------------------------------------------------------------------------------

    def _pays(self, gain: float) -> bool:
        return gain >= max(LEAST_US, LEAST_SHARE * self.figures.us)

    def _add(
        self,
        cause: str,
        line: int | None,
        text: str,
        change: str,
        gain: float,
        variant: Variant | None = None,
    ) -> None:
        known = any(one.cause == cause and one.line == line for one in self.found)
        if self._pays(gain) and not known:
            self.found.append(Advice(cause, line or self.home, text, change, gain, variant))

    def _gain(self, variant: Variant) -> float:
        other = self.case.what_if(variant)
        return self.figures.us - other.us if other else 0.0

    def _line_of(self, variant: Variant) -> int | None:
        """The line that a variant saves most on."""
        other = self.case.what_if(variant)
        if other is None:
            return None
        after = {one.number: one.us for one in lines_of(other.kernels, self.home)}
        saved = [
            (one.us - after.get(one.number, 0.0), one.number)
            for one in lines_of(self.figures.kernels, self.home)
        ]
        return max(saved)[1] if saved else None

    def _ops(self) -> Iterator[tuple[Kernel, Op]]:
        for kernel in self.figures.kernels:
            for op in kernel.ops:
                yield kernel, op

    # -- causes -----------------------------------------------------------------------------------

    def _promotions(self) -> None:
        for one in self.figures.promotions:
            narrow, name = one["narrow"], one.get("argument")
            given = self.case.specification(name) if name else None
            if name is not None and given is not None:
                code = cases.code_of(narrow)
                variant = Variant(specifications={name: cases.cast(given, code)})
                change = f"pass '{name}' in {narrow}, or cast it with {name}.to({narrow})"
            else:
                variant = Variant(options={"matmul": "bf16"})
                change = f"cast the operand with .to({narrow})"
            at = one.get("at", one.get("line"))
            line = f"line {one['line']}" if "line" in one else "a matrix product"
            reason = f"argument '{name}' is wide" if name else "an operand is wide"
            self._add(
                "fp32 operand",
                at,
                f"{line} multiplies in fp32, since {reason}",
                change,
                self._gain(variant),
                variant,
            )

    def _options(self) -> None:
        given = self.case.given_options
        for name, (values, cause, change) in _COSTLY.items():
            value = given.get(name)
            if not value or (values and value not in values):
                continue
            variant = Variant(without=(name,))
            self._add(
                cause,
                self._line_of(variant),
                f"option {name}={value} makes this line slower",
                change.format(value=value),
                self._gain(variant),
                variant,
            )

    def _results(self) -> None:
        """Results that the function computes for itself, and that nothing but the caller needs in
        memory: without them, kernels fuse."""
        for text, line, name in _texts_with_fewer_results(self.case.unit().source.text):
            variant = Variant(text=text)
            other = self.case.what_if(variant)
            if other is None:
                continue
            flops = [sum(op.flops for op in _all_ops(one)) for one in (self.figures, other)]
            moved = [sum(kernel.bytes for kernel in one.kernels) for one in (self.figures, other)]
            # The same work without the result: something else needs its elements.
            if flops[1] < 0.85 * flops[0] or moved[1] > 0.75 * moved[0]:
                continue
            self._add(
                "stored intermediate",
                line + self.case.unit().source.line - 1,
                f"result '{name}' is also an operand: it is stored, and what uses it cannot fuse",
                f"do not return '{name}'",
                self.figures.us - other.us,
                variant,
            )

    def _layouts(self) -> None:
        """Arguments that are views."""
        for name, given in self.case.tensors().items():
            if cases.is_dense(given):
                continue
            variant = Variant(specifications={name: cases.dense(given)})
            lines = [op.line for _, op in self._ops() if op.tensor == name and op.line]
            self._add(
                "uncoalesced view",
                lines[0] if lines else None,
                f"argument '{name}' is a view with strides {tuple(given[3])}: neighbours in a tile "
                "are no neighbours in memory",
                f"pass a contiguous copy of '{name}', if it is used more than once",
                self._gain(variant),
                variant,
            )

    def _views(self) -> None:
        """Views that the function makes."""
        for kernel, op in self._ops():
            given = self.case.specification(op.tensor)
            if op.unit != "memory" or op.sector_bytes <= 1.5 * op.bytes:
                continue
            if given is not None and not cases.is_dense(given):
                continue
            wasted = sum(one.sector_bytes - one.bytes for one in kernel.ops if one.unit == "memory")
            lost = sum(one.us for one in kernel.causes if one.name in ("uncoalesced", "latency"))
            share = (op.sector_bytes - op.bytes) / wasted
            used = op.bytes / op.sector_bytes
            views = [one for one in self.figures.views if one["tensor"] == op.tensor]
            views.sort(key=lambda one: not one["slice"])
            self._add(
                "uncoalesced view",
                views[0].get("line", op.line) if views else op.line,
                f"'{op.tensor}' is accessed with a stride of {op.stride:g} elements: "
                f"{used:.0%} of each sector is used",
                "make the dimension that varies fastest the contiguous one, or store the part that "
                "is used as a tensor of its own",
                lost * share,
            )

    def _masks(self) -> None:
        for kernel in self.figures.kernels:
            streamed = kernel.us - sum(
                cause.us for cause in kernel.causes if cause.name in ("launch", "fill")
            )
            for mask in kernel.masks:
                if mask.needed > 0.8 * mask.visited:
                    continue
                cause = "finite mask" if mask.sentinel else "mask without a range"
                text = (
                    "the mask's other value is finite, so that no block is left out"
                    if mask.sentinel
                    else "the mask is not a comparison of an index along the stream with a bound"
                )
                change = (
                    "write -tsr.inf for elements that are masked"
                    if mask.sentinel
                    else "write the mask as comparisons such as j <= i, joined by &"
                )
                self._add(
                    cause,
                    mask.line,
                    f"{text}: {mask.visited:.0%} of the blocks are visited, and {mask.needed:.0%} "
                    "have an element",
                    change,
                    streamed * (1 - mask.needed / mask.visited),
                )

    def _divisions(self) -> None:
        for kernel in self.figures.kernels:
            arithmetic = kernel.tensor_us + kernel.vector_us
            if arithmetic <= kernel.memory_us:
                continue
            lines: dict[tuple[int | None, str], float] = {}
            for op in kernel.ops:
                if op.division == "integer" or (op.division == "float" and op.invariant):
                    key = (op.line, op.division)
                    lines[key] = lines.get(key, 0.0) + op.us
            slack = kernel.us - max(kernel.memory_us, kernel.tensor_us)
            for (line, kind), us in lines.items():
                saved = us * (1 - 1 / _FLOAT_DIVISION) * self._rounding(kernel)
                change = (
                    "multiply by the reciprocal, which is computed once"
                    if kind == "float"
                    else "compute the quotient from a loop-invariant index, or from sizes that are "
                    "known at compile time"
                )
                self._add(
                    "division",
                    line,
                    "a division for each element, where the divisor is the same for many"
                    if kind == "float"
                    else "a division of integers for each element",
                    change,
                    min(saved, slack),
                )

    @staticmethod
    def _rounding(kernel: Kernel) -> float:
        """The time of arithmetic over that at the peak rates."""
        return max(1.0, (kernel.us - kernel.gap_us + _loss(kernel)) / max(kernel.roofline_us, 1e-9))

    def _sizes(self) -> None:
        if len(self.figures.kernels) > _LARGEST_PROGRAM:
            return
        for value in sorted({size for one in self.case.tensors().values() for size in one[2]}):
            if value < _SMALL:
                continue
            for unit in _UNITS:
                more = math.ceil(value / unit) * unit
                if value < more <= 1.25 * value and self._resized(value, more):
                    break
            else:
                self._just_past(value)

    def _variant_of_size(self, value: int, other: int) -> Variant:
        changed = {
            name: cases.dense(one, tuple(other if size == value else size for size in one[2]))
            for name, one in self.case.tensors().items()
            if value in one[2]
        }
        return Variant(specifications=changed)

    def _resized(self, value: int, other: int) -> bool:
        variant = self._variant_of_size(value, other)
        gain = self._gain(variant)
        if not self._pays(gain):
            return False
        self._add(
            "odd size",
            self._line_of(variant),
            f"the size {value} is not a multiple of {_largest_unit(other)}: rows do not start at "
            "multiples of 16 bytes, or tiles do not fit",
            f"pad {value} to {other}",
            gain,
            variant,
        )
        return True

    def _just_past(self, value: int) -> None:
        """A size a little above a multiple of tiles."""
        for unit in reversed(_UNITS):
            less = value // unit * unit
            if not 0 < value - less <= _PAST or unit < 64:
                continue
            variant = self._variant_of_size(value, less)
            gain = self._gain(variant)
            proportional = self.figures.us * (1 - (less / value) ** 2)
            if gain <= 0.12 * self.figures.us + proportional:
                continue
            self._add(
                "odd size",
                self._line_of(variant),
                f"the size {value} is just past {less}, a multiple of {unit}: the last tiles are "
                "almost empty",
                f"use {less}, or share the {value - less} that are left with another call",
                gain,
                variant,
            )
            return

    def _launches(self) -> None:
        kernels = self.figures.kernels
        launch = [
            next((cause.us for cause in kernel.causes if cause.name == "launch"), 0.0)
            for kernel in kernels
        ]
        small = [
            one for one, us in zip(kernels, launch) if us + _fill(one) >= 0.5 * one.predicted_us
        ]
        if len(small) < _CHAIN or sum(launch) < 0.4 * self.figures.us:
            return
        lines = sorted({op.line for one in small for op in one.ops if op.line} or {self.home})
        self._add(
            "launch-bound chain",
            lines[0],
            f"{len(small)} kernels, of lines {lines[0]} to {lines[-1]}, take less time than their "
            "launches",
            "compute more in a call (batch inputs), or capture the calls in a CUDA graph"
            if self.case.target.startswith("sm_")
            else "compute more in a call: batch inputs",
            sum(launch) * (1 - 1 / len(kernels)),
        )


def _all_ops(figures: Figures) -> list[Op]:
    return [op for kernel in figures.kernels for op in kernel.ops]


def _fill(kernel: Kernel) -> float:
    return sum(cause.us for cause in kernel.causes if cause.name == "fill")


def _loss(kernel: Kernel) -> float:
    return sum(cause.us for cause in kernel.causes if cause.name in ("waves", "tail", "padding"))


def _largest_unit(size: int) -> int:
    return max(unit for unit in _UNITS if size % unit == 0)


def _texts_with_fewer_results(text: str) -> Iterator[tuple[str, int, str]]:
    """The text without one of its results, the line of the return, and the result's text."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    returns = [one for one in ast.walk(tree) if isinstance(one, ast.Return)]
    if len(returns) != 1 or not isinstance(returns[0].value, ast.Tuple):
        return
    elements = returns[0].value.elts
    for number, dropped in enumerate(elements):
        rest = [one for other, one in enumerate(elements) if other != number]
        returns[0].value = rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load())
        for one in ast.walk(tree):
            if isinstance(one, ast.FunctionDef):
                one.returns = None
        yield ast.unparse(tree), dropped.lineno, ast.unparse(dropped)
    returns[0].value = ast.Tuple(elements, ast.Load())
