"""StableHLO modules without JAX: generic text against NumPy, what is refused, and damaged texts."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tessera as tsr

RNG = np.random.default_rng(0)
NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "i1"}
ADD = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    })"""


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def tensor(shape, dtype="f32"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + dtype + ">"


def type_of(array):
    return tensor(array.shape, NAMES[array.dtype.name])


def module(body, inputs, results):
    """A module: the body's results are %r0, %r1, …"""
    arguments = ", ".join(f"%x{index}: {kind}" for index, kind in enumerate(inputs))
    names = ", ".join(f"%r{index}" for index in range(len(results)))
    kinds = ", ".join(results)
    return (
        f"func.func @main({arguments}) -> ({kinds}) {{\n  {body}\n  return {names} : {kinds}\n}}\n"
    )


def op(name, operands, result, attributes="", region="", target="%r0"):
    """One operation on operands like "%x0: tensor<4xf32>"."""
    names = ", ".join(one.partition(":")[0] for one in operands)
    kinds = ", ".join(one.partition(":")[2].strip() for one in operands)
    attributes = f" <{{{attributes}}}>" if attributes else ""
    return f'{target} = "{name}"({names}){attributes} {region} : ({kinds}) -> {result}'


def run(name, arrays, expected, attributes="", region="", extra=(), before="", tolerance=1e-5):
    """One operation of the arrays, compared with what NumPy computes."""
    kinds = [type_of(one) for one in arrays]
    operands = [f"%x{index}: {kind}" for index, kind in enumerate(kinds)] + list(extra)
    expected = np.asarray(expected)
    result = type_of(expected)
    body = before + "\n  " + op(name, operands, result, attributes, region)
    found = tsr.from_stablehlo(module(body, kinds, [result]))(*arrays)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


ZERO = '%zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>'


def test_a_perceptron():
    body = """%0 = "stablehlo.dot_general"(%x0, %x1) <{dot_dimension_numbers =
        #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}>
        : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %c = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
      %1 = "stablehlo.broadcast_in_dim"(%c) <{broadcast_dimensions = array<i64>}>
        : (tensor<f32>) -> tensor<4x16xf32>
      %r0 = "stablehlo.maximum"(%0, %1)
        : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>"""
    text = module(body, [tensor((4, 8)), tensor((8, 16))], [tensor((4, 16))])
    model = tsr.from_stablehlo(text)
    assert model.inputs == ("arg0", "arg1") and model.outputs == ("result",)
    assert "v0 = x0 @ x1" in model.program and "tsr.maximum(v0, 0.0)" in model.program
    x, w = normal(4, 8), normal(8, 16)
    expected = np.maximum(x @ w, 0)
    for source in (text, text.encode()):
        np.testing.assert_allclose(tsr.from_stablehlo(source)(x, w), expected, 1e-5, 1e-5)
    np.testing.assert_allclose(model(arg1=w, arg0=x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "name, function",
    [
        ("exponential", np.exp),
        ("tanh", np.tanh),
        ("logistic", lambda x: 1 / (1 + np.exp(-x))),
        ("cbrt", np.cbrt),
        ("round_nearest_even", np.round),
        ("round_nearest_afz", lambda x: np.trunc(x + np.copysign(0.5, x))),
        ("sign", np.sign),
        ("exponential_minus_one", np.expm1),
    ],
)
def test_functions(name, function):
    x = 3 * normal(5, 7)
    run(f"stablehlo.{name}", [x], function(x.astype(np.float64)).astype(np.float32))


def test_integers():
    x, n = RNG.integers(-99, 99, 50, np.int32), RNG.integers(0, 40, 50, np.int32)
    unsigned = x.view(np.uint32).astype(np.uint64)
    run("stablehlo.shift_right_logical", [x, n], (unsigned >> n.astype(np.uint64)).astype(np.int32))
    run("stablehlo.popcnt", [x], np.array([bin(one).count("1") for one in unsigned], np.int32))
    zeros = np.array([32 - int(one).bit_length() for one in unsigned], np.int32)
    run("stablehlo.count_leading_zeros", [x], zeros)
    run("stablehlo.divide", [x, n + 1], np.trunc(x / (n + 1)).astype(np.int32))
    run("stablehlo.remainder", [x, n + 1], np.fmod(x, n + 1))


def test_padding():
    x = normal(3, 4)
    expected = np.zeros((3, 9), np.float32)
    expected[:2, 1:8:2] = x[1:]
    run(
        "stablehlo.pad",
        [x],
        expected,
        "edge_padding_low = array<i64: -1, 1>, edge_padding_high = array<i64: 1, 1>, "
        "interior_padding = array<i64: 0, 1>",
        extra=["%zero: tensor<f32>"],
        before=ZERO,
    )


def test_reductions():
    x = normal(4, 5, 6)
    run(
        "stablehlo.reduce",
        [x],
        x.sum((0, 2)),
        "dimensions = array<i64: 0, 2>",
        ADD,
        ["%zero: tensor<f32>"],
        ZERO,
    )
    # No operation of the language: the region is applied to halves of the tensor.
    region = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %0 = "stablehlo.exponential"(%a) : (tensor<f32>) -> tensor<f32>
      %1 = "stablehlo.exponential"(%b) : (tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.add"(%0, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %3 = "stablehlo.log"(%2) : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    })"""
    least = ZERO.replace("0.0", "0xFF800000")
    expected = np.log(np.exp(x.astype(np.float64)).sum(1)).astype(np.float32)
    run(
        "stablehlo.reduce",
        [x],
        expected,
        "dimensions = array<i64: 1>",
        region,
        ["%zero: tensor<f32>"],
        least,
    )


def test_windows():
    x = normal(2, 9)
    attributes = "window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>"
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2]
    run(
        "stablehlo.reduce_window",
        [x],
        windows.sum(-1),
        attributes,
        ADD,
        ["%zero: tensor<f32>"],
        ZERO,
    )
    attributes = (
        "window_dimensions = array<i64: 1, 9>, padding = dense<[[0, 0], [8, 0]]> : tensor<2x2xi64>"
    )
    run("stablehlo.reduce_window", [x], x.cumsum(1), attributes, ADD, ["%zero: tensor<f32>"], ZERO)


def test_gather_and_scatter():
    x, i = normal(10, 4), np.array([[3], [12], [0]], np.int32)
    run(
        "stablehlo.gather",
        [x, i],
        x[[3, 9, 0]],  # starts are moved so that slices are inside
        "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>",
    )
    updates = normal(3, 4)
    numbers = (
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    )
    expected = x.copy()
    expected[3] += updates[0]  # what lies outside is skipped
    expected[0] += updates[2]
    run("stablehlo.scatter", [x, i, updates], expected, numbers, ADD)
    repeated = np.array([[3], [3], [0]], np.int32)
    expected = x.copy()
    np.maximum.at(expected, repeated[:, 0], updates)
    run(
        "stablehlo.scatter",
        [x, repeated, updates],
        expected,
        numbers,
        ADD.replace("stablehlo.add", "stablehlo.maximum"),
    )


@pytest.mark.parametrize("groups, batches", [(1, 1), (2, 1), (1, 2)])
def test_convolutions(groups, batches):
    x, w = normal(2, 7, 4), normal(3, 4 // groups, 6)
    length = (7 - 1) * 2 + 1 + 2 - 3 + 1  # dilated operand, padded by 1
    spread = np.zeros((2, 15, 4), np.float64)
    spread[:, 1:14:2] = x
    expected = np.zeros((2 // batches, length, 6))
    for o in range(6):
        group = o * groups // 6
        rows = slice(group * 4 // groups, (group + 1) * 4 // groups)
        own = spread if batches == 1 else spread[[o * 2 // 6]]
        for k in range(3):
            expected[:, :, o] += own[:, k : k + length, rows] @ w[k, :, o].astype(np.float64)
    run(
        "stablehlo.convolution",
        [x, w],
        expected.astype(np.float32),
        "padding = dense<1> : tensor<1x2xi64>, lhs_dilation = array<i64: 2>, dimension_numbers = "
        f"#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = {groups} : i64, "
        f"batch_group_count = {batches} : i64",
    )


def comparator(direction, kind="f32", others=""):
    return f"""({{
    ^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>{others}):
      %c = "stablehlo.compare"(%a, %b) <{{comparison_direction =
        #stablehlo<comparison_direction {direction}>}}> : (tensor<{kind}>, tensor<{kind}>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }})"""


def test_sorting():
    x, y = normal(3, 20), np.arange(60, dtype=np.int32).reshape(3, 20)
    run("stablehlo.sort", [x], -np.sort(-x, 1), "dimension = 1 : i64", comparator("GT"))
    kinds = f"{type_of(x)}, {type_of(y)}"
    region = comparator("LT", others=", %p: tensor<i32>, %q: tensor<i32>")
    body = f'%r:2 = "stablehlo.sort"(%x0, %x1) <{{dimension = 1 : i64}}> {region} : ({kinds}) -> ({kinds})'
    text = module(body, [type_of(x), type_of(y)], [type_of(x), type_of(y)])
    keys, values = tsr.from_stablehlo(text.replace("%r0, %r1", "%r#0, %r#1"))(x, y)
    order = np.argsort(x, 1)
    np.testing.assert_array_equal(keys, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(values, np.take_along_axis(y, order, 1))


LOOP = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %c: tensor<4xf32>):
    %n = "stablehlo.constant"() <{value = dense<STEPS> : tensor<i32>}> : () -> tensor<i32>
    %p = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %c: tensor<4xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %d = func.call @step(%c) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%j, %d) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}
func.func private @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def test_loops_are_unrolled():
    x = normal(4)
    np.testing.assert_array_equal(tsr.from_stablehlo(LOOP.replace("STEPS", "5"))(x), 32 * x)
    with pytest.raises(tsr.CompileError, match="too many steps"):
        tsr.from_stablehlo(LOOP.replace("STEPS", "2000000000"))


def test_branches():
    body = """%r0 = "stablehlo.if"(%x0) ({
        %0 = "stablehlo.negate"(%x1) : (tensor<3xf32>) -> tensor<3xf32>
        "stablehlo.return"(%0) : (tensor<3xf32>) -> ()
      }, {
        "stablehlo.return"(%x1) : (tensor<3xf32>) -> ()
      }) : (tensor<i1>) -> tensor<3xf32>"""
    model = tsr.from_stablehlo(module(body, ["tensor<i1>", tensor((3,))], [tensor((3,))]))
    x = normal(3)
    np.testing.assert_array_equal(model(np.array(True), x), -x)
    np.testing.assert_array_equal(model(np.array(False), x), x)


def test_constants():
    w = normal(3, 4)
    data = '"0x' + w.tobytes().hex().upper() + '"'
    body = (
        f'%c = "stablehlo.constant"() <{{value = dense<{data}> : tensor<3x4xf32>}}> : () -> {tensor((3, 4))}\n  '
        + op("stablehlo.multiply", ["%x0: tensor<3x4xf32>", "%c: tensor<3x4xf32>"], tensor((3, 4)))
    )
    x = normal(3, 4)
    found = tsr.from_stablehlo(module(body, [tensor((3, 4))], [tensor((3, 4))]))(x)
    np.testing.assert_array_equal(found, x * w)


@pytest.mark.parametrize("is_packed", [False, True])
def test_large_constants_of_bools(is_packed):
    mask = RNG.integers(0, 2, 300).astype(bool)
    data = (np.packbits(mask, bitorder="little") if is_packed else mask).tobytes().hex().upper()
    kind, bools = tensor((300,)), tensor((300,), "i1")
    body = (
        f'%c = "stablehlo.constant"() <{{value = dense<"0x{data}"> : {bools}}}> : () -> {bools}\n  '
        + op("stablehlo.select", [f"%c: {bools}", f"%x0: {kind}", f"%x1: {kind}"], kind)
    )
    x, y = normal(300), normal(300)
    found = tsr.from_stablehlo(module(body, [kind, kind], [kind]))(x, y)
    np.testing.assert_array_equal(found, np.where(mask, x, y))


def test_sizes_that_vary():
    kind = "tensor<?x4xf32>"
    body = op("stablehlo.add", [f"%x0: {kind}", f"%x0: {kind}"], kind)
    model = tsr.from_stablehlo(module(body, [kind], [kind]))
    for rows in (2, 5):
        x = normal(rows, 4)
        np.testing.assert_array_equal(model(x), 2 * x)


def test_everything_that_is_missing_is_listed():
    body = """%0 = "stablehlo.fft"(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "stablehlo.rng"(%x0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "stablehlo.convert"(%x0) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
      %r0 = "stablehlo.custom_call"(%1) <{call_target_name = "mystery"}> : (tensor<4xf32>) -> tensor<4xf32>
      %r1 = "stablehlo.custom_call"(%0) <{call_target_name = "mystery"}> : (tensor<4xf32>) -> tensor<4xf32>
      %r2 = "stablehlo.custom_call"(%x0) <{call_target_name = "mystery"}> : (tensor<4xf32>) -> tensor<4xf32>"""
    with pytest.raises(tsr.CompileError) as error:
        tsr.from_stablehlo(module(body, [tensor((4,))], [tensor((4,))] * 3))
    text = str(error.value)
    assert "stablehlo.fft (line 2): the operation is not known" in text
    assert "stablehlo.rng (line 3): random numbers are not supported" in text
    assert "stablehlo.convert (line 4): the language has no type complex<f32>" in text
    assert "stablehlo.custom_call (line 7): the custom call 'mystery' is not known" in text


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no public function"),
        ("nothing", "line 1: "),
        ("func.func @main(%x: tensor<4xf32>) {", "line 1: "),
        ("func.func private @f() { return }", "no public function"),
        ("(" * 100000, "nested too deeply"),
        ("\0", "null byte"),
        (
            "func.func @main(%x: tensor<4000000000x4000000000xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }",
            "line 1: ",
        ),
        (
            'func.func @main(%x: tensor<9000000000x9000000000xf32>) { "stablehlo.return"() : () -> () }',
            "too large",
        ),
        ("func.func @main() { call @main() : () -> () return }", "nested too deeply"),
    ],
)
def test_texts_that_are_no_modules(text, message):
    with pytest.raises(tsr.CompileError, match=message):
        tsr.from_stablehlo(text)


def test_wrong_sources(tmp_path):
    with pytest.raises(tsr.ArgumentError, match="expected text, bytes or a path, got int"):
        tsr.from_stablehlo(3)
    with pytest.raises(tsr.ArgumentError, match="cannot read"):
        tsr.from_stablehlo(tmp_path / "missing.mlir")


def test_what_needs_jaxlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "jaxlib.mlir", None)
    pretty = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %y = stablehlo.abs %x : tensor<4xf32> return %y : tensor<4xf32> }"
    for source in (pretty, b"ML\xefR\x0dStableHLO_v1.0.0\x00"):
        with pytest.raises(tsr.ArgumentError, match="jaxlib, which is not installed"):
            tsr.from_stablehlo(source)


def test_damaged_texts(monkeypatch):
    """Texts that changed give a model or an error of ours, and nothing else."""
    monkeypatch.setitem(sys.modules, "jaxlib.mlir", None)
    rng = np.random.default_rng(1)
    body = op(
        "stablehlo.reduce",
        ["%x0: tensor<3x4xf32>", "%zero: tensor<f32>"],
        tensor((3,)),
        "dimensions = array<i64: 1>",
        ADD,
    )
    texts = [
        LOOP.replace("STEPS", "3"),
        module(ZERO + "\n  " + body, [tensor((3, 4))], [tensor((3,))]),
    ]
    pieces = [
        "9",
        "-1",
        "?",
        "x",
        "i1",
        "f64",
        "<",
        ">",
        "}",
        "array<i64>",
        "%x0",
        "dense<>",
        "ui32",
        "\n",
    ]
    for _ in range(400):
        text = texts[rng.integers(len(texts))]
        for place in rng.integers(0, len(text), 2):
            end = place + rng.integers(0, 4)
            text = text[:place] + pieces[rng.integers(len(pieces))] + text[end:]
        try:
            tsr.from_stablehlo(text)
        except tsr.TesseraError:
            pass


def test_attributes_of_other_types():
    """Integers of no bits, and lists that are none."""
    for value in ("0 : i0", "99999999999999999999 : i128", "dense<1> : tensor<2x0xi0>", '"x"'):
        body = op("stablehlo.iota", [], tensor((4,)), f"iota_dimension = {value}")
        with pytest.raises(tsr.CompileError):
            tsr.from_stablehlo(module(body, [], [tensor((4,))]))


def test_command(tmp_path):
    path = tmp_path / "module.mlir"
    path.write_text(LOOP.replace("STEPS", "2"))
    command = [sys.executable, "-m", "tessera", "import"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("def model(x0: Tensor[4, tsr.fp32]):")
    path.write_text("nothing")
    result = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, env=environment
    )
    assert result.returncode == 1 and "the module is not valid: line 1" in result.stderr
