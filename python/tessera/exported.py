"""Programs of `torch.export` as functions, and as bundles that run without PyTorch.

The whole graph becomes one function. Its parameters, buffers and constants are the first arguments.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from . import weights
from .dynamo import attention_as_mathematics, decompositions
from .errors import ArgumentError, CompileError
from .fx import Part, dtype_of, name_of, unsupported
from .program import define
from .types import Tensor

_FUNCTION = "forward"
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


class Whole(Part):
    """All operations of a graph, as one function of all arguments."""

    def __init__(self, nodes: list[fx.Node], inputs: list[fx.Node], outputs: list[fx.Node]):
        self.nodes, self.inputs, self.outputs, self.views = nodes, inputs, outputs, []


def _check(program: ExportedProgram) -> None:
    """Rejects what a function cannot do, with all reasons."""
    reasons = []
    for spec in program.graph_signature.input_specs:
        if spec.kind not in (*_WEIGHTS, InputKind.USER_INPUT):
            reasons.append(f"input {spec.arg.name}: {spec.kind.name.lower()} is not a tensor")
    for spec in program.graph_signature.output_specs:
        if spec.kind is not OutputKind.USER_OUTPUT:
            reasons.append(
                f"output {spec.arg.name}: {spec.kind.name.lower()} of {spec.target}; a function "
                "writes no arguments: export the model in eval mode"
            )
    for node, reason in unsupported(program.graph).items():
        reasons.append(f"{name_of(node.target)}: {reason}")
    if reasons:
        raise CompileError(
            "the exported program cannot be compiled:\n" + "\n".join(dict.fromkeys(reasons))
        )


def _type(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [size if isinstance(size, int) else str(size) for size in value.shape]
    return Tensor[(*sizes, dtype_of(value.dtype))]


def _bytes(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


class Exported:
    """An exported program, compiled. It is called like the program, with tensors or arrays."""

    def __init__(self, program: ExportedProgram, target: str | None, options: dict[str, Any]):
        with attention_as_mathematics(narrow=True):
            program = program.run_decompositions(decompositions())
        _check(program)
        nodes = {node.name: node for node in program.graph.nodes}
        tensors = {**program.state_dict, **program.constants}
        given, user = [], []
        self.weights: dict[str, torch.Tensor] = {}
        for spec in program.graph_signature.input_specs:
            node = nodes[spec.arg.name]
            if spec.kind is InputKind.USER_INPUT:
                user.append(node)
            elif node.users:
                given.append(node)
                self.weights[spec.target] = tensors[spec.target].detach()
        outputs = []
        for spec in program.graph_signature.output_specs:
            if spec.arg.name not in nodes:
                raise CompileError("the exported program cannot be compiled: a result is a number")
            outputs.append(nodes[spec.arg.name])
        steps = [node for node in program.graph.nodes if node.op == "call_function"]
        self.program, inputs = Whole(steps, [*given, *user], outputs).source(_FUNCTION)
        self._function = define(self.program, _FUNCTION, options)
        self._in, self._out = program.call_spec.in_spec, program.call_spec.out_spec
        # Sizes that are arguments of the program are not arguments of the function.
        self._kept = [index for index, node in enumerate(user) if node in inputs]
        types = [_type(node.meta["val"]) for node in inputs]
        self.compiled = self._function.compile(*types, target=target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in:
            raise ArgumentError(
                "expected arguments of the structure with which the program was exported"
            )
        results = self._function(*self.weights.values(), *(flat[index] for index in self._kept))
        return pytree.tree_unflatten(results, self._out)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the bundle, and its weights beside it; returns the path of these. tessera.load
        reads both: load("model.tsb", weights="model.safetensors")."""
        beside = Path(path).with_suffix(".safetensors")
        tensors = {
            name: (dtype_of(one.dtype), tuple(one.shape), _bytes(one))
            for name, one in self.weights.items()
        }
        order = {"function": _FUNCTION, "parameters": json.dumps(list(tensors))}
        self.compiled.save(path)
        weights.write(beside, tensors, order)
        return beside

    def __repr__(self) -> str:
        return f"<exported program, {len(self.weights)} weights, {self.compiled!r}>"
