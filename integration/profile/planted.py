"""Ten programs with a planted problem each, and five without one."""

from __future__ import annotations

import tessera as tsr
from tessera import Tensor


@tsr.function
def wide_table(x, g, w):
    r = x * tsr.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6)
    y = r * g  # planted: g is fp32
    return y @ w


@tsr.function
def strided(x, y):
    part = x[:, ::16]  # planted: one element in 16
    return part * 2.0 + y


@tsr.schedule("tile.m=64,tile.n=64,num_stages=3")
@tsr.function
def tiny_tiles(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b  # planted: the schedule


@tsr.function
def returns_weights(q, k, v):
    s = q @ k.mT / 8.0
    p = tsr.softmax(s, dim=-1)
    return p @ v, p  # planted: p is stored


@tsr.function
def finite_mask(q, k, v):
    s = q @ k.mT * 0.125
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    s = tsr.where(j <= i, s, -1e9)  # planted: finite
    return tsr.softmax(s, dim=-1) @ v


@tsr.function
def odd_depth(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b  # planted: K is 4095


@tsr.function
def divides(q, k, v, t):
    s = q @ k.mT
    s = s / t  # planted: a division for each score
    return tsr.softmax(s, dim=-1) @ v


@tsr.function
def chain(x, a, b, c):
    x = tsr.relu(x @ a)  # planted: all of this is small
    x = tsr.relu(x @ b)
    x = tsr.relu(x @ c)
    return tsr.softmax(x, dim=0)


@tsr.function(batch_invariant=True)
def decode(x, w):
    return x @ w  # planted: K is not split


@tsr.function(numerics="strict")
def strict(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v  # planted: strict numerics


@tsr.function
def attention(q, k, v):
    s = q @ k.mT * 0.125
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    s = tsr.where(j <= i, s, -tsr.inf)
    return tsr.softmax(s, dim=-1) @ v


@tsr.function
def mlp(x, w, u):
    return tsr.gelu(x @ w) @ u


@tsr.function
def norm(x, g, b):
    return tsr.layer_norm(x, (x.shape[-1],), g, b)


@tsr.function
def transposed(x, y):
    return x.mT + y


@tsr.function
def entropy(x, target):
    return tsr.cross_entropy(x, target)
