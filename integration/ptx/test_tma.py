"""Tiles loaded by TMA: contractions whose operands are row-major or column-major, of sizes that
fill no box."""

from __future__ import annotations

import re
import subprocess

import ml_dtypes
import numpy as np
import pytest
from interpreter import Kernel
from ptx_values import TensorMap
from test_code import TOP

TESSERA = TOP / "build/bin/tessera"
pytestmark = pytest.mark.skipif(not TESSERA.exists(), reason="unsupported: tessera is not built")

ELEMENTS = {
    "bf16": (ml_dtypes.bfloat16, "f32"),
    "f16": (np.float16, "f32"),
    "f32": (np.float32, "f32"),
    "i8": (np.int8, "i32"),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, "f32"),
}


def program(
    element: str,
    sizes: tuple[int, int, int],
    tile: tuple[int, int, int],
    by_columns: tuple[bool, bool],
    batches: int,
    config: str = "launch <num_warps = 4> tuning <use_tma = 1>",
    place: int = 1,
) -> str:
    m, n, k = sizes
    tm, tn, tk = tile
    total = ELEMENTS[element][1]

    def view(rows: int, columns: int, turned: bool, kind: str) -> str:
        strides = [1, rows] if turned else [columns, 1]
        return f"!tile.view<{batches}x{rows}x{columns}x{kind}, strides = [{rows * columns}, {strides[0]}, {strides[1]}]>"

    a, b, c = (
        view(m, k, by_columns[0], element),
        view(k, n, by_columns[1], element),
        view(m, n, False, total),
    )
    ta, tb, tc = (
        f"tensor<{tm}x{tk}x{element}>",
        f"tensor<{tk}x{tn}x{element}>",
        f"tensor<{tm}x{tn}x{total}>",
    )
    zero = "0.0" if total[0] == "f" else "0"
    pad = f"{'0' if element[0] == 'i' else '0.0'} : {element}"
    shapes = [
        f"!gir.tensor<{batches}, {x}, {y}, {kind}>"
        for x, y, kind in ((m, k, element), (k, n, element), (m, n, total))
    ]

    def operand(rows: int, columns: int, turned: bool) -> str:
        strides = [1, rows] if turned else [columns, 1]
        return f'#tile.operand<offset "0", sizes ["{batches}", "{rows}", "{columns}"], strides ["{rows * columns}", "{strides[0]}", "{strides[1]}"]>'

    views = ", ".join(
        [operand(m, k, by_columns[0]), operand(k, n, by_columns[1]), operand(m, n, False)]
    )
    return f"""
    func.func @host(%x: {shapes[0]} {{gir.name = "x", gir.contiguous}}, %w: {shapes[1]} {{gir.name = "w", gir.contiguous}}) -> {shapes[2]} {{
      %y = tile.empty : {shapes[2]}
      tile.launch @k grid ["1"] (%x, %w, %y) views [{views}] sizes ["{place}", "{place}"] : {", ".join(shapes)}
      return %y : {shapes[2]}
    }}
    tile.kernel @k(%x: {a}, %w: {b}, %y: {c}, %i: index, %j: index) grid 1 {config} {{
      %p = tile.program_id 0
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {-(-k // tk)} : index
      %batch = arith.constant {batches - 1} : index
      %zero = tile.constant {zero} : {total} : {tc}
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> ({tc}) {{
        %a = tile.load %x[%batch, %i, %k] dims [1, 2] pad {pad} : {a} -> {ta}
        %b = tile.load %w[%batch, %k, %j] dims [1, 2] pad {pad} : {b} -> {tb}
        %next = tile.mma %a, %b, %acc : ({ta}, {tb}, {tc}) -> {tc}
        scf.yield %next : {tc}
      }}
      tile.store %sum, %y[%batch, %i, %j] dims [1, 2] bounded : {tc}, {c}
      tile.return
    }}"""


def compiled(text: str, stage: str) -> str:
    command = [
        TESSERA,
        "compile",
        "-",
        "--target",
        "sm_90",
        "--via",
        "ptx",
        "--emit",
        stage,
        "-o",
        "-",
    ]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "by_columns",
    [(False, True), (False, False), (True, False), (True, True)],
    ids=["nt", "nn", "tn", "tt"],
)
@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_halves(element, by_columns):
    check(element, (200, 136, 152), (128, 128, 64), by_columns, span=128)


@pytest.mark.parametrize(
    ("element", "tile", "span"),
    [
        ("i8", (64, 64, 64), 64),
        ("f8E4M3FN", (64, 64, 128), 128),
        ("bf16", (64, 64, 16), 32),
        ("bf16", (64, 64, 32), 64),
    ],
)
def test_elements_and_spans(element, tile, span):
    """The K dimension is contiguous in memory, with as many bytes as the tile."""
    check(element, (112, 96, 208), tile, (False, True), span)


def test_few_iterations():
    """Fewer iterations than stages."""
    check("bf16", (112, 96, 72), (64, 64, 64), (False, True), span=128)


def check(
    element: str,
    sizes: tuple[int, int, int],
    tile: tuple[int, int, int],
    by_columns: tuple[bool, bool],
    span: int,
) -> None:
    dtype, total = ELEMENTS[element]
    m, n, k = sizes
    batches = 2
    text = program(element, sizes, tile, by_columns, batches)
    module = compiled(text, "ptx")
    launch = re.search(r"tessera_target.launch.*", compiled(text, "target"))[0]
    maps = TensorMap.of(launch)
    assert len(maps) == 2 and {one.span for one in maps} == {span}, launch
    assert module.count("prefetch.tensormap") == 2 and "cp.async.cg" not in module
    draw = np.random.default_rng(7)

    def operand(rows: int, columns: int, turned: bool) -> np.ndarray:
        values = draw.integers(-4, 5, (batches, rows, columns)).astype(dtype)
        if not turned:
            return values
        return np.ascontiguousarray(values.transpose(0, 2, 1)).transpose(0, 2, 1)

    x, w = operand(m, k, by_columns[0]), operand(k, n, by_columns[1])
    y = np.full((batches, m, n), 99, {"f32": np.float32, "i32": np.int32}[total])
    kernel = Kernel(module, "k")
    i, j = m // tile[0], n // tile[1]  # the last tile, which is partial
    kernel.run(x, w, y, i, j, maps=maps)
    # Sums of small integers are exact.
    exact = x[1].astype(np.float64) @ w[1].astype(np.float64)
    expected = np.full_like(y, 99)
    part = np.s_[1, i * tile[0] : (i + 1) * tile[0], j * tile[1] : (j + 1) * tile[1]]
    expected[part] = exact[part[1:]]
    assert (y == expected).all()
