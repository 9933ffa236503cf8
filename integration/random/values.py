"""Values of the random program generator: shape, type, range.

Shapes are tuples of size expressions ("A", "1", "A*B"), compared as text, as the language compares
names: two different symbols are never assumed equal. A range is a rough interval of the values, so
that a program avoids overflow and the poles of functions; if a computed interval would be too wide
the generator inserts a `tanh`. It never decides whether a result is correct.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FLOATS = ("fp64", "fp32", "bf16", "fp16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")

# The largest magnitude that values of a type may reach in a generated program.
LIMITS = {"fp64": 1e6, "fp32": 1e5, "bf16": 1e4, "fp16": 1e3}


@dataclass(frozen=True)
class Interval:
    lo: float
    hi: float

    @property
    def magnitude(self) -> float:
        return max(abs(self.lo), abs(self.hi))

    def scaled(self, factor: float) -> Interval:
        return Interval(min(self.lo * factor, 0.0), max(self.hi * factor, 0.0))

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(corners), max(corners))


@dataclass
class Value:
    name: str
    dims: tuple[str, ...]
    dtype: str
    range: Interval
    op: str  # its operation, for the coverage of pairs
    uses: int = field(default=0)

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS


def promote(x: Value, y: Value) -> str:
    """The type of an arithmetic operation on tensors, as in PyTorch: a rank-0 tensor promotes only
    to another kind of number."""
    a, b = x.dtype, y.dtype
    if a == b:
        return a
    if (x.rank == 0) != (y.rank == 0) and kind(a) == kind(b):
        return b if x.rank == 0 else a
    if a in FLOATS and b in FLOATS:
        return "fp64" if "fp64" in (a, b) else "fp32"
    if a in FLOATS or b in FLOATS:
        return a if a in FLOATS else b
    if "bool" in (a, b):
        return b if a == "bool" else a
    if {a, b} == {"uint8", "int8"}:
        return "int16"
    order = ("int8", "uint8", "int16", "int32", "int64")
    return max(a, b, key=order.index)


def kind(dtype: str) -> str:
    return "bool" if dtype == "bool" else "float" if dtype in FLOATS else "integer"


def broadcast(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """The shape of an elementwise operation, or None."""
    rank = max(len(a), len(b))
    a = ("1",) * (rank - len(a)) + a
    b = ("1",) * (rank - len(b)) + b
    dims = []
    for x, y in zip(a, b):
        if x != y and "1" not in (x, y):
            return None
        dims.append(y if x == "1" else x)
    return tuple(dims)
