import tessera as tsr
from tessera import Tensor


@tsr.function
def normed(x: Tensor["N", "D"], w: Tensor["D", "H"]):
    return tsr.rms_norm(x, (D,), eps=1e-6) @ w


@tsr.function
def attention(q: Tensor["S", "D"], k: Tensor["T", "D"], v: Tensor["T", "E"]):
    return tsr.softmax(q @ k.T, dim=-1) @ v


@tsr.function
def loss(h: Tensor["N", "D"], w: Tensor["V", "D"], y: Tensor["N"]):
    return tsr.cross_entropy(h @ w.T, y, reduction="none")
