"""Products that groups of four warps begin: what the descriptors in the code say of operands, and what comes out."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from interpreter import Kernel, TensorMap
from test_boxes import ELEMENTS, TESSERA, compiled, program, pytestmark  # noqa: F401

TURNED = {"nt": (False, True), "nn": (False, False), "tn": (True, False), "tt": (True, True)}


def check(element: str, sizes: tuple[int, int, int], tile: tuple[int, int, int], turned: str, warps: int) -> None:
    m, n, k = sizes
    batches = 2
    text = program(element, sizes, tile, TURNED[turned], batches, f"warps = {warps}, warpgroups = 1")
    module = compiled(text, "ptx")
    maps = TensorMap.of(re.search(r"tessera_target.launch.*", compiled(text, "target"))[0])
    assert f"wgmma.mma_async.sync.aligned.m64n{tile[1]}k16" in module and "mma.sync" not in module
    assert "wgmma.wait_group.sync.aligned 1" in module and "wgmma.wait_group.sync.aligned 0" in module
    draw = np.random.default_rng(7)

    def operand(rows: int, columns: int, is_turned: bool) -> np.ndarray:
        values = draw.integers(-4, 5, (batches, rows, columns)).astype(ELEMENTS[element][0])
        return np.ascontiguousarray(values.transpose(0, 2, 1)).transpose(0, 2, 1) if is_turned else values

    x, w = operand(m, k, TURNED[turned][0]), operand(k, n, TURNED[turned][1])
    y = np.full((batches, m, n), 99, np.float32)
    i, j = m // tile[0], n // tile[1]  # the last tile, which is not whole
    Kernel(module, "k").run(x, w, y, i, j, maps=maps)
    # Small integers are summed without error.
    exact = x[1].astype(np.float64) @ w[1].astype(np.float64)
    expected = np.full_like(y, 99)
    part = np.s_[1, i * tile[0] : (i + 1) * tile[0], j * tile[1] : (j + 1) * tile[1]]
    expected[part] = exact[part[1:]]
    assert (y == expected).all()


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_transpositions(element, turned):
    check(element, (200, 136, 152), (128, 128, 64), turned, warps=8)


@pytest.mark.parametrize(("tile", "warps"), [((64, 256, 64), 4), ((128, 256, 64), 8), ((256, 128, 64), 8), ((128, 64, 64), 4), ((64, 16, 64), 4)])
@pytest.mark.parametrize("turned", ["nn", "nt"])
def test_tiles(tile, warps, turned):
    """Groups below each other, several rows of instructions for one group, few and many columns."""
    check("bf16", (tile[0] + 72, tile[1] + 8, 136), tile, turned, warps)


@pytest.mark.parametrize(("depth", "turned"), [(16, "nt"), (32, "nt"), (32, "tn"), (128, "nt"), (128, "nn")])
def test_spans(depth, turned):
    """Swizzles within 32 and 64 bytes, and steps of several spans."""
    check("bf16", (136, 72, 2 * depth + 8), (64, 64, depth), turned, warps=4)


@pytest.mark.parametrize(("turned", "slots"), [("nn", 2), ("nt", 3), ("tn", 4)])
def test_synchronisation(tmp_path, turned, slots):
    """Nothing is found, and every fence, wait, commit and barrier is needed: no mutant survives."""
    hints = f"ahead = {slots - 1}, warps = 8, warpgroups = 1"
    text = compiled(program("bf16", (128, 64, 328), (128, 64, 64), TURNED[turned], 1, hints, place=0), "placed")
    assert "tile.mma_async" in text and "tile.mma_wait 1" in text
    file = tmp_path / "placed.mlir"
    file.write_text(text)
    command = [TESSERA, "simulate", file, "--arg", "x=bf16[1,128,328]", "--arg", "w=bf16[1,328,64]", "--mutants"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^(tile\.mma_\w+) +\S+ +(.*?)  +(killed|equivalent|not reached|survived)", done.stdout, re.MULTILINE)
    assert {name for name, *_ in told} == {"tile.mma_fence", "tile.mma_async", "tile.mma_commit", "tile.mma_wait"}
    # Before the wait at the gate, too, the fence stands behind what is in registers.
    assert [one for one in told if one[2] != "killed"] == [("tile.mma_fence", "too early", "equivalent")], done.stdout
