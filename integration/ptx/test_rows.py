"""Unaligned rows: one by one, and as a whole; nothing outside of a tensor is accessed."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter import Kernel
from programs import cross_entropy, layer_norm, log_softmax, softmax
from test_code import DTYPES, OPT, ptx, view

import tessera as tsr

pytestmark = pytest.mark.skipif(not OPT.exists(), reason="unsupported: tessera-opt is not built")
ROWS = 5


def program(element: str, result: str, size: int, tile: int, warps: int, blocks: int = 1) -> str:
    """y = x + position of row r, by tiles, and the row's sum."""
    row, one, two = f"tensor<{tile}xi32>", f"tensor<{tile}x{element}>", f"tensor<{tile}x{result}>"
    zero = "0.0" if element[0] == "f" else "0"
    cast = lambda to, value, kind, goal: (
        f"{to} = tile.cast {value} : {kind} -> {goal}" if kind != goal else ""
    )  # noqa: E731
    a, b = "%t" if one == two else "%a", "%j" if row == two else "%b"
    x, y, s = view((ROWS, size), element), view((ROWS, size), result), view((1,), result)
    return f"""
    tile.kernel @k(%x: {x}, %y: {y}, %s: {s}, %r: index) grid 1 launch <num_warps = {warps}, cluster_size = {blocks}> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {-(-size // tile)} : index
      %c = arith.constant {tile} : index
      %z = tile.constant {"0.0" if result[0] == "f" else "0"} : {result} : tensor<{result}>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%before = %z) -> (tensor<{result}>) {{
        %t = tile.load %x[%r, %k] dims [1] pad {zero} : {element} : {x} -> {one}
        {cast("%a", "%t", one, two)}
        %first = arith.muli %k, %c : index
        %j = tile.iota %first : {row}
        {cast("%b", "%j", row, two)}
        %d = tile.map add({a}, {b}) : ({two}, {two}) -> {two}
        tile.store %d, %y[%r, %k] dims [1] bounded : {two}, {y}
        %now = tile.reduce sum {a} dims [0] : {two} -> tensor<{result}>
        %both = tile.map add(%before, %now) : (tensor<{result}>, tensor<{result}>) -> tensor<{result}>
        scf.yield %both : tensor<{result}>
      }}
      tile.store %sum, %s[%c0] dims [] : tensor<{result}>, {s}
      tile.return
    }}"""


TYPES = [
    ("f32", "f32"),
    ("i32", "i32"),
    ("i16", "i16"),
    ("i8", "i8"),
    ("i16", "i32"),
    ("f32", "f64"),
    ("i8", "i16"),
]


