"""What PyTorch does and the language does not, by name, with the reason.

An exclusion is a behaviour, never an operation or a type. `EXCLUSIONS` maps its name to the reason; `behaviour`
recognises it in a sample before the sample runs. Together they stay below two in a hundred samples (run.py checks).
"""

from __future__ import annotations

from typing import Any

EXCLUSIONS = {
    "complex numbers": "the language has no complex types",
    "other types": "a type that the language does not have (uint16, uint32, …)",
    "nuclear norm": "a sum of singular values is a decomposition of a matrix, not an operation on its elements",
    "numbers as operands": "PyTorch's error for a number where it takes only tensors: the language takes numbers everywhere",
    "sizes from values": "a result's size that depends on elements (one_hot without num_classes)",
}

#: Operations of two operands, for which the database has error inputs with numbers.
ELEMENTWISE = frozenset("""
add sub mul div true_divide floor_divide remainder fmod pow atan2 max min maximum minimum eq ne lt le gt ge bitwise_and
bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor
__radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ __rand__ __ror__ __rxor__
""".split())



def behaviour(name: str, args: list, kwargs: dict, is_error: bool) -> str | None:
    """The exclusion that a sample falls under, if any."""
    if name == "norm" and ("nuc" in args[1:] or kwargs.get("p") == "nuc"):
        return "nuclear norm"
    if name.endswith("one_hot") and kwargs.get("num_classes", args[1] if len(args) > 1 else -1) == -1:
        return "sizes from values"
    if is_error and name in ELEMENTWISE and any(type(value) in (int, float, bool) for value in args):
        return "numbers as operands"
    return None
