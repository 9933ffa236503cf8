"""ONNX models: calls, dynamic axes, what is refused, and files that are no models."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tessera as tsr

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def make(nodes, inputs, outputs, weights=(), opset=21):
    tensors = [numpy_helper.from_array(array, name) for name, array in dict(weights).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def perceptron(rows="N"):
    weights = {"w": normal(8, 16), "b": normal(16), "v": normal(4, 16)}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v"], ["y"], transB=1, alpha=0.5),
    ]
    model = make(nodes, [value("x", [rows, 8])], [value("y", [rows, 4])], weights)
    return model, lambda x: 0.5 * np.maximum(x @ weights["w"] + weights["b"], 0) @ weights["v"].T


def test_sizes_that_vary():
    proto, expected = perceptron()
    model = tsr.from_onnx(proto)
    assert model.inputs == ("x",) and model.outputs == ("y",)
    assert "Tensor['N', 8, tsr.fp32]" in model.program
    for rows in (1, 3, 17, 64):
        x = normal(rows, 8)
        np.testing.assert_allclose(model(x), expected(x), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model(x=x), expected(x), rtol=1e-4, atol=1e-5)


def test_paths_and_bytes(tmp_path):
    proto, expected = perceptron(4)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    x = normal(4, 8)
    for source in (path, str(path), path.read_bytes(), proto):
        np.testing.assert_allclose(tsr.from_onnx(source)(x), expected(x), rtol=1e-4, atol=1e-5)


def test_shapes_that_the_model_computes():
    """x.reshape(x.shape[0], -1), as exporters write it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["new"], axis=0),
        helper.make_node("Reshape", ["x", "new"], ["y"]),
    ]
    weights = {"zero": np.int64(0), "axes": np.array([0]), "rest": np.array([-1])}
    weights = {name: np.asarray(one, np.int64) for name, one in weights.items()}
    model = tsr.from_onnx(
        make(nodes, [value("x", ["batch", 3, 4])], [value("y", ["batch", 12])], weights)
    )
    for n in (2, 5):
        x = normal(n, 3, 4)
        np.testing.assert_array_equal(model(x), x.reshape(n, 12))


def test_images_of_any_size():
    """A convolutional network whose batch and image have no fixed size."""
    weights = {"w": normal(8, 3, 3, 3), "b": normal(8), "s": normal(8), "t": normal(8)}
    weights |= {"m": normal(8), "v": normal(8) ** 2 + 0.5, "f": normal(5, 8)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[1, 1]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"]),
        helper.make_node("Flatten", ["g"], ["h"]),
        helper.make_node("Gemm", ["h", "f"], ["y"], transB=1),
    ]
    proto = make(nodes, [value("x", ["N", 3, "H", "W"])], [value("y", ["N", 5])], weights)
    model = tsr.from_onnx(proto)
    reference = ReferenceEvaluator(proto)
    for shape in ((1, 3, 16, 16), (2, 3, 9, 12)):
        x = normal(*shape)
        expected = reference.run(None, {"x": x})[0]
        np.testing.assert_allclose(model(x), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_networks_of_the_package(name):
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    path = os.path.join(folder, f"light_{name}.onnx")
    if not os.path.exists(path):
        pytest.skip("the package onnx has no such model")
    model = tsr.from_onnx(path)
    expected = numpy_helper.to_array(
        onnx.load_tensor(os.path.join(folder, f"light_{name}_output_0.pb"))
    )
    np.testing.assert_allclose(
        model(np.ones((1, 3, 224, 224), np.float32)), expected, rtol=1e-3, atol=1e-6
    )


def test_old_broadcasting_is_refused():
    node = helper.make_node("Add", ["x", "y"], ["z"], broadcast=1, axis=0)
    proto = make([node], [value("x", [3, 4]), value("y", [3])], [value("z", [3, 4])], opset=6)
    with pytest.raises(tsr.CompileError, match="before version 7"):
        tsr.from_onnx(proto)


def test_several_outputs_and_constants():
    nodes = [
        helper.make_node("TopK", ["x", "k"], ["values", "indices"]),
        helper.make_node("Add", ["k", "k"], ["twice"]),
    ]
    outputs = [value("values", [2, 3]), value("indices", [2, 3], INT64), value("twice", [1], INT64)]
    model = tsr.from_onnx(
        make(nodes, [value("x", [2, 9])], outputs, {"k": np.array([3], np.int64)})
    )
    x = normal(2, 9)
    values, indices, twice = model(x)
    np.testing.assert_array_equal(values, np.sort(x)[:, :-4:-1])
    np.testing.assert_array_equal(indices, np.argsort(-x)[:, :3])
    assert twice.tolist() == [6]


def test_inputs_that_are_fixed():
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    proto = make([node], [value("x", [3, 4]), value("axes", [1], INT64)], [value("y", [None])])
    with pytest.raises(tsr.CompileError, match="ReduceSum: the axes must be known"):
        tsr.from_onnx(proto)
    model = tsr.from_onnx(proto, constants={"axes": [1]})
    assert model.inputs == ("x",)
    x = normal(3, 4)
    np.testing.assert_allclose(model(x), x.sum(1), rtol=1e-5, atol=1e-6)
    with pytest.raises(tsr.ArgumentError, match="no input 'other'"):
        tsr.from_onnx(proto, constants={"other": [1]})


def test_definitions_of_the_standard():
    """Attention is not in the table: it is imported as mathematics."""
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"])
    shape = [2, 3, 8, 4]
    inputs = [value(name, shape) for name in "qkv"]
    model = tsr.from_onnx(make([node], inputs, [value("y", shape)], opset=23))
    q, k, v = normal(*shape), normal(*shape), normal(*shape)
    scores = np.exp(q @ k.swapaxes(-1, -2) / 2)
    expected = scores / scores.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(model(q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_causal_attention_of_any_length():
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=1)
    shape = ["B", 3, "S", 4]
    proto = make([node], [value(name, shape) for name in "qkv"], [value("y", shape)], opset=23)
    model = tsr.from_onnx(proto)
    reference = ReferenceEvaluator(proto)
    for batch, length in ((1, 5), (2, 9)):
        inputs = {name: normal(batch, 3, length, 4) for name in "qkv"}
        expected = reference.run(None, inputs)[0]
        np.testing.assert_allclose(model(**inputs), expected, rtol=1e-4, atol=1e-5)


def test_sizes_as_outputs():
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Size", ["x"], ["size"]),
    ]
    outputs = [value("shape", [3], INT64), value("size", [], INT64)]
    model = tsr.from_onnx(make(nodes, [value("x", ["A", 2, "B"])], outputs))
    shape, size = model(normal(3, 2, 5))
    assert shape.tolist() == [3, 2, 5] and size == 30 and size.dtype == np.int64


def test_everything_that_is_missing_is_listed():
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"], name="first"),
        helper.make_node("Det", ["x"], ["d"], name="second"),
    ]
    outputs = [value("i", [2, None], INT64), value("d", [])]
    with pytest.raises(tsr.CompileError) as error:
        tsr.from_onnx(make(nodes, [value("x", [3, 3])], outputs))
    assert "NonZero 'first': " in str(error.value) and "Det 'second': " in str(error.value)


