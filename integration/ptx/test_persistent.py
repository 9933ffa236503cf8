"""Persistent CTAs: each computes every n-th tile of a grid, and copies continue from one tile to
the next."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from interpreter import Kernel
from ptx_values import TensorMap
from test_tma import TESSERA, compiled, pytestmark  # noqa: F401
from test_code import TOP

TILE = (128, 64, 64)  # rows, columns, K


def program(
    sizes: tuple[int, int, int],
    blocks: int,
    group: int = 2,
    stages: int = 3,
    tile: tuple[int, int, int] = TILE,
) -> str:
    """A contraction with a row that is added to all of its rows."""
    (m, n, k), (tm, tn, tk) = sizes, tile
    grid = f'["{-(-n // tn)}", "{-(-m // tm)}"]'
    shapes = [
        f"!gir.tensor<{m}, {k}, bf16>",
        f"!gir.tensor<{k}, {n}, bf16>",
        f"!gir.tensor<{n}, bf16>",
        f"!gir.tensor<{m}, {n}, bf16>",
    ]
    views = [f"!tile.view<{x}x{y}xbf16, strides = [{y}, 1]>" for x, y in ((m, k), (k, n), (m, n))]
    row = f"!tile.view<{n}xbf16, strides = [1]>"
    two = [
        f'#tile.operand<offset "0", sizes ["{x}", "{y}"], strides ["{y}", "1"]>'
        for x, y in ((m, k), (k, n), (m, n))
    ]
    operands = ", ".join(
        [*two[:2], f'#tile.operand<offset "0", sizes ["{n}"], strides ["1"]>', two[2]]
    )
    a, b, c = f"tensor<{tm}x{tk}xbf16>", f"tensor<{tk}x{tn}xbf16>", f"tensor<{tm}x{tn}xf32>"
    return f"""
    func.func @host(%x: {shapes[0]} {{gir.name = "x", gir.contiguous}}, %w: {shapes[1]} {{gir.name = "w", gir.contiguous}}, %r: {shapes[2]} {{gir.name = "r", gir.contiguous}}) -> {shapes[3]} {{
      %y = tile.empty : {shapes[3]}
      tile.launch @k grid {grid} (%x, %w, %r, %y) views [{operands}] sizes ["{-(-k // tk)}"] : {", ".join(shapes)}
      return %y : {shapes[3]}
    }}
    tile.kernel @k(%x: {views[0]}, %w: {views[1]}, %r: {row}, %y: {views[2]}, %n: index) grid 2 launch <num_warps = 8, persistent_ctas = {blocks}> tuning <raster_group = {group}, num_stages = {stages}, use_tma = 1, wgmma = 1> {{
      %j = tile.program_id 0
      %i = tile.program_id 1
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = tile.constant 0.0 : f32 : {c}
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> ({c}) {{
        %a = tile.load %x[%i, %k] dims [0, 1] pad 0.0 : bf16 : {views[0]} -> {a}
        %b = tile.load %w[%k, %j] dims [0, 1] pad 0.0 : bf16 : {views[1]} -> {b}
        %next = tile.mma %a, %b, %acc : ({a}, {b}, {c}) -> {c}
        scf.yield %next : {c}
      }}
      %row = tile.load %r[%j] dims [0] pad 0.0 : bf16 : {row} -> tensor<{tn}xbf16>
      %wide = tile.cast %row : tensor<{tn}xbf16> -> tensor<{tn}xf32>
      %all = tile.broadcast %wide dims [1] : tensor<{tn}xf32> -> {c}
      %more = tile.map add(%sum, %all) : ({c}, {c}) -> {c}
      %out = tile.cast %more : {c} -> tensor<{tm}x{tn}xbf16>
      tile.store %out, %y[%i, %j] dims [0, 1] bounded : tensor<{tm}x{tn}xbf16>, {views[2]}
      tile.return
    }}"""


# Sizes that fill no tile, fewer tiles than CTAs, one tile, fewer iterations than stages, one
# iteration, a smaller last raster group.
SIZES = [
    ((328, 200, 200), 2), ((328, 200, 200), 5), ((328, 200, 200), 100), ((72, 40, 328), 4), ((264, 136, 72), 2), ((648, 72, 40), 3), ((128, 64, 64), 1),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "blocks"), SIZES)
@pytest.mark.parametrize("stages", [2, 4])
def test_results(sizes, blocks, stages):
    m, n, k = sizes
    text = program(sizes, blocks, stages=stages)
    module, target = compiled(text, "ptx"), compiled(text, "target")
    maps = TensorMap.of(re.search(r"tessera_target.launch.*", target)[0])
    programs = -(-n // TILE[1]), -(-m // TILE[0])
    draw = np.random.default_rng(5)
    x, w, r = (
        draw.integers(-4, 5, shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n), (n,))
    )
    y = np.full((m, n), 99, ml_dtypes.bfloat16)
    kernel = Kernel(module, "k")
    for block in range(min(blocks, programs[0] * programs[1])):
        kernel.run(x, w, r, y, -(-k // TILE[2]), *programs, maps=maps, block=block)
    wide = [one.astype(np.float32) for one in (x, w, r)]
    assert (y == (wide[0] @ wide[1] + wide[2]).astype(ml_dtypes.bfloat16)).all()


def simulated(
    tmp_path: Path, sizes: tuple[int, int, int], blocks: int, stages: int, *flags: str
) -> tuple[str, str]:
    m, n, k = sizes
    text = compiled(program(sizes, blocks, stages=stages), "placed")
    file = tmp_path / "placed.mlir"
    file.write_text(text)
    types = [f"x=bf16[{m},{k}]", f"w=bf16[{k},{n}]", f"r=bf16[{n}]"]
    command = [
        TESSERA,
        "simulate",
        file,
        *(word for one in types for word in ("--arg", one)),
        *flags,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return text, done.stdout


@pytest.mark.parametrize(("sizes", "blocks"), SIZES)
def test_orders(tmp_path, sizes, blocks):
    """No findings, and a CTA barrier before the first tile only."""
    text, _ = simulated(tmp_path, sizes, blocks, 3, "--seeds", "3")
    inside = text[text.index("scf.for") :]
    assert "tile.wgmma" in inside and re.search(r"tile.tma_load .* empty ", inside)
    assert not re.search(r"tile\.barrier$", inside, re.MULTILINE)


@pytest.mark.parametrize("stages", [2, 3])
def test_synchronisation(tmp_path, stages):
    """Every arrival, wait and phase of the loops is necessary."""
    text, reported = simulated(tmp_path, (264, 136, 136), 2, stages, "--mutants")
    first = text[: text.index("scf.for")].count("\n") + 1
    fates = re.findall(
        r"^(tile\.\w+) +\S+?:(\d+)\S* +(.*?)  +(killed|equivalent|not reached|survived)",
        reported,
        re.MULTILINE,
    )
    inside = [(name, change, fate) for name, line, change, fate in fates if int(line) > first]
    assert {name for name, *_ in inside} >= {
        "tile.mbarrier_arrive",
        "tile.tma_load",
        "tile.mbarrier_wait",
        "tile.wgmma",
        "tile.wgmma_wait",
        "tile.barrier",
    }
    assert not [one for one in inside if one[2] in ("survived", "not reached")], reported


@pytest.mark.parametrize(("function", "types", "smaller"), [
    ("matmul", ["a=bf16[8192,8192]", "b=bf16[8192,8192]"], ["a=bf16[320,192]", "b=bf16[192,576]"]),
    ("matmul", ["a=bf16[65536,1024]", "b=bf16[1024,128]"], ["a=bf16[1500,192]", "b=bf16[192,128]"]),  # one stage less has room
    ("linear_gelu", ["x=bf16[8192,4096]", "w=bf16[4096,8192]", "b=bf16[8192]"], ["x=bf16[320,192]", "w=bf16[192,576]", "b=bf16[576]"]),
    ("swiglu", ["x=bf16[8192,4096]", "g=bf16[4096,8192]", "u=bf16[4096,8192]"], ["x=bf16[320,192]", "g=bf16[192,320]", "u=bf16[192,320]"]),
])  # fmt: skip
def test_chosen(tmp_path, function, types, smaller):
    """Contractions with many tiles are persistent; no findings with three CTAs."""

    def typed(words: list[str]) -> list[str]:
        return [word for one in words for word in ("--arg", one)]

    file, target = (
        tmp_path / "sched.mlir",
        ["--target", "sm_90", "--via", "ptx", "--option", "tuning=false"],
    )
    source = f"{TOP / 'benchmarks/gpu/programs.py'}::{function}"
    subprocess.run(
        [TESSERA, "compile", source, *typed(types), *target, "--emit", "sched", "-o", file],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "persistent_ctas = 132" in file.read_text()
    placed = subprocess.run(
        [TESSERA, "compile", file, *target[:4], "--emit", "placed", "-o", "-"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "tile.tma_load" in placed and "tile.cp_async" not in placed
    file.write_text(file.read_text().replace("persistent_ctas = 132", "persistent_ctas = 3"))
    done = subprocess.run(
        [TESSERA, "simulate", file, *target[:4], *typed(smaller), "--seeds", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
