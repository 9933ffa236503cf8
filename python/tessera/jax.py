"""JAX: functions in programs that JAX differentiates or traces.

A call with a tracer calls a `jax.custom_vjp`, which is made for the function and its other arguments
at the first such call. The rule of a call with concrete arrays saves what the compiled forward saves
for the compiled backward (residuals.py). Otherwise it calls the compiled `tsr.vjp` of the function,
and that call is differentiated in the same way. Inside `jax.jit` and `jax.vmap` the function is a callback of the
compiled program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .errors import ArgumentError
from .function import Function
from .gradients import apply, gradients
from .residuals import pair_of
from .signature import results_of
from .types import BY_NAME, Tensor


class Saved:
    """What the forward of a call saves beside its arguments."""

    def __init__(self, split: Any = None, tensors: Sequence[Any] = ()):
        self.split = split
        self.tensors = tuple(tensors)


jax.tree_util.register_pytree_node(
    Saved, lambda saved: (saved.tensors, saved.split), lambda split, tensors: Saved(split, tensors)
)


def takes_part(values: Any) -> bool:
    """Whether JAX traces a call with these arguments."""
    return any(isinstance(one, jax.core.Tracer) for one in values)


def call(function: Function, args: tuple, kwargs: dict) -> Any:
    """The results of a call that JAX traces."""
    own = () if function._self is None else (function._self,)
    given = function._parameters.assign((*own, *args), kwargs)
    names = tuple(
        name for name, value in given.items() if isinstance(value, (jax.Array, np.ndarray))
    )
    others = {name: value for name, value in given.items() if name not in names}
    known = function.__dict__.setdefault("_jax_rules", {})
    key = (names, tuple((name, type(value), repr(value)) for name, value in others.items()))
    if key not in known:
        known[key] = _with_rule(function, others, names)
    return known[key](*(given[name] for name in names))


def _with_rule(function: Function, others: dict[str, Any], names: tuple[str, ...]) -> Any:
    def run(*arrays: Any) -> Any:
        values = others | dict(zip(names, arrays))
        return (
            _call_back(function, values, names) if takes_part(arrays) else apply(function, values)
        )

    ruled = jax.custom_vjp(run)

    def forward(*arrays: Any) -> tuple:
        wanted = tuple(name for name, one in zip(names, arrays) if _is_float(one))
        if takes_part(arrays) or not wanted:
            return ruled(*arrays), (arrays, Saved())
        values = others | dict(zip(names, arrays))
        results, residuals, split = pair_of(function, wanted).run(values)
        parts = results if isinstance(results, tuple) else (results,)
        tensors = [] if split is None else split.saved(parts, residuals)
        return results, (arrays, Saved(split, tensors))

    def backward(kept: tuple, cotangents: Any) -> tuple:
        arrays, saved = kept
        parts = cotangents if isinstance(cotangents, (tuple, list)) else (cotangents,)
        wanted = [name for name, one in zip(names, arrays) if _is_float(one)]
        is_float = [_is_float(one) for one in parts]
        values = others | dict(zip(names, arrays))
        by_name = None
        if saved.split is not None and not takes_part((*arrays, *parts)):
            by_name = saved.split.gradients(values, parts, is_float, saved.tensors)
        if by_name is None:
            by_name = gradients(function, wanted, values, parts, is_float)
        return tuple(
            by_name[name] if name in by_name else np.zeros(one.shape, jax.dtypes.float0)
            for name, one in zip(names, arrays)
        )

    ruled.defvjp(forward, backward)
    return ruled


def _is_float(array: Any) -> bool:
    return array.dtype != jax.dtypes.float0 and jnp.issubdtype(array.dtype, jnp.floating)


def _type_of(array: Any) -> Any:
    dtype = BY_NAME.get(str(array.dtype))
    if dtype is None:
        raise ArgumentError(f"expected an array of a supported type, found {array.dtype}")
    return Tensor[(*array.shape, dtype)]


def _call_back(function: Function, values: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The call as a part of a program that JAX compiles."""
    own = function._parameters.names[: 0 if function._self is None else 1]
    described = {
        name: _type_of(value) if name in names else value
        for name, value in values.items()
        if name not in own
    }
    results, is_tuple = results_of(function, described, {n: values[n].shape for n in names})
    types = [jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for shape, dtype in results]
    others = {name: value for name, value in values.items() if name not in names}

    def run(*arrays: Any) -> Any:
        return apply(function, others | dict(zip(names, map(np.asarray, arrays))))

    arrays = [values[name] for name in names]
    shapes = tuple(types) if is_tuple else types[0]
    return jax.pure_callback(run, shapes, *arrays, vmap_method="sequential")
