"""What calls of a specialisation have in common: sizes, numbers, and elements of small tensors.

A tensor's elements are a fact if they follow from their indices: one number everywhere, a sequence
such as positions, or a mask that is a band of indices (causal, a window, a prefix). The compiler
then computes them, and skips what a mask excludes.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from .capture import constant
from .compiler import Unit
from .types import DTYPES

_SIZE, _NUMBER, _CONTENT = 0, 1, 2


class Fact(NamedTuple):
    """Something that holds for the calls of a variant."""

    kind: str  # "size", "number" or "content"
    position: int  # of the argument
    dim: int  # of a size, else -1
    text: str
    value: Any  # the size; the JSON text of the constant
    guard: tuple  # as the table reads it: TableVariants.cpp

    @property
    def key(self) -> tuple[str, int, int]:
        """What it is about, whatever the value is."""
        return self.kind, self.position, self.dim

    @property
    def guard_us(self) -> float:
        """The time to check it, at 10 GB/s."""
        return len(self.guard[4]) / 1e4 if self.kind == "content" else 0.0

    def __str__(self) -> str:
        return self.text


def facts_of(unit: Unit, observed: list, unwritten: set[str]) -> list[Fact]:
    """The facts in what a table observed."""
    facts: list[Fact] = []
    for position, (name, one) in enumerate(zip(unit.names, observed)):
        if one is None:
            continue
        if one[0] == "number":
            facts += _of_number(name, position, *one[1:])
            continue
        _, dtype, sizes, data = one
        dims = unit.description[position][-1]
        for dim, (size, always) in enumerate(sizes):
            if always and not dims[dim][3] and size > 1:
                text = f"{name}.shape[{dim}] == {size}"
                guard = (_SIZE, position, dim, size)
                facts.append(Fact("size", position, dim, text, size, guard))
        if data and name in unwritten:
            facts += _of_elements(name, position, dtype, [size for size, _ in sizes], data)
    return facts


def _of_number(name: str, position: int, kind: int, value: Any, always: bool) -> list[Fact]:
    if not always or (isinstance(value, float) and math.isnan(value)):
        return []
    shown = bool(value) if kind == 3 else value
    text = json.dumps(constant(shown), sort_keys=True)
    guard = (_NUMBER, position, kind, value)
    return [Fact("number", position, -1, f"{name} == {shown!r}", text, guard)]


def _of_elements(name: str, position: int, dtype: int, sizes: list[int], data: bytes) -> list[Fact]:
    found = pattern_of(DTYPES[dtype].name, sizes, data)
    if found is None:
        return []
    text = f"{name} is {pattern_text(found)}"
    guard = (_CONTENT, position, dtype, tuple(sizes), data)
    return [Fact("content", position, -1, text, json.dumps(found, sort_keys=True), guard)]


def specialised(unit: Unit, observed: list, facts: list[Fact]) -> Unit:
    """The unit for calls with these facts; without facts, the unit at the observed sizes."""
    description: list[tuple] = []
    for position, one in enumerate(unit.description):
        seen = observed[position] if position < len(observed) else None
        own = [fact for fact in facts if fact.position == position]
        whole = next((fact for fact in own if fact.kind != "size"), None)
        if whole is not None:
            description.append((4, whole.value))
        elif one[0] == 0 and seen is not None:
            fixed = {fact.dim for fact in own}
            dims = tuple(
                (size, size, size, 1) if dim in fixed else (size, *rest)
                for dim, ((size, _), (_, *rest)) in enumerate(zip(seen[2], one[-1]))
            )
            description.append((*one[:-1], dims))
        elif one[0] in (1, 2, 3) and seen is not None:
            description.append((one[0], seen[2]))
        else:
            description.append(one)
    return unit.with_description(description)


# -- patterns -------------------------------------------------------------------------------------

_WORDS = {"fp64": "u8", "fp32": "u4", "fp16": "u2", "bool": "u1"}
_INTEGERS = {"int64": "i8", "int32": "i4", "int16": "i2", "int8": "i1", "uint8": "u1"}
_FLOATS = {"fp64": "f8", "fp32": "f4", "fp16": "f2"}


def pattern_of(dtype: str, sizes: list[int], data: bytes) -> dict | None:
    """How elements follow from their indices, as the compiler reads it; None if they do not."""
    try:
        import numpy as np
    except ImportError:
        return None
    form = _WORDS.get(dtype) or _INTEGERS.get(dtype)
    if form is None or 0 in sizes:
        return None
    words: Any = np.frombuffer(data, form).reshape(sizes)
    head = {"kind": "tensor", "dtype": dtype, "shape": list(sizes), "steps": [0] * len(sizes)}

    def number(word: Any) -> dict:
        if dtype in _FLOATS:
            word = np.asarray(word, form).view(_FLOATS[dtype])
            value: Any = float(word)
        else:
            value = bool(word) if dtype == "bool" else int(word)
        return constant(value) or {}

    first = words.flat[0]
    if (words == first).all():
        is_nan = dtype in _FLOATS and math.isnan(float(np.asarray(first).view(_FLOATS[dtype])))
        return None if is_nan else {**head, "value": [number(first)]}
    if dtype in _INTEGERS:
        return _sequence(np, words, head)
    different = words[words != first].flat[0]
    if not ((words == first) | (words == different)).all():
        return None
    if dtype == "bool":
        first, different = 1, 0
    for inside, outside in ((first, different), (different, first)):
        band = _band(np, words == inside)
        if band is not None:
            return {**head, **band, "value": [number(inside), number(outside)]}
    return None


def _sequence(np: Any, words: Any, head: dict) -> dict | None:
    """Integers that grow by a step along each dimension."""
    origin = (0,) * words.ndim
    offset = int(words[origin])
    steps, expected = [], np.int64(offset)
    for dim, size in enumerate(words.shape):
        following = (*origin[:dim], 1, *origin[dim + 1 :])
        step = int(words[following]) - offset if size > 1 else 0
        shape = [-1 if one == dim else 1 for one in range(words.ndim)]
        expected = expected + (np.arange(size, dtype=np.int64) * step).reshape(shape)
        steps.append(step)
    if abs(offset) > 2**62 or not (words == expected).all():
        return None
    return {**head, "offset": offset, "steps": steps, "value": []}


def _band(np: Any, inside: Any) -> dict | None:
    """Where a sum of indices with the steps -1, 0 and 1 is between two bounds. Only the last two
    dimensions may matter."""
    shape = inside.shape
    matrix = inside.reshape(-1, *shape[-2:])
    if not (matrix == matrix[:1]).all():
        return None
    plane = matrix[0].reshape(-1, shape[-1])
    i = np.arange(plane.shape[0])[:, None]
    j = np.arange(plane.shape[1])[None, :]
    for down, across in ((-1, 1), (0, 1), (1, 0), (1, 1)):
        if len(shape) == 1 and down:
            continue
        position = np.broadcast_to(down * i + across * j, plane.shape)
        found = position[plane]
        low, high = int(found.min()), int(found.max())
        if (plane == ((position >= low) & (position <= high))).all():
            steps = [0] * len(shape)
            steps[-1] = across
            if len(shape) > 1:
                steps[-2] = down
            bounds = {}
            if low > position.min():
                bounds["low"] = low
            if high < position.max():
                bounds["high"] = high
            return {"steps": steps, **bounds}
    return None


def pattern_text(pattern: dict) -> str:
    """A pattern in words."""
    values = [one.get("value") for one in pattern["value"]]
    if len(values) == 1:
        return f"{values[0]} everywhere"
    terms = [
        {1: "", -1: "-"}.get(step, f"{step} * ") + f"i{dim}"
        for dim, step in enumerate(pattern["steps"])
        if step
    ]
    position = " + ".join(terms).replace("+ -", "- ") or "0"
    if not values:
        offset = pattern["offset"]
        return f"{position} + {offset}" if offset else position
    low, high = pattern.get("low"), pattern.get("high")
    below = f" <= {high}" if high is not None else ""
    above = f"{low} <= " if low is not None else ""
    return f"{values[0]} where {above}{position}{below}, else {values[1]}"
