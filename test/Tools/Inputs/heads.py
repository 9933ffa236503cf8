"""A product whose columns are cut into heads."""

import tessera as tsr
from tessera import Tensor


@tsr.function
def heads(x: Tensor["B", "S", "D"], w: Tensor["D", "D"]):
    return (x @ w).reshape(B, S, D // 32, 32).transpose(1, 2)
