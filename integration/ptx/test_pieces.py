"""Tiles that are no powers of two: warpgroups multiply several pieces."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr

SCHEDULE = "tile.m=128,tile.n=192,num_warps=8,num_stages=3,use_tma=1,wgmma=1"
OTHERS = ("cluster_size", "cluster_axis", "min_ctas_per_sm", "stream_parts", "persistent_ctas")
PIECES = ",".join([SCHEDULE, *(f"{name}=none" for name in OTHERS)])


@tsr.schedule(PIECES)
@tsr.function
def product(a: tsr.Tensor["M", "K"], b: tsr.Tensor["K", "N"]) -> tsr.Tensor["M", "N"]:
    return a @ b


@tsr.schedule(PIECES)
@tsr.function
def epilogue(
    a: tsr.Tensor["M", "K"],
    b: tsr.Tensor["K", "N"],
    c: tsr.Tensor["N"],
    d: tsr.Tensor["M"],
    e: tsr.Tensor["M", "N"],
) -> tsr.Tensor["M", "N"]:
    return tsr.silu(a @ b + c) * d[:, None] + e


# Whole tiles, pieces that are partly or wholly past the end, and a single tile.
SIZES = [(256, 384, 256), (200, 328, 136), (130, 72, 192), (100, 200, 72)]


@pytest.mark.parametrize("sizes", SIZES)
def test_pieces(sizes):
    m, n, k = sizes
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)

    a, b = draw(m, k), draw(k, n)
    for call, arguments in ((product, (a, b)), (epilogue, (a, b, draw(n), draw(m), draw(m, n)))):
        simulation = call.simulate(*arguments, target="sm_90", seeds=1)
        assert simulation.ok, simulation.text


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        ("tile.m=192,tile.n=192", "expected a power of two as tile of dimension"),
        ("tile.m=128,tile.n=100", "expected a power of two as tile.n on a GPU"),
    ],
)
def test_other_tiles(tile, message):
    matrix = tsr.Tensor[512, 512, tsr.bf16]
    schedule = PIECES.replace("tile.m=128,tile.n=192", tile)
    with pytest.raises(tsr.CompileError, match=message):
        product.compile(matrix, matrix, target="sm_90:ptx", schedule=schedule)
