import tessera as tsr
from tessera import Tensor


@tsr.function
def dropped(x: Tensor["M", "N"]):
    return tsr.dropout(x, 0.1, seed=7)


@tsr.function
def doubled(x: Tensor["M", "N"]):
    return x * 2.0
