"""Functions whose annotations say everything that a compilation needs."""

import tessera as tsr
from tessera import Region, Tensor, bf16, fp32, read, write


@tsr.function
def project(x: Tensor["M", 512, fp32], w: Tensor[512, "N", fp32], scale: float, bias: float = 0.5):
    return x @ w * scale + bias


@tsr.function
def shift(x: Region[read | write, "N", bf16], by: int):
    x[...] = x + by


class Layer:
    @tsr.function
    def method(self, x):
        return x
