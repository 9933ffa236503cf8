import tessera as tsr
from tessera import Tensor, fp32


@tsr.function
def loss(x: Tensor["B", "D", fp32], w: Tensor["D", "H", fp32], b: Tensor["H", fp32], unused: float):
    return tsr.softmax(tsr.gelu(x @ w + b), dim=-1).square().sum()
