"""Results in float64 for the rows of the GPU benchmark, and the allowed error of each element.

A bound covers the rounding of the result to its type, the rounding of sums in fp32, and that of
intermediate values in a 16-bit type. Attention is computed head by head, for at most eight of them,
evenly spread.
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

    if function == "argmax":  # any of several that are the largest
        largest = arguments[0].gather(-1, result.long().unsqueeze(-1)).squeeze(-1)
        return 0.0 if torch.equal(largest, arguments[0].amax(-1)) else math.inf
    unit = ROUNDING[str(result.dtype).removeprefix("torch.")]
    if function == "bias_gelu_dropout":
        return _dropped(arguments, result, unit)
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
    """Contractions in float64, and the errors of their sums in fp32."""
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

    wide = [one.double() if one.is_floating_point() else one for one in arguments]
    if function in peers.MODELS:
        # Values are stored in 16 bits between the parts: errors are relative to the largest, not to
        # each.
        exact = peers.plain(function)(*wide)
        return exact, 2 * unit * exact.abs() + 4 * unit * exact.std()
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
        held = (
            1.1 * (slack + 2 * unit * gate.abs()) * up.abs() + (more + unit * up.abs()) * gate.abs()
        )
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
    return exact, bound + _slack(function, wide, exact, unit)


def _slack(function: str, wide: list, exact, unit: float):
    """The errors that sums in fp32 and intermediate values in the operands' type add to a result's
    rounding."""
    x = wide[0]
    if function == "log_softmax":
        return 64 * F32 * (1 + exact.abs())
    if function == "cross_entropy":
        return unit * exact.abs() + 64 * F32 * (1 + x.abs().amax(-1))
    if function == "residual_rms_silu":  # the sum, the norm and its product are held
        norm = (x + wide[1]) / (x + wide[1]).square().mean(-1, keepdim=True).sqrt() * wide[2]
        return 1.1 * (4 * unit + 64 * F32) * norm.abs()
    if function == "chain":
        return 4 * unit * (1 + x.abs()) * (1 + x.abs() + wide[1].abs())
    if function in ("row_sum", "row_mean"):
        return 64 * F32 * x.abs().sum(-1) / (x.shape[-1] if function == "row_mean" else 1)
    if function == "column_mean":
        return 64 * F32 * x.abs().mean(0)
    if function == "cumsum":
        return 64 * F32 * x.abs().cumsum(-1)
    return 0


def _dropped(arguments: list, result, unit: float) -> float:
    """Kept elements of gelu(x + b) are exact, and a tenth is dropped."""
    import torch.nn.functional as nn

    biased = arguments[0].double() + arguments[1].double()
    exact, kept = nn.gelu(biased) / 0.9, result != 0
    bound = 2 * unit * exact.abs() + 1.4 * unit * biased.abs() + 2.0**-15
    ratio = ((result.double() - exact).abs() / bound)[kept]
    worst = ratio.nan_to_num(nan=math.inf).max().item()
    share = kept.double().mean().item()
    return worst if abs(share - 0.9) < 4 * math.sqrt(0.09 / result.numel()) + 0.01 else math.inf


def _attention(function: str, arguments: list, result, unit: float):
    """(found, exact, bound) of some heads. The weights are rounded before they are multiplied by
    v."""
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
