"""The functions that the check of calls runs on a GPU, and the ones compiled ahead of time."""

import tessera as tsr
from tessera import Tensor, fp16, fp32, int8


@tsr.function
def five(a, b, c, d, e):
    return a * b + c * d + e


@tsr.function
def halved(x):
    return x * 0.5


@tsr.function
def weights(a, b):
    return tsr.softmax(tsr.matmul(a, b), dim=0)


@tsr.function
def negated(x):
    return -x


BIG = 2**31 + 2**20  # elements: more than 32 bits can count
WIDE = 16384  # rows and columns of a temporary of 1 GiB

#: Function, types of its arguments, options: each becomes an entry of the cache that travels.
UNITS = [
    (five, (Tensor[64, 64, fp32],) * 5, {}),
    (five, (Tensor[1000, 1000, fp32],) * 5, {}),
    (halved, (Tensor[1000, 1000, fp32],), {}),
    (halved, (Tensor[999, 1000, fp32],), {"alignment": "element"}),
    (halved, (Tensor[1000, 1001, fp32],), {}),
    (weights, (Tensor[WIDE, 64, fp16], Tensor[64, WIDE, fp16]), {}),
    (weights, (Tensor[256, 64, fp16], Tensor[64, 256, fp16]), {}),
    (negated, (Tensor[BIG // 4096, 4096, int8],), {"indices": "64"}),
]
