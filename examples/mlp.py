"""A feed-forward layer: bias, activation and residual are fused into the matrix products.

    tessera run examples/mlp.py::mlp --arg x=fp32[37,64] --arg w1=fp32[64,128] --arg b1=fp32[128] \
        --arg w2=fp32[128,64] --arg b2=fp32[64] --check --time
"""

import tessera as tsr
from tessera import Tensor


@tsr.function
def mlp(
    x: Tensor["N", "D"],
    w1: Tensor["D", "F"],
    b1: Tensor["F"],
    w2: Tensor["F", "D"],
    b2: Tensor["D"],
) -> Tensor["N", "D"]:
    hidden = tsr.gelu(x @ w1 + b1)
    return x + hidden @ w2 + b2


@tsr.function
def gated_mlp(
    x: Tensor["N", "D"], gate: Tensor["D", "F"], up: Tensor["D", "F"], down: Tensor["F", "D"]
) -> Tensor["N", "D"]:
    return (tsr.silu(x @ gate) * (x @ up)) @ down


def main() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    sizes = {"x": (300, 256), "w1": (256, 1024), "b1": (1024,), "w2": (1024, 256), "b2": (256,)}
    arguments = {n: rng.standard_normal(s, dtype=np.float32) * 0.1 for n, s in sizes.items()}
    out = mlp(**arguments)
    expected = mlp.reference(**arguments)
    print("largest difference from float64:", float(np.abs(out - expected).max()))


if __name__ == "__main__":
    main()
