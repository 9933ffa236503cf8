"""wgmma contractions: the matrix descriptors in the code, and the results."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from assemblers import PTXAS
from interpreter import Kernel
from ptx_values import TensorMap
from test_code import TOP
from test_tma import ELEMENTS, TESSERA, compiled, program, pytestmark  # noqa: F401

TURNED = {"nt": (False, True), "nn": (False, False), "tn": (True, False), "tt": (True, True)}


def negated(text: str, element: str, tile: tuple[int, int, int]) -> str:
    """With a computed left operand."""
    narrow, wide = (f"tensor<{tile[0]}x{tile[2]}x{kind}>" for kind in (element, "f32"))
    lines = f"""%wide = tile.cast %a : {narrow} -> {wide}
        %negative = tile.map neg(%wide) : ({wide}) -> {wide}
        %left = tile.cast %negative : {wide} -> {narrow}
        %next = tile.mma %left,"""
    return text.replace("%next = tile.mma %a,", lines)


def rounded(text: str, tile: tuple[int, int, int]) -> str:
    """With operands that are rounded to tf32."""
    m, n, k = tile
    shapes = [f"tensor<{shape}xf32>" for shape in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}")]
    left, right = (shape.replace("xf32", "xtf32") for shape in shapes[:2])
    before = f"tile.mma %a, %b, %acc : ({', '.join(shapes)})"
    assert before in text
    after = f"tile.mma %x32, %w32, %acc : ({left}, {right}, {shapes[2]})"
    lines = f"""%x32 = tile.cast %a : {shapes[0]} -> {left}
        %w32 = tile.cast %b : {shapes[1]} -> {right}
        %next ="""
    return text.replace("%next =", lines).replace(before, after)


def check(
    element: str,
    sizes: tuple[int, int, int],
    tile: tuple[int, int, int],
    turned: str,
    warps: int,
    computed: bool = False,
    blocks: int = 1,
    side: int | None = None,
) -> None:
    """Tiles split over several CTAs of a cluster: each has a part of K, or of rows or columns."""
    m, n, k = sizes
    batches = 2
    cluster = (
        f", cluster_size = {blocks}" + ("" if side is None else f", cluster_axis = {side}")
        if blocks > 1
        else ""
    )
    config = f"launch <num_warps = {warps}{cluster}> tuning <use_tma = 1, wgmma = 1>"
    text = program(element, sizes, tile, TURNED[turned], batches, config)
    if computed:
        text = negated(text, element, tile)
    if element == "f32":
        text = rounded(text, tile)
    module = compiled(text, "ptx")
    maps = TensorMap.of(re.search(r"tessera_target.launch.*", compiled(text, "target"))[0])
    columns = tile[1] // (blocks if side == 1 else 1)
    depth = 8 if element == "f32" else 16
    assert f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}" in module
    assert "mma.sync" not in module
    assert (
        "wgmma.wait_group.sync.aligned 1" in module
    ) != computed and "wgmma.wait_group.sync.aligned 0" in module
    if side is not None:
        assert f".reqnctapercluster {blocks}" in module and "st.async" not in module
        assert (
            ("multicast::cluster" in module)
            == ("mbarrier.arrive.shared::cluster" in module)
            == (warps > 4)
        )
    elif blocks > 1:
        # The CTA's own part stays in registers, the rest is sent in 16-byte chunks.
        assert (
            f".reqnctapercluster {blocks}" in module
            and "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32" in module
        )
        assert module.count("st.async") == tile[0] * tile[1] // (32 * warps) // 4 // blocks * (
            blocks - 1
        )
    if computed:
        # Each part of a warpgroup's rows loads its A operand into registers after the part before.
        assert module.count("wgmma.fence.sync.aligned") % (4 * tile[0] // (64 * warps)) == 0
    draw = np.random.default_rng(7)

    def operand(rows: int, columns: int, is_turned: bool) -> np.ndarray:
        values = draw.integers(-4, 5, (batches, rows, columns)).astype(ELEMENTS[element][0])
        return (
            np.ascontiguousarray(values.transpose(0, 2, 1)).transpose(0, 2, 1)
            if is_turned
            else values
        )

    x, w = operand(m, k, TURNED[turned][0]), operand(k, n, TURNED[turned][1])
    y = np.full((batches, m, n), 99, np.float32)
    i, j = m // tile[0], n // tile[1]  # the last tile, which is partial
    Kernel(module, "k").run(x, w, y, i, j, maps=maps)
    # Sums of small integers are exact.
    exact = x[1].astype(np.float64) @ w[1].astype(np.float64) * (-1 if computed else 1)
    expected = np.full_like(y, 99)
    part = np.s_[1, i * tile[0] : (i + 1) * tile[0], j * tile[1] : (j + 1) * tile[1]]
    expected[part] = exact[part[1:]]
    assert (y == expected).all()


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_transpositions(element, turned):
    check(element, (200, 136, 152), (128, 128, 64), turned, warps=8)


@pytest.mark.parametrize(
    ("tile", "warps"),
    [
        ((64, 256, 64), 4),
        ((128, 256, 64), 8),
        ((256, 128, 64), 8),
        ((128, 64, 64), 4),
        ((64, 16, 64), 4),
    ],
)
@pytest.mark.parametrize("turned", ["nn", "nt"])
def test_tiles(tile, warps, turned):
    """Warpgroups stacked along M, several instructions per warpgroup along M, few and many
    columns."""
    check("bf16", (tile[0] + 72, tile[1] + 8, 136), tile, turned, warps)


@pytest.mark.parametrize(
    ("turned", "tile"), [("nn", (128, 128, 64)), ("nt", (128, 64, 32)), ("tn", (256, 64, 64))]
)
def test_left_in_registers(turned, tile):
    check("bf16", (tile[0] + 72, tile[1] + 8, 136), tile, turned, warps=8, computed=True)


@pytest.mark.parametrize(
    ("depth", "turned"), [(16, "nt"), (32, "nt"), (32, "tn"), (128, "nt"), (128, "nn")]
)
def test_spans(depth, turned):
    """Swizzles of 32 and 64 bytes, and k-steps of several spans."""
    check("bf16", (136, 72, 2 * depth + 8), (64, 64, depth), turned, warps=4)


@pytest.mark.parametrize(
    "bounds", [(0, 2, 3), (1, 1, 3), (2, 1, 3), (3, 0, 2), (0, 2, 1), (3, 1, 1), (2, 1, 0)]
)
def test_bounds(bounds):
    """A loop after another one takes its tiles from the same stages, unless the first one's bounds
    are reversed."""
    m, n, k = sizes = (128, 64, 192)
    text = program(
        "bf16",
        sizes,
        (128, 64, 64),
        TURNED["nn"],
        1,
        "launch <num_warps = 8> tuning <num_stages = 3, use_tma = 1, wgmma = 1>",
        place=0,
    )
    start, end = text.index("%sum = scf.for"), text.index("tile.store")
    loop = text[start:end]
    first = loop.replace("%sum", "%before").replace("%c0 to %n", "%first to %end")
    text = (
        text[:start]
        + first
        + loop.replace("= %zero", "= %before").replace("%c0 to %n", "%end to %last")
        + text[end:]
    )
    text = text.replace("%j: index)", "%j: index, %first: index, %end: index, %last: index)")
    text = text.replace('sizes ["0", "0"]', 'sizes ["0", "0", "{}", "{}", "{}"]'.format(*bounds))
    placed = compiled(text, "placed")
    assert (
        placed.count("= tile.mbarrier_alloc") == (2 if bounds[0] <= bounds[1] else 4)
        and "tile.mbarrier_arrive" in placed
    )
    draw = np.random.default_rng(7)
    x, w = (
        draw.integers(-4, 5, (1, *shape)).astype(ELEMENTS["bf16"][0]) for shape in ((m, k), (k, n))
    )
    y = np.full((1, m, n), 99, np.float32)
    maps = TensorMap.of(re.search(r"tessera_target.launch.*", compiled(text, "target"))[0])
    Kernel(compiled(text, "ptx"), "k").run(x, w, y, 0, 0, *bounds, maps=maps)
    taken = [
        iteration * 64 + i
        for iteration in (*range(*bounds[:2]), *range(*bounds[1:]))
        for i in range(64)
    ]
    assert (y[0] == x[0][:, taken].astype(np.float64) @ w[0][taken].astype(np.float64)).all()


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_shared_transpositions(element, turned):
    """Two CTAs of a cluster, of which the second has a shorter K, and nothing in the last
    k-step."""
    check(element, (200, 248, 312), (128, 128, 128), turned, warps=8, blocks=2)


@pytest.mark.parametrize(
    ("tile", "warps", "blocks"),
    [
        ((128, 128, 256), 8, 4),
        ((128, 128, 128), 4, 2),
        ((64, 256, 128), 4, 2),
        ((256, 64, 128), 8, 2),
        ((64, 64, 512), 4, 8),
        ((64, 16, 128), 4, 2),
        ((128, 64, 64), 8, 4),
    ],
)
def test_shared_tiles(tile, warps, blocks):
    check(
        "bf16", (tile[0] + 72, 2 * tile[1] - 8, 2 * tile[2] + 40), tile, "nn", warps, blocks=blocks
    )


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize(
    ("side", "blocks", "tile"),
    [
        (1, 2, (128, 128, 64)),
        (0, 2, (256, 128, 64)),
        (1, 4, (128, 256, 128)),
        (0, 4, (512, 64, 64)),
        (0, 2, (256, 256, 64)),
    ],
)
def test_split_tiles(side, blocks, tile, turned):
    """CTAs of a cluster that have rows (0) or columns (1) of the accumulator: one operand is loaded
    in parts, each multicast to all of them."""
    check(
        "bf16",
        (2 * tile[0] - 56, 2 * tile[1] - 40, 312),
        tile,
        turned,
        warps=8,
        blocks=blocks,
        side=side,
    )


def test_split_by_one_warpgroup():
    """There is no multicast if a CTA barrier releases stages."""
    check("bf16", (72, 120, 312), (64, 128, 64), "nn", warps=4, blocks=2, side=1)


@pytest.mark.parametrize("turned", ["nn", "tn"])
def test_shared_with_left_in_registers(turned):
    check("bf16", (200, 136, 312), (128, 128, 128), turned, warps=8, computed=True, blocks=2)


def doubled(text: str, tile: tuple[int, int, int]) -> str:
    """With twice the contraction of the first columns added to that of the others."""
    sums, right = f"tensor<{tile[0]}x{tile[1]}xf32>", f"tensor<{tile[2]}x{tile[1]}xbf16>"
    text = text.replace("%sum = scf.for", "%both:2 = scf.for").replace(
        "iter_args(%acc = %zero)", "iter_args(%acc = %zero, %more = %zero)"
    )
    text = text.replace(f"-> ({sums}) {{", f"-> ({sums}, {sums}) {{").replace(
        f"scf.yield %next : {sums}", f"scf.yield %next, %another : {sums}, {sums}"
    )
    load = next(line for line in text.splitlines() if "%b = tile.load" in line)
    product = next(line for line in text.splitlines() if "%next = tile.mma" in line)
    text = text.replace(load, load + "\n" + load.replace("%b =", "%first =").replace("%j]", "%c0]"))
    text = text.replace(
        product,
        product
        + f"\n%another = tile.mma %a, %first, %more : (tensor<{tile[0]}x{tile[2]}xbf16>, {right}, {sums}) -> {sums}",
    )
    joined = f"%twice = tile.map add(%both#1, %both#1) : ({sums}, {sums}) -> {sums}\n%sum = tile.map add(%both#0, %twice) : ({sums}, {sums}) -> {sums}\n"
    return text.replace("tile.store %sum", joined + "tile.store %sum")


@pytest.mark.parametrize(
    ("turned", "tile", "columns"),
    [
        ("nn", (128, 64, 64), 128),  # each right operand is one piece
        ("tn", (256, 64, 64), 128),
        ("nn", (128, 32, 64), 64),  # of a narrower span
        ("nt", (128, 64, 64), 64),  # pieces across the columns
        ("nn", (128, 128, 64), 128),  # several pieces each
    ],
)
def test_two_products_of_one_left_operand(turned, tile, columns):
    """One instruction computes both if their right operands are parts of one matrix."""
    m, n, k = tile[0] + 72, tile[1] + 8, 136
    config = "launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1>"
    text = doubled(program("bf16", (m, n, k), tile, TURNED[turned], 1, config), tile)
    module = compiled(text, "ptx")
    assert set(re.findall(r"wgmma.mma_async.sync.aligned.m64n(\d+)k16", module)) == {str(columns)}
    maps = TensorMap.of(re.search(r"tessera_target.launch.*", compiled(text, "target"))[0])
    draw = np.random.default_rng(7)
    x, w = (
        draw.integers(-4, 5, (1, *shape)).astype(ELEMENTS["bf16"][0]) for shape in ((m, k), (k, n))
    )
    x, w = (
        np.ascontiguousarray(one.transpose(0, 2, 1)).transpose(0, 2, 1) if iteration else one
        for one, iteration in zip((x, w), TURNED[turned])
    )
    y = np.full((1, m, n), 99, np.float32)
    Kernel(module, "k").run(x, w, y, 0, 1, maps=maps)
    wide = [one[0].astype(np.float64) for one in (x, w)]
    exact = wide[0] @ wide[1]
    expected = np.full_like(y, 99)
    expected[0, : tile[0], tile[1] :] = (exact[:, tile[1] :] + 2 * exact[:, : n - tile[1]])[
        : tile[0]
    ]
    assert (y == expected).all()


@pytest.mark.parametrize(("turned", "stages"), [("nn", 2), ("nt", 3), ("tn", 4)])
def test_synchronisation(tmp_path, turned, stages):
    """Nothing is found, and every fence, wait, commit and barrier is needed: no mutant survives."""
    config = f"launch <num_warps = 8> tuning <num_stages = {stages}, use_tma = 1, wgmma = 1>"
    text = compiled(
        program("bf16", (128, 64, 328), (128, 64, 64), TURNED[turned], 1, config, place=0), "placed"
    )
    assert "tile.wgmma" in text and "tile.wgmma_wait 1" in text
    file = tmp_path / "placed.mlir"
    file.write_text(text)
    command = [
        TESSERA,
        "simulate",
        file,
        "--arg",
        "x=bf16[1,128,328]",
        "--arg",
        "w=bf16[1,328,64]",
        "--mutants",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    reported = re.findall(
        r"^(tile\.wgmma\w*) +\S+ +(.*?)  +(killed|equivalent|not reached|survived)",
        done.stdout,
        re.MULTILINE,
    )
    assert {name for name, *_ in reported} == {
        "tile.wgmma_fence",
        "tile.wgmma",
        "tile.wgmma_commit",
        "tile.wgmma_wait",
    }
    # Before the wait at the mbarrier, too, the fence comes after the register accesses.
    assert [one for one in reported if one[2] != "killed"] == [
        ("tile.wgmma_fence", "too early", "equivalent")
    ], done.stdout


def stream(stages: int, iterations: int) -> str:
    """Two contractions in an iteration, with work on the first accumulator between them and on the
    second in the next iteration."""
    rows, keys = (
        "!tile.view<128x64xbf16, strides = [64, 1]>",
        f"!tile.view<{64 * iterations}x64xbf16, strides = [64, 1]>",
    )
    out, sums, narrow, tile = (
        "!tile.view<128x64xf32, strides = [64, 1]>",
        "tensor<128x64xf32>",
        "tensor<128x64xbf16>",
        "tensor<64x64xbf16>",
    )
    shapes = [
        "!gir.tensor<128, 64, bf16>",
        *[f"!gir.tensor<{64 * iterations}, 64, bf16>"] * 2,
        "!gir.tensor<128, 64, f32>",
    ]
    views = ", ".join(
        f'#tile.operand<offset "0", sizes ["{size}", "64"], strides ["64", "1"]>'
        for size in (128, 64 * iterations, 64 * iterations, 128)
    )
    return f"""
    func.func @host(%q: {shapes[0]} {{gir.name = "q"}}, %k: {shapes[1]} {{gir.name = "k"}}, %v: {shapes[2]} {{gir.name = "v"}}) -> {shapes[3]} {{
      %y = tile.empty : {shapes[3]}
      tile.launch @s grid ["1"] (%q, %k, %v, %y) views [{views}] sizes ["{iterations}"] : {", ".join(shapes)}
      return %y : {shapes[3]}
    }}
    tile.kernel @s(%q: {rows}, %k: {keys}, %v: {keys}, %y: {out}, %n: index) grid 1 launch <num_warps = 8> tuning <num_stages = {stages}, use_tma = 1, wgmma = 1> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = tile.constant 0.0 : f32 : {sums}
      %none = tile.constant 0.0 : f32 : tensor<128xf32>
      %a = tile.load %q[%c0, %c0] dims [0, 1] : {rows} -> {narrow}
      %both:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %total = %none) -> ({sums}, tensor<128xf32>) {{
        %kt = tile.load %k[%i, %c0] dims [1, 0] : {keys} -> {tile}
        %s = tile.mma %a, %kt, %zero : ({narrow}, {tile}, {sums}) -> {sums}
        %e = tile.map mul(%s, %s) : ({sums}, {sums}) -> {sums}
        %sum = tile.reduce sum %e dims [1] : {sums} -> tensor<128xf32>
        %more = tile.map add(%total, %sum) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
        %twice = tile.map add(%acc, %acc) : ({sums}, {sums}) -> {sums}
        %p = tile.cast %e : {sums} -> {narrow}
        %vt = tile.load %v[%i, %c0] dims [0, 1] : {keys} -> {tile}
        %next = tile.mma %p, %vt, %twice : ({narrow}, {tile}, {sums}) -> {sums}
        scf.yield %next, %more : {sums}, tensor<128xf32>
      }}
      %scale = tile.broadcast %both#1 dims [0] : tensor<128xf32> -> {sums}
      %result = tile.map add(%both#0, %scale) : ({sums}, {sums}) -> {sums}
      tile.store %result, %y[%c0, %c0] dims [0, 1] : {sums}, {out}
      tile.return
    }}"""


@pytest.mark.parametrize(("stages", "iterations"), [(2, 5), (3, 6)])
def test_iterations(tmp_path, stages, iterations):
    """Warpgroups that drift apart release stages at mbarriers: no findings, and every arrival, wait
    and phase is necessary."""
    text = compiled(stream(stages, iterations), "placed")
    loop = text[text.rindex("scf.for") :]
    assert (
        "tile.mbarrier_arrive" in loop
        and "empty" in loop
        and "tile.barrier" not in loop[: loop.index("scf.yield")]
    )
    file = tmp_path / "placed.mlir"
    file.write_text(text)
    types = ["q=bf16[128,64]", f"k=bf16[{64 * iterations},64]", f"v=bf16[{64 * iterations},64]"]
    command = [
        TESSERA,
        "simulate",
        file,
        *(word for one in types for word in ("--arg", one)),
        "--mutants",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    reported = re.findall(
        r"^(tile\.\w+) +(\S+) +(.*?)  +(killed|equivalent|not reached|survived)",
        done.stdout,
        re.MULTILINE,
    )
    assert {name for name, *_ in reported} >= {
        "tile.mbarrier_arrive",
        "tile.tma_load",
        "tile.mbarrier_wait",
        "tile.wgmma",
        "tile.wgmma_wait",
    }
    # Waits that the first iteration does not need, and those after the last one, are outside of the
    # loop.
    first = text[: text.rindex("scf.for")].count("\n") + 1
    last = first + loop[: loop.index("scf.yield")].count("\n")
    spared = [
        (name, change) for name, place, change, fate in reported
        if name in ("tile.mbarrier_arrive", "tile.tma_load", "tile.mbarrier_wait") and first <= int(place.split(":")[1]) <= last and fate != "killed"
    ]  # fmt: skip
    assert spared == [("tile.mbarrier_wait", "too early")], done.stdout


@pytest.mark.parametrize("function", ["attention", "causal_attention"])
def test_chosen_iterations(tmp_path, function):
    """The configuration for long rows releases stages at mbarriers, and loops over the last
    iterations take tiles from them: no findings on shorter rows."""

    def typed(shape: str) -> list[str]:
        return [word for name in "qkv" for word in ("--arg", f"{name}=bf16[{shape}]")]

    file, target = tmp_path / "placed.mlir", ["--target", "sm_90", "--via", "ptx"]
    source = f"{TOP / 'benchmarks/gpu/programs.py'}::{function}"
    subprocess.run(
        [
            TESSERA,
            "compile",
            source,
            *typed("B,1,2048,128"),
            *target,
            "--emit",
            "placed",
            "-o",
            file,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    text = file.read_text()
    assert "tile.mbarrier_arrive" in text and re.search(r"tile.tma_load .* empty ", text)
    done = subprocess.run(
        [TESSERA, "simulate", file, *typed("2,1,448,128"), "--seeds", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("stages", "iterations"), [(2, 1), (3, 0), (3, 1), (3, 2), (4, 2), (4, 4)])
def test_few_iterations(tmp_path, stages, iterations):
    """No iteration, fewer iterations than stages, or as many."""
    file = tmp_path / "placed.mlir"
    file.write_text(compiled(stream(stages, iterations), "placed"))
    types = ["q=bf16[128,64]", f"k=bf16[{64 * iterations},64]", f"v=bf16[{64 * iterations},64]"]
    command = [
        TESSERA,
        "simulate",
        file,
        *(word for one in types for word in ("--arg", one)),
        "--seeds",
        "4",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr


BIASED = """
import tessera as tsr


