"""The masks of benchmarks/masks: their programs against NumPy, on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from masks.programs import MASKS, SCALE, masked, of_documents  # noqa: E402

HEADS, SIZE, DEPTH = 2, 300, 32


def check(function, live, *more):
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((HEADS, SIZE, DEPTH)).astype(np.float32) for _ in range(3))
    scores = np.where(live, q.astype(float) @ k.transpose(0, 2, 1) * SCALE, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(function(q, k, v, *more), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MASKS)
def test_mask(name):
    i, j = np.arange(SIZE)[:, None], np.arange(SIZE)[None]
    check(masked(MASKS[name]), MASKS[name](i, j, np))


def test_documents():
    ids = np.random.default_rng(2).integers(0, 4, SIZE // 20).repeat(20).astype(np.int32)
    check(of_documents(), ids[:, None] == ids[None], ids)
