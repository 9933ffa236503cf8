"""Shapes and types of a function's results, for libraries that trace calls without data.

The compiler makes no code for it: the types are those of the function in Graph IR, where sizes are
expressions over the sizes of arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .errors import TesseraError
from .function import Function

_SIGNATURE = re.compile(r"func\.func @[^(]*\((.*)\) -> (.*?) (?:attributes )?\{")
_ARGUMENT = re.compile(r'%arg\d+: !gir\.tensor<([^>]*)> \{.*?gir\.name = "([^"]*)"')
_TENSOR = re.compile(r"!gir\.tensor<([^>]*)>")
_PART = re.compile(r'"([^"]*)"|([^\s,"]+)')
_ELEMENTS = {
    "i1": "bool",
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    "ui8": "uint8",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
}


def _parts(text: str) -> list[str]:
    """The sizes and the element type of a tensor type."""
    return [quoted or plain for quoted, plain in _PART.findall(text)]


_FUNCTIONS = {
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def _size(text: str, symbols: dict[str, Any]) -> Any:
    """The value of a size expression."""
    scope: dict[str, Any] = {}

    def known(match: re.Match) -> str:
        name = match.group()
        scope[f"_{len(scope)}"] = _FUNCTIONS[name] if name in _FUNCTIONS else symbols[name]
        return f"_{len(scope) - 1}"

    text = re.sub(r"[A-Za-z_][\w.]*", known, text)
    return eval(text, {"__builtins__": {}}, scope)  # noqa: S307 (the compiler's own text)


def results_of(
    function: Function, given: dict[str, Any], shapes: dict[str, Sequence[Any]]
) -> tuple[list[tuple[list, str]], bool]:
    """The shape and the name of the element type of each result, and whether they are a tuple.

    Tensors among the given arguments are types; `shapes` has their sizes, which may be a tracer's.
    """
    bound = function._bind_types((), given)
    result = function._unit(bound, "cpu")[1].compile(["graph"], no_code=True)
    match = _SIGNATURE.search(result["ir"]["graph"])
    if match is None:
        raise TesseraError(f"function '{function.__name__}': expected types of results, found none")
    symbols: dict[str, Any] = {}
    for text, name in _ARGUMENT.findall(match.group(1)):
        symbols |= dict(zip(_parts(text), shapes.get(name, ())))
    results = []
    for text in _TENSOR.findall(match.group(2)):
        *sizes, element = _parts(text)
        results.append(([_size(size, symbols) for size in sizes], _ELEMENTS[element]))
    return results, result["tuple"]
