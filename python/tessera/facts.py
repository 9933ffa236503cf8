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
                facts.append(_size(name, position, dim, size))
        if data and name in unwritten:
            facts += _of_elements(name, position, dtype, [size for size, _ in sizes], data)
    return facts


def _size(name: str, position: int, dim: int, size: int) -> Fact:
    guard = (_SIZE, position, dim, size)
    return Fact("size", position, dim, f"{name}.shape[{dim}] == {size}", size, guard)


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


def fact_line(fact: Fact) -> list:
    """A fact as JSON, without the bytes of a tensor."""
    if fact.kind == "size":
        return [fact.kind, fact.position, fact.dim, fact.value]
    return [fact.kind, fact.position, fact.guard[2], json.loads(fact.value)]


def fact_from(unit: Unit, line: Any) -> Fact | None:
    """A fact about the unit from untrusted JSON; None if it is none."""
    if not isinstance(line, list) or len(line) != 4:
        return None
    kind, position, number, value = line
    if not all(type(one) is int and one >= 0 for one in (position, number)):
        return None
    if position >= len(unit.description):
        return None
    name, argument = unit.names[position], unit.description[position]
    if kind == "size" and argument[0] == 0 and type(value) is int and number < len(argument[-1]):
        _, divisor, hint, fixed = argument[-1][number]
        is_possible = not fixed and value > 1 and value % divisor == 0
        if is_possible and (value <= hint or not hint):
            return _size(name, position, number, value)
    if kind == "number" and argument[0] == number and number != 0:
        shown = value.get("value") if isinstance(value, dict) else None
        shown = float(shown) if number == 2 and _is_number(shown) else shown
        if type(shown) is {1: int, 2: float, 3: bool}.get(number):
            return next(iter(_of_number(name, position, number, shown, True)), None)
    if kind == "content" and argument[0] == 0 and argument[1] == number:
        data = elements_of(value)
        sizes = value["shape"] if data is not None else []
        if data is not None and len(sizes) == len(argument[-1]):
            return next(iter(_of_elements(name, position, number, sizes, data)), None)
    return None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) or value in ("inf", "-inf")


def specialised(unit: Unit, observed: list, facts: list[Fact]) -> Unit:
    """The unit for calls with these facts; without facts, the unit at the observed sizes."""
    description: list[tuple] = []
    for position, one in enumerate(unit.description):
        seen = observed[position] if position < len(observed) else None
        own = [fact for fact in facts if fact.position == position]
        whole = next((fact for fact in own if fact.kind != "size"), None)
        if whole is not None:
            description.append((4, whole.value))
        elif one[0] == 0:
            fixed = {fact.dim: fact.value for fact in own}
            sizes = [dim[0] for dim in one[-1]] if seen is None else [size for size, _ in seen[2]]
            dims = tuple(
                (fixed[dim], fixed[dim], fixed[dim], 1) if dim in fixed else (size, *rest)
                for dim, (size, (_, *rest)) in enumerate(zip(sizes, one[-1]))
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
_MOST_ELEMENTS = 1 << 22
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


def elements_of(pattern: Any) -> bytes | None:
    """The elements of a pattern, which is untrusted; None if it is malformed."""
    import numpy as np

    try:
        dtype = pattern["dtype"]
        form = _FLOATS.get(dtype) or _INTEGERS.get(dtype) or {"bool": "?"}[dtype]
        shape, steps, values = pattern["shape"], pattern["steps"], pattern["value"]
        small = all(type(one) is int and 0 < one <= _MOST_ELEMENTS for one in shape)
        if not small or len(steps) != len(shape) or math.prod(shape) > _MOST_ELEMENTS:
            return None
        position = np.full(shape, pattern.get("offset", 0), np.int64)
        for index, step in zip(np.indices(shape), steps):
            position += index * step
        numbers = [np.asarray(float(one["value"])).astype(form) for one in values]
        if dtype in _INTEGERS:
            numbers = [np.asarray(int(one["value"]), form) for one in values]
        if not numbers:
            return position.astype(form).tobytes()
        low, high = pattern.get("low", -(2**62)), pattern.get("high", 2**62)
        inside = (position >= low) & (position <= high)
        return np.where(inside, numbers[0], numbers[-1]).astype(form).tobytes()
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError):
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
