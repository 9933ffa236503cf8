"""Small programs for the tests of the command line."""

import math

import tessera as tsr
from tessera import Tensor

HALF = 0.5


@tsr.function
def scaled(x: Tensor["N"], factor: float):
    return x * factor + HALF


@tsr.function
def pair(x: Tensor["N", "D"], y: Tensor["N", "D"]):
    return x + y, (x * y).sum(dim=-1)


@tsr.function
def attention(q: Tensor["S", "D"], k: Tensor["T", "D"], v: Tensor["T", "D"]):
    s = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    s = tsr.where(tsr.iota(s.shape, dim=-1) <= tsr.iota(s.shape, dim=-2), s, -tsr.inf)
    return tsr.softmax(s, dim=-1) @ v


@tsr.function
def documents(x, ids):
    """Attention of what has the same id."""
    scores = tsr.where(ids[:, None] == ids[None, :], x @ x.mT * 0.125, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ x


@tsr.function
def noise(x: Tensor["N"]):
    return x + tsr.rand(x.shape, seed=5), tsr.dropout(x, 0.25, seed=6)


@tsr.function
def running(x: Tensor["N", "D"]):
    return tsr.cumsum(tsr.exp(x), dim=1) * 2.0, tsr.cumprod(x, dim=0)
