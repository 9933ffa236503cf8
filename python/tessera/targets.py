"""Targets: what a function is compiled for, and what the arguments of a call imply."""

from __future__ import annotations

import functools
import json

from . import _tessera, compiler
from .arrays import cuda_device, device_text
from .errors import DeviceError
from .parameters import Bound

#: Addresses on a GPU that are multiples of this let its code be as quick as it can be.
GPU_ALIGNMENT = 16
_MOST_ELEMENTS = 2**31 - 1


def target_for(target: str | None, bound: Bound) -> str:
    """The target to compile for, without running: "cuda" is this machine's GPU."""
    if target == "cuda" or (target is None and bound.device):
        return _tessera.device_target(bound.device or cuda_device(0))
    return target or "cpu"


def target_of_call(target: str | None, bound: Bound) -> str:
    """The target of a call; it must match the device of the arguments."""
    place = device_text(bound.device)
    if not bound.device:
        if target not in (None, "cpu"):
            raise DeviceError(
                f"target '{target}' cannot run here; arrays on {place} run on target 'cpu'"
            )
        return "cpu"
    here = _tessera.device_target(bound.device)
    if target == "cpu":
        raise DeviceError(f"target 'cpu' cannot run here; arrays on {place} run on target '{here}'")
    return here if target in (None, "cuda") else target


def call_options(bound: Bound, is_wide: bool = False) -> dict[str, str]:
    """The cases that code for a GPU must handle: unaligned addresses, negative strides, very large
    tensors."""
    options = {}
    tensors = [one for one in bound.specifications if isinstance(one, tuple) and len(one) >= 4]
    # Only the layout matters for an example array on another device.
    if any(one[0] % GPU_ALIGNMENT for one in tensors if len(one) == 5):
        options["alignment"] = "element"
    if any(stride < 0 for one in tensors for stride in one[3]):
        options["strides"] = "any"
    if is_wide or any(_reach(one[2], one[3]) > _MOST_ELEMENTS for one in tensors):
        options["indices"] = "64"
    return options


def _reach(sizes: tuple, strides: tuple) -> int:
    """The number of elements from a tensor's first to its last."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * abs(stride) for size, stride in zip(sizes, strides))


@functools.cache
def chips() -> dict[str, dict]:
    """The GPUs that code can be compiled for, by name: the compiler's table, as tessera.h describes it."""
    compiler.load()
    return {one["chip"]: one for one in json.loads(_tessera.chips())}


def is_gpu(target: str) -> bool:
    return target.startswith("sm_")
