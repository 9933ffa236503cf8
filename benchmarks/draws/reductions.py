"""Reductions of rows, columns, inner and several dimensions, of lengths 1 to 10⁷."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

LONGEST = 10**7
#: What is reduced: the names of the sizes, and the positions of those that are reduced.
PLACES = {
    "rows": (("A", "L"), (1,)),
    "columns": (("L", "A"), (0,)),
    "inner": (("A", "L", "C"), (1,)),
    "outer_and_inner": (("L", "A", "R"), (0, 2)),
    "last_two": (("A", "L", "R"), (1, 2)),
    "all": (("L",), (0,)),
}
WEIGHTS = {"rows": 6, "columns": 4, "inner": 4, "outer_and_inner": 2, "last_two": 2, "all": 1}
SEVERAL = ("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "vector_norm")
ONE = ("argmax", "argmin", "prod")  # of one dimension only
#: What is reduced is computed from the argument in half of the draws.
BODIES = {
    "plain": "x",
    "squares": "x * x",
    "absolute": "tsr.abs(x)",
    "exponentials": "tsr.exp(x)",
    "products": "x * y",
    "differences": "tsr.square(x - y)",
}


def draw(sizes: Sizes) -> Program:
    place = sizes.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    dims, reduced = PLACES[place]
    kind = sizes.choice(SEVERAL if len(reduced) > 1 else SEVERAL + ONE)
    dtype = sizes.float_type()
    alignment = sizes.alignment()
    length = sizes.aligned(1, LONGEST, alignment)
    # The total number of elements is log-uniform, and so are its factors.
    total = sizes.log_uniform(length, max(length, sizes.limits.elements))
    found = {"L": length}
    rest = max(1, total // length)
    for name in (name for name in dims if name != "L"):
        # What is reduced in all is no longer than the longest.
        most = min(rest, LONGEST // length) if name == "R" else rest
        found[name] = sizes.aligned(1, most, alignment)
        rest = max(1, rest // found[name])
    body = sizes.choice(list(BODIES)) if sizes.chance(0.5) else "plain"
    body = "near_one" if kind == "prod" else body
    return program(place, kind, body, dtype, found)


def program(place: str, kind: str, body: str, dtype: str, sizes: dict[str, int]) -> Program:
    dims, reduced = PLACES[place]
    text = BODIES.get(body, "x")
    arguments = [Argument("x", dtype, dims, "near_one" if kind == "prod" else "normal")]
    if "y" in text:
        arguments.append(Argument("y", dtype, dims))
    where = str(reduced[0]) if len(reduced) == 1 else str(reduced)
    kept = tuple(dim for at, dim in enumerate(dims) if at not in reduced)
    outer = 1
    for dim in kept:
        outer *= sizes[dim]
    length = 1
    for at in reduced:
        length *= sizes[dims[at]]
    title = f"{kind}_{place}_{dtype}_{shape(*(sizes[dim] for dim in dims))}"
    return Program(
        "reduction",
        title + (f"_of_{body}" if text != "x" else ""),
        tuple(arguments),
        sizes,
        (f"tsr.{kind}({text}, dim={where})",),
        kept,
        "int64" if kind.startswith("arg") else dtype,
        free=kept,
        regime=(outer, sizes[dims[-1]] if 0 in reduced else 1, length),
        index_of=(kind.replace("arg", "a"), text, reduced[0]) if kind in ONE[:2] else None,
    )
