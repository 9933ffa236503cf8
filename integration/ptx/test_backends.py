"""Measurements decide the backend of a program if the user does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import tessera as tsr
from tessera import Tensor, fp32
from tessera.bench import backends

TOP = Path(__file__).resolve().parents[2]
PROGRAM = """
import tessera as tsr


@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)
"""


def test_measurements_decide(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("TESSERA_CACHE", str(cache))
    monkeypatch.setenv("TESSERA_PTXAS", "none")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    explain = [TOP / "build/bin/tessera", "explain", f"{file}::softmax", "--arg", "x=fp32[64,64]"]

    def backend() -> str:
        done = subprocess.run(
            [*explain, "--target", "sm_90"], capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()[0].rpartition("via ")[2]

    assert backend() == "ptx"
    namespace: dict = {}
    exec(compile(PROGRAM, str(file), "exec"), namespace)
    found = {}
    for via in ("auto", "ptx"):
        function = tsr.function(via=via)(namespace["softmax"].__wrapped__)
        found[via] = function.compile(Tensor[64, 64, fp32], target="sm_90").report()
    assert found["auto"]["backend"] == "ptx" and found["auto"]["program"] == found["ptx"]["program"]

    backends.remember("sm_90", found["auto"]["program"], "tileir", 0.1, 0.2, "softmax, a test")
    assert backend() == "tileir"
    backends.remember("sm_90", found["auto"]["program"], "ptx", 0.1, 0.2, "softmax, again")
    assert backend() == "ptx"
    lines = (cache / "backends-sm_90.txt").read_text().splitlines()
    assert lines[0] == "tessera backends 1 sm_90" and len(lines) == 3
    (cache / "backends-sm_90.txt").write_text("no table\n")
    assert backend() == "ptx"


PRODUCTS = """
import tessera as tsr


@tsr.function
def product(x, w):
    return x @ w


@tsr.function
def products(x, w):
    return (x @ w) @ w
"""


@pytest.mark.parametrize(
    ("function", "x", "w", "target", "expected"),
    [
        ("product", "bf16[64,1024]", "bf16[1024,1024]", "sm_90", "ptx"),
        ("product", "bf16[64,128]", "bf16[128,1024]", "sm_90", "ptx"),
        ("product", "bf16[512,512]", "bf16[512,512]", "sm_90", "ptx"),
        (
            "product",
            "bf16[4096,1024]",
            "bf16[1024,1024]",
            "sm_90",
            "ptx",
        ),  # tiles for all SMs, by wgmma
        (
            "product",
            "bf16[512,2048]",
            "bf16[2048,1024]",
            "sm_90",
            "ptx",
        ),  # half as many, split over the CTAs of clusters
        (
            "product",
            "bf16[512,512]",
            "bf16[512,1024]",
            "sm_90",
            "ptx",
        ),
        (
            "product",
            "bf16[16,8192]",
            "bf16[8192,8192]",
            "sm_90",
            "tileir",
        ),  # too few rows for warpgroups
        ("product", "fp16[4096,1024]", "fp16[1024,1024]", "sm_90", "ptx"),
        ("product", "bf16[4096,1024]", "bf16[1024,1024]", "sm_100", "tileir"),  # no such groups
        ("product", "bf16[4096,1023]", "bf16[1023,1024]", "sm_90", "ptx+tileir"),  # with copies
        (
            "product",
            "bf16[16,2048,2048]",
            "bf16[16,2048,2048]",
            "sm_90",
            "ptx",
        ),
        ("product", "bf16[16384,4096]", "bf16[4096,16384]", "sm_90", "ptx"),
        ("product", "fp32[64,1024]", "fp32[1024,1024]", "sm_90", "ptx"),
        ("product", "bf16[64,1024]", "bf16[1024,1024]", "sm_80", "tileir"),  # no clusters
        ("products", "bf16[64,1024]", "bf16[1024,1024]", "sm_90", "ptx"),  # each of them is shared
    ],
)
def test_small_products(function, x, w, target, expected, tmp_path, monkeypatch):
    """Split-K contractions over clusters and wgmma contractions use PTX; others use CUDA Tile
    IR."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "program.py"
    file.write_text(PRODUCTS)
    command = [
        TOP / "build/bin/tessera",
        "explain",
        f"{file}::{function}",
        "--arg",
        f"x={x}",
        "--arg",
        f"w={w}",
    ]
    done = subprocess.run(
        [*command, "--target", target], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0].rpartition("via ")[2] == expected


STREAMS = """
import tessera as tsr


@tsr.function
def plain(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v


@tsr.function
def causal(q, k, v):
    s = q @ k.mT * 0.125
    rows, columns = tsr.iota(s.shape, dim=-2), tsr.iota(s.shape, dim=-1)
    return tsr.softmax(tsr.where(columns <= rows, s, -tsr.inf), dim=-1) @ v


@tsr.function
def bent(q, k, v):
    return tsr.softmax(tsr.tanh(q @ k.mT), dim=-1) @ v


@tsr.function(batch_invariant=True)
def invariant(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v
"""


