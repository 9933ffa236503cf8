"""The operations of random programs.

Each is a class of statements: it picks values that fit, or requests a new argument, and emits one
statement with the shape, type and range of its result. If a function has a pole or would overflow,
its operand is first brought into range by an operation that is itself part of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from values import LIMITS, Interval, Value, broadcast, promote

if TYPE_CHECKING:
    from generate import Builder

HALF_MAX = 6e4  # close to the largest fp16


@dataclass(frozen=True)
class Operation:
    name: str
    weight: float
    apply: Callable[[Builder], None]


OPERATIONS: list[Operation] = []
HEAVY: set[str] = set()  # reductions and contractions


def operation(name: str, weight: float = 1.0, heavy: bool = False):
    def register(function: Callable[[Builder], None]):
        OPERATIONS.append(Operation(name, weight, function))
        if heavy:
            HEAVY.add(name)
        return function

    return register


def tame(b: Builder, value: Value, limit: float) -> Value:
    """The value, or one with a smaller range computed from it."""
    limit = min(limit, LIMITS.get(value.dtype, limit))
    if value.range.magnitude <= limit or not value.is_float:
        return value
    name, text, interval = b.rng.choice(
        [
            ("tanh", f"tsr.tanh({value.name})", Interval(-1, 1)),
            ("sin", f"tsr.sin({value.name} * 0.01)", Interval(-1, 1)),
            ("sigmoid", f"tsr.sigmoid({value.name})", Interval(0, 1)),
            ("clamp", f"tsr.clamp({value.name}, min=-2.0, max=2.0)", Interval(-2, 2)),
        ]
    )
    return b.emit(name, text, [value], value.dims, value.dtype, interval)


def floating(b: Builder, least_rank: int = 0, limit: float = 300.0) -> Value:
    value = b.pick(lambda v: v.is_float and v.rank >= least_rank)
    return tame(b, value or b.parameter(b.random_dims(max(least_rank, 1), 4)), limit)


def widened(b: Builder, value: Value, terms: int) -> Value:
    """The value, or fp32 of it if a sum of this many terms would overflow fp16."""
    if value.dtype != "fp16" or value.range.magnitude * terms < HALF_MAX:
        return value
    return b.emit("cast", f"{value.name}.to(fp32)", [value], value.dims, "fp32", value.range)


def plain(dims: tuple[str, ...]) -> tuple[str, ...]:
    """Sizes that an argument can have: a derived one ("A*B") becomes 1, which broadcasts."""
    return tuple(d if d.isalnum() else "1" for d in dims)


def partner(b: Builder, value: Value, limit: float = 300.0) -> Value:
    """A value that broadcasts with the given one, or a new argument that does."""
    other = b.pick(
        lambda v: v.is_float and v is not value and broadcast(v.dims, value.dims) is not None
    )
    if other is None or b.rng.random() < 0.1:
        first = b.rng.randint(0, value.rank)
        dims = tuple("1" if b.rng.random() < 0.2 else d for d in value.dims[first:])
        other = b.parameter(plain(dims))
    return tame(b, other, limit)


# --- elementwise ------------------------------------------------------------------------------

UNARY = {  # name: (largest magnitude of the operand, range of the result)
    "exp": (4.0, lambda r: Interval(0, math.exp(r.hi))),
    "exp2": (6.0, lambda r: Interval(0, 2**r.hi)),
    "expm1": (4.0, lambda r: Interval(-1, math.exp(r.hi))),
    "sin": (20.0, lambda r: Interval(-1, 1)),
    "cos": (20.0, lambda r: Interval(-1, 1)),
    "tanh": (300.0, lambda r: Interval(-1, 1)),
    "erf": (50.0, lambda r: Interval(-1, 1)),
    "sigmoid": (50.0, lambda r: Interval(0, 1)),
    "relu": (300.0, lambda r: Interval(0, max(r.hi, 0))),
    "silu": (50.0, lambda r: Interval(-0.3, max(r.hi, 0))),
    "gelu": (50.0, lambda r: Interval(-0.2, max(r.hi, 0))),
    "abs": (300.0, lambda r: Interval(0, r.magnitude)),
    "floor": (300.0, lambda r: Interval(r.lo - 1, r.hi)),
    "ceil": (300.0, lambda r: Interval(r.lo, r.hi + 1)),
    "round": (300.0, lambda r: Interval(r.lo - 1, r.hi + 1)),
    "trunc": (300.0, lambda r: r),
    "sign": (300.0, lambda r: Interval(-1, 1)),
    "square": (20.0, lambda r: Interval(0, r.magnitude**2)),
    "atan": (300.0, lambda r: Interval(-2, 2)),
    "negate": (300.0, lambda r: -r),
    "tan": (1.2, lambda r: Interval(-3, 3)),
    "sinh": (4.0, lambda r: Interval(-math.cosh(r.magnitude), math.cosh(r.magnitude))),
    "cosh": (4.0, lambda r: Interval(1, math.cosh(r.magnitude))),
    "erfc": (4.0, lambda r: Interval(0, 2)),
    "leaky_relu": (300.0, lambda r: Interval(r.lo, max(r.hi, 0))),
    "elu": (50.0, lambda r: Interval(-1, max(r.hi, 0))),
    "selu": (50.0, lambda r: Interval(-2, 1.1 * max(r.hi, 0))),
    "mish": (50.0, lambda r: Interval(-0.4, max(r.hi, 0))),
    "softplus": (50.0, lambda r: Interval(0, max(r.hi, 0) + 1)),
    "hardswish": (50.0, lambda r: Interval(-0.4, max(r.hi, 0))),
    "hardsigmoid": (300.0, lambda r: Interval(0, 1)),
}


def _unary(name: str) -> None:
    @operation(name, 0.5)
    def apply(b: Builder) -> None:
        limit, result = UNARY[name]
        x = floating(b, limit=limit)
        text = f"-{x.name}" if name == "negate" else f"tsr.{name}({x.name})"
        b.emit(name, text, [x], x.dims, x.dtype, result(x.range))


for _name in UNARY:
    _unary(_name)


@operation("formed", 1.0)
def formed(b: Builder) -> None:
    """Functions with special forms: with an argument, or with a restricted domain."""
    x = floating(b, limit=15.0)
    m = x.range.magnitude
    name, text, interval = b.rng.choice(
        [
            ("asin", f"tsr.asin(0.9 * tsr.sin({x.name}))", Interval(-1.6, 1.6)),
            ("acos", f"tsr.acos(tsr.tanh({x.name}) * 0.9)", Interval(0, 3.2)),
            ("gelu", f"tsr.gelu({x.name}, approximate='tanh')", Interval(-0.2, max(x.range.hi, 0))),
            ("leaky_relu", f"tsr.leaky_relu({x.name}, 0.2)", x.range),
            ("softplus", f"tsr.softplus({x.name}, beta=2.0)", Interval(0, m + 1)),
            ("pow", f"{x.name} ** 2", Interval(0, m**2)),
            ("pow", f"tsr.pow(abs({x.name}) + 0.5, 1.5)", Interval(0, (m + 0.5) ** 1.5)),
            ("pow", f"2.0 ** {x.name}" if m <= 6 else f"abs({x.name}) ** 0.5", Interval(0, 64)),
            ("round", f"tsr.round({x.name}, decimals=1)", x.range),
        ]
    )
    b.emit(name, text, [x], x.dims, x.dtype, interval)


@operation("classify", 0.3)
def classify(b: Builder) -> None:
    x = floating(b)
    name = b.rng.choice(("isnan", "isinf", "isfinite"))
    b.emit(name, f"tsr.{name}({x.name})", [x], x.dims, "bool", Interval(0, 1))


@operation("positive", 2.0)
def positive(b: Builder) -> None:
    """Functions of positive numbers, on x*x + 0.5."""
    x = floating(b, limit=15.0)
    top = x.range.magnitude**2 + 0.5
    name, interval = b.rng.choice(
        [
            ("log", Interval(-1, math.log(top + 1))),
            ("log2", Interval(-1.5, math.log2(top + 1))),
            ("log1p", Interval(0, math.log(top + 2))),
            ("sqrt", Interval(0.7, math.sqrt(top) + 1)),
            ("rsqrt", Interval(0, 1.5)),
            ("reciprocal", Interval(0, 2.1)),
        ]
    )
    square = b.emit("mul", f"{x.name} * {x.name}", [x, x], x.dims, x.dtype, Interval(0, top))
    b.emit(name, f"tsr.{name}({square.name} + 0.5)", [square], x.dims, x.dtype, interval)


@operation("binary", 6.0)
def binary(b: Builder) -> None:
    x = floating(b)
    y = partner(b, x)
    if b.rng.random() < 0.5:
        x, y = y, x
    dims, dtype = broadcast(x.dims, y.dims), promote(x, y)
    name, text, interval = b.rng.choice(
        [
            ("add", f"{x.name} + {y.name}", x.range + y.range),
            ("sub", f"{x.name} - {y.name}", x.range + -y.range),
            ("mul", f"{x.name} * {y.name}", x.range * y.range),
            ("maximum", f"tsr.maximum({x.name}, {y.name})", x.range.hull(y.range)),
            ("minimum", f"tsr.minimum({x.name}, {y.name})", x.range.hull(y.range)),
        ]
    )
    b.emit(name, text, [x, y], dims, dtype, interval)


@operation("div", 1.5)
def div(b: Builder) -> None:
    x = floating(b, limit=100.0)
    y = partner(b, x, limit=100.0)
    b.emit(
        "div",
        f"{x.name} / (abs({y.name}) + 1.0)",
        [x, y],
        broadcast(x.dims, y.dims),
        promote(x, y),
        x.range.hull(Interval(0, 0)),
    )


@operation("quotient", 1.0)
def quotient(b: Builder) -> None:
    """Functions of two operands with discontinuities or poles, kept away from the poles."""
    x = floating(b, limit=50.0)
    y = partner(b, x, limit=50.0)
    positive, m = f"(abs({y.name}) + 1.0)", x.range.magnitude
    name, text, interval = b.rng.choice(
        [
            ("fmod", f"tsr.fmod({x.name}, {positive})", Interval(-m, m)),
            ("remainder", f"{x.name} % {positive}", Interval(0, y.range.magnitude + 1)),
            ("floordiv", f"{x.name} // {positive}", Interval(-m - 1, m + 1)),
            ("atan2", f"tsr.atan2({x.name}, {positive})", Interval(-1.6, 1.6)),
            ("lerp", f"tsr.lerp({x.name}, {y.name}, 0.25)", x.range.hull(y.range)),
            ("pow", f"(tsr.sigmoid({x.name}) + 0.5) ** tsr.tanh({y.name})", Interval(0, 2)),
        ]
    )
    if name == "lerp" and x.dtype != y.dtype:
        return
    b.emit(name, text, [x, y], broadcast(x.dims, y.dims), promote(x, y), interval)


@operation("scalar", 2.0)
def scalar(b: Builder) -> None:
    x = floating(b)
    c = b.rng.choice((0.5, 2, -1.25, 0.1, 3))
    name, text, interval = b.rng.choice(
        [
            ("add", f"{x.name} + {c}", x.range + Interval(c, c)),
            ("sub", f"{c} - {x.name}", -x.range + Interval(c, c)),
            ("mul", f"{c} * {x.name}", x.range * Interval(c, c)),
            ("div", f"{x.name} / {c}", x.range * Interval(1 / c, 1 / c)),
            ("clamp", f"tsr.clamp({x.name}, -1.5, 2.0)", Interval(-1.5, 2.0)),
        ]
    )
    b.emit(name, text, [x], x.dims, x.dtype, interval)


@operation("compare", 1.5)
def compare(b: Builder) -> None:
    x = floating(b)
    sign = b.rng.choice(("<", "<=", ">", ">=", "==", "!="))
    if b.rng.random() < 0.5:
        y = partner(b, x)
        b.emit(
            "compare",
            f"{x.name} {sign} {y.name}",
            [x, y],
            broadcast(x.dims, y.dims),
            "bool",
            Interval(0, 1),
        )
    else:
        b.emit("compare", f"{x.name} {sign} 0.25", [x], x.dims, "bool", Interval(0, 1))


@operation("where", 3.0)
def where(b: Builder) -> None:
    x = floating(b)
    condition = b.pick(lambda v: v.dtype == "bool" and broadcast(v.dims, x.dims) is not None)
    if condition is None:
        condition = b.parameter(plain(x.dims), "bool")
    dims = broadcast(condition.dims, x.dims)
    if b.rng.random() < 0.5:
        fill = b.rng.choice((0.0, 1.5, -2.0))
        b.emit(
            "where",
            f"tsr.where({condition.name}, {x.name}, {fill})",
            [condition, x],
            dims,
            x.dtype,
            x.range.hull(Interval(fill, fill)),
        )
        return
    y = partner(b, x)
    dims = broadcast(dims, y.dims)
    if dims is not None:
        b.emit(
            "where",
            f"tsr.where({condition.name}, {x.name}, {y.name})",
            [condition, x, y],
            dims,
            promote(x, y),
            x.range.hull(y.range),
        )


@operation("logical", 1.0)
def logical(b: Builder) -> None:
    x = b.pick(lambda v: v.dtype == "bool")
    if x is None:
        return compare(b)
    y = b.pick(lambda v: v.dtype == "bool" and broadcast(v.dims, x.dims) is not None) or x
    if b.rng.random() < 0.25:
        text = b.rng.choice((f"~{x.name}", f"tsr.logical_not({x.name})"))
        b.emit("logical", text, [x], x.dims, "bool", Interval(0, 1))
    else:
        text = f"{x.name} {b.rng.choice('&|^')} {y.name}"
        if b.rng.random() < 0.3:
            text = f"tsr.logical_{b.rng.choice(('and', 'or', 'xor'))}({x.name}, {y.name})"
        b.emit("logical", text, [x, y], broadcast(x.dims, y.dims), "bool", Interval(0, 1))


@operation("integer", 1.5)
def integer(b: Builder) -> None:
    x = b.pick(lambda v: v.is_integer and v.range.magnitude < 100)
    if x is None:
        x = b.parameter(
            b.random_dims(1, 3), b.rng.choice(("int64", "int32", "int16", "int8", "uint8"))
        )
    y = b.pick(
        lambda v: v.is_integer and v.range.magnitude < 100 and broadcast(v.dims, x.dims) is not None
    )
    signed = x.dtype != "uint8" and y.dtype != "uint8"
    forms = [
        ("add", f"{x.name} + {y.name}", x.range + y.range),
        ("bitwise", f"{x.name} {b.rng.choice('&|^')} {y.name}", Interval(-128, 127)),
        ("mod", f"{x.name} % 3", Interval(0, 3)),
        ("floordiv", f"{x.name} // 2", Interval(min(x.range.lo, 0), max(x.range.hi, 0))),
        ("shift", f"{x.name} >> 1", Interval(min(x.range.lo, 0), max(x.range.hi, 0))),
        ("maximum", f"tsr.maximum({x.name}, {y.name})", x.range.hull(y.range)),
        ("minimum", f"tsr.minimum({x.name}, {y.name})", x.range.hull(y.range)),
        ("clamp", f"tsr.clamp({x.name}, 1, 5)", Interval(1, 5)),
    ]
    if x.range.magnitude < 50:
        forms.append(("shift", f"{x.name} << 1", x.range.scaled(2)))
    if signed:
        forms.append(("sub", f"{x.name} - {y.name}", x.range + -y.range))
        if (x.range * y.range).magnitude < 100:
            forms.append(("mul", f"{x.name} * {y.name}", x.range * y.range))
    name, text, interval = b.rng.choice(forms)
    inputs = [x] if name in ("mod", "floordiv", "shift", "clamp") else [x, y]
    dims = x.dims if len(inputs) == 1 else broadcast(x.dims, y.dims)
    dtype = x.dtype if len(inputs) == 1 else promote(x, y)
    b.emit(name, text, inputs, dims, dtype, interval)


@operation("cast", 1.5)
def cast(b: Builder) -> None:
    target = b.rng.choice(("fp32", "fp32", "fp64", "fp16", "bf16", "int32", "int64", "int8"))
    x = b.pick(lambda v: v.range.magnitude < (120 if target == "int8" else 3000))
    if x is None:
        return
    b.emit("cast", f"{x.name}.to({target})", [x], x.dims, target, x.range)


@operation("index", 1.0)
def index(b: Builder) -> None:
    """A position as a number: masks are computed from these."""
    x = floating(b, least_rank=1)
    dim = b.rng.randrange(x.rank)
    position = b.emit(
        "iota",
        f"tsr.iota({x.name}.shape, dim={dim})",
        [x],
        x.dims,
        "int64",
        Interval(0, b.most(x.dims[dim])),
    )
    limit = b.rng.choice((1, 4, 30, 128, 500) if b.most(x.dims[dim]) > 500 else (1, 4, 30))
    condition = b.emit(
        "compare",
        f"{position.name} {b.rng.choice(('<=', '>', '!='))} {limit}",
        [position],
        x.dims,
        "bool",
        Interval(0, 1),
    )
    b.emit(
        "where",
        f"tsr.where({condition.name}, {x.name}, 0.0)",
        [condition, x],
        x.dims,
        x.dtype,
        x.range.hull(Interval(0, 0)),
    )


# --- reductions and contractions ----------------------------------------------------------------


def reduced(dims: tuple[str, ...], over: list[int], keep: bool) -> tuple[str, ...]:
    if keep:
        return tuple("1" if d in over else s for d, s in enumerate(dims))
    return tuple(s for d, s in enumerate(dims) if d not in over)


def _reduction(name: str, weight: float) -> None:
    @operation(name, weight, heavy=True)
    def apply(b: Builder) -> None:
        x = floating(b, least_rank=1, limit=10.0)
        over = sorted(b.rng.sample(range(x.rank), 1 if b.rng.random() < 0.8 else min(2, x.rank)))
        terms = b.most(*(x.dims[d] for d in over))
        if name == "sum":
            x = widened(b, x, terms)
        if name in ("amax", "amin"):
            b.nonempty.update(x.dims[d] for d in over)
        keep = b.rng.random() < 0.6
        shown = over if b.rng.random() < 0.5 else [d - x.rank for d in over]
        dim = str(shown[0]) if len(shown) == 1 else str(tuple(shown))
        method = b.rng.random() < 0.3 and name not in ("logsumexp",)
        head = f"{x.name}.{name}(" if method else f"tsr.{name}({x.name}, "
        interval = {
            "sum": x.range.scaled(terms),
            "var": Interval(0, x.range.magnitude**2 * 2),
            "logsumexp": x.range + Interval(0, math.log(terms)),
        }.get(name, x.range)
        b.emit(
            name,
            f"{head}dim={dim}, keepdim={keep})",
            [x],
            reduced(x.dims, over, keep),
            x.dtype,
            interval,
        )


for _name, _weight in (
    ("sum", 2.0),
    ("mean", 1.0),
    ("amax", 1.0),
    ("amin", 0.7),
    ("logsumexp", 0.7),
):
    _reduction(_name, _weight)


@operation("scan", 0.8, heavy=True)
def scan(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=10.0)
    dim = b.rng.randrange(x.rank)
    terms = b.most(x.dims[dim])
    if b.rng.random() < 0.75:
        x = widened(b, x, terms)
        b.emit(
            "cumsum",
            f"tsr.cumsum({x.name}, {dim})",
            [x],
            x.dims,
            x.dtype,
            x.range.scaled(terms).hull(x.range),
        )
        return
    part = b.emit("sigmoid", f"tsr.sigmoid({x.name})", [x], x.dims, x.dtype, Interval(0, 1))
    b.emit(
        "cumprod", f"{part.name}.cumprod({dim - x.rank})", [part], x.dims, x.dtype, Interval(0, 1)
    )


@operation("random", 0.6)
def random_numbers(b: Builder) -> None:
    x = b.pick(lambda v: v.dtype in ("fp64", "fp32", "fp16", "bf16"))
    if x is None:
        return
    seed = b.rng.choice((0, 1, 77, 2**35 + 1))
    name, text, interval = b.rng.choice(
        [
            ("rand", f"tsr.rand_like({x.name}, seed={seed})", Interval(0, 1)),
            ("rand", f"tsr.rand({x.name}.shape, seed={seed}, dtype={x.dtype})", Interval(0, 1)),
            ("randn", f"tsr.randn_like({x.name}, seed={seed})", Interval(-9, 9)),
            ("randn", f"tsr.randn({x.name}.shape, seed={seed}, dtype={x.dtype})", Interval(-9, 9)),
            (
                "dropout",
                f"tsr.dropout({x.name}, 0.25, seed={seed})",
                x.range.scaled(4 / 3).hull(x.range),
            ),
        ]
    )
    b.emit(name, text, [x], x.dims, x.dtype, interval)


@operation("var", 0.6, heavy=True)
def var(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=10.0)
    dim = b.rng.randrange(x.rank)
    b.emit(
        "var",
        f"tsr.var({x.name}, dim={dim}, correction=0, keepdim=True)",
        [x],
        reduced(x.dims, [dim], True),
        x.dtype,
        Interval(0, 2 * x.range.magnitude**2),
    )


@operation("softmax", 1.5, heavy=True)
def softmax(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=50.0)
    dim = b.rng.randrange(-x.rank, x.rank)
    if b.rng.random() < 0.7:
        b.emit("softmax", f"tsr.softmax({x.name}, dim={dim})", [x], x.dims, x.dtype, Interval(0, 1))
    else:
        b.emit(
            "log_softmax",
            f"tsr.log_softmax({x.name}, dim={dim})",
            [x],
            x.dims,
            x.dtype,
            Interval(-2 * x.range.magnitude - math.log(b.most(x.dims[dim])), 0),
        )


@operation("normalize", 1.0, heavy=True)
def normalize(b: Builder) -> None:
    x = floating(b, least_rank=1, limit=50.0)
    size = f"({x.name}.shape[-1],)"
    if b.rng.random() < 0.5:
        b.emit(
            "layer_norm", f"tsr.layer_norm({x.name}, {size})", [x], x.dims, x.dtype, Interval(-9, 9)
        )
    else:
        b.emit(
            "rms_norm",
            f"tsr.rms_norm({x.name}, {size}, eps=1e-5)",
            [x],
            x.dims,
            x.dtype,
            Interval(-9, 9),
        )


@operation("matmul", 3.0, heavy=True)
def matmul(b: Builder) -> None:
    x = floating(b, least_rank=2, limit=4.0)
    inner = x.dims[-1]
    x = widened(b, x, 4 * b.most(inner))
    y = b.pick(
        lambda v: (
            v.is_float
            and v.rank >= 2
            and v.dtype == x.dtype
            and v.dims[-2] == inner
            and broadcast(v.dims[:-2], x.dims[:-2]) is not None
        )
    )
    turned = None
    if y is None:
        turned = b.pick(
            lambda v: (
                v.is_float
                and v.rank >= 2
                and v.dtype == x.dtype
                and v.dims[-1] == inner
                and broadcast(v.dims[:-2], x.dims[:-2]) is not None
            )
        )
    if turned is not None:
        turned = tame(b, turned, 4.0)
        dims = (*turned.dims[:-2], turned.dims[-1], turned.dims[-2])
        y = b.emit(
            "transpose",
            f"{turned.name}.transpose(-2, -1)",
            [turned],
            dims,
            turned.dtype,
            turned.range,
        )
    if y is None:
        if not inner.isalnum():
            return
        y = b.parameter((inner, b.symbol(beside=(inner,))), x.dtype)
    y = tame(b, y, 4.0)
    dims = (*broadcast(x.dims[:-2], y.dims[:-2]), x.dims[-2], y.dims[-1])
    b.contractions.append((*dims, inner))
    name = "mm" if x.rank == 2 == y.rank and b.rng.random() < 0.5 else "matmul"
    text = f"{x.name} @ {y.name}" if b.rng.random() < 0.5 else f"tsr.{name}({x.name}, {y.name})"
    product = b.emit(
        "matmul", text, [x, y], dims, x.dtype, (x.range * y.range).scaled(b.most(inner))
    )
    if product.range.magnitude > 100:
        b.emit(
            "mul", f"{product.name} * 0.05", [product], dims, x.dtype, product.range.scaled(0.05)
        )


@operation("product", 1.0, heavy=True)
def product(b: Builder) -> None:
    """Contractions under other names."""
    x = floating(b, least_rank=1, limit=4.0)
    inner, x = x.dims[-1], widened(b, x, 20 * b.most(x.dims[-1]))
    terms = b.most(inner)
    if x.rank == 1:
        y = b.pick(lambda v: v.rank == 1 and v.dtype == x.dtype) or x
        y = tame(b, y, 4.0)
        if y.dims == x.dims and b.rng.random() < 0.5:
            b.emit(
                "dot",
                f"tsr.dot({x.name}, {y.name})",
                [x, y],
                (),
                x.dtype,
                (x.range * y.range).scaled(terms),
            )
        else:
            b.emit(
                "outer",
                f"tsr.outer({x.name}, {y.name})",
                [x, y],
                (*x.dims, *y.dims),
                x.dtype,
                x.range * y.range,
            )
        return
    if not inner.isalnum():
        return
    outer = b.symbol(beside=(inner,))
    b.contractions.append((*x.dims, outer))
    dims, interval = (
        (*x.dims[:-1], outer),
        (x.range * Interval(-4, 4)).scaled(terms) + Interval(-4, 4),
    )
    if x.rank == 3 and x.dims[0].isalnum() and b.rng.random() < 0.5:
        y = b.parameter((x.dims[0], inner, outer), x.dtype)
        result = b.emit("bmm", f"tsr.bmm({x.name}, {y.name})", [x, y], dims, x.dtype, interval)
    else:
        weight, bias = b.parameter((outer, inner), x.dtype), b.parameter((outer,), x.dtype)
        result = b.emit(
            "linear",
            f"tsr.linear({x.name}, {weight.name}, {bias.name})",
            [x, weight, bias],
            dims,
            x.dtype,
            interval,
        )
    b.emit("mul", f"{result.name} * 0.05", [result], dims, x.dtype, interval.scaled(0.05))


import composites  # noqa: E402, F401 (their operations are registered too)
import choices  # noqa: E402, F401
import places  # noqa: E402, F401
import shapes  # noqa: E402, F401
import windows  # noqa: E402, F401
