"""Functions by way of PTX for every chip, assembled by NVIDIA's ptxas without spills.

CUDA 13 has no sm_70: a ptxas of CUDA 12 assembles it, which `make tileiras` installs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from assemblers import LEGACY, OLDER, PTXAS, assembler
from kernels import CHIPS as ALL

import tessera as tsr
from tessera import Tensor, bf16, fp8_e4m3, fp8_e5m2, fp16, fp32, fp64, int8, int32, int64, uint8

CHIPS = [chip for chip in ALL if chip not in LEGACY]
pytestmark = pytest.mark.skipif(not PTXAS, reason="unsupported: ptxas is not installed")


@tsr.function(via="ptx")
def softmax(x):
    return tsr.softmax(x, dim=-1)


@tsr.function(via="ptx")
def norm(x, w):
    return tsr.rms_norm(x, weight=w)


@tsr.function(via="ptx")
def chain(x, y):
    return tsr.exp(x * 0.5 + y).clamp(0.1, 10.0).sqrt() - tsr.abs(y)


@tsr.function(via="ptx")
def columns(x):
    return x.sum(dim=0)


@tsr.function(via="ptx")
def rows_at(x, index):
    return x[index]


@tsr.function(via="ptx")
def add_at(x, index, y):
    return tsr.scatter_add(x, 0, index, y)


@tsr.function(via="ptx")
def sort(x):
    return tsr.sort(x, -1)


@tsr.function(via="ptx")
def product(a, b):
    return a @ b


@tsr.function(via="ptx")
def attention(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v


CASES = {
    "softmax": (softmax, [Tensor[4096, 1000, fp32]]),
    "softmax of half": (softmax, [Tensor[4096, 8192, fp16]]),
    "softmax of bf16": (softmax, [Tensor[4096, 16384, bf16]]),
    "norm": (norm, [Tensor[512, 4096, fp32], Tensor[4096, fp32]]),
    "chain": (chain, [Tensor[1 << 20, fp32]] * 2),
    "columns": (columns, [Tensor[4096, 512, fp32]]),
    "product of bf16": (product, [Tensor[512, 512, bf16]] * 2),
    "sums at places": (
        add_at,
        [Tensor[500, 64, int64], Tensor[900, 64, int64], Tensor[900, 64, int64]],
    ),
    "sums of int8": (
        add_at,
        [Tensor[500, 64, int8], Tensor[900, 64, int32], Tensor[900, 64, int8]],
    ),
    "sort of long rows": (sort, [Tensor[8, 5000, fp32]]),
    "sort of long rows of half": (sort, [Tensor[8, 5000, fp16]]),
    "rows": (rows_at, [Tensor[512, 64, fp32], Tensor[128, int32]]),
}


LARGE = {  # without large mma.sync these tiles are too large for registers, or for shared memory
    "fp16": [Tensor[511, 77, fp16], Tensor[77, 513, fp16]],
    "int8": [Tensor[512, 512, int8]] * 2,
}


# What kernels spill, in bytes; all others spill nothing.
SPILLS = {("product of bf16", "sm_120"): 8}


def check(compiled, chip, most=0):
    report = compiled.report()
    assert report["backend"] == "ptx" and report["target"].startswith(chip)
    for kernel in report["kernels"]:
        assert kernel["registers"] and kernel["spill_bytes"] <= most


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", CASES)
def test_assembles(case, chip, monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", str(PTXAS))
    function, types = CASES[case]
    check(function.compile(*types, target=chip), chip, SPILLS.get((case, chip), 0))


# The instruction of tensor cores for a type, from a chip on.
HALVES = {
    70: "m8n8k4.row.col.f32.f16.f16.f32",
    75: "m16n8k8.row.col.f32.f16.f16.f32",
    80: "m16n8k16.row.col.f32.f16",
}
INSTRUCTIONS = {
    fp16: HALVES,
    fp8_e4m3: {**HALVES, 89: "m16n8k32.row.col.f32.e4m3.e4m3.f32"},
    fp8_e5m2: {**HALVES, 89: "m16n8k32.row.col.f32.e5m2.e5m2.f32"},
    fp32: {80: "m16n8k8.row.col.f32.tf32.tf32.f32"},
    bf16: {80: "m16n8k16.row.col.f32.bf16.bf16.f32"},
    int8: {75: "m8n8k16.row.col.s32.s8.s8.s32", 80: "m16n8k32.row.col.s32.s8.s8.s32"},
    uint8: {75: "m8n8k16.row.col.s32.u8.u8.s32", 80: "m16n8k32.row.col.s32.u8.u8.s32"},
    fp64: {80: "m8n8k4.row.col.f64.f64.f64.f64"},
}


@pytest.mark.parametrize("chip", ALL)
@pytest.mark.parametrize("dtype", INSTRUCTIONS, ids=lambda dtype: dtype.name)
def test_tensor_cores(dtype, chip, monkeypatch):
    """Where a chip contracts it has its instruction for that, and the assembler takes it."""
    ptxas = assembler(chip)
    if not ptxas:
        pytest.skip("unsupported: ptxas of CUDA 12 is not installed")
    monkeypatch.setenv("TESSERA_PTXAS", str(ptxas))
    # Too few rows for warpgroups.
    shapes = Tensor[32, 256, dtype], Tensor[256, 256, dtype]
    compiled = product.compile(*shapes, target=chip)
    check(compiled, chip)
    wanted = [name for first, name in INSTRUCTIONS[dtype].items() if int(chip[3:]) >= first]
    text = compiled.inspect_ir("ptx")
    assert f"mma.sync.aligned.{wanted[-1]}" in text if wanted else "mma.sync" not in text


@pytest.mark.parametrize("chip", CHIPS[1:])
@pytest.mark.parametrize("dtype", LARGE)
def test_products(dtype, chip, monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", str(PTXAS))
    check(product.compile(*LARGE[dtype], target=chip), chip)


def test_large_products_fit_turing():
    check(product.compile(*LARGE["int8"], target="sm_75"), "sm_75")


@pytest.mark.skipif(not OLDER, reason="unsupported: ptxas of CUDA 12 is not installed")
@pytest.mark.parametrize("case", CASES)
def test_assembles_for_volta(case, monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", str(OLDER))
    function, types = CASES[case]
    check(function.compile(*types, target="sm_70"), "sm_70")


@pytest.mark.skipif(not OLDER, reason="unsupported: ptxas of CUDA 12 is not installed")
@pytest.mark.parametrize("depth", [64, 128, 256])
@pytest.mark.parametrize("dtype", [fp16, bf16], ids=lambda dtype: dtype.name)
def test_attention_for_volta(dtype, depth, monkeypatch):
    """Operands that lanes hold twice leave registers for two products and what is between them."""
    monkeypatch.setenv("TESSERA_PTXAS", str(OLDER))
    check(attention.compile(*[Tensor[4, 2048, depth, dtype]] * 3, target="sm_70"), "sm_70")


def test_says_what_volta_needs(monkeypatch):
    monkeypatch.setenv("TESSERA_PTXAS", str(PTXAS))
    with pytest.raises(tsr.CompileError, match="does not know sm_70: expected 12.9 or earlier"):
        softmax.compile(Tensor[64, 64, fp32], target="sm_70")


def test_suite():
    """Some of the CPU's suite, with the spills that are listed; `make assemble` runs all of it for every chip."""
    top = Path(__file__).resolve().parents[2]
    paths = [os.environ.get("PYTHONPATH", ""), str(top / "integration/ptx")]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "assembled",
        str(top / "integration/cpu/test_scans.py"),
    ]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "TESSERA_ASSEMBLED_CHIPS": "sm_80 sm_90"}
    run = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:]
