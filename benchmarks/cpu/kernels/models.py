"""Parts of language models in fp32: an MLP, a gated MLP, a transformer block, a loss over a
vocabulary.

Each is one function; the compiler chooses the number of kernels. The loss uses its logits block by
block as the contraction computes them: they are never stored.
"""

from __future__ import annotations

import math
from typing import Callable

import numpy as np

import tessera as tsr
from tessera import Tensor

from ..harness import OURS, Case, Prepared, Target, compare, gamma
from ..peers import pytorch

EPS = 1e-6


@tsr.function
def mlp(
    x: Tensor["N", "D"],
    w1: Tensor["D", "H"],
    b1: Tensor["H"],
    w2: Tensor["H", "D"],
    b2: Tensor["D"],
) -> Tensor["N", "D"]:
    return tsr.gelu(x @ w1 + b1) @ w2 + b2


@tsr.function
def gated_mlp(
    x: Tensor["N", "D"], wg: Tensor["D", "H"], wu: Tensor["D", "H"], wd: Tensor["H", "D"]
) -> Tensor["N", "D"]:
    return (tsr.silu(x @ wg) * (x @ wu)) @ wd


@tsr.function
def rotate(
    x: Tensor["B", "H", "S", "D"], cos: Tensor["S", "F"], sin: Tensor["S", "F"]
) -> Tensor["B", "H", "S", "D"]:
    low, high = tsr.split(x, F, dim=-1)
    return tsr.concat([low * cos - high * sin, high * cos + low * sin], dim=-1)


@tsr.function
def block(
    x: Tensor["B", "S", "D"],
    n1: Tensor["D"],
    wq: Tensor["D", "D"],
    wk: Tensor["D", "D"],
    wv: Tensor["D", "D"],
    wo: Tensor["D", "D"],
    n2: Tensor["D"],
    wg: Tensor["D", "H"],
    wu: Tensor["D", "H"],
    wd: Tensor["H", "D"],
    cos: Tensor["S", "F"],
    sin: Tensor["S", "F"],
) -> Tensor["B", "S", "D"]:
    heads, width = D // (2 * F), 2 * F
    h = tsr.rms_norm(x, (D,), n1, eps=EPS)
    q = rotate((h @ wq).reshape(B, S, heads, width).transpose(1, 2), cos, sin)
    k = rotate((h @ wk).reshape(B, S, heads, width).transpose(1, 2), cos, sin)
    v = (h @ wv).reshape(B, S, heads, width).transpose(1, 2)
    scores = q @ k.mT * (1.0 / math.sqrt(width))
    i, j = tsr.iota(scores.shape, dim=-2), tsr.iota(scores.shape, dim=-1)
    seen = tsr.softmax(tsr.where(j <= i, scores, -tsr.inf), dim=-1) @ v
    x = x + seen.transpose(1, 2).reshape(B, S, D) @ wo
    h = tsr.rms_norm(x, (D,), n2, eps=EPS)
    return x + (tsr.silu(h @ wg) * (h @ wu)) @ wd


@tsr.function
def vocabulary_loss(h: Tensor["N", "D"], w: Tensor["V", "D"], y: Tensor["N"]) -> Tensor["N"]:
    return tsr.cross_entropy(h @ w.T, y, reduction="none")


# -- the same in PyTorch, and in float64 ----------------------------------------------------------


def _torch_mlp(torch, f, x, w1, b1, w2, b2):
    return torch.addmm(b2, f.gelu(torch.addmm(b1, x, w1)), w2)


def _torch_gated(torch, f, x, wg, wu, wd):
    return (f.silu(x @ wg) * (x @ wu)) @ wd


def _torch_block(torch, f, x, n1, wq, wk, wv, wo, n2, wg, wu, wd, cos, sin):
    b, s, d = x.shape

    def heads(t):
        return t.view(b, s, -1, 2 * cos.shape[1]).transpose(1, 2)

    def turned(t):
        low, high = t.chunk(2, -1)
        return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)

    h = f.rms_norm(x, (d,), n1, EPS)
    q, k, v = turned(heads(h @ wq)), turned(heads(h @ wk)), heads(h @ wv)
    seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + seen.transpose(1, 2).reshape(b, s, d) @ wo
    h = f.rms_norm(x, (d,), n2, EPS)
    return x + (f.silu(h @ wg) * (h @ wu)) @ wd


def _torch_loss(torch, f, h, w, y):
    return f.cross_entropy(h @ w.T, y, reduction="none")


def _silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def _exact_mlp(x, w1, b1, w2, b2):
    t = x @ w1 + b1
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return 0.5 * t * (1 + erf(t * math.sqrt(0.5))) @ w2 + b2


def _exact_gated(x, wg, wu, wd):
    return (_silu(x @ wg) * (x @ wu)) @ wd