@tsr.function
def biased(q, k, v, a, b):
    s = q @ k.mT
    return tsr.softmax(tsr.where(s > 0, a * (s * b), s), dim=-1) @ v
"""


def test_tiles_that_wait_together(tmp_path):
    """Among the tiles of one mbarrier, the first to be used waits for it, whichever is loaded
    first."""
    file = tmp_path / "biased.py"
    file.write_text(BIASED)
    types = [*(f"{name}=bf16[2,256,64]" for name in "qkv"), "a=fp32[256,256]", "b=fp32[256,256]"]
    command = [
        TESSERA,
        "simulate",
        f"{file}::biased",
        *(word for one in types for word in ("--arg", one)),
        "--target",
        "sm_90",
        "--via",
        "ptx",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr


def test_shared_synchronisation(tmp_path):
    """For CTAs that split a contraction as well."""
    text = compiled(
        program(
            "bf16",
            (128, 64, 600),
            (128, 64, 128),
            TURNED["nn"],
            1,
            "launch <num_warps = 8, cluster_size = 2> tuning <num_stages = 2, use_tma = 1, wgmma = 1>",
            place=0,
        ),
        "placed",
    )
    file = tmp_path / "placed.mlir"
    file.write_text(text)
    command = [
        TESSERA,
        "simulate",
        file,
        "--arg",
        "x=bf16[1,128,600]",
        "--arg",
        "w=bf16[1,600,64]",
        "--mutants",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr
    reported = re.findall(
        r"^(tile\.\w+) +\S+ +(.*?)  +(killed|equivalent|not reached|survived)",
        done.stdout,
        re.MULTILINE,
    )
    assert {
        "tile.wgmma",
        "tile.wgmma_wait",
        "tile.tma_load",
        "tile.mbarrier_wait",
        "tile.cluster_arrive",
        "tile.cluster_wait",
        "tile.dsmem_store",
        "tile.dsmem_wait",
    } <= {name for name, *_ in reported}
    # The last barrier separates the reads of the loop from the writes of the epilogue, when all
    # reads are done.
    left = {(name, change) for name, change, fate in reported if fate != "killed"}
    assert left <= {
        ("tile.wgmma_fence", "too early"),
        ("tile.barrier", "too early"),
        ("tile.barrier", "weakened to the warp"),
    }, done.stdout


@pytest.mark.parametrize(("side", "blocks", "stages"), [(1, 2, 2), (1, 2, 4), (0, 2, 5), (1, 4, 6)])
def test_split_synchronisation(tmp_path, side, blocks, stages):
    """CTAs with multicast operands: all of them have to release the stages."""
    m, n = (128 * blocks, 64) if side == 0 else (128, 64 * blocks)
    launch = f"launch <num_warps = 8, cluster_size = {blocks}, cluster_axis = {side}>"
    config = f"{launch} tuning <num_stages = {stages}, use_tma = 1, wgmma = 1>"
    text = compiled(
        program("bf16", (m, n, 600), (m, n, 64), TURNED["nn"], 1, config, place=0), "placed"
    )
    assert "multicast" in text and "tile.mbarrier_arrive cluster" in text
    file = tmp_path / "placed.mlir"
    file.write_text(text)
    command = [
        TESSERA,
        "simulate",
        file,
        "--arg",
        f"x=bf16[1,{m},600]",
        "--arg",
        f"w=bf16[1,600,{n}]",
        "--mutants",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr
    reported = re.findall(
        r"^(tile\.\w+) +\S+ +(.*?)  +(killed|equivalent|not reached|survived)",
        done.stdout,
        re.MULTILINE,
    )
    assert ("tile.mbarrier_arrive", "in its own CTA only", "killed") in reported
    assert {
        ("tile.cluster_arrive", "removed", "killed"),
        ("tile.cluster_wait", "removed", "killed"),
        ("tile.mbarrier_arrive", "removed", "killed"),
    } <= set(reported)
    left = {(name, change) for name, change, fate in reported if fate != "killed"}
    assert left <= {
        ("tile.wgmma_fence", "too early"),
        ("tile.barrier", "too early"),
        ("tile.barrier", "weakened to the warp"),
    }, done.stdout


SCALED = """
import tessera as tsr


