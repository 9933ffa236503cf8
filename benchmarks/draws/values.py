"""The values of arguments, whole or at some indices only, the same on every machine.

An argument repeats a table of random values whose length is a prime: element number l of the array,
in row-major order, is number l modulo that length. No two rows or columns are alike, an array takes
as long as a copy, and a machine without it can compute any part of it.

Fills: `normal`; `weights:K`, divided by the square root of size K; `scales`, near 1; `positive`;
`near_one`, for products; `table`, normal, of which some rows are read; `below:V`, indices;
`slopes:H`, those of ALiBi. Integers are uniform.
"""

from __future__ import annotations

import math

import numpy as np

from .program import Argument, Program

PERIOD = 1_048_573


def numpy_type(dtype: str) -> np.dtype:
    if dtype == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({"fp64": "f8", "fp32": "f4", "fp16": "f2"}.get(dtype, dtype))


def _stored(found: np.ndarray, dtype: str) -> np.ndarray:
    """Values in their type; bf16 as its bits, rounded to nearest even, since NumPy alone has no
    such type."""
    if dtype != "bf16":
        return found.astype(numpy_type(dtype))
    bits = found.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def table(program: Program, argument: Argument, seed: int) -> np.ndarray:
    """The repeated values, or as many of them as there are elements."""
    count = min(PERIOD, program.count(argument.dims))
    at = [one.name for one in program.arguments].index(argument.name)
    rng = np.random.default_rng([seed % 2**63, at])
    kind, _, size = argument.fill.partition(":")
    extent = program.sizes.get(size, 1)
    if kind == "below":
        return (rng.random(count) * extent).astype(numpy_type(argument.dtype))
    if argument.dtype.startswith("int"):
        return rng.integers(-127, 128, count).astype(numpy_type(argument.dtype))
    if kind == "slopes":
        return _stored(np.exp2(-8.0 * np.arange(1, count + 1) / extent), argument.dtype)
    values = np.clip(rng.standard_normal(count, np.float32), -4, 4)
    if kind == "weights":
        values /= math.sqrt(extent)
    elif kind == "scales":
        values = 1 + values / 8
    elif kind == "positive":
        values = 0.5 + np.abs(values)
    elif kind == "near_one":
        values = 1 + values * 2.0**-10
    return _stored(values, argument.dtype)


def sizes_of(program: Program, argument: Argument) -> tuple[int, ...]:
    return tuple(program.sizes[dim] for dim in argument.dims)


def whole(program: Program, argument: Argument, seed: int) -> np.ndarray:
    sizes = sizes_of(program, argument)
    values = np.resize(table(program, argument, seed), math.prod(sizes)).reshape(sizes)
    return values.view(numpy_type(argument.dtype))


def part(
    program: Program, argument: Argument, seed: int, chosen: dict[str, np.ndarray]
) -> np.ndarray:
    """The elements at the chosen indices of some sizes, and all of the others."""
    values = table(program, argument, seed)
    sizes = sizes_of(program, argument)
    linear = np.zeros((1,) * len(sizes), np.int64)
    for at, (dim, size) in enumerate(zip(argument.dims, sizes)):
        indices = chosen.get(dim, np.arange(size))
        step = math.prod(sizes[at + 1 :])
        linear = linear + (indices * step).reshape(
            [-1 if i == at else 1 for i in range(len(sizes))]
        )
    return values[linear % PERIOD].view(numpy_type(argument.dtype))
