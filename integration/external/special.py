#!/usr/bin/env python3
"""Special values, judged by PyTorch: infinities, NaN, signs of zeros, the ends of integers (run.py
runs it).

The database compares elements by their distance, which does not distinguish zeros. Here every
elementwise function is called with every value, or pair of values, of a short list, in every type,
and zeros must have PyTorch's sign. Calls that PyTorch rejects (integers divided by zero, operations
that a type does not have) are skipped.
"""

from __future__ import annotations

import sys

import cases
import torch

VALUES = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.0,
    -7.0,
    0.01,
    -0.01,
    1e4,
    -1e4,
    float("inf"),
    float("-inf"),
    float("nan"),
]
#: The relative tolerance; integers must be equal.
TYPES = {
    torch.float64: 1e-7,
    torch.float32: 1.3e-6,
    torch.bfloat16: 1.6e-2,
    torch.float16: 1e-3,
    torch.int64: 0,
    torch.int32: 0,
    torch.int16: 0,
    torch.int8: 0,
    torch.uint8: 0,
    torch.bool: 0,
}

UNARY = """abs neg bitwise_not exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sin cos tan tanh sinh cosh asin acos atan erf erfc floor
ceil round trunc sign isnan isinf isfinite square logical_not relu leaky_relu elu selu sigmoid silu gelu mish softplus hardswish
hardsigmoid""".split()
BINARY = """add sub mul div floor_divide remainder fmod pow atan2 maximum minimum eq ne lt le gt ge logical_and logical_or
logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift""".split()
QUOTIENTS = frozenset(("div", "floor_divide", "remainder", "fmod"))

#: PyTorch's gelu of infinity is nan, in float32 only. Ours is accurate relative to its operand and has no sign where it vanishes.
LOOSE = frozenset(("gelu",))


def values(dtype: torch.dtype) -> list:
    if dtype.is_floating_point or dtype == torch.bool:
        return VALUES if dtype.is_floating_point else [False, True]
    ends = torch.iinfo(dtype)
    some = (ends.min, ends.min + 1, -7, -3, -1, 0, 1, 2, 3, 7, 8, ends.max - 1, ends.max)
    return sorted({value for value in some if ends.min <= value <= ends.max})


def operands(name: str, arity: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """All values, or pairs of them for which the operation is defined."""
    first = second = torch.tensor(values(dtype), dtype=dtype)
    if not dtype.is_floating_point and (name in QUOTIENTS or name == "pow"):
        second = first[(first > 0) & (first < 20) if name == "pow" else first != 0]
    if name.endswith("shift"):
        bits = 8 * first.element_size()
        second = torch.tensor([0, 1, 3, bits - 1, bits, bits + 1], dtype=dtype)
    return [grid.flatten() for grid in torch.meshgrid(*(first, second)[:arity], indexing="ij")]


def check(name: str, arity: int, dtype: torch.dtype) -> str | None:
    """The error, an empty text, or None if PyTorch rejects it."""
    arguments = operands(name, arity, dtype)
    try:
        expected = getattr(torch, name, getattr(torch.nn.functional, name, None))(*arguments)
    except RuntimeError:
        return None
    result = cases.define(f"tsr.{name}({', '.join('xy'[:arity])})", arity)(*arguments)
    if result.dtype != expected.dtype:
        return f"{result.dtype}, PyTorch has {expected.dtype}"
    good = (result == expected) | (expected != expected) & (result != result)
    if name in LOOSE:
        good |= (result - expected).abs() <= TYPES[dtype] * arguments[0].abs()
        good |= arguments[0].isinf() & expected.isnan()
    elif expected.is_floating_point():
        good |= torch.isclose(result, expected, rtol=TYPES[dtype] or TYPES[expected.dtype], atol=0)
        good &= (torch.signbit(result) == torch.signbit(expected)) | (expected != expected)
    if bool(good.all()):
        return ""
    at = tuple((~good).nonzero()[0].tolist())
    return (
        f"{int((~good).sum())} of {good.numel()} wrong: of {[a[at].item() for a in arguments]} PyTorch makes "
        f"{expected[at].item()}, we make {result[at].item()}"
    )


def main() -> int:
    judged = failed = 0
    for names, arity in ((UNARY, 1), (BINARY, 2)):
        for name in names:
            before = judged
            for dtype in TYPES:
                wrong = check(name, arity, dtype)
                judged += wrong is not None
                if wrong:
                    failed += 1
                    print(f"{name} of {str(dtype).removeprefix('torch.')}: {wrong}")
            if judged == before:
                failed += 1
                print(f"{name}: PyTorch refuses it in every type")
    print(
        f"{judged} functions and types on special values: {judged - failed} passed, {failed} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
