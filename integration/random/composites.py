"""Composite operations for random programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from operations import floating, operation, reduced, tame, widened
from values import Interval

if TYPE_CHECKING:
    from generate import Builder


@operation("norm", 0.7, heavy=True)
def norm(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=10.0)
    over = sorted(b.rng.sample(range(x.rank), 1 if b.rng.random() < 0.7 else min(2, x.rank)))
    terms = b.most(*(x.dims[d] for d in over))
    x = widened(b, x, terms)
    p = b.rng.choice(("1", "2", "3", "tsr.inf", "'fro'"))
    if p == "tsr.inf":
        b.nonempty.update(x.dims[d] for d in over)
    keep = b.rng.random() < 0.5
    dim = str(over[0]) if len(over) == 1 else str(tuple(over))
    b.emit(
        "norm",
        f"tsr.norm({x.name}, p={p}, dim={dim}, keepdim={keep})",
        [x],
        reduced(x.dims, over, keep),
        x.dtype,
        Interval(0, x.range.magnitude * terms),
    )


@operation("channels", 0.7, heavy=True)
def channels(b: Builder) -> None:
    """Normalisations of dimension 1."""
    x = floating(b, least_rank=2, limit=50.0)
    if b.rng.random() < 0.5:
        b.nonempty.update(x.dims[1:])
        b.emit(
            "group_norm",
            f"tsr.group_norm({x.name}, 1, eps=1e-3)",
            [x],
            x.dims,
            x.dtype,
            Interval(-40, 40),
        )
    elif x.dims[1].isalnum():
        mean, scale = b.parameter((x.dims[1],), x.dtype), b.parameter((x.dims[1],), x.dtype)
        text = f"tsr.batch_norm({x.name}, {mean.name}, abs({scale.name}) + 1.0, {scale.name}, {mean.name})"
        b.emit(
            "batch_norm",
            text,
            [x, mean, scale],
            x.dims,
            x.dtype,
            (x.range + Interval(-4, 4)).scaled(4),
        )


@operation("einsum", 1.5, heavy=True)
def einsum(b: Builder) -> None:
    x = floating(b, least_rank=2, limit=4.0)
    inner, terms = x.dims[-1], b.most(x.dims[-1])
    kind = b.rng.choice(("turn", "sum", "rows", "product", "three"))
    if kind == "turn":
        b.emit(
            "einsum",
            f"tsr.einsum('...ij->...ji', {x.name})",
            [x],
            (*x.dims[:-2], inner, x.dims[-2]),
            x.dtype,
            x.range,
        )
        return
    x = widened(b, x, 16 * terms)
    if kind == "sum":
        b.emit(
            "einsum",
            f"tsr.einsum('...i->...', {x.name})",
            [x],
            x.dims[:-1],
            x.dtype,
            x.range.scaled(terms),
        )
        return
    if kind == "rows":
        y = b.pick(lambda v: v.dtype == x.dtype and v.dims == x.dims) or x
        y = tame(b, y, 4.0)
        b.emit(
            "einsum",
            f"tsr.einsum('...i,...i->...', {x.name}, {y.name})",
            [x, y],
            x.dims[:-1],
            x.dtype,
            (x.range * y.range).scaled(terms),
        )
        return
    if not inner.isalnum():
        return
    outer = b.symbol(beside=(inner,))
    y = b.parameter((outer, inner), x.dtype)
    dims, values = (*x.dims[:-1], outer), [x, y]
    text = f"tsr.einsum('...j,kj->...k', {x.name}, {y.name})"
    if kind == "three":
        scale = b.parameter((outer,), x.dtype)
        values.append(scale)
        text = f"tsr.einsum('...j,kj,k->...k', {x.name}, {y.name}, {scale.name} * 0.1)"
    b.contractions.append((*dims, inner))
    product = b.emit("einsum", text, values, dims, x.dtype, (x.range * y.range).scaled(terms))
    b.emit("mul", f"{product.name} * 0.05", [product], dims, x.dtype, product.range.scaled(0.05))


@operation("loss", 0.8, heavy=True)
def loss(b: Builder) -> None:
    x = floating(b, least_rank=2, limit=20.0)
    rest = (x.dims[0], *x.dims[2:])
    if not all(d.isalnum() for d in rest):
        return
    b.nonempty.add(x.dims[1])
    target = b.parameter(rest, "int64")
    smoothing = b.rng.choice(("", "", ", label_smoothing=0.25"))
    text = f"tsr.cross_entropy({x.name}, {target.name} % {x.name}.shape[1], reduction='none'{smoothing})"
    b.emit(
        "cross_entropy",
        text,
        [x, target],
        rest,
        x.dtype,
        Interval(0, 2 * x.range.magnitude + math.log(b.most(x.dims[1]))),
    )


@operation("one_hot", 0.4)
def one_hot(b: Builder) -> None:
    x = b.pick(lambda v: v.is_integer and v.rank < 3) or b.parameter(b.random_dims(1, 2), "int32")
    rows = b.emit(
        "one_hot", f"tsr.one_hot({x.name} % 5, 5)", [x], (*x.dims, "5"), "int64", Interval(0, 1)
    )
    b.emit("cast", f"{rows.name}.to({b.dtype})", [rows], rows.dims, b.dtype, rows.range)


@operation("border", 0.6)
def border(b: Builder) -> None:
    x = b.pick(lambda v: v.is_float and v.rank >= 1 and v.dims[-1].isalnum() and v.dims[-1] != "1")
    if x is None:
        return
    size = x.dims[-1]
    if b.rng.random() < 0.4:
        b.emit(
            "roll",
            f"tsr.roll({x.name}, {b.rng.choice((1, -1, 2))}, -1)",
            [x],
            x.dims,
            x.dtype,
            x.range,
        )
        return
    mode = b.rng.choice(("constant", "replicate"))
    if mode == "replicate":
        b.nonempty.add(size)
    b.emit(
        "pad",
        f"tsr.pad({x.name}, (1, 2), {mode!r})",
        [x],
        (*x.dims[:-1], f"{size} + 3"),
        x.dtype,
        x.range.hull(Interval(0, 0)),
    )
