"""Attention in fp32, plain and causal, against PyTorch's scaled_dot_product_attention."""

from __future__ import annotations

import math

import numpy as np
import tessera as tsr
from ..harness import OURS, Case, Prepared, Target, compare, gamma
from ..peers import pytorch
from tessera import Tensor

BATCH, HEADS = 1, 4
LENGTHS = [512, 1024, 2048, 4096]
WIDTHS = [64, 128]


@tsr.function
def plain(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.mT * (1.0 / math.sqrt(q.shape[-1]))
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def causal(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.mT * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    return tsr.softmax(tsr.where(j <= i, scores, -tsr.inf), dim=-1) @ v


FUNCTIONS = {"plain": plain, "causal": causal}


def operands(length: int, width: int, dtype=np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((BATCH, HEADS, length, width)).astype(dtype) for _ in range(3)]


def expected(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, masked: bool
) -> tuple[np.ndarray, np.ndarray]:
    """One head in float64, and the error of fp32 in the scores, the exponentials, the sums."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.T * scale
    score_error = gamma(q.shape[-1] + 3) * (np.abs(q) @ np.abs(k).T * scale).max(-1, keepdims=True)
    if masked:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p @ v, (2 * score_error + gamma(2 * k.shape[0] + 32)) * (p @ np.abs(v))


def check(kind: str, arrays: list[np.ndarray]) -> str | None:
    out = FUNCTIONS[kind](*arrays)
    for head in range(HEADS):
        value, bound = expected(*(a[0, head] for a in arrays), kind == "causal")
        if wrong := compare(out[0, head], value, bound):
            return f"head {head}: {wrong}"
    return None


def _prepare(kind: str, length: int, width: int) -> Prepared:
    arrays = operands(length, width)
    function = FUNCTIONS[kind]
    calls = {OURS: lambda: function(*arrays)}
    calls |= pytorch.contenders(
        lambda torch, f, q, k, v: f.scaled_dot_product_attention(
            q, k, v, is_causal=kind == "causal"
        ),
        tuple(arrays),
        compiled=False,
    )
    return Prepared(calls, lambda: check(kind, arrays))


def flops(kind: str, length: int, width: int) -> float:
    pairs = length * (length + 1) / 2 if kind == "causal" else length * length
    return 4.0 * BATCH * HEADS * pairs * width


def cases() -> list[Case]:
    target = (Target("SDPA", ("torch",), 1.2),)
    return [
        Case(
            "attention",
            f"{kind} S={length} D={width}",
            lambda c=(kind, length, width): _prepare(*c),
            target,
            flops=flops(kind, length, width),
            bytes=16.0 * BATCH * HEADS * length * width,
            quick=length <= 1024,
        )
        for kind in FUNCTIONS
        for width in WIDTHS
        for length in LENGTHS
    ]
