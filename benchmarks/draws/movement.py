"""Gathers and transposes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

KINDS = (
    "embedding",
    "gather",
    "index_select",
    "transpose",
    "permute3",
    "permute4",
    "add_transpose",
)
ORDERS = {
    "permute3": ((0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0), (1, 2, 0)),
    "permute4": ((0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 3, 2)),
}


def draw(sizes: Sizes) -> Program:
    kind = sizes.choice(KINDS)
    dtype = sizes.float_type()
    alignment = sizes.alignment()
    order = sizes.choice(ORDERS.get(kind, ((1, 0),)))
    total = sizes.log_uniform(1, sizes.limits.elements)
    extents = []
    for _ in range(max(len(order), 2) - 1):
        extents.append(sizes.aligned(1, max(1, total), alignment))
        total = max(1, total // extents[-1])
    extents.append(total)
    sizes.shuffle(extents)
    words = sizes.log_uniform(1, 2**17)
    return program(kind, dtype, extents, order, words)


def program(
    kind: str, dtype: str, extents: list[int], order: tuple[int, ...], words: int
) -> Program:
    a, c = extents[0], extents[-1]
    if kind in ("embedding", "index_select"):
        sizes = {"A": a, "C": c, "V": words}
        table = Argument("x", dtype, ("V", "C"), "table")
        index = Argument("i", "int64", ("A",), "below:V")
        line = "tsr.embedding(i, x)" if kind == "embedding" else "tsr.index_select(x, 0, i)"
        arguments, result, free = (table, index), ("A", "C"), ("A", "C")
    elif kind == "gather":
        sizes = {"A": a, "C": c, "V": max(1, min(words, (1 << 25) // a))}
        arguments = (
            Argument("x", dtype, ("A", "V"), "table"),
            Argument("i", "int64", ("A", "C"), "below:V"),
        )
        line, result, free = "tsr.gather(x, 1, i)", ("A", "C"), ("A", "C")
    elif kind == "add_transpose":
        sizes = {"A": a, "C": c}
        arguments = (Argument("x", dtype, ("A", "C")), Argument("y", dtype, ("C", "A")))
        line, result, free = "x.mT + y", ("C", "A"), ("A", "C")
    else:
        names = tuple("ACDE"[: len(order)])
        sizes = dict(zip(names, extents, strict=True))
        arguments = (Argument("x", dtype, names),)
        line = f"x.permute({', '.join(map(str, order))})"
        result, free = tuple(names[at] for at in order), names
    what = f"_{''.join(map(str, order))}" if kind in ORDERS else ""
    widths = [sizes[dim] for dim in arguments[0].dims]
    return Program(
        "movement",
        f"{kind}{what}_{dtype}_{shape(*widths)}" + (f"_to_{shape(a, c)}" if "V" in sizes else ""),
        arguments,
        sizes,
        (line,),
        result,
        dtype,
        free=free,
        regime=(a, c, 1),
    )
