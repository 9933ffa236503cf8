"""Rows and contractions split over the CTAs of a cluster: reductions through distributed shared
memory.

Without a GPU: the kernels run on the simulator, against the reference, and their synchronisation is
mutated; the PTX runs in an interpreter.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from interpreter import Kernel
from test_code import OPT, TOP, ptx, view

pytestmark = pytest.mark.skipif(not OPT.exists(), reason="unsupported: tessera-opt is not built")
TESSERA = TOP / "build/bin/tessera"
PROGRAMS = Path(__file__).resolve().with_name("programs.py")


def run(*command: str | Path) -> str:
    return subprocess.run([TESSERA, *command], capture_output=True, text=True, check=True).stdout


def chosen(function: str, arguments: list[str]) -> str:
    """The schedule of a function."""
    flags = [flag for one in arguments for flag in ("--arg", one)]
    return run(
        "compile",
        f"{PROGRAMS}::{function}",
        *flags,
        "--target",
        "sm_90",
        "--via",
        "ptx",
        "--emit",
        "sched",
        "-o",
        "-",
    )


def place(folder: Path, text: str) -> Path:
    """Placed Tile IR of a schedule."""
    edited, placed = folder / "edited.mlir", folder / "placed.mlir"
    edited.write_text(text)
    placed.write_text(
        run("compile", edited, "--target", "sm_90", "--via", "ptx", "--emit", "placed", "-o", "-")
    )
    return placed


def schedule(folder: Path, function: str, arguments: list[str], tile: int, config: str) -> Path:
    """Placed Tile IR of a schedule whose last dimension has this tile, with this launch and tuning."""
    text = chosen(function, arguments)
    kernel = re.search(r"tile \d+\] order (\[\w*\])( launch <[^>]*>)?( tuning <[^>]*>)?", text)
    return place(folder, text.replace(kernel[0], f"tile {tile}] order {kernel[1]} {config}"))


def shared_product(
    folder: Path, function: str, arguments: list[str], over: int, config: str
) -> Path:
    """Placed Tile IR of a contraction with this k-step, launch and tuning."""
    text = chosen(function, arguments)
    text, count = re.subn(r"(stream \w+ = \S+ tile) \d+", rf"\1 {over}", text)
    text, again = re.subn(r"launch <[^>]*>( tuning <[^>]*>)?", config, text)
    assert count == again == 1, text
    return place(folder, text)


def has_cluster(text: str, blocks: int) -> bool:
    return re.search(rf"cluster_size = {blocks}\b", text) is not None


def simulate(program: Path | str, arguments: list[str], *more: str) -> dict:
    flags = [flag for one in arguments for flag in ("--arg", one)]
    done = subprocess.run(
        [TESSERA, "simulate", program, *flags, "--json", *more], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["simulation"]


# Aligned rows, unaligned rows, a partial tile, a tile that is empty in some CTAs; narrow elements.
CASES = {
    "softmax": ("softmax", ["x=bf16[3,4104]"], 2048),
    "softmax of odd rows": ("softmax", ["x=fp32[2,5001]"], 2048),
    "softmax of one row": ("softmax", ["x=bf16[1,20001]"], 8192),
    "softmax of narrow odd rows": ("softmax", ["x=bf16[3,9001]"], 4096),
    "RMS norm": ("rms_norm", ["x=fp32[2,3000]", "w=fp32[3000]"], 1024),
    "layer norm": ("layer_norm", ["x=bf16[2,4096]", "w=bf16[4096]", "b=bf16[4096]"], 1024),
    "cross-entropy": ("cross_entropy", ["x=bf16[2,3001]", "t=int64[2]"], 1024),
    "cross-entropy of narrow odd rows": ("cross_entropy", ["x=bf16[3,20001]", "t=int64[3]"], 4096),
    "sums": ("total", ["x=fp32[3,3001]"], 1024),
    "maxima of integers": ("largest", ["x=int8[2,3001]"], 1024),
    "conditions": ("every", ["x=fp16[2,3001]"], 1024),
}


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("case", CASES)
def test_no_findings(case, blocks, tmp_path):
    function, arguments, tile = CASES[case]
    placed = schedule(
        tmp_path,
        function,
        arguments,
        tile,
        f"launch <num_warps = 2, cluster_size = {blocks}> tuning <min_ctas_per_sm = 1>",
    )
    text = placed.read_text()
    assert "tile.dsmem_store" in text and re.search(rf"block\[.*?d\d:{tile // 2}\]", text)
    assert "narrow odd" not in case or "tile.bulk_load" in text
    assert not simulate(placed, arguments, "--seeds", "4")["findings"]


@pytest.mark.parametrize(
    ("function", "spoilt"),
    [("softmax", {"tile.shared_store"}), ("log_softmax", {"tile.bulk_store", "tile.bulk_wait"})],
)
def test_mutants_of_rows_are_killed(function, spoilt, tmp_path):
    """Rows that the CTAs load in parts, in shifted tiles, and send."""
    placed = schedule(
        tmp_path,
        function,
        ["x=bf16[2,2051]"],
        1024,
        "launch <num_warps = 2, cluster_size = 2> tuning <min_ctas_per_sm = 1>",
    )
    mutants = simulate(placed, ["x=bf16[2,2051]"], "--mutants")["mutants"]
    assert {"tile.bulk_load", "tile.mbarrier_wait", *spoilt} <= {
        one["op"] for one in mutants if one["killed"]
    }
    assert all(one["killed"] or one["equivalent"] or not one["reached"] for one in mutants)


@pytest.mark.parametrize("function", ["softmax", "total"])
def test_mutants_are_killed(function, tmp_path):
    placed = schedule(
        tmp_path,
        function,
        ["x=fp32[1,1003]"],
        512,
        "launch <num_warps = 2, cluster_size = 2> tuning <min_ctas_per_sm = 1>",
    )
    mutants = simulate(placed, ["x=fp32[1,1003]"], "--mutants")["mutants"]
    reported = {one["op"] for one in mutants}
    assert {
        "tile.cluster_arrive",
        "tile.cluster_wait",
        "tile.dsmem_store",
        "tile.dsmem_wait",
    } <= reported
    assert all(
        one["killed"]
        for one in mutants
        if one["op"]
        in ("tile.cluster_arrive", "tile.cluster_wait", "tile.dsmem_store", "tile.dsmem_wait")
    )
    assert all(one["killed"] or one["equivalent"] or not one["reached"] for one in mutants)


# Whole tiles, edges everywhere, few rows, transposed operands, and epilogues.
PRODUCTS = {
    "product": ("product", ["x=bf16[16,512]", "w=bf16[512,32]"]),
    "product with edges": ("product", ["x=fp16[19,328]", "w=fp16[328,40]"]),
    "product of few rows": ("product", ["x=bf16[3,256]", "w=bf16[256,64]"]),
    "unaligned rows": ("product", ["x=bf16[17,301]", "w=bf16[301,33]"]),
    "transposed weights": ("product_of_rows", ["x=bf16[16,256]", "w=bf16[24,256]"]),
    "transposed rows": ("product_of_columns", ["x=bf16[256,16]", "w=bf16[256,24]"]),
    "cosines, of which the last are beside the rows": (
        "product_of_cosines",
        ["x=bf16[17,301]", "w=bf16[301,33]"],
    ),
    "sums": ("product_of_sums", ["x=bf16[16,3,256]", "w=bf16[256,24]"]),
    "sums of odd rows": ("product_of_sums", ["x=fp16[17,3,301]", "w=fp16[301,33]"]),
    "sums on the right": ("product_with_sums", ["x=bf16[16,301]", "w=bf16[301,3,24]"]),
    "losses": ("product_of_losses", ["x=bf16[4,5,301]", "t=int64[4,301]", "w=bf16[301,16]"]),
    "bias, activation and residual": (
        "linear",
        ["x=bf16[16,256]", "w=bf16[256,32]", "b=bf16[32]", "r=bf16[16,32]"],
    ),
}


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("case", PRODUCTS)
def test_no_findings_in_contractions(case, blocks, tmp_path):
    function, arguments = PRODUCTS[case]
    placed = shared_product(
        tmp_path,
        function,
        arguments,
        32 * blocks,
        f"launch <num_warps = 2, cluster_size = {blocks}>",
    )
    text = placed.read_text()
    assert re.search(rf"tile.mma .*-> tensor<{blocks}x", text) and "tile.dsmem_store" in text
    assert not simulate(placed, arguments, "--seeds", "2")["findings"]


def test_mutants_of_products_are_killed(tmp_path):
    function, arguments = PRODUCTS["product with edges"]
    placed = shared_product(
        tmp_path,
        function,
        arguments,
        128,
        "launch <num_warps = 2, cluster_size = 2> tuning <num_stages = 2>",
    )
    mutants = simulate(placed, arguments, "--mutants")["mutants"]
    assert {
        "tile.cluster_arrive",
        "tile.cluster_wait",
        "tile.dsmem_store",
        "tile.dsmem_wait",
        "tile.cp_async_wait",
        "tile.barrier",
    } <= {one["op"] for one in mutants}
    assert all(one["killed"] or one["equivalent"] or not one["reached"] for one in mutants)


CHOSEN_PRODUCTS = {
    ("x=bf16[32,4096]", "w=bf16[4096,64]"): 8,  # too few rows for warpgroups
    ("x=bf16[64,1024]", "w=bf16[1024,1024]"): 1,  # warpgroups, with deep pipelines
    ("x=bf16[64,128]", "w=bf16[128,1024]"): 1,
    ("x=bf16[4096,1024]", "w=bf16[1024,1024]"): 1,  # programs for all SMs
    ("x=bf16[1024,1024]", "w=bf16[1024,1024]"): 1,
    ("x=bf16[1000,1000]", "w=bf16[1000,1000]"): 1,
    ("x=bf16[512,2048]", "w=bf16[2048,1024]"): 1,
}


def test_work_on_operands_is_shared():
    """No CTA computes the whole operand of a k-step, and no warp repeats another's work: 100
    instructions per element."""
    arguments = ["--arg", "x=bf16[17,4099]", "--arg", "w=bf16[4099,16]"]
    command = [
        "compile",
        f"{PROGRAMS}::product_of_cosines",
        *arguments,
        "--target",
        "sm_90",
        "--via",
        "ptx",
        "-o",
        "-",
    ]
    assert "cluster_size = 8" in run(*command, "--emit", "placed")
    assert len(run(*command, "--emit", "ptx").splitlines()) < 10000


COMPUTED = {
    "product_of_sums": "x={0}[5,3,{1}] w={0}[{1},16]",
    "product_with_sums": "x={0}[5,{1}] w={0}[{1},3,16]",
    "product_of_losses": "x={0}[4,5,{1}] t=int64[4,{1}] w={0}[{1},16]",
    "product_of_deviations": "x={0}[17,{1}] y={0}[3,{1}] w={0}[{1},16]",
}


@pytest.mark.parametrize(
    ("element", "depth", "blocks"),
    [("bf16", 256, 2), ("fp16", 511, 4), ("bf16", 1025, 8), ("fp32", 511, 1)],
)
@pytest.mark.parametrize("function", COMPUTED)
def test_computed_operands(function, element, depth, blocks):
    """Each CTA computes its part of the operands, also in loops; results agree with the
    reference."""
    arguments = COMPUTED[function].format(element, depth).split()
    assert has_cluster(chosen(function, arguments), blocks) == (blocks > 1)
    done = simulate(
        f"{PROGRAMS}::{function}", arguments, "--target", "sm_90", "--via", "ptx", "--seeds", "2"
    )
    assert not done["findings"] and done["results"]
    assert all(one["checked"] and not one["wrong"] for one in done["results"])


@pytest.mark.parametrize("arguments", CHOSEN_PRODUCTS)
def test_choice_of_products(arguments):
    blocks, text = CHOSEN_PRODUCTS[arguments], chosen("product", list(arguments))
    assert text.count("sched.kernel") == 1 and has_cluster(text, blocks) == (blocks > 1), text
    assert "cluster" in text or blocks == 1


CHOSEN = {
    "x=bf16[1024,262144]": (16, 65536),  # longer than what a block keeps
    "x=fp32[4096,50264]": (4, 16384),
    "x=bf16[4096,50264]": (2, 8192),
    "x=bf16[4096,50257]": (2, 4096),  # unaligned rows
    "x=fp32[1,50257]": (16, 65536),  # few rows
    "x=bf16[4096,28672]": (1, 4096),  # three blocks of an SM keep a row each
    "x=bf16[32768,4096]": (1, 4096),  # in registers
}


@pytest.mark.parametrize("argument", CHOSEN)
def test_choice(argument):
    command = [
        "compile",
        f"{PROGRAMS}::softmax",
        "--arg",
        argument,
        "--via",
        "ptx",
        "--emit",
        "sched",
        "-o",
        "-",
    ]
    read = lambda target: run(*command, "--target", target)  # noqa: E731
    blocks, tile = CHOSEN[argument]
    text = read("sm_90")
    assert has_cluster(text, blocks) == (blocks > 1) and f"tile {tile}]" in text, text
    assert "cluster" not in read("sm_80")


DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8, "i64": np.int64}


def rows(element: str, size: int, tile: int, blocks: int, warps: int, kind: str) -> str:
    """y = x combined with the row's total, which is known in each iteration: once for each
    iteration before."""
    one, none = f"tensor<{tile}x{element}>", f"tensor<{element}>"
    x = view((size,), element)
    zero = "0.0" if element[0] == "f" else "0"
    join = {"sum": "add", "max": "maximum"}[kind]
    return f"""
    tile.kernel @k(%x: {x}, %y: {x}) grid 1 launch <num_warps = {warps}, cluster_size = {blocks}> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {-(-size // tile)} : index
      %z = tile.constant {zero} : {element} : {none}
      %all = scf.for %k = %c0 to %n step %c1 iter_args(%before = %z) -> ({none}) {{
        %t = tile.load %x[%k] dims [0] pad {zero} : {element} : {x} -> {one}
        %now = tile.reduce {kind} %t dims [0] : {one} -> {none}
        %both = tile.map {join}(%before, %now) : ({none}, {none}) -> {none}
        %wide = tile.broadcast %both dims [] : {none} -> {one}
        %d = tile.map {join}(%t, %wide) : ({one}, {one}) -> {one}
        tile.store %d, %y[%k] dims [0] bounded : {one}, {x}
        scf.yield %both : {none}
      }}
      tile.return
    }}"""


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize(
    ("element", "kind"),
    [("f32", "sum"), ("i32", "max"), ("i8", "sum"), ("f64", "sum"), ("i64", "sum")],
)
def test_code(element, kind, blocks):
    """Phases of a DSMEM buffer in a loop, elements of all sizes; threads of all CTAs compute in
    lockstep."""
    for size, tile, warps in [(1000, 512, 2), (2049, 256, 1), (4000, 1024, 4)]:
        text = ptx(rows(element, size, tile, blocks, warps, kind), "-tile-assign-layouts")
        assert f".reqnctapercluster {blocks}" in text and "st.async" in text
        x = (np.arange(size) * 7 % 23 - 11).astype(DTYPES[element])
        y = np.zeros_like(x)
        Kernel(text, "k").run(x, y)
        total, expected = DTYPES[element](0), np.zeros_like(x)
        for first in range(0, size, tile):
            part = x[first : first + tile]
            with np.errstate(all="ignore"):
                total = (
                    DTYPES[element](total + part.sum(dtype=DTYPES[element]))
                    if kind == "sum"
                    else max(total, part.max())
                )
                expected[first : first + tile] = (
                    part + total if kind == "sum" else np.maximum(part, total)
                )
        assert np.allclose(y, expected), (size, tile, warps)


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize(("rows", "columns", "warps"), [(16, 32, 2), (64, 32, 4), (32, 64, 8)])
def test_code_of_products(rows, columns, warps, blocks):
    """Integers have exact sums in any order."""
    over, steps = 32 * blocks, 3
    depth = over * steps - 16
    a, b, y = (
        view((rows, depth), "f16"),
        view((depth, columns), "f16"),
        view((rows, columns), "f32"),
    )
    sums = f"tensor<{rows}x{columns}xf32>"
    program = f"""
    tile.kernel @k(%x: {a}, %w: {b}, %y: {y}) grid 1 launch <num_warps = {warps}, cluster_size = {blocks}> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {steps} : index
      %z = tile.constant 0.0 : f32 : {sums}
      %all = scf.for %k = %c0 to %n step %c1 iter_args(%s = %z) -> ({sums}) {{
        %l = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : f16 : {a} -> tensor<{rows}x{over}xf16>
        %r = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : f16 : {b} -> tensor<{over}x{columns}xf16>
        %t = tile.mma %l, %r, %s : (tensor<{rows}x{over}xf16>, tensor<{over}x{columns}xf16>, {sums}) -> {sums}
        scf.yield %t : {sums}
      }}
      tile.store %all, %y[%c0, %c0] dims [0, 1] : {sums}, {y}
      tile.return
    }}"""
    text = ptx(program, "-tile-cluster-split-k", "-canonicalize", "-tile-assign-layouts")
    assert f".reqnctapercluster {blocks}" in text and ".v2.b32" in text
    random = np.random.default_rng(blocks)
    x, w = (
        random.integers(-4, 5, shape).astype(np.float16)
        for shape in ((rows, depth), (depth, columns))
    )
    result = np.zeros((rows, columns), np.float32)
    Kernel(text, "k").run(x, w, result)
    np.testing.assert_array_equal(result, x.astype(np.float32) @ w.astype(np.float32))
