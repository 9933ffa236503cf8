"""Attention with masks of every form."""

import tessera as tsr
from tessera import Tensor, fp32, int32


@tsr.function
def masked(q, k, v, mask):
    return tsr.softmax(tsr.where(mask, q @ k.mT, -tsr.inf), dim=-1) @ v


@tsr.function
def rows(q, k):
    return tsr.iota((q.shape[0], k.shape[0]), dim=0)


@tsr.function
def columns(q, k):
    return tsr.iota((q.shape[0], k.shape[0]), dim=1)


@tsr.function
def window(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (i - j < 128) & (j <= i))


@tsr.function
def sink(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (j <= i) & ((i - j < 128) | (j < 4)))


@tsr.function
def prefix(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (j <= i) | (j < 4))


@tsr.function
def outside(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (i - j > 128) | (j - i > 128))


@tsr.function
def other(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, j != i)


@tsr.function
def strided(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (j <= i) & ((i - j) % 4 == 0))


@tsr.function
def halves(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, 2 * j <= i)


@tsr.function
def floats(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32], b: Tensor["S", "T", fp32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (b > 0.5) & (j <= i))


@tsr.function
def documents(q: Tensor["S", 64, fp32], k: Tensor["S", 64, fp32], v: Tensor["S", 64, fp32], ids: Tensor["S", int32]):
    i, j = rows(q, k), columns(q, k)
    return masked(q, k, v, (ids[:, None] == ids[None, :]) & (j <= i))


@tsr.function
def finite(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32]):
    i, j = rows(q, k), columns(q, k)
    return tsr.softmax(tsr.where(j <= i, q @ k.mT, -1e9), dim=-1) @ v


@tsr.function
def rowwise(q: Tensor["S", 64, fp32], k: Tensor["T", 64, fp32], v: Tensor["T", 64, fp32], on: Tensor["S", fp32]):
    return tsr.softmax(tsr.where(on[:, None] > 0, q @ k.mT, -1e9), dim=-1) @ v
