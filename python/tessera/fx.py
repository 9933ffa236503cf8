"""FX graphs of ATen operations as functions of the language.

The compiler translates the operations that it knows (`lib/Import`); PyTorch runs the others between
the compiled parts of the graph.
"""

from __future__ import annotations

import json
import math
import operator
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from . import _tessera, compiler
from .errors import ArgumentError, CompileError
from .function import Function
from .program import define
from .types import BY_NAME, DType

# Nodes that give values to a graph: its arguments, and the constants of its module.
_GIVEN = ("placeholder", "get_attr")
# Parts have at least so many operations, and end where the fewest values live on among so many
# operations on both sides. A layer of a model has some tens of operations.
_LEAST_PART = 24
_REACH = 48
# Operations that PyTorch's flags for convolutions concern, and those of the flags for products.
_CONVOLUTIONS = {"aten.convolution.default", "aten.convolution_backward.default"}
_PRODUCTS = {"aten.mm.default", "aten.addmm.default", "aten.bmm.default", "aten.baddbmm.default"}
# Operations whose result shares the memory of their operand.
_VIEWS = {
    "aten.view.default",
    "aten.permute.default",
    "aten.transpose.int",
    "aten.t.default",
    "aten.unsqueeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.expand.default",
    "aten.slice.Tensor",
    "aten.select.int",
    "aten.alias.default",
    "aten.detach.default",
}


def name_of(target: Any) -> str:
    """The name of an operation: aten.add.Tensor, operator.getitem."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"operator.{getattr(target, '__name__', target)}"


def dtype_of(dtype: torch.dtype) -> DType | None:
    return BY_NAME.get(str(dtype).removeprefix("torch."))


def _value(node: fx.Node) -> Any:
    """An example of the node's value."""
    if "val" in node.meta or node.op != "get_attr":
        return node.meta.get("val")
    value: Any = node.graph.owning_module
    for name in node.target.split("."):
        value = getattr(value, name, None)
    return value


