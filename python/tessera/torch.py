"""PyTorch: functions in its graph of gradients, in programs that `torch.compile` traces and as
modules, and exported programs as bundles.

A call with tensors that require gradients is one node of PyTorch's graph. It saves its arguments and
what the compiled forward saves for the compiled backward (residuals.py). If PyTorch asks for a graph
of the gradients, backward calls the compiled `tsr.vjp` of the function with the arguments instead,
and that call is a node, too.

A call with tensors that have no data (a tracer's) calls a custom operator, which is registered for
the function and its other arguments at the first such call.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import torch

from .errors import ArgumentError
from .fx import dtype_of
from .function import Function
from .gradients import apply, gradients
from .residuals import pair_of
from .signature import results_of
from .types import Tensor


def takes_part(values: Any) -> bool:
    """Whether PyTorch records or traces a call with these arguments."""
    tensors = [one for one in values if isinstance(one, torch.Tensor)]
    if not tensors:
        return False
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        return True
    return _is_traced(tensors)


def call(function: Function, args: tuple, kwargs: dict) -> Any:
    """The results of a call that PyTorch records or traces. Dynamo does not look into it."""
    return _outside_of_graphs()(function, args, kwargs)


_outside: Any = None


def _outside_of_graphs() -> Any:
    """`_call`, which Dynamo does not trace once it is loaded."""
    global _outside
    if _outside is None:
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        if disable is None:
            return _call
        _outside = disable(_call)
    return _outside


def _call(function: Function, args: tuple, kwargs: dict) -> Any:
    own = () if function._self is None else (function._self,)
    stream = kwargs.pop("stream", None) if "stream" not in function._parameters.names else None
    given = function._parameters.assign((*own, *args), kwargs)
    names = tuple(name for name, value in given.items() if isinstance(value, torch.Tensor))
    tensors = [given[name] for name in names]
    if _is_traced(tensors):
        operator, is_single = _operator(function, given, names)
        results = operator(*tensors)
        return (results,) if is_single else results
    keywords = {} if stream is None else {"stream": stream}
    recorded = Recorded(function, given, names, keywords)
    return (TransformedCall if recorded.is_transformed else Call).apply(recorded, *tensors)


class Recorded:
    """What a recorded call is of, and what its forward hands over to be saved."""

    def __init__(self, function: Function, given: dict, names: tuple, keywords: dict):
        self.function = function
        self.names = names
        self.keywords = keywords
        self.others = {name: value for name, value in given.items() if name not in names}
        floats = (name for name in names if given[name].is_floating_point())
        # Transformations of torch.func differentiate backward, too.
        self.is_transformed = torch._C._are_functorch_transforms_active()
        self.wanted = (
            ()
            if self.is_transformed
            else tuple(name for name in floats if given[name].requires_grad)
        )
        self.split: Any = None
        self.residuals: list = []

    def run(self, values: dict) -> Any:
        if not self.wanted:
            return apply(self.function, values, self.keywords)
        pair = pair_of(self.function, self.wanted)
        results, self.residuals, self.split = pair.run(values, self.keywords)
        return results

    def take(self, results: tuple) -> list:
        """What backward needs of a call with these results, once."""
        residuals, self.residuals = self.residuals, []
        return [] if self.split is None else self.split.saved(results, residuals)


class Call(torch.autograd.Function):
    """One recorded call."""

    @staticmethod
    def forward(ctx: Any, call: Recorded, *tensors: Any) -> Any:
        results = call.run(call.others | dict(zip(call.names, tensors)))
        _keep(ctx, call, tensors, results)
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple:
        call, count = ctx.call, len(ctx.call.names)
        tensors, saved = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        values = call.others | dict(zip(call.names, tensors))
        by_name = None
        # The derivative of what was computed from residuals is not known.
        if call.split is not None and not torch.is_grad_enabled():
            by_name = call.split.gradients(values, cotangents, ctx.is_float, saved)
        if by_name is None:
            wanted = [name for name, needs in zip(call.names, ctx.needs_input_grad[1:]) if needs]
            by_name = gradients(call.function, wanted, values, cotangents, ctx.is_float)
        return (None, *(by_name.get(name) for name in call.names))


def _keep(ctx: Any, call: Recorded, tensors: Any, results: Any) -> None:
    """Saves what backward needs."""
    parts = results if isinstance(results, tuple) else (results,)
    ctx.call = call
    ctx.is_float = [part.is_floating_point() for part in parts]
    ctx.mark_non_differentiable(*(part for part in parts if not part.is_floating_point()))
    ctx.save_for_backward(*tensors, *call.take(parts))


class TransformedCall(Call):
    """The same for transformations of torch.func. PyTorch inspects the signature of such a function
    in each call."""

    @staticmethod
    def forward(call: Recorded, *tensors: Any) -> Any:  # type: ignore[override]
        return call.run(call.others | dict(zip(call.names, tensors)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        call, *tensors = inputs
        _keep(ctx, call, tensors, output)


# -- torch.compile --------------------------------------------------------------------------------


def _is_traced(tensors: list[torch.Tensor]) -> bool:
    return torch._C._len_torch_dispatch_stack() > 0 or any(
        type(one) not in (torch.Tensor, torch.nn.Parameter) and _has_no_data(one) for one in tensors
    )


def _has_no_data(tensor: torch.Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    return isinstance(tensor, (FakeTensor, FunctionalTensor))


def traceable(*functions: Function) -> None:
    """Lets `torch.compile` trace calls of these functions as operators of its graph. Other functions
    are called between graphs."""
    for function in functions:
        torch.compiler.allow_in_graph(function)


_LIBRARY = torch.library.Library("tessera", "FRAGMENT")
_count = 0


def _operator(
    function: Function, given: dict[str, Any], names: tuple[str, ...]
) -> tuple[Any, bool]:
    """The custom operator for calls with these arguments, of which the tensors are its own, and
    whether its result is the only one of a tuple."""
    others = {name: value for name, value in given.items() if name not in names}
    known = function.__dict__.setdefault("_operators", {})
    key = (names, tuple((name, type(value), repr(value)) for name, value in others.items()))
    if key not in known:
        results, is_tuple = _result_types(function, given)
        operator = _register(function, others, names, len(results))
        known[key] = (operator, is_tuple and len(results) == 1)
    return known[key]


def _register(function: Function, others: dict, names: tuple[str, ...], count: int) -> Any:
    global _count
    _count += 1
    name = re.sub(r"\W", "_", function.__name__) + f"_{_count}"
    inputs = ", ".join(f"Tensor x{index}" for index in range(len(names)))
    _LIBRARY.define(f"{name}({inputs}) -> ({', '.join(['Tensor'] * count)})")
    qualified = f"tessera::{name}"

    def unpacked(results: Any) -> Any:
        return results[0] if isinstance(results, (tuple, list)) and count == 1 else results

    @torch.no_grad()
    def run(*tensors: Any) -> Any:
        return unpacked(apply(function, others | dict(zip(names, tensors))))

    def fake(*tensors: Any) -> Any:
        types, _ = _result_types(function, others | dict(zip(names, tensors)))
        made = [torch.empty(shape, dtype=dtype, device=tensors[0].device) for shape, dtype in types]
        return unpacked(tuple(made))

    def save(ctx: Any, inputs: tuple, output: Any) -> None:
        parts = output if isinstance(output, tuple) else (output,)
        ctx.is_float = [part.is_floating_point() for part in parts]
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, *cotangents: Any) -> Any:
        wanted = [one for one, needs in zip(names, ctx.needs_input_grad) if needs]
        values = others | dict(zip(names, ctx.saved_tensors))
        by_name = gradients(function, wanted, values, cotangents, ctx.is_float)
        return tuple(by_name.get(one) for one in names)

    _LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(qualified, fake, lib=_LIBRARY)
    torch.library.register_autograd(qualified, backward, setup_context=save, lib=_LIBRARY)
    return getattr(torch.ops.tessera, name).default


def _type_of(tensor: torch.Tensor) -> Any:
    dtype = dtype_of(tensor.dtype)
    if dtype is None:
        raise ArgumentError(f"expected a tensor of a supported type, found {tensor.dtype}")
    # A size that varies is traced: its hint chooses a shape class.
    sizes = [size if isinstance(size, int) else size.node.hint or 8 for size in tensor.shape]
    return Tensor[(*sizes, dtype)]


def _result_types(function: Function, given: dict[str, Any]) -> tuple[list, bool]:
    own = function._parameters.names[: 0 if function._self is None else 1]
    described = {
        name: _type_of(value) if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
        if name not in own
    }
    shapes = {name: one.shape for name, one in given.items() if isinstance(one, torch.Tensor)}
    results, is_tuple = results_of(function, described, shapes)
    return [(shape, getattr(torch, name)) for shape, name in results], is_tuple


# -- modules and exported programs ----------------------------------------------------------------


class Module(torch.nn.Module):
    """A function as a module. Its parameters are arguments of the function, by name; tensors of
    integers and booleans are its buffers."""

    def __init__(self, function: Function, **parameters: torch.Tensor):
        super().__init__()
        names = function._parameters.names
        if unknown := [name for name in parameters if name not in names]:
            raise ArgumentError(
                f"function '{function.__name__}' has no parameter '{unknown[0]}'; it has "
                + ", ".join(names)
            )
        traceable(function)
        self._function = function
        for name, value in parameters.items():
            if value.is_floating_point():
                self.register_parameter(name, torch.nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        own = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        return self._function(*args, **own, **kwargs)

    def extra_repr(self) -> str:
        return self._function.__name__


def coverage(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a model, and tells which of its operations Tessera compiles."""
    from . import dynamo

    return dynamo.coverage(model, *args, **kwargs)


def compile_exported(program: Any, target: str | None = None, **options: Any) -> Any:
    """Compiles a program of `torch.export` as one function. Its `save` writes a bundle that runs
    without PyTorch, and the weights beside it. Keywords are the options of `@tsr.function`."""
    from .exported import Exported

    return Exported(program, target, options)
