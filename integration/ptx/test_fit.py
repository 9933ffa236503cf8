"""Kernels whose tiles were made smaller to fit into shared memory, and vectors that the CTAs of a
cluster read for themselves: on the simulator, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_right

import tessera as tsr


def draw(*shape):
    return np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float16)


@tsr.function
def smooth(a, b):
    return tsr.sigmoid(tsr.gelu(tsr.sigmoid(a @ b), approximate="tanh")).clamp(0.1, 0.9)


@tsr.function
def residual(x, a, b):
    return x + a @ b


@tsr.function
def column(a, b, c):
    return tsr.relu(a @ b + c.unsqueeze(-1))


@tsr.function
def normed(x, w, n, m):
    return tsr.layer_norm(x, (x.shape[-1],), n, m) @ w


CASES = {
    "long elementwise work": (smooth, lambda: (draw(520, 40), draw(40, 1030))),
    "a residual": (residual, lambda: (draw(520, 1030), draw(520, 40), draw(40, 1030))),
    "few rows with a column": (column, lambda: (draw(17, 1100), draw(1100, 76), draw(17))),
    "a norm of few rows": (normed, lambda: (draw(4, 264), draw(264, 200), draw(264), draw(264))),
}


@pytest.mark.parametrize("target", ["sm_75", "sm_86", "sm_90", "sm_120"])
@pytest.mark.parametrize("case", CASES)
def test_fitted(case, target):
    function, arguments = CASES[case]
    assert_right(function, *arguments(), target=target)
