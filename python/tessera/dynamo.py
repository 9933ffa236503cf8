"""`torch.compile(model, backend="tessera")`.

AOTAutograd traces a graph of Dynamo into forward and backward graphs of ATen operations. Attention
is traced as mathematics, and the scheduler fuses it again. 16-bit attention has contractions of
16-bit operands with sums in fp32, as PyTorch's fused kernels have. On GPUs backward computes scores
again; on CPUs, where it reads them, what is saved of 16-bit attention is fp32.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch.nn.attention import SDPBackend, sdpa_kernel

from .errors import ArgumentError
from .fx import compile_graph, name_of, unsupported


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Dropout whose random numbers depend on nothing but the shape."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    kept = torch.rand(x.shape, device=x.device) > p
    return kept * x * (1.0 / (1.0 - p)), kept


def decompositions() -> dict:
    """How operations become those of core ATen. The gradient of an index is a concatenation."""
    table = {**core_aten_decompositions(), torch.ops.aten.native_dropout.default: _dropout}
    table.pop(torch.ops.aten.select_scatter.default, None)
    return table


@contextmanager
def attention_as_mathematics(narrow: bool) -> Iterator[None]:
    """Traces attention as contractions and a softmax; 16-bit operands are widened unless `narrow`."""
    flags = torch.backends.cuda
    before = flags.fp16_bf16_reduction_math_sdp_allowed()
    with sdpa_kernel(SDPBackend.MATH):
        flags.allow_fp16_bf16_reduction_math_sdp(before or narrow)
        try:
            yield
        finally:
            flags.allow_fp16_bf16_reduction_math_sdp(before)


_PRODUCTS = (
    torch.ops.aten.mm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.addmm.default,
)
_DEEPEST = 256  # of a product that is computed again
_COPIES = (torch.ops.aten.clone.default, torch.ops.aten._to_copy.default)
_SCALINGS = (
    torch.ops.aten.mul.Tensor,
    torch.ops.aten.mul.Scalar,
    torch.ops.aten.div.Tensor,
    torch.ops.aten.div.Scalar,
)


def _size(size: int | torch.SymInt) -> int:
    """A size, or what it is in this call."""
    return size if isinstance(size, int) else size.node.hint or 1


def _elements(node: torch.fx.Node) -> int:
    value = node.meta.get("val")
    return math.prod(map(_size, value.shape)) if isinstance(value, torch.Tensor) else 0


def _on_gpu(values: Iterable[Any]) -> bool:
    return any(isinstance(one, torch.Tensor) and one.device.type == "cuda" for one in values)


def _is_random(node: torch.fx.Node) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _is_copy(node: torch.fx.Node) -> bool:
    """A copy, or a product with a number: what is copied is as well saved."""
    if node.target in _SCALINGS:
        return not isinstance(node.args[1], torch.fx.Node)
    return node.target in _COPIES


def _recomputed(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    """What backward computes again: products with more elements than their operands together, what
    follows them without a reduction, such as the probabilities of an attention, what depends on no
    input, such as a mask, and copies."""
    sizes: dict[torch.fx.Node, int] = {}
    for node in graph.nodes:
        size = _elements(node)
        if node.op != "call_function" or not size or _is_random(node):
            continue
        numbers = (int, float, torch.SymInt, torch.SymFloat)
        tensors = [
            one for one in node.all_input_nodes if not isinstance(one.meta.get("val"), numbers)
        ]
        if all(one in sizes and not sizes[one] for one in tensors):
            sizes[node] = 0
        elif _is_copy(node) and tensors[0] not in sizes:
            sizes[node] = -1
        elif node.target in _PRODUCTS:
            left, right = node.args[-2:]
            depth = _size(left.meta["val"].shape[-1])
            if depth <= _DEEPEST and size > _elements(left) + _elements(right):
                sizes[node] = size
        else:
            largest = max(sizes.get(one, 0) for one in tensors)
            if largest > 0 and size >= largest:
                sizes[node] = largest
    return list(sizes)


def _partition(
    joint: torch.fx.GraphModule, inputs: Any, **more: Any
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """Forward and backward, with the fewest bytes between them."""
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch.utils.checkpoint import CheckpointPolicy

    if _on_gpu(node.meta.get("val") for node in joint.graph.nodes):
        for node in _recomputed(joint.graph):
            node.meta.setdefault("recompute", CheckpointPolicy.PREFER_RECOMPUTE)
            node.meta.setdefault("ac_graph_id", 0)
    return min_cut_rematerialization_partition(joint, inputs, **more)


def _traced(module: torch.fx.GraphModule, example_inputs: list, compile_one: Callable) -> Callable:
    """Traces forward and backward, and compiles each graph."""
    from functorch.compile import make_boxed_func

    def compiler(graph: torch.fx.GraphModule, _: Any) -> Callable:
        return make_boxed_func(compile_one(graph).forward)

    trace = aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=compiler,
        decompositions=decompositions(),
        partition_fn=_partition,
    )
    needs_gradients = torch.is_grad_enabled() and any(
        isinstance(one, torch.Tensor) and one.requires_grad for one in example_inputs
    )
    with attention_as_mathematics(narrow=not needs_gradients or _on_gpu(example_inputs)):
        return trace(module, example_inputs)


def backend(
    module: torch.fx.GraphModule, example_inputs: list, options: dict | None = None
) -> Callable:
    """The backend of `torch.compile`. `options` are those of `@tsr.function`."""
    devices = {str(one.device) for one in example_inputs if isinstance(one, torch.Tensor)}
    if len(devices) > 1:
        raise ArgumentError(
            "torch.compile with backend 'tessera': expected tensors of one device, found those of "
            + " and ".join(sorted(devices))
        )
    return _traced(module, example_inputs, lambda graph: compile_graph(graph, options))


@dataclass
class Coverage:
    """The operations of a model: how many are compiled, and which are left to PyTorch."""

    compiled: Counter = field(default_factory=Counter)
    foreign: Counter = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    graphs: int = 0

    def __str__(self) -> str:
        total = self.compiled.total() + self.foreign.total()
        lines = [f"{self.compiled.total()} of {total} operations in {self.graphs} graphs"]
        width = max(map(len, self.foreign), default=0)
        for name, count in self.foreign.most_common():
            lines.append(f"  {name:{width}}  {count:5}  {self.reasons[name]}")
        return "\n".join(lines)


def coverage(model: Callable, *args: Any, **kwargs: Any) -> Coverage:
    """Calls a model, and tells which of its operations Tessera compiles."""
    found = Coverage()

    def count(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
        left = unsupported(graph.graph)
        found.graphs += 1
        for node in graph.graph.nodes:
            name = name_of(node.target)
            if node.op != "call_function" or name == "operator.getitem":
                continue
            if node in left:
                found.foreign[name] += 1
                found.reasons[name] = left[node]
            else:
                found.compiled[name] += 1
        return graph

    torch.compile(model, backend=lambda module, given: _traced(module, given, count))(
        *args, **kwargs
    )
    return found
