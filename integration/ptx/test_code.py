"""The generated code, run by an interpreter: layout conversions, reductions, scans and contractions
give correct results."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from interpreter import Kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cpu"))
from harness import numpy_dtype  # noqa: E402

TOP = Path(__file__).resolve().parents[2]
OPT = TOP / "build/bin/tessera-opt"
PROGRAMS = TOP / "test/CodeGen/PTX"
TARGET = "-tessera-attach-target=chip=sm_90a"
SHARED = [
    "-tile-lower-layout-conversions",
    "-tile-prefetch-mma-operands",
    "-tile-allocate-shared",
    "-tile-place-barriers",
    "-print-ptx",
    "-o",
    "/dev/null",
]
DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}
pytestmark = pytest.mark.skipif(not OPT.exists(), reason="unsupported: tessera-opt is not built")


def ptx(program: str | Path, *passes: str) -> str:
    text = program.read_text() if isinstance(program, Path) else program
    return subprocess.run(
        [OPT, "-", TARGET, *passes, *SHARED], input=text, capture_output=True, text=True, check=True
    ).stdout


def tile(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def view(shape: tuple[int, ...], element: str) -> str:
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return f"!tile.view<{''.join(f'{size}x' for size in shape)}{element}{f', strides = {strides}' if shape else ''}>"


def access(shape: tuple[int, ...]) -> str:
    """The whole of a tensor, as a tile."""
    return f"[{', '.join(['%c0'] * len(shape))}] dims {list(range(len(shape)))}"


def draw(shape: tuple[int, ...], element: str) -> np.ndarray:
    return (np.random.default_rng(len(shape)).standard_normal(shape) * 10).astype(DTYPES[element])


def roundoff(element: str) -> float:
    return 1e-4 if element == "f32" else 1e-12


@pytest.mark.parametrize(
    ("shape", "dim", "warps", "element", "kind"),
    [
        ((1024,), 0, 4, "f32", "sum"),
        ((16384,), 0, 4, "f32", "sum"),  # more runs than a thread gathers
        ((16384,), 0, 8, "i64", "sum"),
        ((4, 512), 1, 4, "f32", "sum"),
        ((64, 64), 0, 4, "f32", "sum"),
        ((16, 256), 0, 8, "i32", "max"),
        ((8, 2, 128), 1, 4, "f64", "sum"),
    ],
)
def test_scans(shape, dim, warps, element, kind):
    rest = shape[:dim] + shape[dim + 1 :]
    first = {"sum": "0", "max": "-1000"}[kind] + (".0" if element[0] == "f" else "")
    program = f"""
    tile.kernel @k(%x: {view(shape, element)}, %y: {view(shape, element)}, %t: {view(rest, element)}) grid 1 launch <num_warps = {warps}> {{
      %c0 = arith.constant 0 : index
      %a = tile.load %x{access(shape)} : {view(shape, element)} -> {tile(shape, element)}
      %z = tile.constant {first} : {element} : {tile(rest, element)}
      %b, %c = tile.scan {kind} %a from %z dim {dim} : {tile(shape, element)}, {tile(rest, element)}
      tile.store %b, %y{access(shape)} : {tile(shape, element)}, {view(shape, element)}
      tile.store %c, %t{access(rest)} : {tile(rest, element)}, {view(rest, element)}
      tile.return
    }}"""
    x = draw(shape, element)
    y, total = np.zeros_like(x), np.zeros(rest, x.dtype)
    Kernel(ptx(program, "-tile-assign-layouts"), "k").run(x, y, total)
    expected = {"sum": np.cumsum, "max": np.maximum.accumulate}[kind](
        x.astype(np.float64), axis=dim
    )
    bound = roundoff(element) * np.abs(x).sum()
    np.testing.assert_allclose(y, expected, atol=bound)
    np.testing.assert_allclose(total, np.take(expected, -1, axis=dim), atol=bound)


@pytest.mark.parametrize(
    ("shape", "dims", "warps", "element", "kind"),
    [
        ((8, 1024), [1], 8, "f32", "sum"),
        ((8, 1024), [0], 8, "f32", "max"),
        ((256, 64), [0], 4, "i32", "sum"),
        ((16, 16, 16), [0, 2], 4, "f32", "sum"),
        ((4096,), [0], 16, "i64", "min"),
        ((2, 64, 64), [0, 1], 8, "f64", "sum"),
        ((64, 8), [0, 1], 4, "f32", "sum"),
        ((8,), [0], 4, "f32", "sum"),  # held several times
    ],
)
def test_reductions(shape, dims, warps, element, kind):
    rest = tuple(size for dim, size in enumerate(shape) if dim not in dims)
    program = f"""
    tile.kernel @k(%x: {view(shape, element)}, %y: {view(rest, element)}) grid 1 launch <num_warps = {warps}> {{
      %c0 = arith.constant 0 : index
      %a = tile.load %x{access(shape)} : {view(shape, element)} -> {tile(shape, element)}
      %b = tile.reduce {kind} %a dims {dims} : {tile(shape, element)} -> {tile(rest, element)}
      tile.store %b, %y{access(rest)} : {tile(rest, element)}, {view(rest, element)}
      tile.return
    }}"""
    x = draw(shape, element)
    y = np.zeros(rest, x.dtype)
    Kernel(ptx(program, "-tile-assign-layouts"), "k").run(x, y)
    expected = {"sum": np.sum, "max": np.max, "min": np.min}[kind](
        x.astype(np.float64), axis=tuple(dims)
    )
    np.testing.assert_allclose(y, expected, atol=roundoff(element) * np.abs(x).sum())


@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize("warps", [1, 4])
def test_positions(element, warps):
    """The first of the largest elements, and NaN before all: a thread searches its own from the
    last to the first."""
    kind = {"f16": np.float16, "f32": np.float32}[element]
    loaded = f"tile.load %x[%c0] dims [0] : {view((1024,), element)} -> tensor<1024x{element}>"
    wide = (
        f"%a = {loaded}\n%e = tile.cast %a : tensor<1024xf16> -> tensor<1024xf32>"
        if element == "f16"
        else f"%e = {loaded}"
    )
    program = f"""
    tile.kernel @k(%x: {view((1024,), element)}, %y: {view((), "i32")}) grid 1 launch <num_warps = {warps}> {{
      %c0 = arith.constant 0 : index
      %start = arith.constant 7 : index
      %none = tile.constant 2147483647 : i32 : tensor<1024xi32>
      {wide}
      %m = tile.reduce max %e dims [0] : tensor<1024xf32> -> tensor<f32>
      %g = tile.broadcast %m dims [] : tensor<f32> -> tensor<1024xf32>
      %eq = tile.map eq(%e, %g) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xi1>
      %nan = tile.map ne(%e, %e) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xi1>
      %hit = tile.map bitwise_or(%eq, %nan) : (tensor<1024xi1>, tensor<1024xi1>) -> tensor<1024xi1>
      %i = tile.iota %start : tensor<1024xi32>
      %p = tile.map where(%hit, %i, %none) : (tensor<1024xi1>, tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi32>
      %r = tile.reduce min %p dims [0] : tensor<1024xi32> -> tensor<i32>
      tile.store %r, %y[] dims [] : tensor<i32>, {view((), "i32")}
      tile.return
    }}"""
    kernel = Kernel(ptx(program, "-tile-assign-layouts"), "k")
    for nans in ((), (1023,), (0, 5), (1022, 513), range(1024)):
        x = np.random.default_rng(3).integers(-3, 4, 1024).astype(kind)
        x[list(nans)] = np.nan
        y = np.zeros((), np.int32)
        kernel.run(x, y)
        assert y == 7 + x.argmax(), nans


def test_random_bits():
    """Philox in 32 bits: the vectors of Random123, all four words."""
    program = f"""
    tile.kernel @k(%x: {view((3, 64), "i64")}, %y: {view((2, 64), "i64")}) grid 1 launch <num_warps = 2> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %n = tile.load %x[%c0, %c0] dims [1] : {view((3, 64), "i64")} -> tensor<64xi64>
      %s = tile.load %x[%c1, %c0] dims [1] : {view((3, 64), "i64")} -> tensor<64xi64>
      %k = tile.load %x[%c2, %c0] dims [1] : {view((3, 64), "i64")} -> tensor<64xi64>
      %a = tile.map philox(%n, %s, %k) : (tensor<64xi64>, tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
      %b = tile.map philox_upper(%n, %s, %k) : (tensor<64xi64>, tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
      tile.store %a, %y[%c0, %c0] dims [1] : tensor<64xi64>, {view((2, 64), "i64")}
      tile.store %b, %y[%c1, %c0] dims [1] : tensor<64xi64>, {view((2, 64), "i64")}
      tile.return
    }}"""
    x, y = np.zeros((3, 64), np.uint64), np.zeros((2, 64), np.uint64)
    x[:, 1] = 2**64 - 1
    x[:, 2] = 0x85A308D3243F6A88, 0x0370734413198A2E, 0x299F31D0A4093822
    Kernel(ptx(program, "-tile-assign-layouts"), "k").run(x.view(np.int64), y.view(np.int64))
    assert y[0, :3].tolist() == [0xE169C58D6627E8D5, 0x41C83B0E408F276D, 0x94FDCCEBD16CFE09]
    assert y[1, :3].tolist() == [0x9B00DBD8BC57AC4C, 0x6D5451FDA20BC7C6, 0x24126EA15001E420]


@pytest.mark.parametrize("factor", [1.0, 1.25])
def test_approximate_gelu(factor):
    """On all numbers of bf16: the polynomial is off by at most 2^-14.3 of the result, and 1/2 - t
    is rounded to 2^-25."""
    erf = np.vectorize(math.erf, otypes=[float])
    program = f"""
    tile.kernel @k(%x: {view((65536,), "f32")}, %y: {view((65536,), "f32")}) grid 1 launch <num_warps = 32> {{
      %c0 = arith.constant 0 : index
      %a = tile.load %x{access((65536,))} : {view((65536,), "f32")} -> tensor<65536xf32>
      %f = tile.constant {factor} : f32 : tensor<65536xf32>
      %g = tile.map gelu_erf(%a) fast : (tensor<65536xf32>) -> tensor<65536xf32>
      %b = tile.map mul(%g, %f) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
      tile.store %b, %y{access((65536,))} : tensor<65536xf32>, {view((65536,), "f32")}
      tile.return
    }}"""
    x = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)
    y = np.zeros_like(x)
    code = ptx(
        program,
        "-tile-expand-math",
        "-canonicalize",
        "-tile-assign-layouts",
    )
    assert "setp" not in code.split("ld.global", 1)[1], "no bounds, no choices"
    Kernel(code, "k").run(x, y)
    assert (
        np.isnan(y[np.isnan(x)]).all()
        and y[x == np.inf] == np.inf
        and np.isnan(y[x == -np.inf]).all()
    )
    finite = np.isfinite(x)
    wide, found = x[finite].astype(np.float64), y[finite].astype(np.float64)
    exact = factor * wide / 2 * (1 + erf(wide / math.sqrt(2)))
    exact = np.where(
        wide < -5,
        factor * wide / 2 * np.vectorize(math.erfc, otypes=[float])(-wide / math.sqrt(2)),
        exact,
    )
    inside = np.abs(exact) < 3e38
    error = np.abs(found - exact)[inside]
    assert (
        error <= (2.0**-14 * np.abs(exact) + 2.0**-25 * factor * np.abs(wide) + 2.0**-126)[inside]
    ).all()


def test_gathered_rows():
    """Rows by index, 16 bytes at a time; an index out of range is clamped."""
    rows, out = "!tile.view<256x8xf32, strides = [1, 256]>", view((4, 256), "f32")
    program = f"""
    tile.kernel @k(%i: {view((4,), "i64")}, %x: {rows}, %y: {out}) grid 1 launch <num_warps = 2> {{
      %c0 = arith.constant 0 : index
      %n = tile.load %i{access((4,))} : {view((4,), "i64")} -> tensor<4xi64>
      %p = tile.broadcast %n dims [0] : tensor<4xi64> -> tensor<4x256xi64>
      %a = tile.gather %x[%c0] at (%p) dims [-1, 0] : {rows}, tensor<4x256xi64> -> tensor<4x256xf32>
      tile.store %a, %y{access((4, 256))} : tensor<4x256xf32>, {out}
      tile.return
    }}"""
    code = ptx(program, "-tile-assign-layouts")
    assert "ld.global.v4.b32" in code and "ld.global.b32" not in code
    x = draw((8, 256), "f32")
    y = np.zeros((4, 256), np.float32)
    Kernel(code, "k").run(np.array([3, 0, 9, -1]), x.T, y)
    assert np.array_equal(y, x[[3, 0, 7, 0]])


@pytest.mark.parametrize("wide", ["true", "false"])
def test_places_and_bounds(wide):
    """The end of rows that are not a multiple of a tile, and positions."""
    rows = "!tile.view<?x?xf32, strides = [?, 1], divisors = [1, 4]>"
    program = f"""
    tile.kernel @k(%x: {rows}, %y: {rows}) grid 1 launch <num_warps = 1> {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = tile.load %x[%c1, %c0] dims [1] pad 5.0 : f32 : {rows} -> tensor<256xf32>
      %i = tile.iota %c1 : tensor<256xi64>
      %f = tile.cast %i : tensor<256xi64> -> tensor<256xf32>
      %b = tile.map add(%a, %f) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      tile.store %b, %y[%c1, %c0] dims [1] bounded : tensor<256xf32>, {rows}
      tile.return
    }}"""
    done = subprocess.run([OPT, "-", TARGET, "-tile-assign-layouts", *SHARED[:-3], f"-print-ptx=wide={wide}", "-o", "/dev/null"],
                          input=program, capture_output=True, text=True, check=True)  # fmt: skip
    x, y = draw((2, 212), "f32"), np.zeros((2, 212), np.float32)
    Kernel(done.stdout, "k").run(x, y)
    assert (y[0] == 0).all() and np.array_equal(y[1], x[1] + np.arange(1, 213, dtype=np.float32))


@pytest.mark.parametrize("element", ["i32", "i64", "f32", "f64"])
@pytest.mark.parametrize("count", [8, 64, 1024])
def test_scatters(element, count):
    """Elements with distinct indices, and sums at shared indices; some are out of range."""
    vector, matrix, places = (
        view((count,), element),
        view((3, count), element),
        view((count,), "i64"),
    )
    at = f"at (%p) dims [-1] {{}} : {tile((count,), element)}, {matrix}, {tile((count,), 'i64')}"
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = tile.load %x{access((count,))} : {vector} -> {tile((count,), element)}
      %p = tile.load %i{access((count,))} : {places} -> {tile((count,), "i64")}"""
    head = f"(%x: {vector}, %i: {places}, %y: {matrix}) grid 1 launch <num_warps = 2> {{"
    program = f"""
    tile.kernel @put{head}{body}
      tile.scatter %a, %y[%c1] {at.format("")}
      tile.return
    }}
    tile.kernel @add{head}{body}
      tile.scatter %a, %y[%c1] {at.format("sum unordered")}
      tile.return
    }}"""
    module = ptx(program, "-tile-assign-layouts")
    random, x = np.random.default_rng(count), draw((count,), element)
    distinct, shared = (
        random.permutation(2 * count)[:count] - count // 2,
        random.integers(-2, 5, count),
    )
    y = draw((3, count), element)
    expected, inside = y.copy(), (distinct >= 0) & (distinct < count)
    expected[1, distinct[inside]] = x[inside]
    Kernel(module, "put").run(x, distinct, y)
    np.testing.assert_array_equal(y, expected)
    np.add.at(expected[1], shared[shared >= 0], x[shared >= 0])
    Kernel(module, "add").run(x, shared, y)
    np.testing.assert_allclose(
        y, expected, atol=roundoff(element) * np.abs(x).sum() if element[0] == "f" else 0
    )


