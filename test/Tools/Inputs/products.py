import tessera as tsr
from tessera import Tensor, fp32


@tsr.function
def least(x: Tensor[5881, 307, fp32], w: Tensor[307, 6547, fp32]):
    return (x @ w).amin(1)


@tsr.function
def gated(x: Tensor[1037, 137, fp32], g: Tensor[3485, 137, fp32], u: Tensor[3485, 137, fp32],
          d: Tensor[137, 3485, fp32]):  # fmt: skip
    return (tsr.silu(x @ g.mT) * (x @ u.mT)) @ d.mT


@tsr.function
def attention(q: Tensor[16, 2048, 64, fp32], k: Tensor[16, 2048, 64, fp32], v: Tensor[16, 2048, 64, fp32]):
    return tsr.softmax(q @ k.mT, dim=-1) @ v


@tsr.function
def added(x: Tensor[128, 16, 4032, fp32], w: Tensor[4032, 448, fp32], y: Tensor[128, 16, 224, fp32],
          u: Tensor[224, 448, fp32]):  # fmt: skip
    return x @ w + y @ u
