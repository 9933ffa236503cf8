"""Reductions and sorts that select elements, and those of integers and bools, for random
programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations import compare, floating, operation, reduced
from values import Interval

if TYPE_CHECKING:
    from generate import Builder


@operation("extremum", 1.0, heavy=True)
def extremum(b: Builder) -> None:
    """The element, or its index."""
    x = floating(b, least_rank=1)
    d, keep = b.rng.randrange(x.rank), b.rng.random() < 0.5
    b.nonempty.add(x.dims[d])
    name, dims = b.rng.choice(("max", "min")), reduced(x.dims, [d], keep)
    form = b.rng.random()
    if form < 0.4:
        b.emit(
            name, f"tsr.{name}({x.name}, dim={d}, keepdim={keep})[0]", [x], dims, x.dtype, x.range
        )
        return
    text = (
        f"tsr.{name}({x.name}, dim={d}, keepdim={keep})[1]"
        if form < 0.6
        else f"{x.name}.arg{name}(dim={d - x.rank}, keepdim={keep})"
    )
    b.emit(f"arg{name}", text, [x], dims, "int64", Interval(0, b.most(x.dims[d])))


@operation("order", 0.7, heavy=True)
def order(b: Builder) -> None:
    """Sorted rows and their largest elements; each element is compared with all of its row."""
    x = floating(b, least_rank=1)
    d = b.rng.randrange(x.rank)
    size, most = x.dims[d], Interval(0, b.most(x.dims[d]))
    b.contractions.append((*x.dims, size))
    falls = b.rng.random() < 0.5
    part = b.rng.randrange(2)
    dtype, interval = ("int64", most) if part else (x.dtype, x.range)
    kind = b.rng.choice(("sort", "argsort", "topk"))
    if kind == "argsort":
        b.emit(
            kind, f"tsr.argsort({x.name}, dim={d}, descending={falls})", [x], x.dims, "int64", most
        )
    elif kind == "topk" and size.isalnum():
        b.nonempty.add(size)
        count, new = b.rng.choice(
            (("1", "1"), (f"({x.name}.shape[{d}] + 1) // 2", f"({size} + 1)//2"))
        )
        b.emit(
            kind,
            f"tsr.topk({x.name}, {count}, dim={d}, largest={falls})[{part}]",
            [x],
            (*x.dims[:d], new, *x.dims[d + 1 :]),
            dtype,
            interval,
        )
    else:
        b.emit(
            "sort",
            f"tsr.sort({x.name}, dim={d}, descending={falls})[{part}]",
            [x],
            x.dims,
            dtype,
            interval,
        )


@operation("prod", 0.5, heavy=True)
def prod(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=20.0)
    d, keep = b.rng.randrange(x.rank), b.rng.random() < 0.5
    part = b.emit("cos", f"tsr.cos({x.name})", [x], x.dims, x.dtype, Interval(-1, 1))
    b.emit(
        "prod",
        f"tsr.prod({part.name}, dim={d}, keepdim={keep})",
        [part],
        reduced(x.dims, [d], keep),
        x.dtype,
        Interval(-1, 1),
    )


@operation("std", 0.4, heavy=True)
def std(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=10.0)
    d = b.rng.randrange(x.rank)
    b.emit(
        "std",
        f"tsr.std({x.name} + 0.5, dim={d}, correction=0)",
        [x],
        reduced(x.dims, [d], False),
        x.dtype,
        Interval(0, x.range.magnitude + 1),
    )


@operation("truth", 0.6, heavy=True)
def truth(b: Builder) -> None:
    """Whether any or all hold, and how many."""
    x = b.pick(lambda v: v.dtype == "bool" and v.rank >= 1)
    if x is None:
        return compare(b)
    d, keep = b.rng.randrange(x.rank), b.rng.random() < 0.5
    name = b.rng.choice(("any", "all", "sum"))
    dtype, most = ("int64", b.most(x.dims[d])) if name == "sum" else ("bool", 1)
    b.emit(
        name,
        f"tsr.{name}({x.name}, dim={d}, keepdim={keep})",
        [x],
        reduced(x.dims, [d], keep),
        dtype,
        Interval(0, most),
    )


@operation("integer_reduction", 0.8, heavy=True)
def integer_reduction(b: Builder) -> None:
    x = b.pick(lambda v: v.is_integer and v.rank >= 1 and v.range.magnitude < 1000) or b.parameter(
        b.random_dims(1, 3), b.rng.choice(("int64", "int32", "int16", "int8", "uint8"))
    )
    d, keep = b.rng.randrange(x.rank), b.rng.random() < 0.5
    terms = b.most(x.dims[d])
    name = b.rng.choice(("sum", "amax", "amin", "cumsum", "argmax"))
    if name == "cumsum":
        b.emit(name, f"tsr.cumsum({x.name}, dim={d})", [x], x.dims, "int64", x.range.scaled(terms))
        return
    if name != "sum":
        b.nonempty.add(x.dims[d])
    dtype = "int64" if name in ("sum", "argmax") else x.dtype
    interval = {"sum": x.range.scaled(terms), "argmax": Interval(0, terms)}.get(name, x.range)
    b.emit(
        name,
        f"tsr.{name}({x.name}, dim={d}, keepdim={keep})",
        [x],
        reduced(x.dims, [d], keep),
        dtype,
        interval,
    )


@operation("mse_loss", 0.3, heavy=True)
def mse_loss(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=5.0)
    y = b.pick(lambda v: v.dtype == x.dtype and v.dims == x.dims and v.range.magnitude <= 5) or x
    if b.rng.random() < 0.5:
        b.emit(
            "mse_loss",
            f"tsr.mse_loss({x.name}, {y.name} + 0.25, reduction='none')",
            [x, y],
            x.dims,
            x.dtype,
            Interval(0, 110),
        )
    else:
        b.emit(
            "mse_loss",
            f"tsr.mse_loss({x.name} - 0.5, {y.name})",
            [x, y],
            (),
            x.dtype,
            Interval(0, 110),
        )
