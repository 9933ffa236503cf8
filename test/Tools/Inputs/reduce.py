"""A program with a mistake in one of its lines."""

import math

import tessera as tsr
from tessera import Tensor

SCALE = 0.5


@tsr.function
def helper(x):
    return tsr.exp(x) * SCALE


@tsr.function
def attention(q: Tensor["S", "D"], k: Tensor["T", "D"], v: Tensor["T", "D"], w):
    # Scores first.
    scores = q @ k.mT / math.sqrt(D)
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    p = tsr.softmax(scores, dim=-1)
    for n in range(3):
        p = p + n
    o = helper(p) @ v
    y = tsr.tanh(o) + tsr.sum(w * 2.0, dim=-1, keepdim=True) * (o - o.reshape(17, 3))
    return y, o.mean(dim=0)


@tsr.function
def right(x, y):
    return tsr.relu(x - 1.0) * y


@tsr.function
def wrong(x, y):
    a = tsr.exp(x) - tsr.exp(x)
    b = tsr.relu(x + 1.0 if True else x - 1.0)
    return b * y[:, :] + a
