"""Attention of random sizes, with the masks that programs of the language write as arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .program import Argument, Program, shape

if TYPE_CHECKING:
    from .distributions import Sizes

WIDTHS = (32, 64, 64, 64, 80, 96, 128, 128, 128, 256)
TYPES = {"bf16": 4, "fp16": 3, "fp32": 3}
#: What of i and j is seen; OFFSET aligns the last query with the last key.
MASKS = {
    "full": "",
    "causal": "j <= i + OFFSET",
    "window": "(j <= i + OFFSET) & (j > i + (OFFSET - SPAN))",
    "documents": "(i + OFFSET) // SPAN == j // SPAN",
    "prefix": "(j <= i + OFFSET) | (j < SPAN)",
    "softcap": "j <= i + OFFSET",
    "alibi": "j <= i + OFFSET",
}
WEIGHTS = {
    "full": 4, "causal": 5, "window": 2, "documents": 1, "prefix": 1, "softcap": 1, "alibi": 1,
}  # fmt: skip


def draw(sizes: Sizes) -> Program:
    kind = sizes.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    dtype = sizes.choices(list(TYPES), list(TYPES.values()))[0]
    alignment = sizes.choice((1, 8, 64))
    keys = sizes.aligned(1, sizes.limits.sequence, alignment)
    which = sizes.random()
    queries = keys if which < 0.6 else 1 if which < 0.75 else sizes.log_uniform(1, keys)
    if kind == "full" and sizes.chance(0.2):
        queries = sizes.aligned(1, sizes.limits.sequence, alignment)
    width = sizes.choice(WIDTHS) if sizes.chance(0.8) else 8 * sizes.randint(1, 32)
    batch, heads = sizes.log_uniform(1, 32), sizes.log_uniform(1, 32)
    group = sizes.choice((2, 4, 8)) if sizes.chance(0.25) else 1
    span = sizes.log_uniform(1, keys)
    return program(kind, dtype, batch, heads, group, queries, keys, width, span)


def program(
    kind: str,
    dtype: str,
    batch: int,
    heads: int,
    group: int,
    queries: int,
    keys: int,
    width: int,
    span: int,
) -> Program:
    """`group` heads of the queries share those of the keys, of which there are `heads`."""
    lead = ("B", "H", "R") if group > 1 else ("B", "H")
    k_name, v_name = ("k.unsqueeze(2)", "v.unsqueeze(2)") if group > 1 else ("k", "v")
    arguments = [
        Argument("q", dtype, (*lead, "S", "D")),
        Argument("k", dtype, ("B", "H", "T", "D")),
        Argument("v", dtype, ("B", "H", "T", "E")),
    ]
    sizes = {"B": batch, "H": heads, "S": queries, "T": keys, "D": width, "E": width}
    sizes |= {"R": group} if group > 1 else {}
    scale = 1 / math.sqrt(width)
    mask = MASKS[kind].replace("SPAN", str(span)).replace("OFFSET", str(keys - queries))
    lines = [f"s = tsr.matmul(q, {k_name}.mT) * {scale!r}"]
    if mask:
        lines += ["i = {index}", "j = tsr.iota((S, T), dim=1)"]
    if kind == "softcap":
        lines.append("s = 20.0 * tsr.tanh(s / 20.0)")
    if kind == "alibi":
        arguments.append(Argument("slopes", dtype, (lead[-1],), f"slopes:{lead[-1]}"))
        distance = f"(i + {keys - queries} - j).to({dtype})"
        lines.append(f"s = s - slopes.unsqueeze(-1).unsqueeze(-1) * {distance}")
    if mask:
        lines.append(f"s = tsr.where({mask}, s, -tsr.inf)")
    lines.append(f"tsr.matmul(tsr.softmax(s, dim=-1), {v_name})")
    what = f"x{group}" if group > 1 else ""
    what += f"_{span}" if kind in ("window", "documents", "prefix") else ""
    space = (*lead, "S", "T")
    return Program(
        "attention",
        f"{kind}_{dtype}_{shape(batch, heads)}{what}_{shape(queries, keys, width)}",
        tuple(arguments),
        sizes,
        tuple(lines),
        (*lead, "S", "E"),
        dtype,
        free=("S", *lead),
        spaces=((*space, "D"), (*space, "E")),
        regime=(queries, width, keys),
        index=("S", "tsr.iota((S, T), dim=0)") if mask else None,
        forms=_forms(kind, mask, group > 1, queries == keys, scale),
    )


def _forms(
    kind: str, mask: str, grouped: bool, equal: bool, scale: float
) -> dict[str, tuple[str, ...]]:
    """SDPA, with its mask made once, and FlexAttention."""
    q = "q.flatten(1, 2)" if grouped else "q"
    rest = f"scale={scale!r}" + (", enable_gqa=True" if grouped else "")
    result = ".unflatten(1, (H, R))" if grouped else ""
    sdpa = f"functional.scaled_dot_product_attention({q}, k, v, {rest}"
    index = "i = tsr.iota((S, T), dim=0).contiguous()"
    forms = {}
    if kind == "full":
        forms["sdpa"] = (f"{sdpa}){result}",)
    elif kind == "causal" and equal:
        forms["sdpa"] = (f"{sdpa}, is_causal=True){result}",)
    elif kind not in ("softcap", "alibi"):
        made = (f"once: {index}", "once: j = tsr.iota((S, T), dim=1)", f"once: m = {mask}")
        forms["sdpa"] = (*made, f"{sdpa}, attn_mask=m){result}")
    blocks = f"flex_mask(lambda b, h, i, j: {mask}, S, T)" if mask else "None"
    score = {
        "softcap": "lambda s, b, h, i, j: 20.0 * torch.tanh(s / 20.0)",
        "alibi": "lambda s, b, h, i, j: s - slopes[HEAD] * (i + (T - S) - j)",
    }.get(kind, "None")
    score = score.replace("HEAD", "h % R" if grouped else "h")
    forms["flex"] = (
        f"once: blocks = {blocks}",
        f"once: score = {score}",
        f"flex({q}, k, v, score_mod=score, block_mask=blocks, {rest}){result}",
    )
    return forms
