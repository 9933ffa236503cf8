"""Small blocks of models: contractions in a row, with norms and functions between them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

TYPES = {"bf16": 4, "fp16": 2, "fp32": 4}
FUNCTIONS = ("tsr.relu", "tsr.gelu", "tsr.silu")
#: The sizes of every argument by its name; of weights, the contracted one comes first.
WEIGHTS = {
    "w1": ("D", "F"), "b1": ("F",), "w2": ("F", "D"), "b2": ("D",), "wg": ("D", "F"), "wu": ("D", "F"),
    "wd": ("F", "D"), "n": ("D",), "m": ("D",), "la": ("D", "R"), "lb": ("R", "F"), "wv": ("V", "D"),
    "wq": ("D", "E"), "wk": ("D", "E"), "wo": ("E", "D"), "wp": ("D", "E"),
}  # fmt: skip
NORMS = {"rms": "tsr.rms_norm({0}, (D,), n, eps=1e-6)", "layer": "tsr.layer_norm({0}, (D,), n, m)"}
#: Kind: the statements, the arguments beside x, the contractions, the sizes of the result.
KINDS: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "mlp": (("h = FUNCTION(x @ w1 + b1)", "h @ w2 + b2"), "w1 b1 w2 b2", "MDF MFD", "MD"),
    "residual_mlp": (
        ("h = FUNCTION(NORM @ w1 + b1)", "x + h @ w2"),
        "w1 b1 w2 n m",
        "MDF MFD",
        "MD",
    ),
    "gated_mlp": (("h = FUNCTION(x @ wg) * (x @ wu)", "h @ wd"), "wg wu wd", "MDF MDF MFD", "MD"),
    "norm_linear": (("NORM @ w1",), "w1 n m", "MDF", "MF"),
    "gated_unit": (("FUNCTION(x @ wg) * (x @ wu)",), "wg wu", "MDF MDF", "MF"),
    "linear_softmax": (("tsr.softmax(x @ w1 + b1, dim=-1)",), "w1 b1", "MDF", "MF"),
    "low_rank": (("x @ w1 + (x @ la) @ lb",), "w1 la lb", "MDF MDR MRF", "MF"),
    "loss": (("tsr.cross_entropy(x @ wv.mT, y, reduction='none')",), "wv y", "MDV", "M"),
    "router": (("tsr.topk(tsr.softmax(x @ la, dim=-1), 2, dim=-1)[0]",), "la", "MDR", "M2"),
    "attention_block": (
        (
            "h = NORM",
            "q = (h @ wq).reshape(B, S, HEADS, WIDTH).transpose(1, 2)",
            "k = (h @ wk).reshape(B, S, HEADS, WIDTH).transpose(1, 2)",
            "v = (h @ wp).reshape(B, S, HEADS, WIDTH).transpose(1, 2)",
            "s = q @ k.mT * SCALE",
            "i, j = tsr.iota((S, S), dim=0), tsr.iota((S, S), dim=1)",
            "p = tsr.softmax(tsr.where(j <= i, s, -tsr.inf), dim=-1)",
            "x + (p @ v).transpose(1, 2).reshape(B, S, E) @ wo",
        ),
        "wq wk wp wo n m",
        "BSDE BSDE BSDE BSSE BSSE BSED",
        "BSD",
    ),
}


def draw(sizes: Sizes) -> Program:
    kind = sizes.choice(list(KINDS))
    dtype = sizes.choices(list(TYPES), list(TYPES.values()))[0]
    alignment = sizes.choice((1, 8, 64, 64))
    width = sizes.choice((32, 64, 128))
    heads = sizes.log_uniform(1, 16)
    found = {
        "M": sizes.log_uniform(1, 2 * sizes.limits.sequence),
        "D": sizes.multiple(16, sizes.limits.sequence, alignment),
        "F": sizes.multiple(16, 2 * sizes.limits.sequence, alignment),
        "R": sizes.choice((4, 8, 16, 64)),
        "V": sizes.log_uniform(1000, 65536),
        "B": sizes.log_uniform(1, 16),
        "S": sizes.log_uniform(1, sizes.limits.sequence // 4),
        "E": heads * width,
    }
    return program(
        kind, dtype, found, sizes.choice(FUNCTIONS), sizes.choice(list(NORMS)), heads, width
    )


def program(
    kind: str,
    dtype: str,
    sizes: dict[str, int],
    function: str = "tsr.silu",
    norm: str = "rms",
    heads: int = 1,
    width: int = 64,
) -> Program:
    lines, names, contractions, result = KINDS[kind]
    text = "\n".join(lines)
    words = {"FUNCTION": function, "NORM": NORMS[norm].format("x"), "HEADS": str(heads)}
    words |= {"WIDTH": str(width), "SCALE": repr(1 / math.sqrt(width))}
    for word, by in words.items():
        text = text.replace(word, by)
    lead = ("B", "S") if "B" in result else ("M",)
    arguments = [Argument("x", dtype, (*lead, "D"))]
    for name in names.split():
        if name == "y":
            arguments.append(Argument("y", "int64", ("M",), "below:V"))
        elif name != "m" or norm == "layer" and "NORM" in "\n".join(lines):
            dims = WEIGHTS[name]
            contracted = dims[1 if name == "wv" else 0]
            fill = "scales" if name == "n" else f"weights:{contracted}"
            arguments.append(
                Argument(name, dtype, dims, fill if len(dims) > 1 or name == "n" else "normal")
            )
    spaces = tuple(tuple(word) for word in contractions.split())
    used = {dim for one in arguments for dim in one.dims} | set("2" if "2" in result else "")
    sizes = {name: size for name, size in (sizes | {"2": 2}).items() if name in used}
    shown = shape(*(sizes[name] for name in sizes if not name.isdigit()))
    rows = sizes.get("M") or sizes["B"] * sizes["S"]
    wide = max(size for name, size in sizes.items() if name not in "MBS2")
    forms = {}
    if kind == "attention_block":
        attend = "functional.scaled_dot_product_attention(q, k, v, is_causal=True)"
        head, tail = text.split("\n")[:4], text.split("\n")[-1].replace("p @ v", attend)
        forms["sdpa"] = (*head, tail)
    return Program(
        "block",
        f"{kind}_{dtype}_{shown}",
        tuple(arguments),
        sizes,
        tuple(text.split("\n")),
        tuple(result),
        dtype,
        free=("B",) if "B" in sizes else ("M",),
        spaces=spaces,
        regime=(rows, wide, sizes["D"]),
        forms=forms,
    )
