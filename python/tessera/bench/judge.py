"""Noise or change: a comparison of two series of times.

Times are compared by their logarithms, so that a change is a factor. It is estimated by the
Hodges-Lehmann median of all pairwise differences, with the interval of the Mann-Whitney rank test:
outliers, of which a shared machine has many, affect neither much. Consecutive rounds are correlated
(load lasts for seconds, not for one round), so they count as fewer: the variance is multiplied by
(1 + r) / (1 - r), with r the correlation of a round with the next.

A row is reported slower or faster if its interval is beyond a floor, also after correcting for the
number of rows (Holm's correction). The floor is the smallest relevant change, or the change of
peers between the two runs if that is larger: a peer of the same version has not changed, so its
change is the machine's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 0.02  # smaller changes are irrelevant
LEVEL = 0.05
_Z = 1.959963985  # of a two-sided interval of 95 %
_FEWEST = 5  # samples; fewer are inconclusive
_MOST = 400


@dataclass(frozen=True)
class Shift:
    """The factor of the second series, the ends of its interval, and the rank test's
    probability."""

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
    """How many consecutive samples are worth one independent sample."""
    centred = logs - np.median(logs)
    spread = float(centred @ centred)
    if len(logs) < 8 or spread == 0:
        return 1.0
    r = min(max(float(centred[1:] @ centred[:-1]) / spread, 0.0), 0.9)
    return (1 + r) / (1 - r)


def shift(old: Sequence[float], new: Sequence[float]) -> Shift | None:
    """From `old` to `new`, both in the order in which they were measured; None if there are too
    few."""
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
        float(np.exp(np.median(differences))),
        *map(float, np.exp(ends)),
        math.erfc(z / math.sqrt(2)),
    )


def holm(probabilities: Sequence[float]) -> list[float]:
    """Each probability, corrected for the number of comparisons."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    found, largest = [0.0] * len(order), 0.0
    for rank, which in enumerate(order):
        largest = max(largest, min(1.0, probabilities[which] * (len(order) - rank)))
        found[which] = largest
    return found


def floor(peers: Sequence[Shift], least: float = LEAST) -> float:
    """The change, as a logarithm, that rows must exceed: two deviations of the peers' changes, by
    their median."""
    moved = [abs(math.log(one.factor)) for one in peers]
    return max(math.log1p(least), 2 * 1.4826 * float(np.median(moved)) if moved else 0.0)


def verdict(change: Shift, p: float, least: float) -> str:
    """slower, faster, or same; `p` is corrected, `least` a logarithm."""
    if p < LEVEL and math.log(change.low) > least:
        return "slower"
    return "faster" if p < LEVEL and math.log(change.high) < -least else "same"
