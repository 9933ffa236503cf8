"""Convolutions and pooling for random programs.

Windows of 3 elements with a padding of 1 keep the size of a dimension. Results of other windows
are averaged over the positions, since the sizes of later operations are compared as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations import floating, operation, widened
from values import Value

if TYPE_CHECKING:
    from generate import Builder


def image(b: Builder, limit: float) -> tuple[Value, int] | None:
    """A value with a batch, channels and 1 to 3 dimensions of positions, and their number."""
    x = floating(b, least_rank=2, limit=limit)
    if x.rank > 5 or not all(size.isalnum() for size in x.dims):
        return None
    if x.rank < 3 or (x.rank < 5 and b.rng.random() < 0.3):
        text = f"{x.name}.unsqueeze(0)"
        x = b.emit("unsqueeze", text, [x], ("1", *x.dims), x.dtype, x.range)
    b.nonempty.update(x.dims[2:])
    return x, x.rank - 2


def steps(b: Builder, is_transposed: bool) -> tuple[str, bool]:
    """Stride, padding and dilation of windows of 3 elements, and whether they keep the size."""
    choices = ["", "", "", "stride=2, "]
    if not is_transposed:  # padding takes elements from its result
        choices += ["padding=2, ", "dilation=2, padding=3, "]
    text = b.rng.choice(choices)
    return text if "padding" in text else text + "padding=1, ", not text


def over_positions(text: str, dims: tuple[str, ...], keeps: bool) -> tuple[str, tuple[str, ...]]:
    """The result and its sizes: a mean over the positions where their number is not the
    operand's."""
    if keeps:
        return text, dims
    return f"{text}.mean({tuple(range(2 - len(dims), 0))})", dims[:2]


@operation("conv", 1.0, heavy=True)
def conv(b: Builder) -> None:
    found = image(b, 4.0)
    if found is None:
        return
    x, spatial = found
    batch, channels, positions = x.dims[0], x.dims[1], x.dims[2:]
    elements = 3**spatial
    x = widened(b, x, 4 * elements * b.most(channels))
    outputs, kernel = b.symbol(beside=x.dims), ("3",) * spatial
    is_transposed = b.rng.random() < 0.3
    shape = (channels, outputs) if is_transposed else (outputs, channels)
    if channels == "1" and b.rng.random() < 0.5:  # a known number of terms
        outputs = "2"
        shape = ("1", "2") if is_transposed else ("2", "1")
    w = b.parameter((*shape, *kernel), x.dtype)
    bias = b.parameter((outputs,), x.dtype) if b.rng.random() < 0.5 else None
    operands = [x, w] + ([bias] if bias else [])
    text, keeps = steps(b, is_transposed)
    name = f"conv_transpose{spatial}d" if is_transposed else f"conv{spatial}d"
    given = ", ".join(one.name for one in operands)
    b.contractions.append((batch, outputs, channels, *positions, str(elements)))
    interval = (x.range * w.range).scaled(elements * b.most(channels))
    if bias:
        interval = interval + bias.range
    text = f"tsr.{name}({given}, {text}groups=1)"
    text, dims = over_positions(text, (batch, outputs, *positions), keeps)
    b.emit("conv", text, operands, dims, x.dtype, interval)


@operation("grouped_conv", 0.4, heavy=True)
def grouped_conv(b: Builder) -> None:
    """A known number of channels, in groups."""
    spatial = b.rng.randint(1, 2)
    groups, inputs, outputs = b.rng.choice(((2, 1, 1), (3, 1, 2), (2, 3, 4), (4, 2, 1)))
    positions = tuple(b.symbol(beside=()) for _ in range(spatial))
    if len(set(positions)) < spatial:
        return
    batch = b.symbol(beside=positions)
    b.nonempty.update(positions)
    x = widened(b, b.parameter((batch, str(groups * inputs), *positions)), 400)
    is_transposed = b.rng.random() < 0.3
    shape = (groups * inputs, outputs) if is_transposed else (groups * outputs, inputs)
    w = b.parameter((*map(str, shape), *("3",) * spatial), x.dtype)
    text, keeps = steps(b, is_transposed)
    name = f"conv_transpose{spatial}d" if is_transposed else f"conv{spatial}d"
    dims = (batch, str(groups * outputs), *positions)
    b.contractions.append((*dims, str(inputs * 3**spatial)))
    interval = (x.range * w.range).scaled(inputs * 3**spatial)
    text = f"tsr.{name}({x.name}, {w.name}, {text}groups={groups})"
    text, dims = over_positions(text, dims, keeps)
    b.emit("conv", text, [x, w], dims, x.dtype, interval)


@operation("conv_weight", 0.3, heavy=True)
def conv_weight(b: Builder) -> None:
    """The gradient of a convolution's weight as an operation of its own."""
    found = image(b, 4.0)
    if found is None:
        return
    x, spatial = found
    batch, channels, positions = x.dims[0], x.dims[1], x.dims[2:]
    terms = b.most(batch, *positions)
    x = widened(b, x, 4 * terms)
    outputs = b.symbol(beside=x.dims)
    grad = b.parameter((batch, outputs, *positions), x.dtype)
    dims = (outputs, channels, *("3",) * spatial)
    sizes = f"({grad.name}.shape[1], {x.name}.shape[1]{', 3' * spatial})"
    text = f"tsr.conv{spatial}d_weight({x.name}, {sizes}, {grad.name}, padding=1)"
    b.contractions.append((batch, outputs, channels, *positions, str(3**spatial)))
    b.emit("conv", text, [x, grad], dims, x.dtype, (x.range * grad.range).scaled(terms))


@operation("pool", 0.8, heavy=True)
def pool(b: Builder) -> None:
    found = image(b, 300.0)
    if found is None:
        return
    x, spatial = found
    kind = b.rng.choice(("max_pool", "max_pool", "avg_pool", "avg_pool", "adaptive_avg_pool"))
    if kind == "adaptive_avg_pool":
        size = b.rng.randint(1, 3)
        dims = (*x.dims[:2], *(str(size),) * spatial)
        text = f"tsr.adaptive_avg_pool{spatial}d({x.name}, {size})"
        b.emit("pool", text, [x], dims, x.dtype, x.range)
        return
    more = ""
    if kind == "avg_pool":
        more = b.rng.choice(("", "count_include_pad=False, ", "divisor_override=5, "))
    keeps = b.rng.random() < 0.6
    steps = "stride=1" if keeps else b.rng.choice(("stride=2", "stride=2, ceil_mode=True"))
    text = f"tsr.{kind}{spatial}d({x.name}, 3, {more}padding=1, {steps})"
    text, dims = over_positions(text, x.dims, keeps)
    b.emit("pool", text, [x], dims, x.dtype, x.range.scaled(6**spatial))


@operation("unfold", 0.4)
def unfold(b: Builder) -> None:
    """Overlapping windows of a dimension, each of them summed."""
    x = floating(b, least_rank=1, limit=300.0)
    if x.rank > 3 or not x.dims[-1].isalnum():
        return
    b.nonempty.add(x.dims[-1])
    padded = f"tsr.pad({x.name}, (1, 1), value=0.5)"
    interval = x.range.scaled(3).hull(x.range)
    text = f"{padded}.unfold(-1, 3, 1).sum(-1)"
    b.emit("unfold", text, [x], x.dims, x.dtype, interval + interval.scaled(0.5))
