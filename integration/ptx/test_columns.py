"""Columns that are longer than a tile: each thread has partial statistics of its rows, and few
columns are split. A reduction over several dimensions is one stream, or one over disjoint pieces.

Without a GPU: the kernels run on the simulator, against the reference, and their synchronisation is
mutated.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_right
from programs import (
    column_norm,
    column_shares,
    distance,
    level_of_bounded,
    level_of_products,
    moments,
    shares_both_ways,
    spread_of_all,
)


def draw(*shape, dtype="float32"):
    return np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float32).astype(dtype)


# Whole tiles followed by a partial one, as many columns as a tile and other numbers, a single
# column.
SHAPES = [(9001, 40), (4096, 256), (700, 257), (20011, 3), (300, 1000), (900001, 1)]


@pytest.mark.parametrize(
    "function", [column_shares, column_norm], ids=lambda function: function.__name__
)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_findings(function, shape, dtype):
    assert_right(function, draw(*shape, dtype=dtype), seeds=2)


@pytest.mark.parametrize("target", ["sm_70", "sm_80", "sm_120"])
def test_chips(target):
    assert_right(column_shares, draw(9001, 40), target=target, seeds=1)


@pytest.mark.parametrize("shape", [(2305, 40), (8197, 128), (917505, 1)])
def test_threads_that_see_nothing(shape):
    """Maxima without -inf have a gauge that is valid only after the first element."""
    assert_right(level_of_bounded, draw(*shape), seeds=1)


@pytest.mark.parametrize("rows", [4999, 8193])
def test_parts_without_a_block(rows):
    assert_right(level_of_products, draw(rows, 32), draw(32, 8), seeds=1)


def test_rows_and_columns():
    """Each variant has large tiles, in separate kernels."""
    assert len(assert_right(shares_both_ways, draw(2500, 40), seeds=1)["launches"]) > 1


def test_mutants_are_killed():
    spoilt = column_shares.simulate(draw(2500, 64), seeds=1, mutants=True).report["mutants"]
    assert any(mutant["killed"] for mutant in spoilt)
    for mutant in spoilt:
        assert mutant["killed"] or mutant["equivalent"] or not mutant["reached"], mutant


def test_extreme_numbers():
    """A thread without elements, an empty column, and NaN."""
    x = draw(6001, 5)
    x[:6000, 0] = -np.inf
    x[:, 1] = -np.inf
    x[77, 2] = np.nan
    x[5999, 3] = np.inf
    x[5, 4] = 3e38
    assert_right(column_shares, x, seeds=1)


@pytest.mark.parametrize(
    "shape", [(40, 12, 7, 7), (64, 3, 30, 29), (9, 5, 60, 61), (300, 70, 1, 3), (2, 3, 130, 130)]
)
def test_disjoint_pieces(shape):
    assert_right(moments, draw(*shape), seeds=2)


@pytest.mark.parametrize("view", ["dense", "strided", "transposed"])
def test_all_dimensions(view):
    views = {"dense": lambda x: x, "strided": lambda x: x[:, 5:], "transposed": lambda x: x.T}
    x, y = views[view](draw(700, 611)), views[view](draw(700, 611) + np.float32(0.5))
    assert_right(distance, x, y, seeds=2)


@pytest.mark.parametrize("target", ["sm_90", "sm_120"])
def test_tiles_of_all_parts(target):
    """The kernel that merges parts has them in one tile, with few other elements."""
    cases = [(spread_of_all, draw(7, 13537)[:, ::-1]), (spread_of_all, draw(9, 5001, 7, dtype="float64")),
             (column_shares, draw(378, 41, 58, dtype="float64")), (column_shares, draw(85, 1512, 7))]  # fmt: skip
    for function, x in cases:
        assert_right(function, x, target=target, seeds=1)
