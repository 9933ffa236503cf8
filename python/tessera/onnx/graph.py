"""A model as a graph for the compiler."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _tessera, compiler
from ..errors import ArgumentError, CompileError
from .definitions import Names, Unsupported, body_of, definition_of, schema_of
from .resize import resize
from .sizes import Size
from .values import MOST_ELEMENTS, Values

if TYPE_CHECKING:
    import onnx

# Operators of numbers, in which a constant is written as a number.
_ELEMENTWISE = frozenset(
    "Add Sub Mul Div Pow Max Min Where Equal Greater GreaterOrEqual Less LessOrEqual Clip".split()
)
# Operators whose last results are optional.
_OPTIONAL = frozenset("Dropout BatchNormalization MaxPool LayerNormalization RNN GRU LSTM".split())
_RESERVED = frozenset(
    "tsr math Tensor model and as assert def del elif else for if in is not or".split()
)


def as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


class Importer(Values):
    """One model on its way to a program."""

    def __init__(self, model: onnx.ModelProto, constants: Mapping[str, Any]):
        super().__init__(model)
        self.names = Names(model)
        compiler.load()
        self.known_operators = set(json.loads(_tessera.onnx_operators()))
        self.problems: list[tuple[str, str]] = []
        self.depth = 0  # of definitions
        self.inputs: list[dict] = []
        self.nodes: list[dict] = []
        self.bound = constants
        self.read: set[str] = set()  # the values that an operator reads, or the caller

    def run(self) -> tuple[str, list[str], dict[str, np.ndarray]]:
        graph = self.model.graph
        self._bind()
        self._check()
        self._infer()
        self._read_constants()
        outputs = [one.name for one in graph.output]
        self.read.update(outputs)
        for node in self.model.graph.node:
            self.read.update(node.input)
        self.records: dict[str, str] = {}
        self._add_inputs()
        for node in self._needed(outputs):
            self._add(node)
        for name in outputs:
            if name in self.sizes and name not in self.renamed:
                self._write_sizes(name)
        self._add_weights()
        if self.problems:
            self._fail()
        computed = [name for name in outputs if name not in self.constants]
        if not computed:
            return "", [], self.constants
        for name in computed:
            if name not in self.renamed:
                raise CompileError(f"the model has no operator that computes the output '{name}'")
        graph = {
            "name": "model",
            "inputs": self.inputs,
            "nodes": self.nodes,
            "outputs": [self.renamed[name] for name in computed],
        }
        answer = json.loads(_tessera.import_onnx(json.dumps(graph)))
        if "error" in answer:
            raise CompileError(f"the model cannot be imported: {answer['error']}")
        for name, reason in answer["unsupported"]:
            self.problems.append((self.records[name], reason))
        if self.problems:
            self._fail()
        by_ours = {ours: name for name, ours in self.renamed.items()}
        parameters = [by_ours[one] for one in answer["parameters"]]
        return answer["program"], parameters, self.constants

    def _fail(self) -> None:
        lines = [f"  {what}: {why}" for what, why in dict.fromkeys(self.problems)]
        raise CompileError("the model cannot be imported:\n" + "\n".join(lines))

    def _bind(self) -> None:
        """Inputs that the caller gives as constants."""
        graph = self.model.graph
        for name, value in self.bound.items():
            inputs = [one for one in graph.input if one.name == name]
            if not inputs:
                raise ArgumentError(f"from_onnx: the model has no input '{name}'")
            dtype = self.onnx.helper.tensor_dtype_to_np_dtype(inputs[0].type.tensor_type.elem_type)
            tensor = self.onnx.numpy_helper.from_array(np.asarray(value, dtype), name)
            graph.input.remove(inputs[0])
            graph.initializer.append(tensor)

    def _check(self) -> None:
        for each in self.model.graph.node:
            for one in each.attribute:
                if one.type in (one.GRAPH, one.GRAPHS):
                    self.problems.append(
                        (self._title(each), "operators with graphs of their own are not supported")
                    )
        if self.problems:
            self._fail()
        if self.model.functions:
            from onnx import inliner

            self.model = inliner.inline_local_functions(self.model)
            self.names = Names(self.model)

    def _read_constants(self) -> None:
        graph = self.model.graph
        if graph.sparse_initializer:
            raise CompileError("the model has sparse weights, which are not supported")
        for each in graph.initializer:
            self._set(each.name, self.onnx.numpy_helper.to_array(each))

    def _needed(self, outputs: list[str]) -> list[onnx.NodeProto]:
        """The nodes on which outputs depend."""
        wanted = {name for name in outputs if name not in self.constants}
        nodes = []
        for node in reversed(self.model.graph.node):
            if any(name in wanted for name in node.output if name):
                nodes.append(node)
                wanted.update(name for name in node.input if name)
        return nodes[::-1]

    def _add_definition(self, node: onnx.NodeProto) -> bool:
        """Adds the operators that define one which the compiler does not know."""
        if node.op_type in self.known_operators or node.op_type in REWRITES or self.depth > 8:
            return False
        self._refine(node)
        try:
            function = definition_of(node, self.version, self.types)
            if function is None:
                return False
            attributes = schema_of(node.op_type, self.version).attributes.values()
            defaults = [one.default_value for one in attributes if one.default_value.name]
            body = body_of(node, function, defaults, self.names)
        except Unsupported as error:
            self.problems.append((self._title(node), str(error)))
            return True
        except Exception:
            return False
        self.depth += 1
        wanted = {name for name in node.output if name}
        needed = []
        for each in reversed(body):
            if any(name in wanted for name in each.output if name):
                needed.append(each)
                wanted.update(each.input)
        for each in needed:
            self.read.update(each.input)
        for each in reversed(needed):
            each.name = each.name or node.name
            self._add(each)
        self.depth -= 1
        return True

    def _is_standard(self, node: onnx.NodeProto) -> bool:
        return node.domain in ("", "ai.onnx") and self.onnx.defs.has(node.op_type, self.version)

    @staticmethod
    def _title(node: onnx.NodeProto) -> str:
        return f"{node.op_type} '{node.name}'" if node.name else node.op_type

    def _add_inputs(self) -> None:
        used = set()
        for index, each in enumerate(self.model.graph.input):
            if each.name in self.constants:
                continue
            kind = self._type(each.name)
            if kind is None:
                self.problems.append((f"input '{each.name}'", self._why_untyped(each.name)))
                continue
            shape = []
            for size in each.type.tensor_type.shape.dim:
                if size.HasField("dim_value"):
                    shape.append(size.dim_value)
                    continue
                name = re.sub(r"\W", "_", size.dim_param) or f"size{index}_{len(shape)}"
                if not re.match(r"[A-Za-z]", name) or name in _RESERVED:
                    name = f"size_{name}"
                shape.append(name)
                used.add(name)
            self.renamed[each.name] = f"x{index}_"
            self.inputs.append({"name": f"x{index}_", "dtype": kind["dtype"], "shape": shape})

    def _add_weights(self) -> None:
        for name, ours in list(self.renamed.items()):
            if name not in self.constants:
                continue
            kind = self._type(name)
            if kind is None:
                self.problems.append((f"constant '{name}'", self._why_untyped(name)))
                continue
            self.inputs.append({"name": ours, "weight": True, **kind})

    def _add(self, node: onnx.NodeProto) -> None:
        outputs = [name for name in node.output if name]
        if all(name in self.constants for name in outputs) or self._fold(node):
            return
        if self._fold_sizes(node):
            return
        if not self._is_standard(node):
            self.problems.append((self._title(node), "the operator is not in the ONNX standard"))
            return
        if self._add_definition(node):
            return
        self._refine(node)
        rewrite = REWRITES.get(node.op_type)
        if rewrite is not None:
            try:
                rewrite(self, node)
            except Unsupported as error:
                self.problems.append((self._title(node), str(error)))
            return
        results = []
        targets = list(node.output)
        while node.op_type in _OPTIONAL and targets[-1] not in self.read and len(targets) > 1:
            targets.pop()
        for name in targets:
            if not name:
                results.append({"dtype": "none", "shape": []})
                continue
            kind = self._type(name)
            if kind is None:
                self.problems.append((self._title(node), self._why_untyped(name)))
                return
            results.append(kind)
        for name in node.input:
            if name and name not in self.constants and name not in self.renamed:
                if name in self.sizes:
                    self._write_sizes(name)
                elif not self.problems:
                    self.problems.append((self._title(node), f"nothing computes '{name}'"))
                    return
                else:
                    return  # a result of what is not supported
            if name and self._type(name) is None:
                self.problems.append((self._title(node), self._why_untyped(name)))
                return
        self._emit(node.op_type, self._arguments(node), results, targets, node)

    def _emit(
        self, op: str, args: dict, results: list[dict], outputs: list[str], node: onnx.NodeProto
    ) -> None:
        number = len(self.nodes)
        targets = [
            f"v{number}" if index == 0 else f"v{number}_{index}" for index in range(len(outputs))
        ]
        for name, ours in zip(outputs, targets):
            if name:
                self.renamed[name] = ours
        self.records[targets[0]] = self._title(node)
        self.nodes.append(
            {
                "name": targets[0],
                "op": op,
                "version": self.version,
                "args": args,
                "results": results,
                "targets": targets,
            }
        )

    def emit(self, node: onnx.NodeProto, op: str, args: dict, dtype: str, shape: list) -> str:
        """Adds an operator that is a part of a node, and returns its name."""
        name = self.names.fresh(node.output[0])
        self.types[name] = self.onnx.helper.make_tensor_type_proto(
            1, [one if isinstance(one, int) else None for one in shape]
        )
        self._emit(op, args, [{"dtype": dtype, "shape": shape}], [name], node)
        return name

    def constant(self, value: np.ndarray) -> str:
        name = self.names.fresh("constant")
        self._set(name, value)
        return name

    def reference(self, name: str) -> Any:
        """A value as an argument of an operator."""
        if name in self.sizes:
            elements = [
                {"size": one.text} if isinstance(one, Size) else int(one)
                for one in self.sizes[name].reshape(-1)
            ]
            if name not in self.renamed:
                self._write_sizes(name)
            return {"ref": self.renamed[name], "value": elements}
        if name in self.constants:
            if name not in self.renamed:
                self.renamed[name] = f"c{len(self.renamed)}"
            value = self.constants[name]
            record = {"ref": self.renamed[name]}
            if value.size <= MOST_ELEMENTS and value.dtype.kind in "fiub":
                record["value"] = [as_json(one) for one in value.reshape(-1).tolist()]
            return record
        return {"ref": self.renamed[name]}

    def _write_sizes(self, name: str) -> None:
        """Sizes that an operator reads as a tensor."""
        elements = [
            {"size": one.text} if isinstance(one, Size) else int(one)
            for one in self.sizes[name].reshape(-1)
        ]
        kind = self._type(name) or {"dtype": "int64", "shape": list(self.sizes[name].shape)}
        if self.sizes[name].ndim > 1:
            raise CompileError("a tensor of sizes has more than one dimension")
        number = len(self.nodes)
        self.renamed[name] = f"v{number}"
        self.records[f"v{number}"] = "Shape"
        self.nodes.append(
            {
                "name": f"v{number}",
                "op": "Shape",
                "version": self.version,
                "args": {"sizes": elements},
                "results": [{"dtype": kind["dtype"], "shape": list(self.sizes[name].shape)}],
                "targets": [f"v{number}"],
            }
        )

    def _arguments(self, node: onnx.NodeProto) -> dict[str, Any]:
        schema = schema_of(node.op_type, self.version)
        args: dict[str, Any] = {}
        for name, attribute in schema.attributes.items():
            if attribute.default_value.name:
                args[name] = self._attribute(attribute.default_value)
        for one in node.attribute:
            args[one.name] = self._attribute(one)
        variable = None
        for index, name in enumerate(node.input):
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            if formal.option == self.onnx.defs.OpSchema.FormalParameterOption.Variadic:
                variable = formal.name
                args.setdefault(variable, []).append(self._operand(node, name))
            elif name:
                args[formal.name] = self._operand(node, name)
        return args

    def _operand(self, node: onnx.NodeProto, name: str) -> Any:
        value = self.constants.get(name)
        if (
            value is not None
            and node.op_type in _ELEMENTWISE
            and value.size == 1
            and value.dtype.kind in "fi"
            and self._has_operand(node, name, value.ndim)
            and not (node.op_type == "Pow" and name == node.input[0])
            and not (node.op_type == "Where" and value.dtype.kind == "b")
        ):
            one = value.item()
            return {"float": repr(one)} if isinstance(one, float) else one
        return self.reference(name)

    def _has_operand(self, node: onnx.NodeProto, name: str, rank: int) -> bool:
        """Whether another operand is a tensor of at least this rank, so that a number in place of
        this one does not change the result's shape."""
        for one in node.input:
            if one and one != name and one not in self.constants:
                shape = self._any_shape(one)
                if shape is not None and len(shape["shape"]) >= rank:
                    return True
        return False

    def _attribute(self, attribute: Any) -> Any:
        value = self.onnx.helper.get_attribute_value(attribute)
        if attribute.type == attribute.TENSOR:
            array = self.onnx.numpy_helper.to_array(value)
            if array.size > MOST_ELEMENTS or array.dtype.kind not in "fiub":
                return {"str": "tensor"}
            return {"value": [as_json(one) for one in array.reshape(-1).tolist()]}
        if isinstance(value, bytes):
            return {"str": value.decode(errors="replace")}
        if isinstance(value, (int, float)):
            return as_json(value)
        if attribute.type in (attribute.INTS, attribute.FLOATS):
            return [as_json(one) for one in value]
        if attribute.type == attribute.STRINGS:
            return [{"str": one.decode(errors="replace")} for one in value]
        return {"str": str(attribute.type)}


#: Operators whose constants are computed here.
REWRITES: dict[str, Callable[[Importer, Any], None]] = {"Resize": resize, "Upsample": resize}
