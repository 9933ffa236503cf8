"""Programs that must each become one kernel with one stream over the long dimension.

Each states its mathematics plainly; test_fusion.py states the expected result.
"""

import tessera as tsr
from tessera import Tensor


@tsr.function
def plain(q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64]):
    s = tsr.matmul(q, k.transpose(-2, -1)) * 0.125
    return tsr.softmax(s, dim=-1) @ v, tsr.logsumexp(s, dim=-1)


@tsr.function
def window(q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64]):
    s = q @ k.mT
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    return tsr.softmax(tsr.where((j <= i) & (j > i - 128), s, -tsr.inf), dim=-1) @ v


@tsr.function
def prefix(q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64]):
    s = q @ k.mT
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    return tsr.softmax(tsr.where((j <= i) | (j < 100), s, -tsr.inf), dim=-1) @ v


@tsr.function
def alibi(
    q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64], slope: Tensor["H"]
):
    s = q @ k.mT * 0.125
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    return tsr.softmax(s + slope[:, None, None] * (j - i), dim=-1) @ v


@tsr.function
def softcap(q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64]):
    s = 20.0 * tsr.tanh(q @ k.mT / 20.0)
    return tsr.softmax(s, dim=-1) @ v


@tsr.function
def bias(
    q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64], b: Tensor["S", "T"]
):
    return tsr.softmax(q @ k.mT + b, dim=-1) @ v


@tsr.function
def grouped(q: Tensor["K", "G", "S", 64], k: Tensor["K", "T", 64], v: Tensor["K", "T", 64]):
    s = q @ k[:, None].mT
    return tsr.softmax(s, dim=-1) @ v[:, None]


@tsr.function
def latent(
    q: Tensor["H", "S", 128], qr: Tensor["H", "S", 32], c: Tensor["T", 128], kr: Tensor["T", 32]
):
    s = q @ c.T + qr @ kr.T
    return tsr.softmax(s, dim=-1) @ c


@tsr.function
def extra_logit(
    q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64], sink: Tensor["H"]
):
    s = q @ k.mT
    m = tsr.maximum(tsr.amax(s, dim=-1, keepdim=True), sink[:, None, None])
    e = tsr.exp(s - m)
    return (e / (e.sum(dim=-1, keepdim=True) + tsr.exp(sink[:, None, None] - m))) @ v


@tsr.function
def extra_columns(
    q: Tensor["H", "S", 64],
    k: Tensor["H", "T", 64],
    v: Tensor["H", "T", 64],
    sink: Tensor["H", "N"],
):
    s = q @ k.mT
    columns = sink[:, None, :].expand(s.shape[0], s.shape[1], sink.shape[1])
    p = tsr.softmax(tsr.concat([columns, s], dim=-1), dim=-1)
    return p[..., sink.shape[1] :] @ v


@tsr.function
def differential(
    q1: Tensor["H", "S", 64],
    k1: Tensor["H", "T", 64],
    q2: Tensor["H", "S", 64],
    k2: Tensor["H", "T", 64],
    v: Tensor["H", "T", 64],
):
    p = tsr.softmax(q1 @ k1.mT, dim=-1) - 0.3 * tsr.softmax(q2 @ k2.mT, dim=-1)
    return p @ v


@tsr.function
def cross_entropy(x: Tensor["B", 64], w: Tensor["V", 64], y: Tensor["B", tsr.int64]):
    z = x @ w.T
    label = tsr.where(tsr.iota(z.shape, dim=-1) == y[:, None], tsr.log_softmax(z, dim=-1), 0.0)
    return -label.sum(dim=-1)


@tsr.function
def norm_matmul(x: Tensor["B", "D"], g: Tensor["D"], b: Tensor["D"], w: Tensor["D", 128]):
    return tsr.layer_norm(x, (x.shape[-1],), g, b) @ w


@tsr.function
def rms_matmul(x: Tensor["B", "D"], g: Tensor["D"], w: Tensor["D", 128]):
    return tsr.rms_norm(x, (x.shape[-1],), g) @ w


@tsr.function
def moments(x: Tensor["B", "D"]):
    return tsr.mean(x, dim=-1), tsr.var(x, dim=-1)


@tsr.function
def entropy(x: Tensor["B", "D"]):
    return -(tsr.softmax(x, dim=-1) * tsr.log_softmax(x, dim=-1)).sum(dim=-1)


@tsr.function
def divergence(x: Tensor["B", "D"], y: Tensor["B", "D"]):
    p = tsr.log_softmax(x, dim=-1)
    return (tsr.exp(p) * (p - tsr.log_softmax(y, dim=-1))).sum(dim=-1)


@tsr.function
def weighted_moments(s: Tensor["B", "N"], v: Tensor["B", "N"]):
    p = tsr.softmax(s, dim=-1)
    mean = (p * v).sum(dim=-1, keepdim=True)
    return mean, (p * (v - mean) ** 2).sum(dim=-1)


@tsr.function
def sigmoid_weights(q: Tensor["H", "S", 64], k: Tensor["H", "T", 64], v: Tensor["H", "T", 64]):
    return tsr.sigmoid(q @ k.mT * 0.125) @ v
