"""Normalizations, by name and by hand: both become one kernel that reads each row once.

tessera explain examples/norms.py::by_hand --arg x=fp32[512,768] --arg w=fp32[768] --arg b=fp32[768]
"""

import tessera as tsr
from tessera import Tensor


@tsr.function
def layer_norm(x: Tensor["N", "D"], w: Tensor["D"], b: Tensor["D"]) -> Tensor["N", "D"]:
    return tsr.layer_norm(x, (x.shape[-1],), w, b, eps=1e-5)


@tsr.function
def by_hand(x: Tensor["N", "D"], w: Tensor["D"], b: Tensor["D"]) -> Tensor["N", "D"]:
    mean = x.mean(dim=-1, keepdim=True)
    centred = x - mean
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    return centred * tsr.rsqrt(variance + 1e-5) * w + b


@tsr.function
def rms_norm(x: Tensor["N", "D"], w: Tensor["D"]) -> Tensor["N", "D"]:
    return tsr.rms_norm(x, (x.shape[-1],), w, eps=1e-6)


@tsr.function
def softmax(x: Tensor["N", "D"]) -> Tensor["N", "D"]:
    return tsr.softmax(x, dim=-1)


def main() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s, dtype=np.float32) for s in ((64, 768), (768,), (768,)))
    for function, arguments in (
        (layer_norm, (x, w, b)),
        (by_hand, (x, w, b)),
        (rms_norm, (x, w)),
        (softmax, (x,)),
    ):
        difference = np.abs(function(*arguments) - function.reference(*arguments)).max()
        print(f"{function.__name__:12} largest difference from float64: {difference:.2e}")


if __name__ == "__main__":
    main()
