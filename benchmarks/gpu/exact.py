"""Results in float64 for the rows of the GPU benchmark, and how far each element may be from them.

A bound allows the rounding of the result to its type, the rounding of sums in fp32, and that of values
that the program holds in a 16-bit type on the way. Attention is computed head by head, at most eight of
them, spread evenly.
"""

from __future__ import annotations

import math

import peers

ROUNDING = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
F32 = ROUNDING["float32"]
_HEADS = 8


def error(function: str, arguments: list, result) -> float:
    """The largest |result - exact| / bound; infinite where the result is not a number."""
    import torch

    unit = ROUNDING[str(result.dtype).removeprefix("torch.")]
    if function.endswith("attention"):
        pairs = _attention(function, arguments, result, unit)
    else:
        pairs = [(result, *_plain(function, arguments, unit))]
    worst = math.inf if torch.isnan(result).any().item() else 0.0
    for found, exact, bound in pairs:
        ratio = (found.double() - exact).abs() / (bound + 1e-30)
        worst = max(worst, ratio.nan_to_num(nan=math.inf).max().item())
    return worst


def _products(wide: list, function: str):
    """Products in float64, and the errors of their sums in fp32."""
    import torch

    x, *weights = wide
    if function.startswith("matmul") or function == "batched_matmul":
        x, weight = peers._operands(function, *wide)
        weights = [weight]
    elif function == "linear_gelu":
        weights = weights[:1]
    slack = 16 * math.sqrt(x.shape[-1]) * F32
    return [(torch.matmul(x, w), slack * torch.matmul(x.abs(), w.abs())) for w in weights]


def _plain(function: str, arguments: list, unit: float):
    import torch.nn.functional as nn

    wide = [one.double() for one in arguments]
    if "matmul" in function:
        ((exact, bound),) = _products(wide, function)
        return exact, bound + 1.01 * unit * exact.abs()
    if function == "linear_gelu":
        ((product, bound),) = _products(wide, function)
        biased = product + wide[2]
        exact = nn.gelu(biased)
        held = unit * (product.abs() + biased.abs())  # the product and the sum, held in 16 bits
        return exact, 1.2 * (bound + held) + 1.01 * unit * exact.abs()
    if function == "swiglu":
        (gate, slack), (up, more) = _products(wide, function)
        exact = nn.silu(gate) * up
        held = 1.1 * (slack + 2 * unit * gate.abs()) * up.abs() + (more + unit * up.abs()) * gate.abs()
        return exact, held + 1.01 * unit * exact.abs()
    exact = peers.plain(function)(*wide)
    bound = 1.01 * unit * exact.abs()
    x = wide[0]
    if function == "gelu_chain":
        held = unit * x.abs() * (2 * wide[1].abs() + 1) if unit > F32 else 0
        return exact, bound + 16 * F32 * (x * wide[1]).abs() + 4 * F32 * x.abs() + held
    if function == "softmax":
        return exact, bound + 64 * F32 * exact
    if function == "layer_norm":
        return exact, bound + 64 * F32 * (wide[1].abs() * (1 + x.abs()) + wide[2].abs())
    if function == "rms_norm":
        return exact, bound + 64 * F32 * exact.abs()
    if function == "column_sum":
        return exact, bound + 64 * F32 * x.abs().sum(0)
    if function == "rope":
        cos, sin = wide[1].abs(), wide[2].abs()
        low, high = x.abs().chunk(2, dim=-1)
        parts = [low * cos + high * sin, high * cos + low * sin]
        import torch

        return exact, bound + 1.01 * unit * torch.cat(parts, dim=-1)
    return exact, bound


def _attention(function: str, arguments: list, result, unit: float):
    """(found, exact, bound) of some heads. The weights are rounded before they meet v."""
    import torch

    q, k, v, *extra = arguments
    batch, heads, length = q.shape[:3]
    group = heads // k.shape[1]
    i = torch.arange(length, device=q.device)[:, None]
    j = torch.arange(length, device=q.device)[None, :]
    mask, score = peers.mask_and_score(function, [one.double() for one in extra])
    count = batch * heads
    for number in sorted({step * (count - 1) // (_HEADS - 1) for step in range(_HEADS)}):
        b, h = divmod(number, heads)
        scores = q[b, h].double() @ k[b, h // group].double().T / math.sqrt(q.shape[-1])
        if score:
            scores = score(scores, b, h, i, j)
        if function != "attention":
            scores.masked_fill_(~mask(b, h, i, j), -math.inf)
        weights = torch.softmax(scores, -1)
        values = v[b, h // group].double()
        exact = weights @ values
        yield result[b, h], exact, unit * exact.abs() + 1.5 * unit * (weights @ values.abs())
