import tessera as tsr
from tessera import Tensor


@tsr.function
def smooth(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return tsr.sigmoid(tsr.gelu(tsr.sigmoid(a @ b), approximate="tanh")).clamp(0.1, 0.9)


@tsr.function
def residual(x: Tensor["M", "N"], a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return x + a @ b


@tsr.function
def column(a: Tensor["M", "K"], b: Tensor["K", "N"], c: Tensor["M"]):
    return tsr.relu(a @ b + c.unsqueeze(-1))


@tsr.function
def normed(x: Tensor["M", "D"], w: Tensor["D", "F"], n: Tensor["D"], m: Tensor["D"]):
    return tsr.layer_norm(x, (D,), n, m) @ w
