import tessera as tsr
from tessera import Tensor, bf16, int64


@tsr.function
def embedded(table: Tensor[304, 256, bf16], tokens: Tensor[2, 96, int64], scale: Tensor[256, bf16],
             w: Tensor[768, 256, bf16], bias: Tensor[768, bf16]):  # fmt: skip
    x = tsr.layer_norm(tsr.embedding(tokens, table), (256,), scale)
    return bias + x.reshape((192, 256)) @ w.mT
