"""Products that promotion makes wider than their operands, and some that it does not."""

import tessera as tsr
from tessera import Tensor, bf16, fp16, fp32, fp64


@tsr.function
def slopes(q: Tensor["H", "S", 64, bf16], k: Tensor["H", "T", 64, bf16], v: Tensor["H", "T", 64, bf16], slope: Tensor["H", fp32]):
    s = q @ k.mT * 0.125
    i, j = tsr.iota(s.shape, dim=-2), tsr.iota(s.shape, dim=-1)
    s = s + slope[:, None, None] * (j - i)
    return tsr.softmax(s, dim=-1) @ v


@tsr.function
def turn(x, cos):
    return x * cos


@tsr.function
def tables(q: Tensor["S", 64, bf16], k: Tensor["T", 64, bf16], v: Tensor["T", 64, bf16], cos: Tensor[64, fp32]):
    scores = turn(q, cos) @ turn(k, cos).mT
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def weights(x: Tensor["S", 64, bf16], w: Tensor["N", 64, fp32]):
    return x @ w.mT


@tsr.function
def mixed(x: Tensor["S", 64, bf16], w: Tensor[64, "N", fp16]):
    return x @ w


@tsr.function
def written(x: Tensor["S", 64, bf16], w: Tensor[64, "N", bf16]):
    return x.to(fp32) @ w


@tsr.function
def counted(x: Tensor["S", 64, fp16], n: Tensor[64, tsr.int32], w: Tensor[64, "N", fp16]):
    return (x * (n / 2)) @ w


@tsr.function
def wider(x: Tensor["S", 64, fp32], w: Tensor[64, "N", fp64]):
    return x @ w


@tsr.function
def narrow(x: Tensor["S", 64, bf16], w: Tensor[64, "N", bf16], b: Tensor["N", fp32]):
    return x @ (w * 0.5) + b


@tsr.function
def both(x: Tensor["S", 64, bf16], w: Tensor[64, "N", bf16]):
    return x.to(fp32) @ w.to(fp32)


@tsr.function
def cured(x: Tensor["S", 64, bf16], w: Tensor[64, "N", bf16], cos: Tensor[64, fp32]):
    return (x * cos).to(bf16) @ w


@tsr.function(matmul="bf16")
def chosen(x: Tensor["S", 64, bf16], w: Tensor[64, "N", fp32]):
    return x @ w
