"""Gathers and scatters at integer indices, for random programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations import floating, operation, tame, widened
from values import Value

if TYPE_CHECKING:
    from generate import Builder


def places(b: Builder, dims: tuple[str, ...] | None = None) -> Value:
    """Integers for indexing, once they are `wrapped`; of these sizes, or of some."""
    value = b.pick(
        lambda v: (
            v.is_integer
            and v.dtype != "uint8"
            and (v.dims == dims if dims is not None else 1 <= v.rank <= 2)
        )
    )
    if value is None or b.rng.random() < 0.3:
        value = b.parameter(
            b.random_dims(1, 1) if dims is None else dims,
            b.rng.choice(("int64", "int64", "int32", "int16", "int8")),
        )
    return value


def wrapped(b: Builder, i: Value, x: Value, d: int, below: bool = False) -> str:
    """The integers as indices along a dimension; some counted from its end, if `below` allows
    it."""
    text = f"({i.name}.to(int64) % {x.name}.shape[{d}])"
    return f"({text} - {x.name}.shape[{d}])" if below and b.rng.random() < 0.3 else text


@operation("gather", 1.5)
def gather(b: Builder) -> None:
    x = floating(b, least_rank=1)
    d = b.rng.randrange(x.rank)
    b.nonempty.add(x.dims[d])
    form = b.rng.random()
    if form < 0.4 and all(size.isalnum() for size in x.dims):
        i = places(
            b, (*x.dims[:d], b.symbol(beside=x.dims[:d] + x.dims[d + 1 :]), *x.dims[d + 1 :])
        )
        b.emit(
            "gather",
            f"tsr.gather({x.name}, {d}, {wrapped(b, i, x, d)})",
            [x, i],
            i.dims,
            x.dtype,
            x.range,
        )
        return
    i = places(b)
    if x.rank + i.rank > 5:
        return
    if form < 0.6 and d + 1 < x.rank:
        b.nonempty.add(x.dims[d + 1])
        both = f"{wrapped(b, i, x, d, True)}, {wrapped(b, i, x, d + 1, True)}"
        b.emit(
            "gather",
            f"{x.name}[{':, ' * d}{both}]",
            [x, i],
            (*x.dims[:d], *i.dims, *x.dims[d + 2 :]),
            x.dtype,
            x.range,
        )
        return
    at, inside = wrapped(b, i, x, d, True), wrapped(b, i, x, d)
    text = f"tsr.take({x.name}, {at}, dim={d})" if form > 0.8 else f"{x.name}[{':, ' * d}{at}]"
    if i.rank == 1 and form > 0.9:
        text = f"tsr.index_select({x.name}, {d}, {inside})"
    if x.rank == 2 and d == 0 and b.rng.random() < 0.5:
        text = f"tsr.embedding({inside}, {x.name})"
    b.emit("gather", text, [x, i], (*x.dims[:d], *i.dims, *x.dims[d + 1 :]), x.dtype, x.range)


@operation("scatter_add", 0.5, heavy=True)
def scatter_add(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=10.0)
    if not all(size.isalnum() for size in x.dims):
        return
    d = b.rng.randrange(x.rank)
    b.nonempty.add(x.dims[d])
    i = places(b, (*x.dims[:d], b.symbol(beside=x.dims[:d] + x.dims[d + 1 :]), *x.dims[d + 1 :]))
    terms = b.most(i.dims[d]) + 1
    x = widened(b, x, terms)
    source = b.pick(lambda v: v.dims == i.dims and v.dtype == x.dtype) or b.parameter(
        i.dims, x.dtype
    )
    source = tame(b, source, 10.0)
    b.contractions.append((*x.dims, i.dims[d]))
    b.emit(
        "scatter_add",
        f"tsr.scatter_add({x.name}, {d}, {wrapped(b, i, x, d)}, {source.name})",
        [x, i, source],
        x.dims,
        x.dtype,
        x.range + source.range.scaled(terms),
    )
