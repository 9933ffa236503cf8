"""Computations with sizes that only a call knows, as text of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx


class Size:
    """A size that only a call knows, as text of the language."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "//"}


def combine(op: str, a: Any, b: Any) -> Any:
    if not isinstance(a, Size) and not isinstance(b, Size):
        return {"Add": a + b, "Sub": a - b, "Mul": a * b}[op] if op != "Div" else int(a / b)
    if op == "Mul" and 1 in (a, b):
        return b if a == 1 else a
    return Size(f"({a} {_ARITHMETIC[op]} {b})")


def symbolic(node: onnx.NodeProto, values: list[Any], attributes: dict[str, Any]) -> Any:
    """The result of an operator on sizes, as an array of objects; None if it is not one."""
    op = node.op_type
    if op in _ARITHMETIC and len(values) == 2:
        return np.vectorize(lambda a, b: combine(op, a, b), otypes=[object])(*values)
    data = values[0]
    if op in ("Identity", "Cast"):
        return data
    if op == "Gather" and not attributes.get("axis", 0):
        return np.asarray(data[np.asarray(values[1], np.int64)], dtype=object)
    if op == "Concat":
        return np.concatenate([np.atleast_1d(one) for one in values])
    if op == "Unsqueeze" and data.ndim == 0:
        return data.reshape(1)
    if op == "Squeeze" and data.size == 1:
        return data.reshape(())
    if op == "Reshape" and len(values) == 2:
        return data.reshape([int(one) for one in values[1]])
    if op == "Slice" and data.ndim == 1:
        numbers = [int(one.reshape(-1)[0]) for one in values[1:]]
        step = numbers[3] if len(numbers) > 3 else 1
        return data[numbers[0] : numbers[1] : step]
    if op in ("ReduceProd", "ReduceSum") and data.ndim == 1:
        result = data[0]
        for one in data[1:]:
            result = combine("Mul" if op == "ReduceProd" else "Add", result, one)
        if attributes.get("keepdims", 1):
            return np.array([result], dtype=object)
        return np.array(result, dtype=object)
    return None
