"""The bookkeeping of ratios: what a draw counts, and the figures of a group of draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

FAILED = 0.1  # what a draw counts that is refused, fails or is wrong
ERRORS = ("refused", "wrong", "failure")
REGIMES = ("small", "skinny", "deep", "square", "wide", "unaligned")


def score(result: dict) -> float | None:
    """The ratio to the best peer; None if no peer can run the program."""
    return result.get("ratio") if result["good"] else FAILED


def error(result: dict) -> str:
    for kind in ERRORS:
        if kind in result:
            return f"{kind}: {result[kind]}"
    return "" if result["good"] else "failed"


@dataclass(frozen=True)
class Figures:
    draws: int
    failed: int
    mean: float  # geometric
    tenth: float  # 10th percentile
    worst: float

    def cells(self) -> list[str]:
        texts = [f"{value:.2f}" for value in (self.mean, self.tenth, self.worst)]
        return [str(self.draws), str(self.failed or ""), *texts]


def figures(results: Iterable[dict]) -> Figures | None:
    known = [(one, value) for one in results if (value := score(one)) is not None]
    if not known:
        return None
    ratios = [value for _, value in known]
    return Figures(
        len(ratios),
        sum(not one["good"] for one, _ in known),
        math.exp(sum(map(math.log, ratios)) / len(ratios)),
        float(np.percentile(ratios, 10)),
        min(ratios),
    )


def group(about: dict) -> str:
    """The row of the table that a draw belongs to: its family, GEMMs by their types."""
    if about["family"] != "gemm":
        return about["family"]
    return "gemm, 16 bits" if about["dtype"] in ("bf16", "fp16") else "gemm, other types"


def worst(results: dict[str, dict], count: int = 5) -> Sequence[str]:
    """The names with the smallest ratios; failures are listed by themselves."""
    known = [name for name, one in results.items() if one["good"] and score(one) is not None]
    return sorted(known, key=lambda name: results[name]["ratio"])[:count]


def failures(results: dict[str, dict]) -> dict[str, str]:
    return {name: error(one) for name, one in results.items() if not one["good"]}
