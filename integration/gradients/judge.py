"""Compares gradients with finite differences and with the differentiated reference.

A gradient in float64 is right if its directional derivative agrees with the central difference of
the function's reference, extrapolated from two steps. A compiled gradient is right if each element
is within the bound of the reference.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tessera as tsr

sys.path.append(str(Path(__file__).resolve().parent.parent / "cpu"))

from harness import check, define, numpy_dtype, random  # noqa: E402, F401


def difference(function, arguments: list, index: int, direction: np.ndarray) -> float:
    """The derivative of a scalar function along a direction of one argument."""

    def value(step: float) -> float:
        moved = list(arguments)
        moved[index] = arguments[index] + step * direction
        return float(function.reference(*moved))

    def central(step: float) -> float:
        return (value(step) - value(-step)) / (2 * step)

    return (4 * central(1e-4) - central(2e-4)) / 3


def check_differences(function, *arguments, wrt: tuple[int, ...] = (0,), tolerance=1e-6) -> None:
    """The float64 gradients of a function against differences of its reference."""
    gradients = tsr.grad(function, wrt).reference(*arguments)
    rng = np.random.default_rng(1)
    for index, gradient in zip(wrt, gradients):
        assert gradient.shape == np.shape(arguments[index])
        for _ in range(2):
            direction = rng.standard_normal(gradient.shape)
            expected = difference(function, list(arguments), index, direction)
            found = float(np.sum(gradient * direction))
            scale = 1 + float(np.sum(np.abs(gradient * direction)))
            assert abs(found - expected) <= tolerance * scale, (index, found, expected)


def check_gradients(function, *arguments, wrt: tuple[int, ...] = (0,), least: float = 0.5) -> None:
    """Compiled gradients against the reference's bounds."""
    check(tsr.grad(function, wrt), *arguments, least=least)
