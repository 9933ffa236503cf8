import tessera as tsr
from tessera import Tensor, fp32


@tsr.function
def block(x, w):
    return tsr.exp(tsr.checkpoint_name(x @ w, "product"))


@tsr.function
def auto(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
    return block(x, w).sum()


@tsr.function
def nothing(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
    y = tsr.checkpoint(block, policy="nothing")(x, w)
    return (y * y).sum()


@tsr.function
def contractions(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
    y = tsr.checkpoint(block, policy="contractions")(x, w)
    return (y * y).sum()


@tsr.function
def named(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
    y = tsr.checkpoint(block, policy=("product",))(x, w)
    return (y * y).sum()


@tsr.checkpoint(policy="nothing")
@tsr.function
def decorated(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
    return block(x, w).sum()


@tsr.custom_vjp
def ruled(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
    return block(x, w).sum()


def forward(x, w):
    return block(x, w).sum(), (x, w)


def backward(x, w, cotangent):
    return cotangent * 3 * x, None


ruled.defvjp(forward, backward)
