"""What is known about a model before it is called: types, constants and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CompileError
from ..types import BY_NAME
from .definitions import schema_of
from .read import package
from .sizes import Size, combine, symbolic

if TYPE_CHECKING:
    import onnx

DTYPES = {name: dtype.name for name, dtype in BY_NAME.items() if not name.startswith("float8")}
# Elements of a constant that the program may need to know: shapes, axes, pads.
MOST_ELEMENTS = 1024
# Constants that are computed when the model is imported.
MOST_FOLDED = 1 << 16
_RANDOM = frozenset(
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial".split()
)


class Values:
    """What is known about the values of a model: types, constants, and tensors of sizes."""

    def __init__(self, model: onnx.ModelProto):
        self.onnx = package()
        self.model = model
        self.version = 1
        for one in model.opset_import:
            if one.domain in ("", "ai.onnx"):
                self.version = one.version
        self.constants: dict[str, np.ndarray] = {}  # by the model's names
        self.sizes: dict[str, np.ndarray] = {}  # tensors of sizes
        self.types: dict[str, Any] = {}
        self.renamed: dict[str, str] = {}  # the model's names as names of the program

    def _infer(self) -> None:
        onnx = self.onnx
        try:
            self.model = onnx.shape_inference.infer_shapes(
                self.model, check_type=False, strict_mode=False, data_prop=True
            )
        except Exception as error:
            raise CompileError(f"the model is not valid: {str(error).strip()}") from None
        graph = self.model.graph
        for each in (*graph.value_info, *graph.output, *graph.input):
            self.types[each.name] = each.type

    def _set(self, name: str, value: np.ndarray) -> None:
        self.constants[name] = value
        self.types[name] = self.onnx.helper.make_tensor_type_proto(
            self.onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )

    def _type(self, name: str) -> dict | None:
        """The type of a value for the compiler; None for what the language does not have."""
        kind = self.types.get(name)
        if kind is None or not kind.HasField("tensor_type"):
            return None
        tensor = kind.tensor_type
        if not tensor.HasField("shape"):
            return None
        try:
            dtype = self.onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
        except Exception:
            return None
        if tensor.elem_type == self.onnx.TensorProto.STRING or dtype not in DTYPES:
            return None
        shape: list[int | str] = []
        for size in tensor.shape.dim:
            shape.append(size.dim_value if size.HasField("dim_value") else "?")
        return {"dtype": DTYPES[dtype], "shape": shape}

    def _why_untyped(self, name: str) -> str:
        kind = self.types.get(name)
        if kind is None:
            return f"the type of '{name}' is not known"
        if not kind.HasField("tensor_type"):
            return f"'{name}' is not a tensor"
        number = kind.tensor_type.elem_type
        if not kind.tensor_type.HasField("shape"):
            return f"the number of dimensions of '{name}' is not known"
        if number not in self.onnx.TensorProto.DataType.values():
            return f"the type of '{name}' is not valid"
        dtype = self.onnx.TensorProto.DataType.Name(number).lower()
        return f"the language has no type {dtype}"

    def _any_shape(self, name: str) -> dict | None:
        kind = self.types.get(name)
        if kind is None or not kind.HasField("tensor_type"):
            return None
        if not kind.tensor_type.HasField("shape"):
            return None
        sizes = kind.tensor_type.shape.dim
        return {"shape": [one.dim_value if one.HasField("dim_value") else "?" for one in sizes]}

    def _refine(self, node: onnx.NodeProto) -> None:
        """Infers the types of results again where the first inference did not know enough: it did
        not see what has been evaluated since."""
        if all(
            (self._any_shape(one) or {"shape": "?"})["shape"].count("?") == 0
            for one in node.output
            if one
        ):
            return
        types = {name: self.types[name] for name in node.input if name in self.types}
        data = {
            name: self.onnx.numpy_helper.from_array(self.constants[name], name)
            for name in node.input
            if name in self.constants and self.constants[name].size <= MOST_ELEMENTS
        }
        try:
            made = self.onnx.shape_inference.infer_node_outputs(
                schema_of(node.op_type, self.version),
                node,
                types,
                data,
                opset_imports=[self.onnx.helper.make_opsetid("", self.version)],
            )
        except Exception:
            made = {}
        for name, kind in made.items():
            before, now = self._any_shape(name), kind.tensor_type.shape.dim
            if kind.HasField("tensor_type") and kind.tensor_type.HasField("shape"):
                if before is not None:  # what was known before remains
                    for size, known in zip(now, before["shape"]):
                        if known != "?":
                            size.dim_value = known
                self.types[name] = kind
        self._refine_by_sizes(node)

    def _refine_by_sizes(self, node: onnx.NodeProto) -> None:
        """The shape of a result that is given as sizes."""
        place = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0}.get(node.op_type)
        if place is None or len(node.input) <= place or node.input[place] not in self.sizes:
            return
        if (known := self._any_shape(node.output[0])) is not None and known["shape"]:
            return
        given = self.sizes[node.input[place]].tolist()
        if node.op_type == "Expand":
            first = self._any_shape(node.input[0])
            if first is None or len(first["shape"]) > len(given):
                return
        number = 1
        if node.op_type == "ConstantOfShape":
            for one in node.attribute:
                number = one.t.data_type
        elif (kind := self.types.get(node.input[0])) is not None:
            number = kind.tensor_type.elem_type
        sizes = [one if isinstance(one, int) and one > 0 else None for one in given]
        self.types[node.output[0]] = self.onnx.helper.make_tensor_type_proto(number, sizes)

    def _fold(self, node: onnx.NodeProto) -> bool:
        """Evaluates an operator whose operands are all known."""
        inputs = [name for name in node.input if name]
        if node.op_type == "Shape" or node.op_type == "Size":
            kind = self._type(inputs[0]) if inputs else None
            if kind is None:
                # Types that the language does not have may have a shape.
                kind = self._any_shape(inputs[0])
            if kind is not None and "?" not in kind["shape"]:
                self._evaluate(node, {inputs[0]: np.empty(kind["shape"], np.int8)}, retyped=True)
                return node.output[0] in self.constants
            return False
        if node.op_type == "CastLike" and inputs[0] in self.constants:
            kind = self.types.get(inputs[1])
            number = kind.tensor_type.elem_type if kind is not None else 0
            value = self.constants[inputs[0]]
            if not number or value.size > MOST_FOLDED:
                return False
            cast = self.onnx.helper.make_node("Cast", inputs[:1], node.output, to=number)
            return self._evaluate(cast, {inputs[0]: value})
        if node.op_type in _RANDOM or any(name not in self.constants for name in inputs):
            return False
        if sum(self.constants[name].size for name in inputs) > MOST_FOLDED:
            return False
        return self._evaluate(node, {name: self.constants[name] for name in inputs})

    def _evaluate(
        self, node: onnx.NodeProto, values: dict[str, np.ndarray], retyped: bool = False
    ) -> bool:
        from onnx import helper
        from onnx.reference import ReferenceEvaluator

        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in values.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "constant", inputs, outputs)
        opset = [helper.make_opsetid("", self.version)]
        model = helper.make_model(graph, opset_imports=opset)
        try:
            with np.errstate(all="ignore"):
                results = ReferenceEvaluator(model).run(None, values)
        except Exception:
            return False
        if not all(isinstance(one, np.ndarray) or np.isscalar(one) for one in results):
            return False
        for name, value in zip([one for one in node.output if one], results):
            self._set(name, np.asarray(value))
        return True

    def _set_sizes(self, name: str, value: np.ndarray) -> None:
        if not any(isinstance(one, Size) for one in value.reshape(-1)):
            self._set(name, value.astype(np.int64))
            return
        self.sizes[name] = value
        self.types[name] = self.onnx.helper.make_tensor_type_proto(
            self.onnx.TensorProto.INT64, value.shape
        )

    def _fold_sizes(self, node: onnx.NodeProto) -> bool:
        """Computes with sizes that only a call knows."""
        attributes = {one.name: self.onnx.helper.get_attribute_value(one) for one in node.attribute}
        inputs = [name for name in node.input if name]
        if node.op_type in ("Shape", "Size"):
            kind = self._any_shape(inputs[0])
            if kind is None or inputs[0] not in self.renamed:
                return False
            ours = self.renamed[inputs[0]]
            sizes = [
                Size(f"{ours}.shape[{index}]") if size == "?" else size
                for index, size in enumerate(kind["shape"])
            ]
            if node.op_type == "Size":
                total: Any = 1
                for one in sizes:
                    total = combine("Mul", total, one)
                self._set_sizes(node.output[0], np.array(total, dtype=object))
                return True
            first, last = attributes.get("start", 0), attributes.get("end", len(sizes))
            kept = np.array([*sizes[first:last], None], dtype=object)[:-1]
            self._set_sizes(node.output[0], kept)
            return True
        if not inputs or not any(name in self.sizes for name in inputs):
            return False
        if any(name not in self.sizes and name not in self.constants for name in inputs):
            return False
        if node.op_type == "Cast" and attributes["to"] != self.onnx.TensorProto.INT64:
            return False
        values = [
            self.sizes[name] if name in self.sizes else self.constants[name].astype(object)
            for name in inputs
        ]
        try:
            result = symbolic(node, values, attributes)
        except (ValueError, IndexError, TypeError, KeyError, ZeroDivisionError):
            return False
        if result is None:
            return False
        self._set_sizes(node.output[0], np.asarray(result, dtype=object))
        return True
