"""The functions that calls.cpp calls: overloads, tuples, scalars, names that are invalid in C++,
small floats."""

import tessera as tsr
from tessera import Tensor


@tsr.function
def scaled(x: Tensor["M", "N"], factor: float, shift: int, negate: bool):
    y = x * factor + shift
    return tsr.where(negate, -y, y)


@tsr.function
def moments(x: Tensor["M", "N"]):
    return x.mean(dim=-1), (x * x).mean(dim=-1)


@tsr.function
def register(new: Tensor["M", "N"], stream: Tensor["M", "N"]):
    return new + stream, new - stream


@tsr.function
def awkward(code: Tensor["M"], grid: Tensor["M"], mod: int, result0: float, größe: float):
    return code * result0 + grid * größe + mod


@tsr.function
def doubled(x):
    return x + x
