"""Masks whose live keys are no interval, as conditions on positions: `w` has `abs` and `where`, of
the language or of PyTorch."""

from __future__ import annotations

import tessera as tsr

SCALE = 0.125


def causal(i, j, w):
    return j <= i


def near(i, j, w):
    return w.abs(i - j) <= 256


def sink(i, j, w):
    """A causal window, and the first keys."""
    return (j <= i) & ((i - j <= 512) | (j < 64))


def local_and_global(i, j, w):
    return (w.abs(i - j) <= 256) | (j < 64) | (i < 64)


def every_fourth_block(i, j, w):
    return ((i // 128 - j // 128) % 4 == 0) & (j <= i)


def every_fourth_key(i, j, w):
    return ((i - j) % 4 == 0) & (j <= i)


def two_dimensions(i, j, w):
    """A window of an image of 64 columns."""
    return (w.abs(i // 64 - j // 64) <= 8) & (w.abs(i % 64 - j % 64) <= 8)


def block_diffusion(i, j, w):
    """Noised blocks of 32 see themselves and the clean blocks before them."""
    half = 4096
    row, column = w.where(i >= half, i - half, i) // 32, w.where(j >= half, j - half, j) // 32
    same = (row == column) & ((i >= half) == (j >= half))
    return same | ((j >= half) & ((row > column) & (i < half) | (row >= column) & (i >= half)))


MASKS = {
    one.__name__: one
    for one in (
        causal,
        near,
        sink,
        local_and_global,
        every_fourth_block,
        every_fourth_key,
        two_dimensions,
        block_diffusion,
    )
}


def masked(condition) -> tsr.Function:
    @tsr.function
    def attend(q, k, v):
        i = tsr.arange(q.shape[1]).unsqueeze(1)
        j = tsr.arange(k.shape[1]).unsqueeze(0)
        scores = tsr.where(condition(i, j, tsr), (q @ k.mT) * SCALE, -tsr.inf)
        return tsr.softmax(scores, dim=-1) @ v

    return attend


def of_documents() -> tsr.Function:
    @tsr.function
    def attend(q, k, v, document):
        same = document.unsqueeze(1) == document.unsqueeze(0)
        return tsr.softmax(tsr.where(same, (q @ k.mT) * SCALE, -tsr.inf), dim=-1) @ v

    return attend
