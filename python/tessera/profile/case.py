"""A function with its arguments and target, and variants of it: what-if compilations.

A variant differs in options, in the types and layouts of arguments, or in the text. The compiler
schedules it and predicts its time; nothing runs.
"""

from __future__ import annotations

import ast
import json
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..compiler import Unit
from ..errors import CompileError
from ..parameters import Bound
from ..types import DTYPES
from .model import Kernel, kernel_of

if TYPE_CHECKING:
    from ..function import Function

#: Values of options that say the same as no option; decorators of a function may give others.
NEUTRAL = {
    "numerics": "default",
    "matmul": "default",
    "batch_invariant": "false",
    "tensor_cores": "true",
    "alignment": "default",
    "indices": "default",
    "strides": "default",
    "schedule": "",
    "optimization_level": "3",
}

Specification = tuple  # address, type, sizes, strides


@dataclass(frozen=True)
class Variant:
    """What is changed; nothing, if it is empty. `without` are options that are taken back."""

    options: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    specifications: dict[str, Specification] = field(default_factory=dict)  # by argument
    text: str | None = None


@dataclass
class Figures:
    """The compiler's figures of a variant."""

    kernels: list[Kernel]
    promotions: list[dict[str, Any]]
    views: list[dict[str, Any]]
    report: dict[str, Any]

    @property
    def us(self) -> float:
        return sum(kernel.predicted_us for kernel in self.kernels)


class Case:
    """One call of a function."""

    def __init__(self, function: Function, bound: Bound, target: str, options: dict[str, str]):
        self.function = function
        self.bound = bound
        self.target = target
        self.options = options
        self._known: dict[str, Figures | None] = {}

    @property
    def given_options(self) -> dict[str, str]:
        return {**self.function._options, **self.options}

    def specification(self, name: str) -> Specification | None:
        """Of an argument that is a tensor."""
        found = dict(zip(self.bound.names, self.bound.specifications)).get(name)
        return found if isinstance(found, tuple) and len(found) >= 4 else None

    def tensors(self) -> dict[str, Specification]:
        named = {name: self.specification(name) for name in self.bound.names}
        return {name: one for name, one in named.items() if one is not None}

    def header(self) -> range:
        """The lines of decorators and parameters."""
        source = self.function._unit(self.bound, self.target, self.options)[1].source
        try:
            body = next(
                one.body[0].lineno
                for one in ast.walk(ast.parse(source.text))
                if isinstance(one, ast.FunctionDef)
            )
        except (SyntaxError, StopIteration):
            body = 1
        return range(source.line, source.line + body - 1)

    def unit(self, variant: Variant = Variant()) -> Unit:  # noqa: B008 (immutable)
        bound = Bound()
        bound.__dict__.update(self.bound.__dict__)
        bound.specifications = [
            variant.specifications.get(name, one)
            for name, one in zip(self.bound.names, self.bound.specifications)
        ]
        unit = self.function._unit(bound, self.target, self.options)[1]
        options = {**dict(unit.options), **variant.options}
        for name in variant.without:
            options.pop(name, None)
            if name in NEUTRAL and NEUTRAL[name]:
                options[name] = NEUTRAL[name]
        unit.options = sorted(options.items())
        if variant.text is not None:
            unit.source = unit.source._replace(text=variant.text)
        return unit

    def figures(self, variant: Variant = Variant()) -> Figures:  # noqa: B008 (immutable)
        """CompileError if the variant is not accepted."""
        report = json.loads(self._compile(variant)["report"])
        kernels = [kernel_of(one) for one in report["profile"]]
        _leave_header(kernels, self.header())
        return Figures(
            kernels,
            report.get("promotions", []),
            report.get("views", []),
            report,
        )

    def _compile(self, variant: Variant) -> dict:
        return self.unit(variant).compile(["profile", "sched"], no_code=True, quiet=True)

    def what_if(self, variant: Variant) -> Figures | None:
        """The same; None if the variant is not accepted."""
        key = repr(variant)
        if key not in self._known:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._known[key] = self.figures(variant)
            except CompileError:
                self._known[key] = None
        return self._known[key]


def _leave_header(kernels: list[Kernel], header: range) -> None:
    """Moves what stands at a parameter to where it is used: a kernel that prepares an argument is
    on the line of the next one."""
    line = None
    for kernel in reversed(kernels):
        if kernel.line in header or kernel.line is None:
            kernel.line = line
        line = kernel.line or line
        for op in kernel.ops:
            if op.line in header:
                op.line = None


def dense(specification: Specification, sizes: tuple[int, ...] | None = None) -> Specification:
    """The same tensor, row-major, possibly of other sizes."""
    _, code, old, *_ = specification
    sizes = tuple(old) if sizes is None else sizes
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return 0, code, sizes, tuple(reversed(strides))


def cast(specification: Specification, code: int) -> Specification:
    """The same tensor with another type of elements."""
    return 0, code, *specification[2:4]


def code_of(name: str) -> int:
    """The number of an element type."""
    return next(one.code for one in DTYPES if one.name == name)


def is_dense(specification: Specification) -> bool:
    return tuple(specification[3]) == dense(specification)[3]
