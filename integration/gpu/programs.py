"""The functions of the GPU check, as a user writes them."""

import math

import tessera as tsr
from tessera import Tensor


@tsr.function
def add(x: Tensor["M", "N"], y: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return x + y


@tsr.function
def gelu_chain(x: Tensor["M", "N"], y: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.gelu(x) * y + x


@tsr.function
def softmax(x: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.softmax(x, dim=-1)


@tsr.function
def layer_norm(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.layer_norm(x, (x.shape[-1],), w, b)


@tsr.function
def row_sum(x: Tensor["M", "N"]) -> Tensor["M"]:
    return tsr.sum(x, dim=-1)


@tsr.function
def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]) -> Tensor["M", "N"]:
    return tsr.matmul(a, b)


@tsr.function
def linear_gelu(a: Tensor["M", "K"], b: Tensor["K", "N"], c: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.gelu(tsr.matmul(a, b) + c)


@tsr.function
def attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = tsr.matmul(q, k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)


@tsr.function
def causal_attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = tsr.matmul(q, k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)
