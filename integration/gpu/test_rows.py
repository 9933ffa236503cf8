"""The GPU benchmark's functions, float64 results and PyTorch forms agree at small sizes, on the
CPU."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "benchmarks/gpu"
sys.path.insert(0, str(BENCH))

torch = pytest.importorskip("torch")

import bench  # noqa: E402
import exact  # noqa: E402
import peers  # noqa: E402
import programs  # noqa: E402
from rows import MEASURED  # noqa: E402

FIRST = {row.function: row for row in MEASURED}


def small(row):
    """The row with sizes of at most 96, 16 where they are heads."""

    def shrink(size: int, sizes: tuple[int, ...], position: int) -> int:
        if len(sizes) == 4 and position < 2:
            return {8: 2, 32: 4}.get(size, min(size, 4))
        return min(size, 95 if size % 2 else 96)

    arguments = []
    for one in row.arguments:
        sizes = tuple(shrink(s, one.sizes, i) for i, s in enumerate(one.sizes))
        if one.fill == "slopes":
            sizes = (4,)
        if one.fill == "angles":
            sizes = (sizes[0], 16 if row.group == "model" else 48)
        if one.fill.startswith("below"):
            limit = int(one.fill.partition(":")[2])
            fill = f"below:{shrink(limit, (limit,), 0)}"
        else:
            fill = one.fill
        arguments.append(replace(one, sizes=sizes, fill=fill))
    return replace(row, arguments=tuple(arguments))


@pytest.mark.parametrize("name", FIRST)
def test_agree(name):
    row = small(FIRST[name])
    torch.manual_seed(0)
    arguments = [bench.fill(one, "cpu") for one in row.arguments]
    found = getattr(programs, name)(*arguments)
    # The CPU's forms for 16-bit results are some units of 2^-18 off, where the bound is for those
    # of a GPU.
    assert exact.error(name, arguments, found) <= 4
    for peer, call in peers.contenders(name, arguments, found).items():
        if peer in ("eager", "cublas"):
            assert exact.error(name, arguments, call()) <= 2
        elif peer in ("compile", "flex", "joined", "cudnn"):
            assert callable(call)  # compiled, or for the GPU only


@pytest.mark.parametrize("name", ["window_attention", "alibi_attention", "document_attention"])
def test_flex_forms(name):
    from torch.nn.attention.flex_attention import create_mask, flex_attention

    row = small(FIRST[name])
    q, k, v, *extra = arguments = [bench.fill(one, "cpu") for one in row.arguments]
    mask, score = peers.mask_and_score(name, extra)
    length = q.shape[-2]
    assert create_mask(mask, None, None, length, length, device="cpu").any()

    def modify(value, b, h, i, j):
        value = score(value, b, h, i, j) if score else value
        return torch.where(mask(b, h, i, j), value, -float("inf"))

    assert exact.error(name, arguments, flex_attention(q, k, v, score_mod=modify)) <= 2
