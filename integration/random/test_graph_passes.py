"""Graph passes of GPU targets on random convolutions and products: what they make is run on the CPU,
against the program that they rewrite."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[2]
TESSERA, OPT = TOP / "build/bin/tessera", TOP / "build/bin/tessera-opt"
pytestmark = pytest.mark.skipif(not OPT.exists(), reason="unsupported: tessera-opt is not built")


def tensor(element: str, *shape: int) -> str:
    return f"!gir.tensor<{', '.join(map(str, shape))}, {element}>"


def convolution(draw: np.random.Generator) -> str:
    """One to three dimensions with any sizes, steps and dilations, and rows that no window shows."""
    rank, element = int(draw.integers(1, 4)), str(draw.choice(["f32", "bf16"]))
    sizes, steps, dilations, places = (
        [int(each) for each in draw.integers(1, most, rank)] for most in (6, 4, 3, 14)
    )
    if draw.random() < 0.5:
        dilations = steps
    rest = [int(draw.integers(0, step)) for step in steps]
    whole = [
        (place - 1) * step + (size - 1) * dilation + 1 + more
        for place, step, size, dilation, more in zip(places, steps, sizes, dilations, rest)
    ]
    batch, channels, features = (int(each) for each in draw.integers([1, 12, 12], [4, 40, 20]))
    axes = list(range(2, 2 + rank))
    x, w = tensor(element, batch, channels, *whole), tensor(element, features, channels, *sizes)
    windows = tensor(element, batch, channels, *places, *sizes)
    y = tensor(element, batch, *places, features)
    summed = [1, *range(2 + rank, 2 + 2 * rank)]
    return f"""func.func @f(%x: {x} {{gir.name = "x", gir.contiguous}}, %w: {w} {{gir.name = "w", gir.contiguous}}) -> {y} {{
  %0 = gir.window %x dims {axes} sizes {sizes} steps {steps} dilations {dilations} : {x} -> {windows}
  %1 = gir.contract %0, %w batch [] x [] over {summed} x {list(range(1, 2 + rank))} : ({windows}, {w}) -> {y}
  return %1 : {y}
}}"""


def product(draw: np.random.Generator) -> str:
    m, k, n = (int(each) for each in draw.integers([1, 65, 1], [90, 200, 90]))
    x, w, y = tensor("f32", m, k), tensor("f32", k, n), tensor("f32", m, n)
    return f"""func.func @f(%x: {x} {{gir.name = "x", gir.contiguous}}, %w: {w} {{gir.name = "w", gir.contiguous}}) -> {y} {{
  %0 = gir.map abs(%x) : ({x}) -> {x}
  %1 = gir.contract %0, %w batch [] x [] over [1] x [0] : ({x}, {w}) -> {y}
  return %1 : {y}
}}"""


def check(tmp_path: Path, text: str, passes: str) -> str:
    before, after = tmp_path / "before.mlir", tmp_path / "after.mlir"
    before.write_text(text)
    pipeline = f"builtin.module(func.func({passes}),canonicalize,cse)"
    subprocess.run([OPT, before, f"--pass-pipeline={pipeline}", "-o", after], check=True)
    arguments = []
    for name in "xw":
        *sizes, element = re.search(rf"%{name}: !gir.tensor<(.*?)>", text)[1].split(", ")
        arguments += ["--arg", f"{name}={element.replace('f32', 'fp32')}[{','.join(sizes)}]"]
    command = [TESSERA, "run", after, "--check", "--reference", before, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
    return after.read_text()


def test_windows(tmp_path):
    """Copies of no cost for some draws, of no launch for others: windows slide along all, some or
    none of their dimensions."""
    draw = np.random.default_rng(0x5EED)
    slid = [0, 0]  # draws along one dimension, along more
    for _ in range(80):
        rates = f"flop-per-byte={draw.choice([0, 200, 100000])} flop-per-launch={draw.choice([0, 1000])}"
        text = check(
            tmp_path,
            convolution(draw),
            f"gir-store-windows{{word-side={draw.choice([0, 1, 1])} {rates}}}",
        )
        stored = text.partition("windows overlap")[2]
        count = sum("gir.window" in line for line in stored.splitlines())
        if count:
            slid[min(count, 2) - 1] += 1
    assert all(slid), slid


def test_parts(tmp_path):
    draw = np.random.default_rng(0x5EED)
    for _ in range(12):
        text = check(
            tmp_path, product(draw), "gir-store-floats{side=1 flop-per-byte=0 flop-per-launch=0}"
        )
        assert text.count("gir.map join") == 2