def test_types_that_the_language_does_not_have():
    node = helper.make_node("Add", ["x", "x"], ["y"])
    kind = TensorProto.UINT32
    with pytest.raises(tsr.CompileError, match="no type uint32"):
        tsr.from_onnx(make([node], [value("x", [2], kind)], [value("y", [2], kind)]))


def test_operators_of_others():
    node = helper.make_node("Mystery", ["x"], ["y"], domain="example.com")
    proto = make([node], [value("x", [2])], [value("y", [2])])
    proto.opset_import.append(helper.make_opsetid("example.com", 1))
    with pytest.raises(tsr.CompileError, match="not in the ONNX standard"):
        tsr.from_onnx(proto)


def test_files_that_are_no_models(tmp_path):
    data = perceptron()[0].SerializeToString()
    for bad in (b"", b"not a model", data[: len(data) // 2], data[:20], bytes(100)):
        with pytest.raises(tsr.TesseraError):
            tsr.from_onnx(bad)
    with pytest.raises(tsr.ArgumentError, match="cannot read"):
        tsr.from_onnx(tmp_path / "missing.onnx")
    with pytest.raises(tsr.ArgumentError, match="expected a path, bytes or a ModelProto, got int"):
        tsr.from_onnx(3)


def test_damaged_models():
    """Bytes that changed give a model or an error of ours, and nothing else."""
    data = bytearray(perceptron()[0].SerializeToString())
    rng = np.random.default_rng(1)
    for _ in range(60):
        damaged = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            damaged[place] = rng.integers(256)
        try:
            tsr.from_onnx(bytes(damaged))
        except tsr.TesseraError:
            pass


def test_external_data(tmp_path):
    proto, expected = perceptron(4)
    folder = tmp_path / "model"
    folder.mkdir()
    path = folder / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    x = normal(4, 8)
    proto, _ = perceptron(4)
    assert tsr.from_onnx(path)(x).shape == expected(x).shape
    # The same file outside of the folder, by a path and by a link.
    os.rename(folder / "weights.bin", tmp_path / "weights.bin")
    with pytest.raises(tsr.TesseraError, match="external data"):
        tsr.from_onnx(path)
    moved = onnx.load(path, load_external_data=False)
    for tensor in moved.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../weights.bin"
    path.write_bytes(moved.SerializeToString())
    with pytest.raises(tsr.TesseraError, match="external data"):
        tsr.from_onnx(path)


def test_wrong_calls():
    model = tsr.from_onnx(perceptron(4)[0])
    x = normal(4, 8)
    with pytest.raises(tsr.ArgumentError, match="has 1 inputs, and the call gives 2"):
        model(x, x)
    with pytest.raises(tsr.ArgumentError, match="no input 'z'"):
        model(z=x)
    with pytest.raises(tsr.ArgumentError, match="given twice"):
        model(x, x=x)
    with pytest.raises(tsr.ArgumentError, match="inputs x are not given"):
        model()
    with pytest.raises(tsr.ArgumentError):
        model(normal(4, 9))


def test_command(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(perceptron()[0].SerializeToString())
    command = [sys.executable, "-m", "tessera", "import"]
    result = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("def model(")
    path.write_bytes(b"nothing")
    result = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "not an ONNX model" in result.stderr