def layout(bits: list[int | None], registers: int) -> str:
    """A layout of one dimension: the bit of the position for each bit of the register, lane and
    warp."""
    names = {
        "register": bits[:registers],
        "lane": bits[registers : registers + 5],
        "warp": bits[registers + 5 :],
    }
    text = [
        f"{name}[{', '.join('0' if i is None else f'd0:{1 << i}' for i in some)}]"
        for name, some in names.items()
        if some
    ]
    return f"{' '.join(text)} -> d0:{1 << sum(i is not None for i in bits)}"


@pytest.mark.parametrize("element", ["f32", "i64", "i16", "i8"])
def test_conversions(element):
    """Between random layouts, near ones and far ones: by selection, by shuffles, through shared
    memory."""
    random = np.random.default_rng(int(element[1:]))
    kernels, sizes = [], []
    for number in range(24):
        warps, registers = int(random.integers(3)), int(random.integers(4))
        places = registers + 5 + warps
        size = places - int(random.integers(3))
        start = [i if i < size else None for i in range(places)]
        random.shuffle(start)
        goal = list(start)
        for _ in range(3):
            a, b = random.integers(places if random.integers(2) else registers + 5, size=2)
            goal[a], goal[b] = goal[b], goal[a]
        shape = (1 << size,)
        given, wanted = (
            f'tensor<{shape[0]}x{element}, #tile.layout<"{layout(bits, registers)}">>'
            for bits in (start, goal)
        )
        kernels.append(f"""
        tile.kernel @k{number}(%x: {view(shape, element)}, %y: {view(shape, element)}) grid 1 launch <num_warps = {1 << warps}> {{
          %c0 = arith.constant 0 : index
          %a = tile.load %x{access(shape)} : {view(shape, element)} -> {given}
          %b = tile.convert %a : {given} -> {wanted}
          tile.store %b, %y{access(shape)} : {wanted}, {view(shape, element)}
          tile.return
        }}""")
        sizes.append(shape[0])
    module = ptx("\n".join(kernels))
    assert "shfl.sync" in module and "st.shared" in module
    for number, size in enumerate(sizes):
        x = random.integers(-100, 100, size).astype(DTYPES[element])
        y = np.zeros_like(x)
        Kernel(module, f"k{number}").run(x, y)
        np.testing.assert_array_equal(x, y, kernels[number])


