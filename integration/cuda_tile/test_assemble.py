"""Kernels of the examples as CUDA Tile IR, assembled by NVIDIA's tileiras for every architecture.

Skipped if the assembler is not installed (`make tileiras`).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tessera.targets import chips

TOP = Path(__file__).resolve().parents[2]
BIN = TOP / "build" / "bin"
ARCHITECTURES = [chip for chip, one in chips().items() if "tileir" in one["features"]]

PROGRAM = """
import tessera as tsr
from tessera import Tensor

@tsr.function
def gate(a: Tensor["M", "N"], b: Tensor["M", "N"]) -> Tensor["M", "N"]:
    return tsr.silu(a) * b + tsr.erf(a)

@tsr.function
def product(a: Tensor["M", "K"], b: Tensor["K", "N"]) -> Tensor["M", "N"]:
    return tsr.relu(tsr.matmul(a, b))
"""

CASES = {
    "elementwise": ("::gate", ["a=fp32[1000,777]", "b=fp32[1000,777]"]),
    "matmul": ("::product", ["a=bf16[64,64]", "b=bf16[64,64]"]),
    "softmax": ("norms.py::softmax", ["x=fp16[4096,1000]"]),
    "layer_norm": ("norms.py::layer_norm", ["x=bf16[512,1000]", "w=bf16[1000]", "b=bf16[1000]"]),
}

installed = os.access(TOP / ".venv/bin/tileiras", os.X_OK) or "TESSERA_TILEIRAS" in os.environ
pytestmark = pytest.mark.skipif(not installed, reason="tileiras is not installed")


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_assembles(name: str, tmp_path: Path) -> None:
    function, arguments = CASES[name]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    place = f"{program}{function}" if function.startswith("::") else TOP / "examples" / function
    tile = tmp_path / "tile.mlir"
    flags = [word for argument in arguments for word in ("--arg", argument)]
    run(BIN / "tessera", "compile", place, *flags, "--emit", "tile", "-o", tile)
    text = run(
        BIN / "tessera-opt",
        tile,
        "-tessera-attach-target=chip=sm_90:tileir",
        "-tile-lower-online-update",
        "-tile-expand-math",
        "-canonicalize",
        "-cse",
        f"-print-cuda-tile=assemble={','.join(ARCHITECTURES)}",
        "-o",
        "/dev/null",
    )
    assert "entry @" in text
    sizes = dict(line.split(": ") for line in text.splitlines() if line.startswith("sm_"))
    assert list(sizes) == ARCHITECTURES
