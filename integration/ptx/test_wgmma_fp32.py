"""fp32 contractions by wgmma: operands in memory as sums of three bf16.

Without a GPU: the kernels run on the simulator, against the reference.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_right

import tessera as tsr


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


@tsr.function
def product(x, w):
    return x @ w


@tsr.function
def by_rows(x, w):
    return x @ w.mT


@tsr.function
def by_columns(x, w):
    return x.mT @ w


@tsr.function
def layers(x, u, v):
    return tsr.relu(x @ u) @ v


@tsr.function
def largest(x, w, b):
    return tsr.amax(x @ w + b, axis=1)


def check(function, *arguments) -> None:
    text = function.inspect_ir("sched", *arguments, target="sm_90:ptx")
    assert "join(" in text and "wgmma = 1" in text
    assert_right(function, *arguments, seeds=1)


@pytest.mark.parametrize(
    ("function", "x", "w"),
    [
        (product, (512, 513), (513, 520)),
        (by_rows, (505, 640), (448, 640)),
        (by_columns, (512, 389), (512, 700)),
        (product, (3, 250, 300), (3, 300, 391)),
        (product, (128, 4100), (4100, 256)),  # parts of K
    ],
)
def test_products(function, x, w):
    check(function, draw(*x), draw(*w, seed=1))


def test_results_become_parts():
    """The kernel of the first product stores its result as the parts of the second one's operand."""
    check(layers, draw(384, 512), draw(512, 520, seed=1), draw(520, 384, seed=2))


def test_reduced_products_are_stored():
    check(largest, draw(600, 512), draw(512, 480, seed=1), draw(480, seed=2))


def test_magnitudes():
    """Elements from the smallest normal numbers to the largest ones."""
    x, w = draw(512, 512), draw(512, 512, seed=1)
    x *= np.exp2(np.random.default_rng(2).integers(-100, 100, x.shape)).astype(np.float32)
    x[0] = np.finfo(np.float32).max
    w[:, 0] = np.exp2(-100.0)
    check(product, x, w)


def test_infinities_and_nans():
    """Those of a product of the whole numbers: no part makes an infinity a nan."""
    x, w = draw(512, 512), draw(512, 512, seed=1)
    x[3, 5], x[4, 6], x[7, 9] = np.inf, -np.inf, np.nan
    w[9, 100], w[5, 7], w[6, 8] = np.inf, 0, -np.inf
    w[5, 9], w[6, 10] = 1e30, 1e-30
    check(product, x, w)