@pytest.mark.parametrize(
    ("function", "heads", "target", "expected"),
    [
        ("plain", "bf16[8,16,2048,128]", "sm_90", "ptx"),
        ("plain", "fp16[8,16,2048,128]", "sm_90", "ptx"),
        ("causal", "bf16[8,16,2048,128]", "sm_90", "ptx"),
        ("plain", "bf16[8,16,2048,64]", "sm_90", "tileir"),  # the other backend is quicker
        ("plain", "bf16[8,16,2048,256]", "sm_90", "tileir"),  # deeper than was measured
        ("plain", "bf16[1,4,256,128]", "sm_90", "tileir"),  # few rows
        ("plain", "bf16[32,16,512,128]", "sm_90", "tileir"),  # short
        ("plain", "fp32[8,16,2048,128]", "sm_90", "tileir"),
        ("plain", "bf16[8,16,2048,128]", "sm_100", "tileir"),
        ("bent", "bf16[8,16,2048,128]", "sm_90", "tileir"),
        ("invariant", "bf16[8,16,2048,128]", "sm_90", "tileir"),  # whatever the number of rows
    ],
)
def test_streams(function, heads, target, expected, tmp_path, monkeypatch):
    """Two contractions with a softmax between them use PTX if both use wgmma and there are enough
    rows for the device."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "program.py"
    file.write_text(STREAMS)
    command = [
        TOP / "build/bin/tessera",
        "explain",
        f"{file}::{function}",
        *(word for name in "qkv" for word in ("--arg", f"{name}={heads}")),
    ]
    done = subprocess.run(
        [*command, "--target", target], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0].rpartition("via ")[2] == expected


KERNELS = """
import tessera as tsr


@tsr.function
def added(x, w, y):
    return y + x @ w


@tsr.function
def plain(x, w, y):
    return x @ w


@tsr.function
def gated(x, w, y):
    return tsr.silu(x @ w) * (x @ y)


@tsr.function
def part(x, w, y):
    return x[:, 3:1027] @ w


@tsr.function
def rows(x, w, y):
    return tsr.softmax(x @ w, dim=-1)


@tsr.function
def deep(x, w, y):
    return tsr.gelu(tsr.relu(x) @ w) @ y


@tsr.function(batch_invariant=True)
def invariant(x, w, y):
    return tsr.softmax(x @ w, dim=-1)
"""


@pytest.mark.parametrize(
    ("function", "x", "w", "y", "expected"),
    [
        (
            "plain",
            "bf16[16384,768]",
            "bf16[768,768]",
            "bf16[16384,768]",
            ["ptx"],
        ),
        (
            "added",
            "bf16[16384,768]",
            "bf16[768,768]",
            "bf16[16384,768]",
            ["ptx"],
        ),  # the other backend waits for the bias
        (
            "gated",
            "bf16[16384,768]",
            "bf16[768,2048]",
            "bf16[768,2048]",
            ["ptx"],
        ),  # and has no registers for two accumulators
        (
            "part",
            "bf16[4096,2048]",
            "bf16[1024,1024]",
            "bf16[8,8]",
            ["tileir"],
        ),  # unaligned for TMA
        ("rows", "bf16[16384,768]", "bf16[768,768]", "bf16[8,8]", ["ptx", "ptx"]),
        ("rows", "fp32[512,256]", "fp32[256,512]", "fp32[8,8]", ["tileir", "ptx"]),
        ("rows", "bf16[4096,1024]", "bf16[1024,1024]", "bf16[8,8]", ["ptx", "ptx"]),
        ("deep", "bf16[16384,768]", "bf16[768,3072]", "bf16[3072,768]", ["ptx", "ptx", "ptx"]),
        ("invariant", "bf16[4096,1024]", "bf16[1024,1024]", "bf16[8,8]", ["tileir", "ptx"]),
    ],
)
def test_kernels(function, x, w, y, expected, tmp_path, monkeypatch):
    """Each kernel has its own backend; the program's is named if all use it."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "program.py"
    file.write_text(KERNELS)
    arguments = [word for name, of in zip("xwy", (x, w, y)) for word in ("--arg", f"{name}={of}")]
    command = [
        TOP / "build/bin/tessera",
        "explain",
        f"{file}::{function}",
        *arguments,
        "--target",
        "sm_90",
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    backend = lines[0].rpartition("via ")[2]
    kernels = [line.partition(" via ")[2] for line in lines if line.startswith("kernel ")]
    assert [each or backend for each in kernels] == expected
    assert backend == "+".join(sorted(set(expected)))
