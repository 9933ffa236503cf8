"""The functions of the GPU benchmark, in user code: mathematics, no tuning, no tiles."""

import math

import tessera as tsr
from tessera import Tensor

# -- matrix products ------------------------------------------------------------------------------


@tsr.function
def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]) -> Tensor["M", "N"]:
    return a @ b


@tsr.function
def matmul_nt(a: Tensor["M", "K"], b: Tensor["N", "K"]) -> Tensor["M", "N"]:
    return a @ b.T


@tsr.function
def matmul_tn(a: Tensor["K", "M"], b: Tensor["K", "N"]) -> Tensor["M", "N"]:
    return a.T @ b


@tsr.function
def matmul_tt(a: Tensor["K", "M"], b: Tensor["N", "K"]) -> Tensor["M", "N"]:
    return a.T @ b.T


@tsr.function
def batched_matmul(a: Tensor["B", "M", "K"], b: Tensor["B", "K", "N"]) -> Tensor["B", "M", "N"]:
    return a @ b


@tsr.function
def linear_gelu(x: Tensor["M", "K"], w: Tensor["K", "N"], b: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.gelu(x @ w + b)


@tsr.function
def swiglu(x: Tensor["M", "K"], g: Tensor["K", "N"], u: Tensor["K", "N"]) -> Tensor["M", "N"]:
    return tsr.silu(x @ g) * (x @ u)


# -- attention ------------------------------------------------------------------------------------


@tsr.function
def attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def causal_attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def window_attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where((j <= i) & (j > i - 1024), scores, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def grouped_attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "G", "S", "D"], v: Tensor["B", "G", "S", "D"]
) -> Tensor["B", "H", "S", "D"]:
    groups = q.reshape(q.shape[0], k.shape[1], -1, q.shape[2], q.shape[3])
    scores = groups @ k.unsqueeze(2).transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return (tsr.softmax(scores, dim=-1) @ v.unsqueeze(2)).reshape(q.shape)