def _exact_block(x, n1, wq, wk, wv, wo, n2, wg, wu, wd, cos, sin):
    def norm(t, w):
        return t / np.sqrt((t * t).mean(-1, keepdims=True) + EPS) * w

    def heads(t):
        return t.reshape(*t.shape[:2], -1, 2 * cos.shape[1]).swapaxes(1, 2)

    def turned(t):
        low, high = np.split(t, 2, -1)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

    h = norm(x, n1)
    q, k, v = turned(heads(h @ wq)), turned(heads(h @ wk)), heads(h @ wv)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    seen = p / p.sum(-1, keepdims=True) @ v
    x = x + seen.swapaxes(1, 2).reshape(x.shape) @ wo
    h = norm(x, n2)
    return x + (_silu(h @ wg) * (h @ wu)) @ wd


def _exact_loss(h, w, y):
    logits = h @ w.T
    top = logits.max(-1)
    chosen = logits[np.arange(len(y)), y.astype(np.int64)]
    return np.log(np.exp(logits - top[:, None]).sum(-1)) + top - chosen


# -- the cases ------------------------------------------------------------------------------------

Program = tuple[Callable, Callable, Callable]
PROGRAMS: dict[str, Program] = {  # ours, PyTorch, float64
    "mlp": (mlp, _torch_mlp, _exact_mlp),
    "gated mlp": (gated_mlp, _torch_gated, _exact_gated),
    "transformer block": (block, _torch_block, _exact_block),
    "vocabulary loss": (vocabulary_loss, _torch_loss, _exact_loss),
}
SIZES: dict[str, list[tuple[int, ...]]] = {
    # Rows, width, hidden: many rows, an odd number of them, and few rows with wide weights.
    "mlp": [(512, 768, 3072), (1000, 512, 2048), (64, 1024, 4096)],
    "gated mlp": [(512, 768, 2048), (1000, 512, 1536), (64, 1024, 2816)],
    # Batch, sequence, width, hidden, head.
    "transformer block": [
        (1, 512, 512, 1408, 64),
        (2, 512, 768, 2048, 64),
        (4, 128, 768, 2048, 64),
    ],
    # Rows, width, words.
    "vocabulary loss": [(256, 512, 32000), (512, 256, 50257), (64, 768, 50257)],
}


def operands(program: str, sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)

    def weight(rows: int, columns: int) -> np.ndarray:
        return rng.standard_normal((rows, columns), np.float32) / np.float32(math.sqrt(rows))

    def vector(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    if program == "transformer block":
        b, s, d, h, width = sizes
        angles = np.outer(np.arange(s), 2.0 ** np.linspace(0, -13, width // 2))
        turns = [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]
        square = [weight(d, d) for _ in range(4)]
        gates = [weight(d, h), weight(d, h), weight(h, d)]
        return (vector(b, s, d), 1 + vector(d) / 8, *square, 1 + vector(d) / 8, *gates, *turns)
    n, d, h = sizes
    if program == "vocabulary loss":
        return vector(n, d), weight(d, h).T.copy(), rng.integers(0, h, n)
    if program == "mlp":
        return vector(n, d), weight(d, h), vector(h), weight(h, d), vector(d)
    return vector(n, d), weight(d, h), weight(d, h), weight(h, d)


def flops(program: str, sizes: tuple[int, ...]) -> float:
    if program == "transformer block":
        b, s, d, h, _ = sizes
        return 2.0 * b * s * (4 * d * d + 3 * d * h + d * (s + 1))
    n, d, h = sizes
    products = {"mlp": 2, "gated mlp": 3, "vocabulary loss": 1}[program]
    return 2.0 * products * n * d * h


def check(program: str, sizes: tuple[int, ...], arrays: tuple[np.ndarray, ...]) -> str | None:
    """Within the roundings of consecutive sums, at the scale of the largest result."""
    ours, _, exact = PROGRAMS[program]
    value = exact(*(a.astype(np.float64) for a in arrays))
    bound = gamma(4 * sum(sizes[1:3]) + 64) * np.full(value.shape, np.abs(value).max())
    return compare(ours(*arrays), value, bound)


def _prepare(program: str, sizes: tuple[int, ...]) -> Prepared:
    arrays = operands(program, sizes)
    ours, torch_program, _ = PROGRAMS[program]
    calls = {OURS: lambda: ours(*arrays)}
    calls |= pytorch.contenders(torch_program, arrays)
    return Prepared(calls, lambda: check(program, sizes, arrays))


def _bytes(program: str, sizes: tuple[int, ...]) -> float:
    """Every argument once, and the result."""
    if program == "transformer block":
        b, s, d, h, width = sizes
        return 4.0 * (2 * b * s * d + 2 * d + 4 * d * d + 3 * d * h + s * width)
    n, d, h = sizes
    weights = {"mlp": 2 * d * h + h + d, "gated mlp": 3 * d * h, "vocabulary loss": d * h + 2 * n}
    return 4.0 * (n * d + weights[program] + (n if program == "vocabulary loss" else n * d))


def cases() -> list[Case]:
    targets = (
        Target("eager", ("torch",), 1.2),
        Target("torch.compile", ("torch.compile",), 1.0),
    )
    return [
        Case(
            program,
            "x".join(map(str, sizes)),
            lambda c=(program, sizes): _prepare(*c),
            targets,
            flops=flops(program, sizes),
            bytes=_bytes(program, sizes),
            quick=sizes == SIZES[program][0],
        )
        for program in PROGRAMS
        for sizes in SIZES[program]
    ]
