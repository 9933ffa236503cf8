"""A Tessera function for PyTorch: the same text with torch's names instead of ours.

The language follows PyTorch's semantics, so most functions need nothing else. Names of sizes in
annotations become assignments at the start of the function, helpers are translated as well, and
operations with another name in PyTorch are in `language`. A function that uses an operation without
a counterpart has no such peer, and the run says why.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
import types
from typing import Any, Callable

import tessera as tsr
from tessera.operations import OPERATIONS, Operation
from tessera.types import ALL_DTYPES, EXTENSION_NAMES, DType, TensorType

_FUNCTIONAL = (  # operations that torch lacks, or has in another form
    "batch_norm cross_entropy dropout elu embedding gelu group_norm hardsigmoid hardswish layer_norm leaky_relu linear "
    "mish mse_loss one_hot pad rms_norm selu silu softplus"
).split()
_RENAMED = {"concat": "cat"}


def _iota(shape: Any, dim: int = 0, dtype: Any = None) -> Any:
    import torch

    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    dim %= len(sizes)
    line = torch.arange(sizes[dim], dtype=dtype)
    return line.reshape([-1 if i == dim else 1 for i in range(len(sizes))]).expand(sizes)


@functools.cache
def language() -> types.ModuleType:
    """The replacement of the module `tessera`."""
    import torch

    module = types.ModuleType("tessera_in_torch")
    for name in OPERATIONS:
        place = torch.nn.functional if name in _FUNCTIONAL else torch
        if found := getattr(place, _RENAMED.get(name, name), None):
            setattr(module, name, found)
    for dtype in ALL_DTYPES:
        name = dtype.numpy_name or EXTENSION_NAMES.get(dtype, "")
        if found := getattr(torch, name, None):
            setattr(module, dtype.name, found)
            setattr(module, name, found)
    vars(module).update(
        iota=_iota, inf=math.inf, nan=math.nan, pi=math.pi, e=math.e, Tensor=tsr.Tensor
    )
    return module


def _replaced(value: Any, made: dict) -> Any:
    """The translation of a value that the text uses."""
    if value is tsr:
        return language()
    if isinstance(value, Operation):
        return getattr(language(), value.__name__)
    if isinstance(value, DType):
        return getattr(language(), value.name)
    return translate(value, made) if isinstance(value, tsr.Function) else value


def _sizes(function: tsr.Function) -> dict[str, str]:
    """Names of sizes, and the expressions that define them."""
    found: dict[str, str] = {}
    for name, declared in function._parameters.annotations.items():
        dims = declared.dims if isinstance(declared, TensorType) else ()
        for position, dim in enumerate(dims):
            if isinstance(dim, str) and not dim.startswith("*"):
                found.setdefault(dim, f"{name}.shape[{position - len(dims)}]")
    return found


def translate(function: tsr.Function, made: dict | None = None) -> Callable:
    """The function for PyTorch tensors; raises AttributeError for operations that PyTorch lacks."""
    made = {} if made is None else made
    if function in made:
        return made[function]
    original = function.__wrapped__
    tree = ast.parse(textwrap.dedent(inspect.getsource(original)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
    definition.decorator_list, definition.returns = [], None
    for argument in [*definition.args.args, *definition.args.kwonlyargs]:
        argument.annotation = None
    sizes = [f"{name} = {text}" for name, text in _sizes(function).items() if name in used]
    definition.body[:0] = ast.parse("\n".join(sizes)).body
    names: dict[str, Any] = {"__builtins__": __builtins__}
    found = inspect.getclosurevars(original)
    for name, value in {**found.globals, **found.nonlocals}.items():
        names[name] = _replaced(value, made)
    code = compile(ast.fix_missing_locations(tree), f"<{function.__name__} in PyTorch>", "exec")
    exec(code, names)
    made[function] = names[original.__name__]
    return made[function]