def _arguments(node: fx.Node) -> dict[str, Any]:
    """The arguments by the names of the schema, with defaults."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return dict(zip("ab", node.args))
    given: dict[str, Any] = {}
    for index, one in enumerate(node.target._schema.arguments):
        if index < len(node.args) and not one.kwarg_only:
            given[one.name] = node.args[index]
        elif one.name in node.kwargs:
            given[one.name] = node.kwargs[one.name]
        elif one.has_default_value():
            given[one.name] = one.default_value
    return given


def _json(value: Any, names: dict[fx.Node, str]) -> Any:
    if isinstance(value, fx.Node):
        return {"ref": names.get(value, value.name)}
    if isinstance(value, (list, tuple)):
        return [_json(one, names) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, torch.dtype):
        dtype = dtype_of(value)
        return {"dtype": dtype.name if dtype else str(value)}
    return {"str": str(value)}


def _type(value: Any) -> dict | None:
    """The type of a tensor; None for what the language does not have."""
    if value is None:  # a result that nobody wants
        return {"dtype": "none", "shape": []}
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    dtype = dtype_of(value.dtype)
    shape = [size if isinstance(size, int) else str(size) for size in value.shape]
    return {"dtype": dtype.name, "shape": shape} if dtype else None


def _is_number(value: Any) -> bool:
    kinds = (int, float, torch.SymInt, torch.SymFloat)
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_view(node: fx.Node) -> bool:
    return node.op == "call_function" and name_of(node.target) in _VIEWS


def _record(node: fx.Node, names: dict[fx.Node, str]) -> dict | None:
    """One operation for the compiler; None if a result has no type of the language."""
    value = _value(node)
    record = {"name": names.get(node, node.name), "op": name_of(node.target)}
    record["args"] = {key: _json(one, names) for key, one in _arguments(node).items()}
    if isinstance(value, (tuple, list)):
        kinds = [_type(one) for one in value]
        if None in kinds:
            return None
        return record | {"results": kinds}
    if _is_number(value):
        return record
    kind = _type(value) if value is not None else None
    return record | kind if kind else None


def _translate(graph: dict) -> dict:
    compiler.load()
    answer = json.loads(_tessera.import_aten(json.dumps(graph)))
    if "error" in answer:
        raise CompileError(f"a graph cannot be imported: {answer['error']}")
    return answer


def unsupported(graph: fx.Graph) -> dict[fx.Node, str]:
    """The operations that PyTorch has to run, and why."""
    found: dict[fx.Node, str] = {}
    inputs, records, by_name = [], [], {}
    untyped: set[fx.Node] = set()
    for node in graph.nodes:
        by_name[node.name] = node
        if node.op in _GIVEN:
            value = _value(node)
            kind = None if value is None else _type(value)
            if kind or _is_number(value):
                inputs.append({"name": node.name, **(kind or {})})
            else:
                untyped.add(node)
        elif node.op == "call_function":
            record = _record(node, {})
            if record is None:
                found[node] = "a result has a type that the language does not have"
            elif not untyped.isdisjoint(node.all_input_nodes):
                found[node] = "an operand has a type that the language does not have"
            else:
                records.append(record)
        elif node.op != "output":
            found[node] = f"{node.op} is not an operation"
    answer = _translate({"name": "graph", "inputs": inputs, "nodes": records, "outputs": []})
    for name, reason in answer["unsupported"]:
        found[by_name[name]] = reason
    # A part of what PyTorch computes is taken by PyTorch, too.
    for node in graph.nodes:
        if node.target is operator.getitem and node.args[0] in found:
            found[node] = found[node.args[0]]
    return found


class Part:
    """Neighbouring operations that become one function."""

    def __init__(self, nodes: list[fx.Node]):
        self.nodes = nodes
        inside = set(nodes)
        reads = {one: None for node in nodes for one in node.all_input_nodes if one not in inside}
        self.inputs = list(reads)
        # Numbers and views that others use are made by PyTorch, from the tensors that they need.
        self.views: list[fx.Node] = []
        wanted: set[fx.Node] = set()
        for node in reversed(nodes):
            if node not in wanted and all(user in inside for user in node.users):
                continue
            wanted.add(node)
            if _is_number(_value(node)) or _is_view(node):
                self.views.append(node)
                wanted.update(one for one in node.all_input_nodes if one in inside)
        self.views.reverse()
        made = set(self.views)
        self.outputs = [node for node in nodes if node in wanted and node not in made]

    def source(self, name: str) -> tuple[str, list[fx.Node]]:
        """The program, and the inputs that are its arguments. Values are numbered, so that equal
        parts have the same text."""
        sizes = {
            str(size): None
            for node in self.inputs
            if isinstance(value := _value(node), torch.Tensor)
            for size in value.shape
            if not isinstance(size, int)
        }
        names = {node: f"x{i}" for i, node in enumerate(self.inputs)}
        names |= {node: f"v{i}" for i, node in enumerate(self.nodes)}
        inputs, given = [], []
        for node in self.inputs:
            value = _value(node)
            if _is_number(value):
                if str(value) in sizes and str(value).isidentifier():
                    inputs.append({"name": names[node], "size": str(value)})
                    continue
                number = "float" if isinstance(value, (float, torch.SymFloat)) else "int"
                inputs.append({"name": names[node], "number": number})
            else:
                inputs.append({"name": names[node], **(_type(value) or {})})
            given.append(node)
        graph = {
            "name": name,
            "inputs": inputs,
            "nodes": [_record(node, names) for node in self.nodes],
            "outputs": [names[node] for node in self.outputs],
        }
        return _translate(graph)["program"], given


def _root(node: fx.Node) -> fx.Node:
    """The tensor whose memory a view shares."""
    while _is_view(node):
        node = node.args[0]
    return node


def _rounds(backend: Any, operation: str) -> bool:
    """Whether PyTorch may round factors in fp32 to TF32 on a GPU."""
    try:
        return bool(backend.allow_tf32)
    except RuntimeError:  # its flags by operation are in use
        return getattr(backend, operation).fp32_precision == "tf32"


def _precision(node: fx.Node) -> str | None:
    """The precision of the factors of a product in fp32 on a GPU, by PyTorch's flags."""
    value = _value(node)
    value = value[0] if isinstance(value, (tuple, list)) else value
    if node.op != "call_function" or not isinstance(value, torch.Tensor):
        return None
    if value.device.type != "cuda" or value.dtype != torch.float32:
        return None
    name = name_of(node.target)
    if name in _CONVOLUTIONS:
        return "tf32" if _rounds(torch.backends.cudnn, "conv") else "fp32"
    if name in _PRODUCTS:
        return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "fp32"
    return None


def split_by_precision(nodes: list[fx.Node]) -> list[list[fx.Node]]:
    """Divides operations where the precision of products changes: a function has one."""
    parts: list[list[fx.Node]] = [[]]
    current = None
    for node in nodes:
        precision = _precision(node)
        if precision and current and precision != current:
            parts.append([])
        current = precision or current
        parts[-1].append(node)
    return parts


def split(nodes: list[fx.Node]) -> list[list[fx.Node]]:
    """Divides operations that could be one part where few values live on, so that the time to
    compile grows with the number of operations, and repeated layers become equal parts. Parts end
    behind a value that several operations read: it would be stored in any case."""
    last: dict[fx.Node, int] = {}
    readers: dict[fx.Node, int] = {}
    for index, node in enumerate(nodes):
        for one in {_root(one) for one in node.all_input_nodes}:
            last[one] = index
            readers[one] = readers.get(one, 0) + (not _is_view(node))
    # The number of values that are live behind each operation.
    ends: dict[int, int] = {}
    live, alive = [], 0
    for index, node in enumerate(nodes):
        if _root(node) is node and last.get(node, -1) > index:
            alive += 1
            ends[last[node]] = ends.get(last[node], 0) + 1
        alive -= ends.get(index, 0)
        live.append(alive)
    parts: list[list[fx.Node]] = [[]]
    for index, node in enumerate(nodes):
        parts[-1].append(node)
        if len(parts[-1]) < _LEAST_PART or len(nodes) - index <= _LEAST_PART:
            continue
        around = live[max(0, index - _REACH) : index + _REACH + 1]
        is_tensor = isinstance(_value(node), torch.Tensor)
        least_alive = min((one for one in around if one > 0), default=0)
        if is_tensor and readers.get(node, 0) > 1 and live[index] <= least_alive:
            parts.append([])
    return [part for part in parts if part]


