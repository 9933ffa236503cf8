"""Behaviours of PyTorch that the language does not have, by name, with the reason.

An exclusion is a behaviour, never an operation or a type. `EXCLUSIONS` maps its name to the reason;
`behaviour` recognises it in a sample before the sample runs. Together they are below two percent of
the samples (run.py checks).
"""

from __future__ import annotations

import re
from typing import Any

EXCLUSIONS = {
    "complex numbers": "the language has no complex types",
    "other types": "a type that the language does not have (uint16, uint32, …)",
    "nuclear norm": "a sum of singular values is a decomposition of a matrix, not an operation on its elements",
    "numbers as operands": "PyTorch's error for a number where it takes only tensors: the language takes numbers everywhere",
    "sizes from values": "a result's size that depends on elements (one_hot without num_classes, indexing by a mask)",
    "gradients by frequency": "embedding(scale_grad_by_freq=True) divides gradients by how often an index occurs: an error here",
    "changed arguments": "embedding(max_norm=…) rescales its weight in place: functions have no side effects",
    "results in place": "PyTorch's error for cat's out= that is one of the tensors: the language computes in place",
    "missing kernels": "PyTorch's error that it has no code for a number of dimensions: the language has",
    "views by strides": "PyTorch's error for a view that its strides do not allow: here a view is a value like others",
}

#: What PyTorch says when it refuses one of these.
MESSAGES = {
    "missing kernels": "is not supported for .* input tensor",
    "views by strides": "view size is not compatible",
}

#: Operations of two operands, for which the database has error inputs with numbers.
ELEMENTWISE = frozenset(
    """
add sub mul div true_divide floor_divide remainder fmod pow atan2 max min maximum minimum eq ne lt le gt ge bitwise_and
bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor
__radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ __rand__ __ror__ __rxor__
""".split()
)


def _flat(value: Any) -> list:
    return (
        [item for part in value for item in _flat(part)]
        if isinstance(value, (list, tuple))
        else [value]
    )


def _kind(value: Any) -> str:
    """The element type of a tensor."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.")


def _is_operand(value: Any) -> bool:
    """Whether the value is a tensor or a number."""
    return bool(_kind(value)) or type(value) in (int, float, bool)


def _is_in_place(tensors: Any, out: Any) -> bool:
    """Whether a concatenation, correct otherwise, would overwrite one of its parts."""
    return (
        out is not None
        and any(one is out for one in tensors)
        and sum(one.numel() for one in tensors) == out.numel()
    )


def refusal(message: str) -> str | None:
    """The exclusion for a call that PyTorch rejects with this message, if any."""
    return next((name for name, text in MESSAGES.items() if re.search(text, message)), None)


def behaviour(name: str, args: list, kwargs: dict, is_error: bool) -> str | None:
    """The exclusion for a sample, if any."""
    if name == "norm" and ("nuc" in args[1:] or kwargs.get("p") == "nuc"):
        return "nuclear norm"
    if (
        name.endswith("one_hot")
        and kwargs.get("num_classes", args[1] if len(args) > 1 else -1) == -1
    ):
        return "sizes from values"
    if name == "__getitem__" and any(_kind(item) == "bool" for item in _flat(args[1])):
        return "sizes from values"
    if name.endswith("embedding") and kwargs.get("max_norm") is not None:
        return "changed arguments"
    if is_error and name == "cat" and _is_in_place(args[0], kwargs.get("out")):
        return "results in place"
    if (
        is_error
        and name in ELEMENTWISE
        and len(args) == 2
        and not kwargs
        and all(map(_is_operand, args))
    ):
        is_reduction = name in ("max", "min") and _kind(args[0])  # the number is a dimension
        return "numbers as operands" if not is_reduction and not all(map(_kind, args)) else None
    return None
