"""Attention as plain mathematics. The compiler derives the fused kernel, which loops over the keys.

    tessera run examples/attention.py::attention --arg q=fp32[1,2,64,16] --arg k=fp32[1,2,64,16] \
        --arg v=fp32[1,2,64,16] --check
"""

import math

import tessera as tsr
from tessera import Tensor


@tsr.function
def attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]
) -> Tensor["B", "H", "S", "D"]:
    """Causal attention."""
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)


@tsr.function
def full_attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]
) -> Tensor["B", "H", "S", "D"]:
    """Every query sees every key."""
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)


@tsr.function
def windowed_attention(
    q: Tensor["B", "H", "S", "D"],
    k: Tensor["B", "H", "T", "D"],
    v: Tensor["B", "H", "T", "D"],
    window: int,
) -> Tensor["B", "H", "S", "D"]:
    """A query sees itself and the `window - 1` keys before it."""
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where((j <= i) & (j > i - window), scores, -tsr.inf)
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)


def main() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 4, 256, 64), dtype=np.float32) for _ in range(3))
    out = attention(q, k, v)
    expected = attention.reference(q, k, v)
    print("largest difference from float64:", float(np.abs(out - expected).max()))
    print(attention.inspect_ir("sched"))


if __name__ == "__main__":
    main()
