"""PyTorch: functions that take part in autograd.

A call of `differentiable(f)` with tensors that require gradients is one node of PyTorch's graph.
Its backward calls the compiled `tsr.vjp` of the function with the saved arguments. That call is a
node, too, if PyTorch asks for a graph of the gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .errors import ArgumentError, kind_of
from .function import Function
from .gradients import make


def differentiable(function: Function) -> Callable:
    """The function, with results that PyTorch can differentiate. Calls that PyTorch does not record
    (no tensor requires gradients, `torch.no_grad`, `out=`) are those of the function itself."""
    if not isinstance(function, Function):
        raise ArgumentError(
            "differentiable: expected a function that is decorated with @tsr.function, "
            f"found {kind_of(function)}"
        )

    @functools.wraps(function.__wrapped__)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_recorded = torch.is_grad_enabled() and any(
            isinstance(one, torch.Tensor) and one.requires_grad for one in (*args, *kwargs.values())
        )
        if not is_recorded or "out" in kwargs:
            return function(*args, **kwargs)
        bound = function._self
        given = function._parameters.assign(args if bound is None else (bound, *args), kwargs)
        names = tuple(name for name, value in given.items() if isinstance(value, torch.Tensor))
        return Call.apply(function, given, names, *(given[name] for name in names))

    return call


class Call(torch.autograd.Function):
    """One recorded call: forward runs the function, backward its vjp."""

    @staticmethod
    def forward(ctx: Any, function: Function, given: dict, names: tuple, *tensors: Any) -> Any:
        values = given | dict(zip(names, tensors))
        own = function._parameters.names[0] if function._self is not None else None
        results = function(**{name: value for name, value in values.items() if name != own})
        parts = results if isinstance(results, tuple) else (results,)
        ctx.function, ctx.names = function, names
        ctx.others = {name: value for name, value in given.items() if name not in names}
        ctx.is_float = [part.is_floating_point() for part in parts]
        ctx.mark_non_differentiable(*(part for part in parts if not part.is_floating_point()))
        ctx.save_for_backward(*tensors)
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple:
        wanted = [name for name, needs in zip(ctx.names, ctx.needs_input_grad[3:]) if needs]
        vjp = _vjp(ctx.function, tuple(wanted), len(cotangents))
        parameters = ctx.function._parameters
        values = parameters.defaults | ctx.others | dict(zip(ctx.names, ctx.saved_tensors))
        names = parameters.names[1 if ctx.function._self is not None else 0 :]
        # The cotangents of integers are ignored.
        given = [one if is_float else 0 for one, is_float in zip(cotangents, ctx.is_float)]
        gradients = vjp(*(values[name] for name in names), *given)
        by_name = dict(zip(wanted, gradients))
        return (None, None, None, *(by_name.get(name) for name in ctx.names))


def _vjp(function: Function, wanted: tuple[str, ...], results: int) -> Callable:
    """The same object for the same gradients, so that its code is compiled once."""
    known = function.__dict__.setdefault("_vjps", {})
    if (wanted, results) not in known:
        known[wanted, results] = differentiable(make("vjp", function, wrt=wanted, results=results))
    return known[wanted, results]
