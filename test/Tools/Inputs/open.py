"""Functions whose annotations leave something open."""

import tessera as tsr
from tessera import Tensor, fp32


@tsr.function
def untyped(x: Tensor["M", 512], w: Tensor[512, "N", fp32]):
    return x @ w


@tsr.function
def unranked(x: Tensor["*batch", "K", fp32]):
    return x.sum(dim=-1)


@tsr.function
def unsized(x: Tensor[fp32]):
    return x


@tsr.function
def bare(x, factor: float):
    return x * factor


@tsr.function
def foreign(x: "np.ndarray"):
    return x


@tsr.function
def repeated(x: Tensor["N", fp32], times: int):
    for _ in range(times):
        x = x * x
    return x
