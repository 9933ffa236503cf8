"""Noise or change: what two series of times say about each other.

Times are compared by their logarithms, so that a change is a factor. It is estimated by Hodges and Lehmann's
median of all pairwise differences, with the interval that belongs to the rank test of Mann and Whitney: outliers, of
which a machine shared with others has many, cannot move either far. Rounds that follow each other are alike
(the machine is busy for seconds, not for one round), so that they count for fewer than they are: the variance is
multiplied by (1 + r) / (1 - r), r the correlation of a round with the next.

A row is told slower or faster if its interval lies beyond a floor, and if that still holds when all rows that were
looked at are considered (Holm's correction). The floor is what a user cares about, or what peers moved between
the two runs if that is more: a peer of the same version has not changed, so its movement is the machine's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 0.02  # changes below this are nobody's concern
LEVEL = 0.05
_Z = 1.959963985  # of a two-sided interval of 95 %
_FEWEST = 5  # samples; fewer tell nothing
_MOST = 400


@dataclass(frozen=True)
class Shift:
    """How many times longer the second series is, the ends of its interval, and the rank test's probability."""

    factor: float
    low: float
    high: float
    p: float

    def percent(self) -> str:
        return f"{(self.factor - 1) * 100:+.1f} %"


def median_interval(count: int) -> tuple[int, int]:
    """Positions in `count` sorted samples that enclose the median with 95 % probability."""
    tail, low = 0.0, 0
    for k in range(count // 2):
        tail += math.comb(count, k) * 0.5**count
        if tail > 0.025:
            break
        low = k + 1
    low = max(low - 1, 0)
    return low, count - 1 - low


def _repetition(logs: np.ndarray) -> float:
    """How many successive samples say as much as one independent sample."""
    centred = logs - np.median(logs)
    spread = float(centred @ centred)
    if len(logs) < 8 or spread == 0:
        return 1.0
    r = min(max(float(centred[1:] @ centred[:-1]) / spread, 0.0), 0.9)
    return (1 + r) / (1 - r)


def shift(old: Sequence[float], new: Sequence[float]) -> Shift | None:
    """From `old` to `new`, both in the order in which they were measured; None if there are too few."""
    if min(len(old), len(new)) < _FEWEST:
        return None
    a, b = (np.log(np.asarray(series, float)[-_MOST:]) for series in (old, new))
    differences = np.sort((b[:, None] - a[None, :]).ravel())
    pairs, count = len(differences), len(a) + len(b)
    _, ties = np.unique(np.concatenate([a, b]), return_counts=True)
    tied = float((ties**3 - ties).sum()) / (count * (count - 1))
    variance = pairs / 12 * (count + 1 - tied)
    sigma = math.sqrt(max(variance, 1e-12) * (_repetition(a) + _repetition(b)) / 2)
    above = float((differences > 0).sum()) + 0.5 * float((differences == 0).sum())
    z = max(abs(above - pairs / 2) - 0.5, 0.0) / sigma
    reach = min(int(pairs / 2 - _Z * sigma), pairs // 2)
    reach = max(reach, 0)
    ends = differences[reach], differences[pairs - 1 - reach]
    return Shift(
        float(np.exp(np.median(differences))), *map(float, np.exp(ends)), math.erfc(z / math.sqrt(2))
    )


def holm(probabilities: Sequence[float]) -> list[float]:
    """Each probability, corrected for how many were looked at."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    found, largest = [0.0] * len(order), 0.0
    for rank, which in enumerate(order):
        largest = max(largest, min(1.0, probabilities[which] * (len(order) - rank)))
        found[which] = largest
    return found


def floor(peers: Sequence[Shift], least: float = LEAST) -> float:
    """The change, as a logarithm, that rows must exceed: two deviations of what peers moved, by their median."""
    moved = [abs(math.log(one.factor)) for one in peers]
    return max(math.log1p(least), 2 * 1.4826 * float(np.median(moved)) if moved else 0.0)


def verdict(change: Shift, p: float, least: float) -> str:
    """slower, faster, or same; `p` is corrected, `least` a logarithm."""
    if p < LEVEL and math.log(change.low) > least:
        return "slower"
    return "faster" if p < LEVEL and math.log(change.high) < -least else "same"
