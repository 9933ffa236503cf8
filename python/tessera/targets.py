"""Targets: what a function is compiled for, and what the arguments of a call say about it."""

from __future__ import annotations

from . import _tessera
from .arrays import cuda_device, device_text
from .errors import DeviceError
from .parameters import Bound

#: Addresses on a GPU that are multiples of this let its code be as quick as it can be.
GPU_ALIGNMENT = 16
_MOST_ELEMENTS = 2**31 - 1


def target_for(target: str | None, bound: Bound) -> str:
    """The target to compile for, without running: "cuda" is the device at hand."""
    if target == "cuda" or (target is None and bound.device):
        return _tessera.device_target(bound.device or cuda_device(0))
    return target or "cpu"


def target_of_call(target: str | None, bound: Bound) -> str:
    """The target of a call; it must be where the arguments are."""
    place = device_text(bound.device)
    if not bound.device:
        if target not in (None, "cpu"):
            raise DeviceError(
                f"target '{target}' cannot run here; arrays on {place} run on target 'cpu'"
            )
        return "cpu"
    here = _tessera.device_target(bound.device)
    if target == "cpu":
        raise DeviceError(
            f"target 'cpu' cannot run here; arrays on {place} run on target '{here}'"
        )
    return here if target in (None, "cuda") else target


def call_options(bound: Bound, is_wide: bool = False) -> dict[str, str]:
    """What the code for a GPU must be ready for: unaligned addresses, steps backward, very large tensors."""
    options = {}
    tensors = [one for one in bound.specifications if isinstance(one, tuple) and len(one) >= 4]
    # Of an array elsewhere that is an example only the layout counts.
    if any(one[0] % GPU_ALIGNMENT for one in tensors if len(one) == 5):
        options["alignment"] = "element"
    if any(stride < 0 for one in tensors for stride in one[3]):
        options["strides"] = "any"
    if is_wide or any(_reach(one[2], one[3]) > _MOST_ELEMENTS for one in tensors):
        options["indices"] = "64"
    return options


def _reach(sizes: tuple, strides: tuple) -> int:
    """How many elements a tensor reaches over."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * abs(stride) for size, stride in zip(sizes, strides))


def is_gpu(target: str) -> bool:
    return target.startswith("sm_")
