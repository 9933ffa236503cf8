"""Handwritten kernels of Target IR, in bundles, launched with their configuration."""

from __future__ import annotations

import os
import re
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
    text = text.replace(
        "grid = [?], block = [64, 2], shared = 512",
        "grid = [?], block = [64, 2], shared = 65536, cluster = [4]",
    )
    source = tmp_path / "clusters.mlir"
    source.write_text(text.replace('"ceildiv(S, 128)"', '"4*ceildiv(S, 512)"'))
    x = gpu(1000)
    bundle(source, tmp_path).scale(x, 2.0)
    assert fake.last_config() == ([8, 1, 1], [64, 2, 1], 65536, [4, 1, 1])


def doubled(x):
    return x + x


def with_thread_kernel(tmp_path: Path) -> Path:
    """Target IR of a CUDA Tile IR program, with a launch of a per-thread kernel added."""
    text = tsr.function(via="tileir")(doubled).inspect_ir(
        "target", tsr.Tensor["S", tsr.fp32], target="sm_90"
    )
    result = re.search(r"tessera_target\.result (%\d+) : <(.*)>\n", text)
    value, size = result[1], result[2].split(",")[0].strip('"')
    type = f"!gir.tensor<{result[2]}>"
    scale = SCALE.read_text()
    kernel = scale[scale.index("  tessera_target.kernel") : scale.rindex("}")]
    listed = (
        '"address", 0, "0"',
        '"integer", 0, "0"',
        '"address", 0, "0"',
        f'"integer", 0, "{size}"',
    )
    words = ", ".join(f"#tessera_target.word<{word}>" for word in listed)
    launch = f'tessera_target.launch @kernel grid ["ceildiv({size}, 128)"] ({value}) words [{words}] : {type}\n'
    text = text.replace(result[0], launch + result[0]).replace(
        "tessera_target.image", kernel + "tessera_target.image"
    )
    source = tmp_path / "both.mlir"
    source.write_text(text)
    return source


@pytest.mark.assembles
def test_beside_cuda_tile_ir(tmp_path):
    """Each kernel has its code in the bundle: one of CUDA Tile IR and one per-thread kernel."""
    source, before, x = with_thread_kernel(tmp_path), fake.launches(), gpu(1000)
    bundle(source, tmp_path).doubled(x)
    assert fake.launches() == before + 2
    assert fake.last_config() == ([8, 1, 1], [64, 2, 1], 512, [1, 1, 1])


def test_threads_have_one_backend(tmp_path):
    command = [
        TESSERA,
        "compile",
        with_thread_kernel(tmp_path),
        "--target",
        "sm_90",
        "--via",
        "tileir",
    ]
    done = subprocess.run([*command, "--emit", "tileir"], capture_output=True, text=True)
    assert (
        done.returncode == 1
        and "is a per-thread kernel, which is supported via 'ptx', not via 'tileir'" in done.stderr
    )
