"""Resizing, which is linear along each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .definitions import Unsupported

if TYPE_CHECKING:
    import onnx

    from .graph import Importer


def resize(importer: Importer, node: onnx.NodeProto) -> None:
    """Resizing is linear along each axis: a matrix for each, or indices where elements are only
    selected. The standard's reference gives the matrices."""
    onnx = importer.onnx
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    inputs = [*node.input, "", "", "", ""]
    kind = importer._type(node.input[0])
    if kind is None:
        raise Unsupported("the number of dimensions must be known")
    if not kind["dtype"].startswith(("fp", "bf")):
        raise Unsupported("only floats are supported")
    if attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        raise Unsupported("tf_crop_and_resize is not supported")
    if node.op_type == "Upsample":
        attributes["coordinate_transformation_mode"] = b"asymmetric"
        attributes["nearest_mode"] = b"floor"
        inputs = [inputs[0], "", inputs[1], ""]
    elif importer.version < 11:
        raise Unsupported("versions before 11 are not supported")
    scales, sizes = inputs[2], inputs[3]
    if node.op_type == "Upsample" and not scales:
        raise Unsupported("versions before 9 are not supported")
    for name in (scales, sizes):
        if name and name not in importer.constants:
            raise Unsupported("scales and sizes must be known")
    shape = kind["shape"]
    axes = [one % len(shape) for one in attributes.get("axes", range(len(shape)))]
    policy = attributes.get("keep_aspect_ratio_policy", b"stretch")
    given = importer.constants[scales] if scales else np.zeros(0)
    factors: list[float | None] = [None] * len(shape)
    lengths: list[int | None] = [None] * len(shape)
    if given.size:
        for axis, factor in zip(axes, given.tolist()):
            factors[axis] = factor
    else:
        if not sizes or policy != b"stretch":
            raise Unsupported("only scales, or sizes that stretch, are supported")
        for axis, length in zip(axes, importer.constants[sizes].tolist()):
            lengths[axis] = int(length)
    current, now = node.input[0], list(shape)
    dtype = kind["dtype"]
    steps = []
    for axis, length in enumerate(shape):
        factor, wanted = factors[axis], lengths[axis]
        if (factor in (None, 1.0)) and (wanted in (None, length)):
            continue
        if length == "?":
            raise Unsupported("the sizes of the input must be known along the axes")
        matrix = _resize_matrix(importer, attributes, length, factor, wanted)
        steps.append((axis, matrix))
    for axis, matrix in steps:
        now[axis] = matrix.shape[0]
        if np.all((matrix == 0) | (matrix == 1)) and np.all(matrix.sum(1) == 1):
            index = importer.constant(matrix.argmax(1).astype(np.int64))
            args = {
                "data": importer.reference(current),
                "indices": importer.reference(index),
                "axis": axis,
            }
            current = importer.emit(node, "Gather", args, dtype, list(now))
            continue
        weights = importer.constant(matrix.astype(np.float32))
        letters = "abcdefgh"[: len(now)]
        equation = f"z{letters[axis]},{letters}->{letters.replace(letters[axis], 'z')}"
        args = {
            "equation": {"str": equation},
            "Inputs": [importer.reference(weights), importer.reference(current)],
        }
        current = importer.emit(node, "Einsum", args, dtype, list(now))
    args = {"input": importer.reference(current)}
    importer._emit("Identity", args, [{"dtype": dtype, "shape": now}], [node.output[0]], node)


def _resize_matrix(
    importer: Importer,
    attributes: dict[str, Any],
    length: int,
    factor: float | None,
    wanted: int | None,
) -> np.ndarray:
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    kept = {name: value for name, value in attributes.items() if name != "axes"}
    values = {"X": np.eye(length, dtype=np.float32)}
    names = ["X", "", "", ""]
    if factor is not None:
        values["scales"] = np.array([factor, 1.0], np.float32)
        names[2] = "scales"
    else:
        values["sizes"] = np.array([wanted, length], np.int64)
        names[3] = "sizes"
    tensors = [numpy_helper.from_array(value, name) for name, value in values.items()]
    node = helper.make_node("Resize", names, ["Y"], **kept)
    graph = helper.make_graph(
        [node], "resize", [], [helper.make_empty_tensor_value_info("Y")], tensors
    )
    opset = [helper.make_opsetid("", max(importer.version, 13))]
    try:
        return ReferenceEvaluator(helper.make_model(graph, opset_imports=opset)).run(None, {})[0]
    except Exception as error:
        raise Unsupported(f"the reference cannot compute the weights: {error}") from None