def test_a_transposition():
    module = ptx(PROGRAMS / "rows.mlir", "-tile-expand-math", "-tile-assign-layouts")
    x = np.arange(32 * 64, dtype=np.uint16).reshape(32, 64)
    y = np.zeros((64, 32), np.uint16)
    Kernel(module, "across").run(x, y.T, 2)
    np.testing.assert_array_equal(y, x.T)


def to_bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("ahead", [[], ["-tile-pipeline-loops"]])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_products(ahead, steps):
    """By tensor cores, step by step and with prefetched copies; the result is stored by
    stmatrix."""
    module = ptx(PROGRAMS / "mma.mlir", "-tile-assign-layouts", *ahead)
    random = np.random.default_rng(steps)
    x, w = (
        to_bf16(random.standard_normal((64, 4096))),
        to_bf16(random.standard_normal((32 * steps, 64))),
    )
    y = np.zeros((64, 64), np.uint16)
    Kernel(module, "product").run(x, w, y, steps)
    used = from_bf16(x)[:, : 32 * steps]
    bound = np.abs(used) @ np.abs(from_bf16(w)) * 2**-8  # rounding to bf16, and fp32 accumulators
    assert (np.abs(from_bf16(y) - used @ from_bf16(w)) <= bound).all()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_products_of_some_steps(steps):
    """Contractions under a condition: accumulators go through shared memory before and after
    them."""
    module = ptx(PROGRAMS / "mma.mlir", "-tile-assign-layouts")
    random = np.random.default_rng(steps)
    x, w = (
        to_bf16(random.standard_normal((16, 4096))),
        to_bf16(random.standard_normal((32 * steps, 16))),
    )
    y = np.zeros((16, 16), np.float32)
    Kernel(module, "some").run(x, w, y, steps)
    used = from_bf16(x)[:, : 32 * steps].reshape(16, steps, 32)[:, ::2].reshape(16, -1)
    factors = from_bf16(w).reshape(steps, 32, 16)[::2].reshape(-1, 16)
    np.testing.assert_allclose(
        y, used @ factors, atol=2**-20 * float((np.abs(used) @ np.abs(factors)).max())
    )


