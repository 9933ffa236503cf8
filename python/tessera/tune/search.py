"""Strategies: in which order candidates are measured.

The Bayesian strategy models the logarithm of measured over predicted time by a Gaussian process
(Matérn 3/2) over the logarithms of tiles and fields, and measures where the expected improvement is
largest. The predicted time is its prior mean. It needs a few matrix operations of NumPy:
scikit-optimize is no longer maintained, and Optuna, BoTorch and Kernel Tuner bring dependencies
that are larger than Tessera.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import numpy as np

STRATEGIES = ("bayesian", "random", "exhaustive")

_VARIANCE = 0.04  # of the logarithm: a prediction is off by 20 %
_NOISE = 1e-4


def features(schedules: Sequence[dict[str, int | None]]) -> np.ndarray:
    """A row for each schedule: logarithms of its values, scaled to deviations of one."""
    names = list(dict.fromkeys(name for one in schedules for name in one))
    rows = np.array(
        [[math.log2((one.get(name) or 0) + 1) for name in names] for one in schedules], float
    ).reshape(len(schedules), len(names))
    deviation = rows.std(axis=0)
    varying = deviation > 0
    return (rows[:, varying] - rows[:, varying].mean(axis=0)) / deviation[varying]


def _covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    scale = math.sqrt(max(1, a.shape[1]))
    distance = math.sqrt(3) * np.linalg.norm(a[:, None, :] - b[None, :, :], axis=-1) / scale
    return _VARIANCE * (1 + distance) * np.exp(-distance)


def _expected_improvement(mean: np.ndarray, deviation: np.ndarray, best: float) -> np.ndarray:
    gap = (best - mean) / deviation
    density = np.exp(-(gap**2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in gap])
    return deviation * (gap * below + density)


class Search:
    """Proposes batches of candidates by number; `tell` says what was measured."""

    def __init__(
        self,
        schedules: Sequence[dict[str, int | None]],
        predicted: Sequence[float],
        strategy: str,
        seed: int,
    ):
        self.strategy = strategy
        self.prior = np.log(np.maximum(np.asarray(predicted, float), 1e-9))
        self.rows = features(schedules)
        self.measured: dict[int, float] = {}  # logarithms of times
        self.left = set(range(len(schedules)))
        order = sorted(self.left, key=lambda one: (self.prior[one], one))
        if strategy == "random":
            random.Random(seed).shuffle(order)
        self.order = order

    def tell(self, number: int, seconds: float | None) -> None:
        """The time of a candidate; None if it did not compile or was wrong."""
        self.left.discard(number)
        if seconds is not None:
            self.measured[number] = math.log(seconds)

    def batches(self, size: int) -> Iterator[list[int]]:
        """Batches of candidates until all are measured."""
        while self.left:
            in_order = [one for one in self.order if one in self.left]
            if self.strategy != "bayesian" or len(self.measured) < size:
                yield in_order[:size]
            else:
                yield self._promising(size)

    def _promising(self, size: int) -> list[int]:
        known = dict(self.measured)
        batch: list[int] = []
        while len(batch) < size and len(batch) < len(self.left):
            left = np.array(sorted(self.left - set(batch)))
            mean, deviation = self._posterior(known, left)
            gains = _expected_improvement(mean, deviation, min(known.values()))
            best = int(np.argmax(gains))
            batch.append(int(left[best]))
            known[batch[-1]] = float(mean[best])  # the next of the batch looks elsewhere
        return batch

    def _posterior(
        self, known: dict[int, float], left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.array(list(known))
        # The measured times are relative to the prior with an unknown factor.
        residual = np.array(list(known.values())) - self.prior[numbers]
        offset = float(np.median(residual))
        own = _covariance(self.rows[numbers], self.rows[numbers]) + _NOISE * np.eye(len(numbers))
        cross = _covariance(self.rows[left], self.rows[numbers])
        mean = self.prior[left] + offset + cross @ np.linalg.solve(own, residual - offset)
        explained = np.einsum("ij,ji->i", cross, np.linalg.solve(own, cross.T))
        return mean, np.sqrt(np.maximum(_VARIANCE - explained, 1e-9))
