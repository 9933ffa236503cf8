"""Views and copies with other shapes, for random programs: of every type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations import floating, operation
from values import Interval, Value, broadcast

if TYPE_CHECKING:
    from generate import Builder


def value_of(b: Builder, least_rank: int, accept=lambda v: True) -> Value | None:
    """A value of any type; more often of floating point."""
    if b.rng.random() < 0.3:
        return b.pick(lambda v: v.rank >= least_rank and accept(v))
    return b.pick(lambda v: v.is_float and v.rank >= least_rank and accept(v))


def is_simple(size: str) -> bool:
    """Whether sizes can be derived from it: it is a symbol or a number."""
    return size.isalnum()


@operation("permute", 1.0)
def permute(b: Builder) -> None:
    x = value_of(b, 2)
    if x is None:
        return
    if b.rng.random() < 0.5:
        i, j = b.rng.sample(range(x.rank), 2)
        order = list(range(x.rank))
        order[i], order[j] = order[j], order[i]
        text = f"{x.name}.transpose({i}, {j})"
    else:
        order = b.rng.sample(range(x.rank), x.rank)
        text = f"tsr.permute({x.name}, {tuple(order)})"
    b.emit("permute", text, [x], tuple(x.dims[i] for i in order), x.dtype, x.range)


@operation("unsqueeze", 0.7)
def unsqueeze(b: Builder) -> None:
    x = value_of(b, 0, lambda v: v.rank < 4)
    if x is not None:
        dim = b.rng.randint(0, x.rank)
        b.emit(
            "unsqueeze",
            f"{x.name}.unsqueeze({dim})",
            [x],
            (*x.dims[:dim], "1", *x.dims[dim:]),
            x.dtype,
            x.range,
        )


@operation("reshape", 1.0)
def reshape(b: Builder) -> None:
    x = b.pick(
        lambda v: v.is_float and v.rank >= 2 and not any("*" in d or "/" in d for d in v.dims)
    )
    if x is None:
        return
    d = b.rng.randrange(x.rank - 1)
    merged = "*".join(sorted((x.dims[d], x.dims[d + 1])))
    sizes = [f"{x.name}.shape[{i}]" for i in range(x.rank)]
    sizes[d : d + 2] = [f"{sizes[d]} * {sizes[d + 1]}"]
    name = b.rng.choice(("reshape", "reshape", "view"))
    flat = b.emit(
        "reshape",
        f"{x.name}.{name}({', '.join(sizes)})",
        [x],
        (*x.dims[:d], merged, *x.dims[d + 2 :]),
        x.dtype,
        x.range,
    )
    if b.rng.random() < 0.5:
        back = [f"{x.name}.shape[{i}]" for i in range(x.rank)]
        work = b.emit("mul", f"{flat.name} * 0.5", [flat], flat.dims, x.dtype, x.range.scaled(0.5))
        b.emit(
            "reshape",
            f"{work.name}.reshape({', '.join(back)})",
            [work],
            x.dims,
            x.dtype,
            work.range,
        )


@operation("slice", 1.0)
def slice_(b: Builder) -> None:
    x = value_of(b, 1, lambda v: "/" not in "".join(v.dims))
    if x is None:
        return
    d = b.rng.randrange(x.rank)
    before = ":, " * d
    size = x.dims[d]
    if size == "1" or b.rng.random() < 0.3:
        at = b.rng.choice((0, -1))
        b.nonempty.add(size)
        b.emit(
            "slice",
            f"{x.name}[{before}{at}]",
            [x],
            (*x.dims[:d], *x.dims[d + 1 :]),
            x.dtype,
            x.range,
        )
        return
    if size.isalnum() and b.rng.random() < 0.3:
        half = f"{x.name}[{before}{x.name}.shape[{d}] // 2:]"
        b.emit(
            "slice",
            half,
            [x],
            (*x.dims[:d], f"{size} - {size}//2", *x.dims[d + 1 :]),
            x.dtype,
            x.range,
        )
        return
    half = f"({size} + 1)//2"
    text = b.rng.choice(
        (f"{x.name}[{before}:({x.name}.shape[{d}] + 1) // 2]", f"{x.name}[{before}::2]")
    )
    b.emit("slice", text, [x], (*x.dims[:d], half, *x.dims[d + 1 :]), x.dtype, x.range)


@operation("concat", 0.8)
def concat(b: Builder) -> None:
    x = value_of(b, 1)
    if x is None:
        return
    y = b.pick(lambda v: v.dtype == x.dtype and v.dims == x.dims and v is not x) or x
    d = b.rng.randrange(x.rank)
    if b.rng.random() < 0.3 and x.rank < 4:
        b.emit(
            "stack",
            f"tsr.stack(({x.name}, {y.name}), dim={d})",
            [x, y],
            (*x.dims[:d], "2", *x.dims[d:]),
            x.dtype,
            x.range.hull(y.range),
        )
        return
    if "+" in x.dims[d] or "*" in x.dims[d]:
        return
    doubled = f"{x.dims[d]} + {x.dims[d]}"
    b.emit(
        "concat",
        f"tsr.concat(({x.name}, {y.name}), dim={d})",
        [x, y],
        (*x.dims[:d], doubled, *x.dims[d + 1 :]),
        x.dtype,
        x.range.hull(y.range),
    )


@operation("create", 0.5)
def create(b: Builder) -> None:
    x = floating(b, least_rank=1)
    dim = b.rng.randrange(x.rank)
    shape = f"({x.name}.shape[{dim}],)"
    text, dtype, interval = b.rng.choice(
        [
            (f"tsr.full({shape}, 1.5, dtype={x.dtype})", x.dtype, Interval(1.5, 1.5)),
            (f"tsr.ones({shape}, dtype={x.dtype})", x.dtype, Interval(1, 1)),
            (f"tsr.zeros({shape}, dtype={x.dtype})", x.dtype, Interval(0, 0)),
            (
                f"tsr.arange({x.name}.shape[{dim}]).to({x.dtype})",
                x.dtype,
                Interval(0, b.most(x.dims[dim])),
            ),
        ]
    )
    b.emit("create", text, [x], (x.dims[dim],), dtype, interval)


@operation("alike", 0.3)
def alike(b: Builder) -> None:
    x = value_of(b, 0)
    if x is not None:
        name, interval = b.rng.choice(
            (("zeros_like", Interval(0, 0)), ("ones_like", Interval(0, 1)))
        )
        text = (
            f"tsr.{name}({x.name})"
            if b.rng.random() < 0.6
            else f"tsr.full_like({x.name}, 3, dtype={b.dtype})"
        )
        full = "full" in text
        b.emit(
            "create",
            text,
            [x],
            x.dims,
            b.dtype if full else x.dtype,
            Interval(3, 3) if full else interval,
        )


@operation("flatten", 0.5)
def flatten(b: Builder) -> None:
    x = value_of(b, 2, lambda v: all(is_simple(d) for d in v.dims))
    if x is None:
        return
    d = b.rng.randrange(x.rank - 1)
    merged = "*".join(sorted((x.dims[d], x.dims[d + 1])))
    b.emit(
        "flatten",
        f"{x.name}.flatten({d}, {d + 1 - x.rank})",
        [x],
        (*x.dims[:d], merged, *x.dims[d + 2 :]),
        x.dtype,
        x.range,
    )


@operation("squeeze", 0.4)
def squeeze(b: Builder) -> None:
    x = value_of(b, 1, lambda v: "1" in v.dims)
    if x is not None:
        d = x.dims.index("1")
        b.emit(
            "squeeze",
            f"{x.name}.squeeze({d})",
            [x],
            (*x.dims[:d], *x.dims[d + 1 :]),
            x.dtype,
            x.range,
        )


@operation("expand", 0.6)
def expand(b: Builder) -> None:
    x = value_of(b, 0, lambda v: v.rank < 4)
    if x is None:
        return
    y = b.pick(lambda v: v.dims != x.dims and broadcast(x.dims, v.dims) == v.dims)
    if y is not None:
        text = b.rng.choice(
            (f"tsr.broadcast_to({x.name}, {y.name}.shape)", f"{x.name}.expand_as({y.name})")
        )
        b.emit("expand", text, [x, y], y.dims, x.dtype, x.range)
    else:
        b.emit(
            "expand", f"{x.name}.expand(2{', -1' * x.rank})", [x], ("2", *x.dims), x.dtype, x.range
        )


@operation("repeat", 0.4)
def repeat(b: Builder) -> None:
    x = value_of(b, 1)
    if x is None:
        return
    d = b.rng.randrange(x.rank)
    if is_simple(x.dims[d]):
        counts = ", ".join("2" if i == d else "1" for i in range(x.rank))
        doubled = f"{x.dims[d]} + {x.dims[d]}"
        b.emit(
            "repeat",
            f"{x.name}.repeat({counts})",
            [x],
            (*x.dims[:d], doubled, *x.dims[d + 1 :]),
            x.dtype,
            x.range,
        )


@operation("flip", 0.6)
def flip(b: Builder) -> None:
    x = value_of(b, 1)
    if x is not None:
        dims = tuple(sorted(b.rng.sample(range(x.rank), b.rng.randint(1, min(2, x.rank)))))
        b.emit("flip", f"tsr.flip({x.name}, {dims})", [x], x.dims, x.dtype, x.range)


@operation("split", 0.5)
def split(b: Builder) -> None:
    """The second of single rows where the size is a number, the first half elsewhere."""
    x = value_of(b, 1)
    if x is None:
        return
    d = b.rng.randrange(x.rank)
    size, rest = x.dims[d], (x.dims[:d], x.dims[d + 1 :])
    if size.isdigit() and int(size) > 1:
        b.emit(
            "split",
            f"tsr.split({x.name}, 1, dim={d})[1]",
            [x],
            (*rest[0], "1", *rest[1]),
            x.dtype,
            x.range,
        )
    elif is_simple(size) and size != "1":
        b.nonempty.add(size)
        b.emit(
            "chunk",
            f"tsr.chunk({x.name}, 2, dim={d})[0]",
            [x],
            (*rest[0], f"({size} + 1)//2", *rest[1]),
            x.dtype,
            x.range,
        )


@operation("triangle", 0.6)
def triangle(b: Builder) -> None:
    x = value_of(b, 2)
    if x is not None:
        name = b.rng.choice(("tril", "triu"))
        b.emit(
            name,
            f"tsr.{name}({x.name}, {b.rng.choice((-1, 0, 2))})",
            [x],
            x.dims,
            x.dtype,
            x.range.hull(Interval(0, 0)),
        )


@operation("eye", 0.2)
def eye(b: Builder) -> None:
    x = floating(b, least_rank=1)
    d = b.rng.randrange(x.rank)
    size = f"{x.name}.shape[{d}]"
    b.emit(
        "eye",
        f"tsr.eye({size}, dtype={x.dtype})",
        [x],
        (x.dims[d], x.dims[d]),
        x.dtype,
        Interval(0, 1),
    )
