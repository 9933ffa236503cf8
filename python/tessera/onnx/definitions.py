"""The definitions of operators in the ONNX standard, as nodes of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .read import package

if TYPE_CHECKING:
    import onnx


class Names:
    """Names that the model does not use."""

    def __init__(self, model: onnx.ModelProto):
        self.used = set()
        for node in model.graph.node:
            self.used.update(node.input, node.output)
        self.used.update(one.name for one in model.graph.input)
        self.used.update(one.name for one in model.graph.initializer)
        self.count = 0

    def fresh(self, like: str) -> str:
        while True:
            self.count += 1
            name = f"{like}__{self.count}"
            if name not in self.used:
                self.used.add(name)
                return name


def _attributes(node: onnx.NodeProto, given: dict[str, Any]) -> None:
    """Puts the attributes of a call in the place of the references in a function's body."""
    kept = []
    for one in node.attribute:
        if not one.ref_attr_name:
            kept.append(one)
        elif one.ref_attr_name in given:
            value = type(one)()
            value.CopyFrom(given[one.ref_attr_name])
            value.name = one.name
            kept.append(value)
    del node.attribute[:]
    node.attribute.extend(kept)


def body_of(
    node: onnx.NodeProto, function: Any, defaults: list[Any], names: Names
) -> list[onnx.NodeProto]:
    """The nodes of a function for one call of it."""
    onnx = package()
    given = {one.name: one for one in node.attribute}
    for default in (*defaults, *function.attribute_proto):
        given.setdefault(default.name, default)
    renamed = {"": ""}
    renamed.update(zip(function.input, [*node.input, *[""] * len(function.input)]))
    renamed.update(zip(function.output, node.output))
    nodes = []
    for each in function.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(each)
        if any(one.type in (one.GRAPH, one.GRAPHS) for one in copy.attribute):
            raise Unsupported("its definition has a graph of its own")
        for name in (*copy.input, *copy.output):
            if name not in renamed:
                renamed[name] = names.fresh(f"{node.output[0]}_{name}")
        copy.input[:] = [renamed[name] for name in copy.input]
        copy.output[:] = [renamed[name] for name in copy.output]
        _attributes(copy, given)
        nodes.append(copy)
    return nodes


class Unsupported(Exception):
    pass


def schema_of(op: str, version: int, domain: str = "") -> Any:
    from onnx import defs

    return defs.get_schema(op, max_inclusive_version=version, domain=domain)


def definition_of(node: onnx.NodeProto, version: int, types: Mapping[str, Any]) -> Any:
    """The function that defines an operator in the standard, as a FunctionProto; None if it has
    none."""
    onnx = package()
    schema = schema_of(node.op_type, version)
    if schema.has_function:
        return onnx.FunctionProto.FromString(_function_bytes(schema, version))
    if schema.has_context_dependent_function:
        inputs = [
            types[name].SerializeToString()
            if name in types
            else onnx.TypeProto().SerializeToString()
            for name in node.input
        ]
        versions = [
            one for one in schema.context_dependent_function_opset_versions if one <= version
        ]
        if not versions:
            return None
        text = schema.get_context_dependent_function_with_opset_version(
            max(versions), node.SerializeToString(), inputs
        )
        return onnx.FunctionProto.FromString(text) if text else None
    return None


def _function_bytes(schema: Any, version: int) -> bytes:
    versions = [one for one in schema.function_opset_versions if one <= version]
    if versions:
        return schema.get_function_with_opset_version(max(versions))
    return schema.function_body.SerializeToString()
