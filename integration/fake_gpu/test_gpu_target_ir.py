"""Kernels of Target IR written by hand, in bundles, launched as they are configured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fake
import pytest
from fake import gpu

import tessera as tsr

TOP = Path(__file__).resolve().parents[2]
TESSERA = Path(__file__).resolve().parents[2] / "build" / "bin" / "tessera"
SCALE = TOP / "test" / "Tools" / "Inputs" / "scale.mlir"


def bundle(source: Path, tmp_path: Path):
    path = tmp_path / "kernels.tsb"
    command = [TESSERA, "compile", source, "--target", "sm_90", "--emit", "bundle", "-o", path]
    subprocess.run(command, check=True, env={**os.environ, "TESSERA_PTXAS": "none"})
    return tsr.load(path)


@pytest.mark.parametrize("size", [1, 128, 1000])
def test_launch(size, tmp_path):
    scale = bundle(SCALE, tmp_path).scale
    x, out, before = gpu(size), gpu(size), fake.launches()
    assert scale(x, 2.0, out=out) is out
    assert fake.launches() == before + 1
    assert fake.last_config() == ([-(-size // 128), 1, 1], [64, 2, 1], 512, [1, 1, 1])
    _, words = fake.last_launch()
    assert words == [x.address, 0x40000000, out.address, size]  # 2.0 as its bits


def test_clusters_and_large_shared_memory(tmp_path):
    text = SCALE.read_text()
    text = text.replace("grid = [?], block = [64, 2], shared = 512", "grid = [?], block = [64, 2], shared = 65536, cluster = [4]")
    source = tmp_path / "clusters.mlir"
    source.write_text(text.replace('"ceildiv(S, 128)"', '"4*ceildiv(S, 512)"'))
    x = gpu(1000)
    bundle(source, tmp_path).scale(x, 2.0)
    assert fake.last_config() == ([8, 1, 1], [64, 2, 1], 65536, [4, 1, 1])
