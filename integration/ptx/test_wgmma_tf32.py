"""wgmma of fp32 operands that TMA rounds to tf32."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from assemblers import PTXAS
from interpreter import Kernel
from ptx_values import TensorMap
from test_tma import compiled, program, pytestmark  # noqa: F401
from test_wgmma import TURNED, check, rounded


@pytest.mark.parametrize(
    ("tile", "warps"),
    [
        ((128, 128, 32), 8),
        ((64, 256, 32), 4),
        ((256, 64, 32), 8),
        ((128, 16, 16), 8),  # a span of 64 bytes
        ((64, 64, 8), 4),  # of 32 bytes
        ((64, 64, 64), 4),  # two spans
    ],
)
def test_tf32(tile, warps):
    """Both operands along K, of sizes that fill no box."""
    check("f32", (tile[0] + 72, tile[1] + 8, 2 * tile[2] + 4), tile, "nt", warps)


def test_tf32_is_rounded_by_copies():
    """To the nearest value with ten bits of fraction, ties away from zero; an instruction alone
    would truncate."""
    m, n, k = sizes = 64, 64, 64
    tile = (64, 64, 32)
    config = "launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1>"
    text = rounded(program("f32", sizes, tile, TURNED["nt"], 1, config, place=0), tile)
    target, module = compiled(text, "target"), compiled(text, "ptx")
    assert target.count("rounded to tf32>") == 2 and "cvt.rna" not in module
    maps = TensorMap.of(re.search(r"tessera_target.launch.*", target)[0])
    unit = np.float32(2**-11)
    x = np.zeros((1, m, k), np.float32)
    x[0, :, 0] = 1 + unit
    x[0, :, 1] = 1 + np.float32(0.75) * unit
    x[0, 1], x[0, 2, 0] = np.inf, np.nan
    w = np.zeros((1, n, k), np.float32)
    w[0, :, 0] = w[0, :, 1] = 1
    y = np.full((1, m, n), 99, np.float32)
    Kernel(module, "k").run(x, w.transpose(0, 2, 1), y, 0, 0, maps=maps)
    assert (y[0, 0] == 2 + 2 * unit).all() and np.isnan(y[0, 1:3]).all()


@pytest.mark.parametrize("turned", ["nn", "tn", "tt"])
def test_tf32_across_rows(turned):
    """There are no transposed operands of tf32: warps multiply these."""
    tile = (128, 128, 32)
    config = "launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1>"
    text = rounded(program("f32", (128, 128, 64), tile, TURNED[turned], 1, config, place=0), tile)
    module = compiled(text, "ptx")
    assert "mma.sync.aligned.m16n8k8" in module and "wgmma.mma_async" not in module


@pytest.mark.skipif(not PTXAS, reason="unsupported: ptxas is not installed")
def test_tf32_is_not_serialized(tmp_path):
    tile = (128, 128, 32)
    config = "launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1>"
    file = tmp_path / "kernel.ptx"
    file.write_text(
        compiled(
            rounded(program("f32", (256, 256, 256), tile, TURNED["nt"], 1, config), tile), "ptx"
        )
    )
    command = [PTXAS, "-arch=sm_90a", "-v", "-o", "/dev/null", file]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "C75" not in done.stderr + done.stdout and "0 bytes spill stores" in done.stderr
