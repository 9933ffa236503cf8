"""Finite differences of random programs: whether gradients predict how the loss changes.

Both are of the reference, in float64. A few elements of all arguments are moved along a random
direction, by steps that their types can represent. Differences say nothing where the loss has a
kink or a step: the second difference of a smooth function is four times that of half the step.
"""

from __future__ import annotations

import re

import numpy as np
from generate import Program, numpy_dtype

STEP = 2.0**-14
MOVED = 8  # elements of an argument, at most
GRID = 2.0**-6  # of directions, so that most sums are exact in fp32
TYPES = ({"fp32"}, {"fp64"})  # the floats of a program; conversions between types round
RIGHT = 1e-3  # relative


def applies(program: Program) -> bool:
    return set(re.findall(r"\b(?:fp|bf)\d+\w*", program.source)) in TYPES


def direction(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(int(np.prod(shape)))
    at = rng.permutation(found.size)[:MOVED]
    found[at] = np.round(rng.standard_normal(at.size) / GRID) * GRID
    return found.reshape(shape)


def check(program: Program, function, gradient, arguments: list[np.ndarray]) -> str | None:
    """The error, an empty text if the gradients are right, or None if nothing can be said."""
    found = gradient.reference(*arguments)
    gradients = dict(zip(program.differentiable, found, strict=True))
    rng = np.random.default_rng(program.seed)
    directions = {
        p.name: direction(rng, np.shape(given))
        for p, given in zip(program.parameters, arguments)
        if p.name in gradients
    }

    def moved(step: float) -> list[np.ndarray]:
        return [
            np.asarray(given + step * directions[p.name], numpy_dtype(p.dtype))
            if p.name in directions
            else given
            for p, given in zip(program.parameters, arguments)
        ]

    def value(given: list[np.ndarray]) -> float:
        return float(function.reference(*given))

    here = value(arguments)
    first, second, expected, spread = [], [], 0.0, 0.0
    for step in (STEP, STEP / 2):
        above, below = moved(step), moved(-step)
        ends = value(above), value(below)
        first.append(ends[0] - ends[1])
        second.append(ends[0] - 2 * here + ends[1])
        terms = [
            gradients[p.name] * (np.asarray(a, np.float64) - b)
            for p, a, b in zip(program.parameters, above, below)
            if p.name in gradients
        ]
        expected = sum(float(one.sum()) for one in terms)
        spread = sum(float(np.abs(one).sum()) for one in terms)
    rounding = 1e-12 * (1 + abs(here)) + 1e-6 * spread
    allowed = RIGHT * abs(first[1]) + rounding
    kink = abs(second[0] - 4 * second[1])
    bend = abs(first[0] - 2 * first[1])
    if not max(kink, bend) <= allowed:  # also of nan
        return None
    if abs(first[1] - expected) <= allowed:
        return ""
    return f"the loss changes by {first[1]:.6g} along a direction, by its gradients {expected:.6g}"