@tsr.function
def scaled(q, k, v):
    s = q @ k.mT
    m = tsr.amax(s, dim=-1)
    p = tsr.exp(s - m[:, None])
    return (p.to(q.dtype) @ v) * (p.sum(dim=-1)[:, None] + m[:, None])
"""


@pytest.mark.parametrize("length", [64, 152])
def test_memory_in_flight(tmp_path, length):
    """Shared memory that an MMA still reads is not reused by a layout conversion before its
    wait."""
    file = tmp_path / "scaled.py"
    file.write_text(SCALED)
    types = {"q": 128, "k": length, "v": length}
    command = [TESSERA, "simulate", f"{file}::scaled", "--target", "sm_90", "--via", "ptx"]
    command += [
        word for name, rows in types.items() for word in ("--arg", f"{name}=bf16[{rows},64]")
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr


ROTATED = """
import tessera as tsr
from tessera import Tensor


@tsr.function
def rotated(x: Tensor["B", "S", "D"], w: Tensor["D", "D"], cos: Tensor["S", "F"], sin: Tensor["S", "F"]):
    low, high = tsr.split((x @ w).reshape(B, S, D // (2 * F), 2 * F).transpose(1, 2), F, dim=-1)
    return tsr.concat([low * cos - high * sin, high * cos + low * sin], dim=-1)
"""


def rotated(folder: Path, stage: str) -> Path:
    """The contraction with rotary halves, as chosen for large sizes."""
    file, made = folder / "rotated.py", folder / f"{stage}.mlir"
    file.write_text(ROTATED)
    types = ["x=bf16[2,4096,4096]", "w=bf16[4096,4096]", "cos=bf16[4096,64]", "sin=bf16[4096,64]"]
    arguments = [word for one in types for word in ("--arg", one)]
    command = [
        TESSERA,
        "compile",
        f"{file}::rotated",
        *arguments,
        "--target",
        "sm_90",
        "--via",
        "ptx",
        "--emit",
        stage,
        "-o",
        made,
    ]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return made


def test_accumulators_keep_their_layout(tmp_path):
    """The accumulators of two contractions keep their layout, and the operands of the work between
    them are converted."""
    placed = rotated(tmp_path, "placed")
    sums = re.search(r"(%\d+):2 = tile.wgmma_wait 0", placed.read_text())[1]
    assert f"tile.shared_store {sums}#" not in placed.read_text()
    types = ["x=bf16[1,264,256]", "w=bf16[256,256]", "cos=bf16[264,64]", "sin=bf16[264,64]"]
    command = [
        TESSERA,
        "simulate",
        placed,
        *(word for one in types for word in ("--arg", one)),
        "--seeds",
        "2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(not PTXAS, reason="unsupported: ptxas is not installed")
def test_kept_accumulators_do_not_spill(tmp_path):
    command = [PTXAS, "-arch=sm_90a", "-v", rotated(tmp_path, "ptx"), "-o", tmp_path / "k.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not re.search(r"[1-9]\d* bytes spill", done.stderr), done.stderr


def arguments_of(source: Path, function: str) -> list[str]:
    """The names of a function's arguments."""
    tree = ast.parse(source.read_text())
    found = next(
        one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == function
    )
    return [argument.arg for argument in found.args.args]


SQUARE = ("bf16[4096,4096]",) * 2
HEADS = {depth: (f"bf16[4,16,2048,{depth}]",) * 3 for depth in (64, 128, 256)}


@pytest.mark.parametrize(
    ("function", "types"),
    [
        ("matmul", SQUARE), ("matmul_nt", SQUARE), ("matmul_tn", SQUARE), ("matmul", ("bf16[2048,2048]",) * 2), ("matmul", ("fp16[1000,1000]",) * 2),
        ("matmul_nt", ("bf16[1000,1000]",) * 2), ("matmul", ("bf16[512,2048]", "bf16[2048,1024]")), ("matmul", ("bf16[64,8192]", "bf16[8192,8192]")),
        ("linear_gelu", (*SQUARE, "bf16[4096]")), ("swiglu", (*SQUARE, SQUARE[0])), ("batched_matmul", ("bf16[16,2048,2048]",) * 2),
        *(("attention", types) for types in HEADS.values()), ("causal_attention", HEADS[64]), ("causal_attention", HEADS[128]),
        ("window_attention", HEADS[64]), ("window_attention", HEADS[128]),
    ],
)  # fmt: skip
@pytest.mark.skipif(not PTXAS, reason="unsupported: ptxas is not installed")
def test_chosen_code(tmp_path, function, types):
    """The cost model's choice uses wgmma without spills, and the assembler does not serialize
    it."""
    source = TOP / "benchmarks/gpu/programs.py"
    arguments = [
        word
        for name, one in zip(arguments_of(source, function), types)
        for word in ("--arg", f"{name}={one}")
    ]
    command = [
        TESSERA,
        "compile",
        f"{source}::{function}",
        *arguments,
        "--target",
        "sm_90",
        "--via",
        "ptx",
        "--emit",
        "ptx",
        "-o",
        tmp_path / "k.ptx",
    ]
    subprocess.run(command, capture_output=True, text=True, check=True)
    text = (tmp_path / "k.ptx").read_text()
    assert "wgmma.mma_async" in text and "mma.sync" not in text
    done = subprocess.run(
        [PTXAS, "-arch=sm_90a", "-v", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "serialized" not in done.stderr and not re.search(
        r"[1-9]\d* bytes spill", done.stderr
    ), done.stderr
