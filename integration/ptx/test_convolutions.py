"""Convolutions as contractions of stored windows: one K loop over several dimensions, windows that
slide along rows, rows with padding.

Without a GPU: the kernels run on the simulator, against the reference.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_right

import tessera as tsr
from tessera import Tensor, bf16, fp32


def draw(*shape, seed=0):
    import ml_dtypes

    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return values.astype(ml_dtypes.bfloat16)


@tsr.function
def convolution(x, w):
    return tsr.conv2d(x, w)


@tsr.function
def padded(x, w, b):
    return tsr.relu(tsr.conv2d(x, w, b, 1, 1))


@tsr.function
def patches(x, w, b, first, at):
    parts = tsr.conv2d(x, w, b, 8).flatten(2).mT
    rows = tsr.cat((first.expand((parts.shape[0], 1, parts.shape[2])), parts), dim=1) + at
    return tsr.layer_norm(rows, (rows.shape[2],))


@tsr.function
def several(a, b):
    return tsr.einsum("mikl,nikl->mn", a, b)


@pytest.mark.parametrize(
    "shape, weights",
    [
        ((2, 137, 13, 15), (41, 137, 5, 7)),
        ((1, 73, 109, 10), (131, 73, 5, 5)),
        ((3, 48, 19, 21), (5, 48, 3, 3)),
        ((2, 24, 40, 40), (64, 24, 7, 7)),
    ],
)
def test_windows_slide(shape, weights):
    assert_right(convolution, draw(*shape), draw(*weights), seeds=1)


@pytest.mark.parametrize("shape", [(2, 33, 17, 19), (1, 64, 40, 24)])
@pytest.mark.parametrize("channels", [8, 96])
def test_padding_and_epilogue(shape, channels):
    weights = draw(channels, shape[1], 3, 3)
    assert_right(padded, draw(*shape), weights, draw(channels), seeds=1)


@pytest.mark.parametrize("size", [48, 56])
def test_rows_with_padding(size):
    """36 positions in rows of 40, and 49 in rows of 56."""
    count = (size // 8) ** 2 + 1
    images, weights = draw(3, 3, size, size), draw(128, 3, 8, 8)
    assert_right(patches, images, weights, draw(128), draw(1, 1, 128), draw(1, count, 128), seeds=1)


@pytest.mark.parametrize("sizes", [(3, 5, 72), (1, 3, 200), (2, 2, 64)])
@pytest.mark.parametrize("rows, columns", [(150, 72), (128, 256)])
def test_loops_are_collapsed(sizes, rows, columns):
    assert_right(several, draw(rows, *sizes), draw(columns, *sizes, seed=1), seeds=1)


@tsr.function(numerics=tsr.numerics(matmul="tf32"))
def pointwise(x, w, b):
    return tsr.conv2d(tsr.relu(x - b), w)


@tsr.function
def few_channels(
    x: Tensor[6, 40, 57, 58, bf16], w: Tensor[24, 40, 5, 5, bf16], b: Tensor[24, bf16]
):
    return tsr.relu(tsr.conv2d(x, w, b, 1, 2))


@tsr.function(numerics=tsr.numerics(matmul="tf32"))
def few_words(x: Tensor[10, 16, 41, 43, fp32], w: Tensor[12, 16, 5, 5, fp32], b: Tensor[12, fp32]):
    return tsr.clamp(tsr.conv2d(x, w, b, 1, 2), -1.0, 1.0)


@tsr.function
def tall(x, w):
    return x @ w.mT


def test_operands_become_rows():
    """tf32 is read along K: what a convolution of single elements reads is stored in rows of channels."""
    shapes = (8, 96, 44, 33), (127, 96, 1, 1), (96, 1, 1)
    arguments = [draw(*shape).astype(np.float32) for shape in shapes]
    text = pointwise.inspect_ir("sched", *arguments, target="sm_90:ptx")
    assert "wgmma = 1" in text
    assert_right(pointwise, *arguments, seeds=1)


@pytest.mark.parametrize("columns", [5, 24])
def test_narrow_products(columns):
    """Few columns have tiles as narrow, if the rows fill the device."""
    x, w = draw(7000, 200), draw(columns, 200)
    assert "wgmma = 1" in tall.inspect_ir("sched", x, w, target="sm_90:ptx")
    assert_right(tall, x, w, seeds=1)


@pytest.mark.parametrize(
    ("function", "shapes", "dtype"),
    [
        (few_channels, [(6, 40, 57, 58), (24, 40, 5, 5), (24,)], None),
        (few_words, [(10, 16, 41, 43), (12, 16, 5, 5), (12,)], np.float32),
    ],
)
def test_few_channels(function, shapes, dtype):
    """Positions are the rows of the tensor cores, whatever the order of the result."""
    arguments = [draw(*shape) for shape in shapes]
    if dtype:
        arguments = [each.astype(dtype) for each in arguments]
    assert "wgmma = 1" in function.inspect_ir("sched", *arguments, target="sm_90:ptx")
    assert_right(function, *arguments, seeds=1)