@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize(("element", "result"), TYPES)
def test_rows_as_a_whole(element, result, blocks):
    """By bulk copies of 16-byte chunks; CTAs of a cluster have a part each."""
    passes = ("-tile-assign-layouts", "-tile-bulk-load-rows", "-tile-bulk-store-rows")
    for size, tile in [(3, 1024 * blocks), (2051, 1024 * blocks)]:
        text = ptx(program(element, result, size, tile, warps=8 // blocks, blocks=blocks), *passes)
        assert "cp.async.bulk.global" in text and ("cp.async.bulk.shared" in text) == (
            DTYPES[element]().itemsize < 4
        )
        kernel = Kernel(text, "k")
        for row in (0, 1, ROWS - 1):
            x = (np.arange(ROWS * size) * 7 % 23 - 11).reshape(ROWS, size).astype(DTYPES[element])
            y, total = np.full((ROWS, size), 99, DTYPES[result]), np.zeros(1, DTYPES[result])
            kernel.run(x, y, total, row)
            expected = np.full_like(y, 99)
            expected[row] = x[row].astype(DTYPES[result]) + np.arange(size).astype(DTYPES[result])
            assert (y == expected).all(), (size, tile, row)
            assert total[0] == x[row].astype(DTYPES[result]).sum(dtype=DTYPES[result])


@pytest.mark.parametrize("passes", [(), ("-tile-bulk-load-rows",)])
def test_what_is_read_stays(passes):
    """Each load and copy has the L2 hint, and nothing else changes."""
    size, made = 2051, program("i16", "i16", 2051, 1024, warps=4)
    text = ptx(
        made.replace("cluster_size = 1>", "cluster_size = 1> tuning <l2_evict_last = 1>"),
        "-tile-assign-layouts",
        *passes,
    )
    assert text.count("createpolicy.fractional.L2::evict_last") == 1
    reads = [
        line for line in text.splitlines() if "ld.global" in line or "cp.async.bulk.shared" in line
    ]
    assert any("L2::cache_hint" in line for line in reads) and "evict_last" not in ptx(
        made, "-tile-assign-layouts", *passes
    )
    x = (np.arange(ROWS * size) * 7 % 23 - 11).reshape(ROWS, size).astype(np.int16)
    y, total = np.zeros_like(x), np.zeros(1, x.dtype)
    Kernel(text, "k").run(x, y, total, 1)
    assert (y[1] == x[1] + np.arange(size).astype(x.dtype)).all() and total[0] == x[1].sum(
        dtype=x.dtype
    )


@pytest.mark.parametrize("element", ["i16", "i8"])
def test_ends(element):
    """A tensor may end anywhere in a 16-byte chunk, of which nothing else is read; its last row may
    be in that chunk alone."""
    for size in (1, 2, *range(1025, 1033)):
        text = ptx(
            program(element, element, size, 1024, warps=2),
            "-tile-assign-layouts",
            "-tile-bulk-load-rows",
        )
        x = (np.arange(ROWS * size) * 7 % 23 - 11).reshape(ROWS, size).astype(DTYPES[element])
        y, total = np.zeros_like(x), np.zeros(1, x.dtype)
        Kernel(text, "k").run(x, y, total, ROWS - 1)
        assert (y[-1] == x[-1] + np.arange(size).astype(x.dtype)).all() and total[0] == x[-1].sum(
            dtype=x.dtype
        ), size


def walk(element: str, size: int, tile: int, stages: int) -> str:
    """y = x + 1 + w of some rows, one after the other, and the sums of the squares of x + 1."""
    x, w, s = view((ROWS, size), element), view((size,), element), view((ROWS,), "f32")
    one, wide = f"tensor<{tile}x{element}>", f"tensor<{tile}xf32>"
    return f"""
    tile.kernel @k(%x: {x}, %w: {w}, %y: {x}, %s: {s}, %first: index, %end: index) grid 1 launch <num_warps = 1> tuning <num_stages = {stages}> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {size} : index
      %zeros = tile.constant 0.0 : f32 : {wide}
      %ones = tile.constant 1.0 : f32 : {wide}
      %v = tile.load %w[%c0] dims [0] pad 0 : {element} : {w} -> {one}
      scf.for %r = %first to %end step %c1 {{
        %t = tile.load %x[%r, %c0] dims [1] pad 7 : {element} : {x} -> {one}
        %f = tile.cast %t : {one} -> {wide}
        %g = tile.map add(%f, %ones) : ({wide}, {wide}) -> {wide}
        %q = tile.map mul(%g, %g) : ({wide}, {wide}) -> {wide}
        %j = tile.iota %c0 : tensor<{tile}xi32>
        %m = tile.splat %n : index -> tensor<{tile}xi32>
        %l = tile.map lt(%j, %m) : (tensor<{tile}xi32>, tensor<{tile}xi32>) -> tensor<{tile}xi1>
        %k = tile.map where(%l, %q, %zeros) : (tensor<{tile}xi1>, {wide}, {wide}) -> {wide}
        %sum = tile.reduce sum %k dims [0] : {wide} -> tensor<f32>
        tile.store %sum, %s[%r] dims [] : tensor<f32>, {s}
        %h = tile.cast %g : {wide} -> {one}
        %d = tile.map add(%h, %v) : ({one}, {one}) -> {one}
        tile.store %d, %y[%r, %c0] dims [1] bounded : {one}, {x}
      }}
      tile.return
    }}"""


@pytest.mark.parametrize("element", ["i16", "i8"])
@pytest.mark.parametrize("stages", [2, 3, 5])
def test_rows_one_after_the_other(element, stages):
    """Fewer rows than stages and more; rows that end in a tile's last part and before it, or fill it."""
    tile = 1024 if element == "i16" else 2048
    for size in (1, 3, tile - tile // 8 - 1, tile - tile // 8 + 1, tile - 23, tile):
        passes = ("-tile-assign-layouts", "-tile-bulk-load-rows", "-tile-bulk-store-rows")
        text = ptx(walk(element, size, tile, stages), *passes)
        is_walked = size > 1 and size * DTYPES[element]().itemsize % 16 != 0
        assert ("cp.async.bulk.shared" in text) == is_walked
        assert ("cp.async.bulk.global" in text) == (is_walked and stages < 5), (
            "five stages leave no room for results"
        )
        kernel = Kernel(text, "k")
        x = (np.arange(ROWS * size) * 7 % 23 - 11).reshape(ROWS, size).astype(DTYPES[element])
        w = (np.arange(size) % 5).astype(x.dtype)
        for first, end in [(0, ROWS), (ROWS - 1, ROWS)]:
            y, sums = np.full_like(x, 99), np.full(ROWS, -1, np.float32)
            kernel.run(x, w, y, sums, first, end)
            expected, totals = np.full_like(x, 99), np.full(ROWS, -1, np.float32)
            expected[first:end] = x[first:end] + 1 + w
            totals[first:end] = ((x[first:end].astype(np.float32) + 1) ** 2).sum(axis=-1)
            assert (y == expected).all() and (sums == totals).all(), (size, first, end)


def aligned(element: str, size: int, tile: int, warps: int, blocks: int) -> str:
    """y = x + the sum of row r, by 16-byte-aligned tiles. Both loops start with the row's whole
    tiles."""
    x, row = view((ROWS, size), element), f"!tile.view<?x{element}, strides = [1]>"
    one, scalar = f"tensor<{tile}x{element}>", f"tensor<{element}>"
    load = f"%t = tile.load %rx[%i] dims [0] pad 0 : {element} : {row} -> {one}"
    add = f"""{load}
        %part = tile.reduce sum %t dims [0] : {one} -> {scalar}
        %both = tile.map add(%before, %part) : ({scalar}, {scalar}) -> {scalar}
        scf.yield %both : {scalar}"""
    move = f"""{load}
        %d = tile.map add(%t, %all) : ({one}, {one}) -> {one}
        tile.store %d, %ry[%i] dims [0] bounded : {one}, {row}"""
    return f"""
    tile.kernel @k(%x: {x}, %y: {x}, %r: index) grid 1 launch <num_warps = {warps}, cluster_size = {blocks}> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c = arith.constant {tile} : index
      %z = tile.constant 0 : {element} : {scalar}
      %rx = tile.aligned_row %x[%r] dim 1 : {x} -> {row}
      %ry = tile.aligned_row %y[%r] dim 1 : {x} -> {row}
      %n = tile.dim %rx, 0 : {row}
      %whole = arith.divui %n, %c : index
      %end = arith.ceildivsi %n, %c : index
      %a = scf.for %i = %c0 to %whole step %c1 iter_args(%before = %z) -> ({scalar}) {{
        {add}
      }}
      %b = scf.for %i = %whole to %end step %c1 iter_args(%before = %a) -> ({scalar}) {{
        {add}
      }}
      %all = tile.broadcast %b dims [] : {scalar} -> {one}
      scf.for %i = %c0 to %whole step %c1 {{
        {move}
      }}
      scf.for %i = %whole to %end step %c1 {{
        {move}
      }}
      tile.return
    }}"""


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize(("element", "blocks"), [("i16", 1), ("i16", 2), ("i8", 1), ("i32", 1)])
def test_tiles_that_are_moved(element, blocks, keeps):
    """In shared memory, and from global memory; elements before and after a row are not
    accessed."""
    tile, bytes = 1024 * blocks, DTYPES[element]().itemsize
    for size in (1, 3, tile - 1, tile, tile + 1, 2 * tile + 5):
        passes = ("-tile-assign-layouts", *(("-tile-cache-rows",) if keeps else ()))
        text = ptx(
            aligned(element, size, tile, 2 if blocks == 2 or bytes == 1 else 4, blocks), *passes
        )
        assert ("cp.async.bulk.shared" in text) == (keeps and bytes < 4) and (
            "st.global.v4.b32" in text
        ) == (size > 3)
        kernel = Kernel(text, "k")
        x = (np.arange(ROWS * size) * 7 % 23 - 11).reshape(ROWS, size).astype(DTYPES[element])
        for row in range(ROWS):
            y, expected = np.full_like(x, 99), np.full_like(x, 99)
            kernel.run(x, y, row)
            expected[row] = x[row] + x[row].sum(dtype=x.dtype)
            assert (y == expected).all(), (size, row)


@tsr.function
def argmax(x):
    return tsr.argmax(x, dim=-1)


@tsr.function
def widened(x):
    return tsr.softmax(x.to(tsr.fp32), dim=-1)


@tsr.function(batch_invariant=True)
def alone(x):
    """Otherwise clusters of CTAs split few rows."""
    return tsr.softmax(x, dim=-1)


@tsr.function(batch_invariant=True)
def widened_alone(x):
    return tsr.softmax(x.to(tsr.fp32), dim=-1)


def draw(*shape, dtype="float32"):
    return (np.random.default_rng(shape[-1]).standard_normal(shape) * 3).astype(dtype)


@pytest.mark.parametrize("size", [1, 2, 17, 1001, 4095, 4097, 20011])
def test_functions(size):
    """On the simulator, which detects misaligned and out-of-bounds accesses."""
    rows = 3 if size > 4096 else 5
    for dtype in ("float32", "float16"):
        x = draw(rows, size, dtype=dtype)
        targets = np.random.default_rng(1).integers(0, size, rows)
        calls = [
            (softmax, x),
            (log_softmax, x),
            (argmax, x),
            (cross_entropy, x, targets),
            (widened, x),
        ]
        calls.append((layer_norm, x, draw(size, dtype=dtype), draw(size, dtype=dtype)))
        for function, *arguments in calls:
            simulation = function.simulate(*arguments, seeds=1)
            assert simulation.ok, simulation.text
            assert all(one["checked"] and not one["wrong"] for one in simulation.report["results"])


@tsr.function
def shares(x):
    return x / tsr.sum(tsr.abs(x), dim=-1, keepdim=True)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("function", "dtype", "size"),
    [(softmax, "float16", 20011), (shares, "float16", 17001), (softmax, "float16", 16390)],
)
def test_rows_read_twice(function, dtype, size, target):
    """Their tiles are 16-byte aligned. The padding before and after a row has no effect, whatever
    the row contains."""
    x = draw(64, size, dtype=dtype)
    if function is softmax:
        x[1], x[2, 5], x[3], x[6], x[7] = -np.inf, np.nan, -np.inf, -np.inf, 65504
        x[3, 0], x[4, -1], x[5, 0], x[6, -1], x[9, 0], x[11, -1] = (
            2,
            np.inf,
            np.inf,
            1,
            np.nan,
            np.nan,
        )
    placed = function.inspect_ir("placed", x, target=f"{target}:ptx")
    assert (
        "tile.aligned_row" in placed
        and "tile.bulk_store" not in placed
        and ("tile.bulk_load" in placed) == (target == "sm_90")
    )
    simulation = function.simulate(x, target=target, seeds=1)
    assert simulation.ok, simulation.text
    assert all(one["checked"] and not one["wrong"] for one in simulation.report["results"])


@tsr.function
def extremes(x):
    largest, at = tsr.max(x, dim=-1)
    return largest, at, tsr.argmin(x, dim=-1)


@pytest.mark.parametrize("size", [5, 1001, 4096, 20011])
def test_positions_of_extremes(size):
    """The first of equal elements, and NaN before all, in any thread."""
    for dtype in ("float32", "float16", "int32"):
        x = np.random.default_rng(size).integers(-3, 4, (4, size)).astype(dtype)
        if dtype != "int32":
            x[1], x[2, size // 2 :], x[3, size // 3] = -np.inf, np.nan, np.nan
        for function in (argmax, extremes):
            simulation = function.simulate(x, seeds=1)
            assert simulation.ok, simulation.text
            assert all(one["checked"] and not one["wrong"] for one in simulation.report["results"])


# In registers, cached in shared memory, in shifted tiles, streamed, and with results of another
# type than the operands.
SPOILT = {
    "held": (softmax, lambda: (draw(2, 1001, dtype="float16"),)),
    "kept": (alone, lambda: (draw(2, 20011, dtype="float16"),)),
    "moved": (softmax, lambda: (draw(64, 16385, dtype="float16"),)),
    "stream": (cross_entropy, lambda: (draw(2, 20011, dtype="float16"), np.array([7, 20010]))),
    "widened": (widened_alone, lambda: (draw(2, 20011, dtype="float16"),)),
}


@pytest.mark.parametrize("case", SPOILT)
def test_mutants_are_killed(case):
    function, arguments = SPOILT[case]
    assert "tile.bulk_load" in function.inspect_ir("placed", *arguments(), target="sm_90:ptx")
    spoilt = function.simulate(*arguments(), seeds=1, mutants=True).report["mutants"]
    assert "tile.mbarrier_wait" in {mutant["op"] for mutant in spoilt if mutant["killed"]}
    for mutant in spoilt:
        assert mutant["killed"] or mutant["equivalent"] or not mutant["reached"], mutant