@tsr.function
def softcap_attention(
    q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    scores = 20.0 * tsr.tanh(scores / 20.0)
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def alibi_attention(
    q: Tensor["B", "H", "S", "D"],
    k: Tensor["B", "H", "S", "D"],
    v: Tensor["B", "H", "S", "D"],
    slopes: Tensor["H"],
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores - slopes[:, None, None] * (i - j), -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function
def document_attention(
    q: Tensor["B", "H", "S", "D"],
    k: Tensor["B", "H", "S", "D"],
    v: Tensor["B", "H", "S", "D"],
    document: Tensor["S"],
) -> Tensor["B", "H", "S", "D"]:
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    same = document[:, None] == document[None, :]
    scores = tsr.where(same & (j <= i), scores, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v


# -- bound by memory ------------------------------------------------------------------------------


@tsr.function
def softmax(x: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.softmax(x, dim=-1)


@tsr.function
def layer_norm(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.layer_norm(x, (x.shape[-1],), w, b)


@tsr.function
def rms_norm(x: Tensor["M", "N"], w: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.rms_norm(x, (x.shape[-1],), w, eps=1e-6)


@tsr.function
def gelu_chain(x: Tensor["M", "N"], y: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.gelu(x) * y + x


@tsr.function
def column_sum(x: Tensor["M", "N"]) -> Tensor["N"]:
    return tsr.sum(x, dim=0)


@tsr.function
def transpose(x: Tensor["M", "N"]) -> Tensor["N", "M"]:
    return x.T


@tsr.function
def rope(
    x: Tensor["B", "H", "S", "D"], cos: Tensor["S", "F"], sin: Tensor["S", "F"]
) -> Tensor["B", "H", "S", "D"]:
    low, high = tsr.split(x, F, dim=-1)
    return tsr.concat([low * cos - high * sin, high * cos + low * sin], dim=-1)


# -- parts of language models ---------------------------------------------------------------------


@tsr.function
def mlp(
    x: Tensor["M", "D"],
    w1: Tensor["D", "H"],
    b1: Tensor["H"],
    w2: Tensor["H", "D"],
    b2: Tensor["D"],
) -> Tensor["M", "D"]:
    return tsr.gelu(x @ w1 + b1) @ w2 + b2


@tsr.function
def gated_mlp(
    x: Tensor["M", "D"], wg: Tensor["D", "H"], wu: Tensor["D", "H"], wd: Tensor["H", "D"]
) -> Tensor["M", "D"]:
    return (tsr.silu(x @ wg) * (x @ wu)) @ wd


@tsr.function
def transformer_block(
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
    h = tsr.rms_norm(x, (D,), n1, eps=1e-6)
    q = rope((h @ wq).reshape(B, S, heads, width).transpose(1, 2), cos, sin)
    k = rope((h @ wk).reshape(B, S, heads, width).transpose(1, 2), cos, sin)
    v = (h @ wv).reshape(B, S, heads, width).transpose(1, 2)
    seen = causal_attention(q, k, v)
    x = x + seen.transpose(1, 2).reshape(B, S, D) @ wo
    h = tsr.rms_norm(x, (D,), n2, eps=1e-6)
    return x + (tsr.silu(h @ wg) * (h @ wu)) @ wd


@tsr.function
def vocabulary_loss(h: Tensor["N", "D"], w: Tensor["V", "D"], y: Tensor["N"]) -> Tensor["N"]:
    return tsr.cross_entropy(h @ w.T, y, reduction="none")


@tsr.function
def five(
    a: Tensor["M", "N"], b: Tensor["M", "N"], c: Tensor["M", "N"], d: Tensor["M", "N"]
) -> Tensor["M", "N"]:
    return a + b + c + d


@tsr.function
def log_softmax(x: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.log_softmax(x, dim=-1)


@tsr.function
def residual_rms_silu(x: Tensor["M", "N"], r: Tensor["M", "N"], w: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.silu(tsr.rms_norm(x + r, (x.shape[-1],), w, eps=1e-6))


@tsr.function
def cross_entropy(x: Tensor["M", "N"], t: Tensor["M"]) -> Tensor["M"]:
    return tsr.cross_entropy(x, t, reduction="none")


@tsr.function
def chain(x: Tensor["M", "N"], y: Tensor["M", "N"]) -> Tensor["M", "N"]:
    c = tsr.tanh(x * 0.5 + y) * x
    return tsr.maximum(tsr.sqrt(tsr.abs(c - y) + 1.0), x) * 0.25


@tsr.function
def row_sum(x: Tensor["M", "N"]) -> Tensor["M"]:
    return tsr.sum(x, dim=-1)


@tsr.function
def row_mean(x: Tensor["M", "N"]) -> Tensor["M"]:
    return tsr.mean(x, dim=-1)


@tsr.function
def column_mean(x: Tensor["M", "N"]) -> Tensor["N"]:
    return tsr.mean(x, dim=0)


@tsr.function
def argmax(x: Tensor["M", "N"]) -> Tensor["M"]:
    return tsr.argmax(x, dim=-1)


@tsr.function
def swap_heads(x: Tensor["B", "S", "H", "D"]) -> Tensor["B", "H", "S", "D"]:
    return x.permute(0, 2, 1, 3)


@tsr.function
def bias_gelu_dropout(x: Tensor["M", "N"], b: Tensor["N"]) -> Tensor["M", "N"]:
    return tsr.dropout(tsr.gelu(x + b), 0.1, seed=7)


@tsr.function
def to_bf16(x: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return x.to(tsr.bf16)


@tsr.function
def to_fp32(x: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return x.to(tsr.fp32)


@tsr.function
def embedding(ids: Tensor["M"], table: Tensor["V", "N"]) -> Tensor["M", "N"]:
    return tsr.embedding(ids, table)


@tsr.function
def cumsum(x: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.cumsum(x, dim=-1)
