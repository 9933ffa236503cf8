"""A drawn program: its text in the language, its sizes, and the forms of its peers.

The text uses only names that PyTorch has in the same meaning, so that the same lines are the peer's
program, with `tsr` bound to PyTorch's functions (peers.py). Where PyTorch has a better form of the
whole, the family adds it by name.

Sizes have names. Those that are `free` are not reduced, scanned or sorted: an element of the result
depends only on the elements of the arguments with the same index. Numerics are checked on a sample
of them (numerics.py). A program that reads the index of a free size writes `{index}` for it; in the
sample it is the argument `index`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

ITEM_BYTES = {
    "fp64": 8, "fp32": 4, "bf16": 2, "fp16": 2, "int8": 1, "int32": 4, "int64": 8,
}  # fmt: skip
HEADER = """import math
import tessera as tsr
from tessera import Tensor, bf16, fp16, fp32, fp64, int8, int32, int64
"""
FUNCTION = "draw"


@dataclass(frozen=True)
class Argument:
    name: str
    dtype: str
    dims: tuple[str, ...]  # names of sizes
    fill: str = "normal"  # see values.py


@dataclass(frozen=True)
class Program:
    family: str
    title: str  # the kind and its sizes, without spaces
    arguments: tuple[Argument, ...]
    sizes: dict[str, int]
    lines: tuple[str, ...]  # the statements; the last one is an expression, the result
    result: tuple[str, ...]  # names of the result's sizes
    dtype: str  # of the result
    free: tuple[str, ...]
    spaces: tuple[tuple[str, ...], ...] = ()  # iteration spaces of contractions
    regime: tuple[int, int, int] = (1, 1, 1)  # rows, columns, and what is reduced
    index: tuple[str, str] | None = None  # a free size, and the text of its index
    forms: dict[str, tuple[str, ...]] = field(default_factory=dict)  # other forms in PyTorch
    index_of: tuple[str, str, int] | None = None  # the result is the index of amax or amin of a
    # text along a dimension: of equal ones, any

    def count(self, dims: tuple[str, ...]) -> int:
        return math.prod(self.sizes[dim] for dim in dims)

    @property
    def flops(self) -> int:
        """Of the contractions; none for other programs."""
        return 2 * sum(self.count(space) for space in self.spaces)

    @property
    def elements(self) -> int:
        """Of the largest array."""
        arrays = [argument.dims for argument in self.arguments]
        return max(self.count(dims) for dims in [*arrays, self.result])

    @property
    def bytes(self) -> int:
        """Of each argument and of the result, once."""
        moved = self.count(self.result) * ITEM_BYTES[self.dtype]
        for one in self.arguments:
            read = self.count(one.dims)
            if one.fill == "table":  # only the rows that are gathered
                read = min(read, self.count(self.result))
            moved += read * ITEM_BYTES[one.dtype]
        return moved

    @property
    def regimes(self) -> tuple[str, ...]:
        """small, or one of skinny, deep, square and wide by its shape; and unaligned."""
        rows, columns, depth = self.regime
        if self.flops < 4e6 and self.bytes < 1 << 18:
            found = "small"
        elif depth >= 8 * max(rows, columns):
            found = "deep"
        elif min(rows, columns) <= 64 and max(rows, columns) >= 16 * min(rows, columns):
            found = "skinny"
        elif max(self.regime) <= 4 * min(self.regime):
            found = "square"
        else:
            found = "wide"
        unaligned = any(size > 1 and size % 8 for size in self.regime)
        return (found, "unaligned") if unaligned else (found,)

    def source(self, sampled: bool = False) -> str:
        """The program as a file; `sampled`: with indices of a free size as an argument."""
        arguments = list(self.arguments)
        index = ""
        if self.index:
            index = self.index[1]
            if sampled:
                arguments.append(Argument("index", "int64", (self.index[0],)))
                index = "index.unsqueeze(1)"
        signature = ", ".join(
            f"{one.name}: Tensor[{', '.join([*map(_size, one.dims), one.dtype])}]"
            for one in arguments
        )
        *body, last = [line.replace("{index}", index) for line in self.lines]
        text = "".join(f"    {line}\n" for line in [*body, f"return {last}"])
        return f"{HEADER}\n\n@tsr.function\ndef {FUNCTION}({signature}):\n{text}"

    def flags(self) -> list[str]:
        """The arguments for `tessera compile` and the other commands."""
        texts = [
            f"{one.name}={one.dtype}[{','.join(str(self.sizes[dim]) for dim in one.dims)}]"
            for one in self.arguments
        ]
        return [word for text in texts for word in ("--arg", text)]

    @property
    def digest(self) -> str:
        """Of everything that decides what is compiled."""
        text = self.source() + str(self.flags())
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _size(dim: str) -> str:
    """In an annotation: a name, or a number."""
    return dim if dim.isdigit() else repr(dim)


def shape(*sizes: int) -> str:
    return "x".join(map(str, sizes))
