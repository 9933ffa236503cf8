"""Chains of 1 to 12 elementwise functions of one to three arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

LONGEST = 12
#: Functions of a value that may be anything; none lets it grow without a limit.
UNARY = {
    "tanh": "tsr.tanh(v)",
    "sigmoid": "tsr.sigmoid(v)",
    "sin": "tsr.sin(v)",
    "cos": "tsr.cos(v)",
    "erf": "tsr.erf(v)",
    "atan": "tsr.atan(v)",
    "relu": "tsr.relu(v)",
    "leaky_relu": "tsr.leaky_relu(v)",
    "elu": "tsr.elu(v)",
    "gelu": "tsr.gelu(v)",
    "gelu_tanh": "tsr.gelu(v, approximate='tanh')",
    "silu": "tsr.silu(v)",
    "mish": "tsr.mish(v)",
    "softplus": "tsr.softplus(v)",
    "hardswish": "tsr.hardswish(v)",
    "abs": "tsr.abs(v)",
    "neg": "-v",
    "sqrt": "tsr.sqrt(tsr.abs(v) + 1.0)",
    "rsqrt": "tsr.rsqrt(v * v + 1.0)",
    "log": "tsr.log(tsr.abs(v) + 1.0)",
    "gaussian": "tsr.exp(-tsr.abs(v))",
    "reciprocal": "1.0 / (tsr.abs(v) + 1.0)",
    "clamp": "tsr.clamp(v, min=-2.0, max=2.0)",
    "scale": "v * 0.5",
    "shift": "v + 0.25",
}
BINARY = {
    "add": "v + {0}",
    "sub": "v - {0}",
    "mul": "tsr.tanh(v) * {0}",
    "maximum": "tsr.maximum(v, {0})",
    "minimum": "tsr.minimum(v, {0})",
    "where": "tsr.where(v > {0}, v, {0} * 0.5)",
    "lerp": "v + 0.3 * ({0} - v)",
}
#: Sizes of further arguments: whole, a row and a column.
OPERANDS = (("A", "C"), ("C",), ("A", "1"))


def draw(sizes: Sizes) -> Program:
    dtype = sizes.float_type()
    alignment = sizes.alignment()
    total = sizes.log_uniform(1, sizes.limits.elements)
    columns = sizes.aligned(1, total, alignment)
    rows = max(1, total // columns)
    further = [sizes.choice(OPERANDS) for _ in range(sizes.choice((0, 1, 1, 2)))]
    functions = []
    for _ in range(sizes.randint(1, LONGEST)):
        names = [*UNARY, *(list(BINARY) * 3 if further else [])]
        functions.append((sizes.choice(names), sizes.randrange(len(further)) if further else 0))
    return program(dtype, rows, columns, functions, further)


def program(
    dtype: str,
    rows: int,
    columns: int,
    functions: list[tuple[str, int]],
    further: list[tuple[str, ...]],
) -> Program:
    used = sorted({which for name, which in functions if name in BINARY})
    names = {which: f"y{at}" for at, which in enumerate(used)}
    arguments = [Argument("x", dtype, ("A", "C"))]
    arguments += [Argument(names[which], dtype, further[which]) for which in used]
    lines = ["v = x"]
    for name, which in functions:
        text = UNARY.get(name) or BINARY[name].format(names[which])
        lines.append(f"v = {text}")
    sizes = {"A": rows, "C": columns} | ({"1": 1} if ("A", "1") in further else {})
    return Program(
        "elementwise",
        f"{len(functions)}_{dtype}_{shape(rows, columns)}_{'_'.join(n for n, _ in functions)}",
        tuple(arguments),
        sizes,
        (*lines, "v"),
        ("A", "C"),
        dtype,
        free=("A", "C"),
        regime=(rows, columns, 1),
    )
