"""Two functions of a feed-forward layer, for the C++ program in this folder."""

import tessera as tsr
from tessera import Tensor


@tsr.function
def rms_norm(x: Tensor["rows", "width"], weight: Tensor["width"], epsilon: float):
    return x * tsr.rsqrt((x * x).mean(dim=-1, keepdim=True) + epsilon) * weight


@tsr.function
def gated(x: Tensor["rows", "width"], w: Tensor["width", "hidden"], v: Tensor["width", "hidden"]):
    return tsr.silu(x @ w) * (x @ v)
