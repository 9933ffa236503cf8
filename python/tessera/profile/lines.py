"""Time on lines: what a kernel takes is divided among its operations.

The roofline is divided in proportion to the operations' times at the peak rates, and each cause
among the operations that it is about. An operation without a place in the source is on the kernel's
line, and a kernel without one on the line of the function.
"""

from __future__ import annotations

from collections.abc import Callable

from .model import Kernel, Line, Op

Weight = Callable[[Op], float]


def _if(unit: str, weight: Weight = lambda op: op.us) -> Weight:
    return lambda op: weight(op) if op.unit == unit else 0.0


def _arithmetic(op: Op) -> float:
    return 0.0 if op.unit == "memory" else op.us


def _loads(op: Op) -> float:
    return op.bytes if op.name == "load" else 0.0


def _stores(op: Op) -> float:
    return op.bytes if op.name == "store" else 0.0


#: The operations that a cause is about; others are divided by the roofline's rule.
_ABOUT: dict[str, Weight] = {
    "clock": _if("products"),
    "overlap": _if("elementwise"),
    "instructions": _arithmetic,
    "loops": _arithmetic,
    "fallback": _if("products"),
    "padding": _arithmetic,
    "waves": _arithmetic,
    "tail": _arithmetic,
    "uncoalesced": _if("memory", lambda op: op.sector_bytes - op.bytes),
    "latency": _loads,
    "reread": _if("memory", lambda op: op.l2_bytes - op.bytes),
    "packing": _loads,
    "fill": _loads,
    "epilogue": _stores,
    "launch": lambda op: 0.0,
}


def _shares(kernel: Kernel, weight: Weight, home: int) -> list[tuple[int, float]]:
    """Lines and their parts of a whole of 1."""
    weights = [max(0.0, weight(op)) for op in kernel.ops]
    total = sum(weights)
    if total <= 0:
        return [(kernel.line or home, 1.0)]
    return [
        (op.line or kernel.line or home, one / total)
        for op, one in zip(kernel.ops, weights)
        if one > 0
    ]


def lines_of(kernels: list[Kernel], home: int) -> list[Line]:
    """The lines that cost something; `home` is the line of the function."""
    lines: dict[int, Line] = {}

    def line(number: int) -> Line:
        return lines.setdefault(number, Line(number))

    for kernel in kernels:
        for number, share in _shares(kernel, lambda op: op.us, home):
            line(number).us += kernel.roofline_us * share
        for cause in kernel.causes:
            about = _ABOUT.get(cause.name, lambda op: op.us)
            for number, share in _shares(kernel, about, home):
                found = line(number)
                found.us += cause.us * share
                found.lost_us += cause.us * share
                found.causes[cause.name] = found.causes.get(cause.name, 0.0) + cause.us * share
        for op in kernel.ops:
            found = line(op.line or kernel.line or home)
            found.flops += op.flops
            found.bytes += op.bytes
    return sorted(lines.values(), key=lambda one: one.number)
