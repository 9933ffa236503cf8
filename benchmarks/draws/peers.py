"""The peers of a drawn program in PyTorch: the same text, and other forms of it.

eager: the program's lines with PyTorch's functions. compile, max-autotune: the same through
torch.compile. Further forms are the family's: addmm, int_mm, sdpa, flex. The lines of a form that
begin with `once:` are run beforehand, such as those that make a mask.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Program

Calls = dict[str, Callable[[], object]]
COMPILED = ("compile", "max-autotune", "flex")
_FUNCTIONAL = (
    "batch_norm cross_entropy elu embedding gelu group_norm hardswish layer_norm leaky_relu mish "
    "rms_norm silu softplus"
).split()


@functools.cache
def language(device: str) -> types.SimpleNamespace:
    """The operations of the language that draws use, as PyTorch's."""
    import torch

    def iota(sizes: tuple[int, ...], dim: int) -> Any:
        line = torch.arange(sizes[dim], device=device)
        return line.reshape([-1 if i == dim else 1 for i in range(len(sizes))]).expand(sizes)

    names = {name: getattr(torch.nn.functional, name) for name in _FUNCTIONAL}
    for name in (
        "abs amax amin argmax argmin atan cat clamp cos cumprod cumsum erf exp gather index_select log "
        "log_softmax logsumexp matmul maximum mean minimum prod relu rsqrt sigmoid sin softmax sort "
        "sqrt square std sum tanh topk var where"
    ).split():
        names[name] = getattr(torch, name)
    names["vector_norm"] = torch.linalg.vector_norm
    return types.SimpleNamespace(**names, iota=iota, inf=math.inf)


def tensor(array: np.ndarray, device: str = "cpu") -> Any:
    """A tensor of the array's memory; bits of bf16 are such values."""
    import torch

    if array.dtype.name in ("bfloat16", "uint16"):
        found = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        found = torch.from_numpy(array)
    return found.to(device)


def _scope(program: Program, device: str) -> dict[str, Any]:
    import torch

    kinds = {"fp64": "float64", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
    scope: dict[str, Any] = {name: getattr(torch, kind) for name, kind in kinds.items()}
    scope |= {name: getattr(torch, name) for name in ("int8", "int32", "int64")}
    scope |= {"torch": torch, "functional": torch.nn.functional, "tsr": language(device)}
    scope |= {name: size for name, size in program.sizes.items() if name.isalpha()}
    return scope


def _flex(device: str) -> dict[str, Any]:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def flex_mask(mask: Callable, queries: int, keys: int) -> Any:
        return create_block_mask(mask, None, None, queries, keys, device=device)

    return {"flex": torch.compile(flex_attention, dynamic=False), "flex_mask": flex_mask}


def define(
    program: Program, lines: tuple[str, ...], tensors: list, device: str, name: str = "eager"
) -> Callable:
    """A function of the program's arguments."""
    scope = _scope(program, device) | (_flex(device) if name == "flex" else {})
    once = [line.removeprefix("once: ") for line in lines if line.startswith("once: ")]
    arguments = [one.name for one in program.arguments]
    scope |= dict(zip(arguments, tensors))  # masks and scores capture them
    exec("\n".join(once), scope)
    index = program.index[1] if program.index else ""
    *body, last = [
        line.replace("{index}", index) for line in lines if not line.startswith("once: ")
    ]
    text = "".join(f"    {line}\n" for line in [*body, f"return ({last}).contiguous()"])
    exec(f"def draw({', '.join(arguments)}):\n{text}", scope)
    return scope["draw"]


def contenders(
    program: Program, tensors: list, device: str, kinds: tuple[str, ...] = ()
) -> dict[str, Callable]:
    """Functions by name: those that need no compilation, and of the compiled ones the named."""
    import torch

    eager = define(program, program.lines, tensors, device)
    found = {"eager": eager} if program.dtype != "int32" or device == "cpu" else {}
    for name, lines in program.forms.items():
        if name not in COMPILED or name in kinds:
            found[name] = define(program, lines, tensors, device, name)
    if "compile" in kinds:
        found["compile"] = torch.compile(eager, dynamic=False)
    if "max-autotune" in kinds:
        mode = "max-autotune-no-cudagraphs"
        found["max-autotune"] = torch.compile(eager, dynamic=False, mode=mode)
    return found


def exact(program: Program, tensors: list, lines: tuple[str, ...] = ()) -> Any:
    """The result in float64, of the program or of other lines; of integers, too."""
    import torch

    wide = [
        one.to(torch.float64) if one.is_floating_point() or one.dtype == torch.int8 else one
        for one in tensors
    ]
    lines = lines or program.lines
    lines = tuple(line.replace(".to(int32)", ".to(fp64)") for line in lines)
    for name in ("fp32", "bf16", "fp16"):  # roundings that the program asks for
        lines = tuple(line.replace(f".to({name})", f".to({name}).to(fp64)") for line in lines)
    device = str(tensors[0].device)
    return define(program, lines, wide, device)(*wide)
