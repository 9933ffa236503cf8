#!/usr/bin/env python3
"""Special values, judged by PyTorch: infinities, nan and the signs of zeros (`make test-external` runs it too).

The database compares elements by their distance, which zeros of either sign do not have. Here every elementwise function
meets every value, or pair of values, of a short list, in every floating point type, and zeros must have PyTorch's sign.
"""

from __future__ import annotations

import sys

import cases
import torch

VALUES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.0, -7.0, 0.01, -0.01, 1e4, -1e4,
          float("inf"), float("-inf"), float("nan")]
TYPES = {torch.float64: 1e-7, torch.float32: 1.3e-6, torch.bfloat16: 1.6e-2, torch.float16: 1e-3}

UNARY = """abs neg exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sin cos tan tanh sinh cosh asin acos atan erf erfc floor
ceil round trunc sign isnan isinf isfinite square logical_not relu leaky_relu elu selu sigmoid silu gelu mish softplus hardswish
hardsigmoid""".split()
BINARY = """add sub mul div floor_divide remainder fmod pow atan2 maximum minimum eq ne lt le gt ge logical_and logical_or
logical_xor""".split()

#: PyTorch's gelu of infinity is nan, in float32 only. Ours is accurate relative to its operand and has no sign where it vanishes.
LOOSE = frozenset(("gelu",))


def check(name: str, arity: int, dtype: torch.dtype) -> str:
    """What is wrong, or nothing."""
    grids = torch.meshgrid(*[torch.tensor(VALUES, dtype=dtype)] * arity, indexing="ij")
    arguments = [grid.contiguous() for grid in grids]
    expected = getattr(torch, name, getattr(torch.nn.functional, name, None))(*arguments)
    result = cases.define(f"tsr.{name}({', '.join('xy'[:arity])})", arity)(*arguments)
    if result.dtype != expected.dtype:
        return f"{result.dtype}, PyTorch has {expected.dtype}"
    good = (result == expected) | (expected != expected) & (result != result)
    if name in LOOSE:
        good |= (result - expected).abs() <= TYPES[dtype] * arguments[0].abs()
        good |= arguments[0].isinf() & expected.isnan()
    elif expected.is_floating_point():
        good |= torch.isclose(result, expected, rtol=TYPES[dtype], atol=0)
        good &= (torch.signbit(result) == torch.signbit(expected)) | (expected != expected)
    if bool(good.all()):
        return ""
    at = tuple((~good).nonzero()[0].tolist())
    return (f"{int((~good).sum())} of {good.numel()} wrong: of {[a[at].item() for a in arguments]} PyTorch makes "
            f"{expected[at].item()}, we make {result[at].item()}")


def main() -> int:
    judged = failed = 0
    for names, arity in ((UNARY, 1), (BINARY, 2)):
        for name in names:
            for dtype in TYPES:
                judged += 1
                if wrong := check(name, arity, dtype):
                    failed += 1
                    print(f"{name} of {str(dtype).removeprefix('torch.')}: {wrong}")
    print(f"{judged} functions and types on special values: {judged - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