def partition(graph: fx.Graph, foreign: dict[fx.Node, str]) -> list[Part | fx.Node]:
    """The parts in an order in which they can run, in linear time: a node belongs to the first part
    of its kind that can come after all of its operands."""
    level: dict[fx.Node, int] = {}
    groups: dict[int, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.op == "output" or node.op in _GIVEN:
            continue
        # PyTorch starts with what needs nothing of the graph, such as random numbers.
        kind = int(node in foreign)
        least = -kind
        for one in node.all_input_nodes:
            if (before := level.get(one)) is not None:
                least = max(least, before if before % 2 == kind else before + 1)
        level[node] = least
        groups.setdefault(least, []).append(node)
    order: list[Part | fx.Node] = []
    for number in sorted(groups):
        if number % 2:
            order.extend(groups[number])
        else:
            for nodes in split_by_precision(groups[number]):
                order.extend(Part(part) for part in split(nodes))
    return order


class GraphFunction(Function):
    """A function that PyTorch calls: gradients and traces of the call are PyTorch's matter."""

    _is_recordable = False


# Equal parts are one function, as long as a graph uses it.
_KNOWN: weakref.WeakValueDictionary[tuple, Function] = weakref.WeakValueDictionary()


class Compiled:
    """One part: its function, or PyTorch's operations if it cannot be compiled."""

    def __init__(self, part: Part, number: int, options: dict[str, Any] | None):
        self.part = part
        self.text, self.inputs = part.source("graph")
        if precisions := {one for node in part.nodes if (one := _precision(node))}:
            options = {"matmul": precisions.pop(), **(options or {})}
        key = (self.text, json.dumps(options, sort_keys=True, default=str))
        function = _KNOWN.get(key)
        if function is None:
            function = _KNOWN[key] = define(self.text, "graph", options, GraphFunction)
        self.function = function
        self.__name__ = f"graph_{number}"
        self._eager: Callable | None = None

    def __call__(self, *args: Any) -> Any:
        if self._eager is None:
            try:
                return self.function(*args)
            except (CompileError, ArgumentError) as error:
                warnings.warn(f"Tessera runs a part of the graph by PyTorch: {error}", stacklevel=2)
                self._eager = self._make_eager()
        return self._eager(*args)

    def _make_eager(self) -> Callable:
        graph = fx.Graph()
        made = {node: graph.placeholder(node.name) for node in self.inputs}
        for node in self.part.inputs:
            if node not in made:
                made[node] = self._size(graph, node, made)
        for node in self.part.nodes:
            made[node] = graph.node_copy(node, lambda one: made[one])
        graph.output(tuple(made[node] for node in self.part.outputs))
        return fx.GraphModule(torch.nn.Module(), graph)

    def _size(self, graph: fx.Graph, node: fx.Node, made: dict) -> fx.Node:
        """An integer that is the size of an argument."""
        wanted = str(_value(node))
        for one in self.inputs:
            value = _value(one)
            if isinstance(value, torch.Tensor):
                for dim, size in enumerate(value.shape):
                    if str(size) == wanted:
                        return graph.call_function(torch.ops.aten.sym_size.int, (made[one], dim))
        raise AssertionError("the size is that of no argument")


def compile_graph(module: fx.GraphModule, options: dict[str, Any] | None = None) -> fx.GraphModule:
    """The graph with compiled parts, as a module that is called with the same arguments."""
    foreign = unsupported(module.graph)
    order = partition(module.graph, foreign)
    graph = fx.Graph()
    made: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        if node.op in _GIVEN:
            made[node] = graph.node_copy(node, lambda one: made[one])
    count = 0
    for step in order:
        if isinstance(step, fx.Node):
            made[step] = graph.node_copy(step, lambda one: made[one])
            continue
        if step.outputs:
            compiled = Compiled(step, count, options)
            count += 1
            results = graph.call_function(compiled, tuple(made[one] for one in compiled.inputs))
        for number, node in enumerate(step.outputs):
            made[node] = graph.call_function(operator.getitem, (results, number))
        for node in step.views:
            made[node] = graph.node_copy(node, lambda one: made[one])
    for node in module.graph.nodes:
        if node.op == "output":
            graph.output(fx.node.map_arg(node.args[0], lambda one: made[one]))
    return fx.GraphModule(module, graph)