@pytest.mark.parametrize("name", ["doubles", "plain"])
def test_products_of_doubles(name):
    """By tensor cores, and without them."""
    module = ptx(PROGRAMS / "mma.mlir", "-tile-assign-layouts")
    x = draw((16, 16), "f64")
    y = np.zeros_like(x)
    Kernel(module, name).run(x, y)
    np.testing.assert_allclose(y, x @ x, rtol=1e-12, atol=1e-12)


# : Chips with an instruction for contractions of a type.
PRODUCTS = {
    "f16": ["sm_70", "sm_75", "sm_80"],
    "i8": ["sm_75", "sm_80"],
    "ui8": ["sm_75", "sm_80"],
    "f8E4M3FN": ["sm_89", "sm_90"],
    "f8E5M2": ["sm_89", "sm_90"],
}


@pytest.mark.parametrize(
    "chip, element", [(chip, element) for element, chips in PRODUCTS.items() for chip in chips]
)
def test_products_of_chips(chip, element):
    """The instructions of each generation give the same result; integers have exact sums."""
    wide, (m, k, n) = ("f32", "i32")["i8" in element], (32, 64, 32)
    zero = "0.0" if wide == "f32" else "0"
    program = f"""
tile.kernel @product(%x: {view((m, k), element)}, %w: {view((k, n), element)}, %y: {view((m, n), wide)}) grid 1 {{
  %c0 = arith.constant 0 : index
  %zero = tile.constant {zero} : {wide} : {tile((m, n), wide)}
  %a = tile.load %x{access((m, k))} : {view((m, k), element)} -> {tile((m, k), element)}
  %b = tile.load %w{access((k, n))} : {view((k, n), element)} -> {tile((k, n), element)}
  %c = tile.mma %a, %b, %zero : ({tile((m, k), element)}, {tile((k, n), element)}, {tile((m, n), wide)}) -> {tile((m, n), wide)}
  tile.store %c, %y{access((m, n))} : {tile((m, n), wide)}, {view((m, n), wide)}
  tile.return
}}"""
    target = f"-tessera-attach-target=chip={chip}"
    command = [OPT, "-", target, "-tile-assign-layouts", *SHARED]
    module = subprocess.run(
        command, input=program, capture_output=True, text=True, check=True
    ).stdout
    names = {
        "f8E4M3FN": "fp8_e4m3",
        "f8E5M2": "fp8_e5m2",
        "f16": "fp16",
        "i8": "int8",
        "ui8": "uint8",
    }
    kind, random = numpy_dtype(names[element]), np.random.default_rng(0)
    # As many digits as all types have.
    x, w = (
        random.integers(0 if element == "ui8" else -4, 5, shape).astype(kind)
        for shape in ((m, k), (k, n))
    )
    y = np.zeros((m, n), np.int32 if wide == "i32" else np.float32)
    Kernel(module, "product").run(x, w, y)
    np.testing.assert_array_equal(y, x.astype(np.int32) @ w.astype(np.int32))
