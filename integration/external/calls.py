"""A sample of the database as a program of the language.

Tensors of the sample become arguments of a small `@tsr.function`; numbers, strings, types, tuples
and slices are part of its text. Equal texts are one function, so that samples share compiled code.
"""

from __future__ import annotations

import itertools
import linecache
import math
from dataclasses import dataclass, field
from typing import Any

import entries
import torch

import tessera as tsr

TYPES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
}

_functions: dict[str, Any] = {}
_numbers = itertools.count()


class NotInLanguage(Exception):
    """A value that no program of the language can have; the text names the exclusion."""


@dataclass
class Call:
    """A program text and the tensors that it is called with."""

    text: str
    tensors: list[torch.Tensor]
    results: dict[str, torch.Tensor] = field(default_factory=dict)  # out=, where a sample has it
    sources: list[torch.Tensor] = field(default_factory=list)  # the tensors as the sample has them

    def function(self) -> Any:
        if self.text not in _functions:
            _functions[self.text] = _define(self.text)
        return _functions[self.text]


def _define(text: str) -> Any:
    """A function from text; `linecache` gives its source to the compiler, as for a file."""
    name = f"<external sample {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"tsr": tsr}
    exec(compile(text, name, "exec"), scope)  # noqa: S102 (the text was written right here)
    return scope["f"]


class _Writer:
    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self.sources: list[torch.Tensor] = []

    def write(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            if value not in TYPES:
                raise NotInLanguage("complex numbers" if value.is_complex else "other types")
            return f"tsr.{TYPES[value]}"
        if isinstance(value, complex):
            raise NotInLanguage("complex numbers")
        if value is None or value is ... or isinstance(value, (bool, int, str)):
            return "..." if value is ... else repr(value)
        if isinstance(value, float):
            if math.isnan(value):
                return "tsr.nan"
            return repr(value) if math.isfinite(value) else "-tsr.inf" if value < 0 else "tsr.inf"
        if isinstance(value, slice):
            parts = [
                "" if part is None else self.write(part)
                for part in (value.start, value.stop, value.step)
            ]
            return ":".join(parts)
        if isinstance(value, tuple):
            return "(" + "".join(f"{self.write(item)}, " for item in value).rstrip(" ") + ")"
        if isinstance(value, (list, range)):
            return "[" + ", ".join(self.write(item) for item in value) + "]"
        if hasattr(value, "item"):
            return self.write(value.item())
        raise NotInLanguage(f"values of {type(value).__name__}")

    def tensor(self, value: torch.Tensor) -> str:
        if value.dtype not in TYPES:
            raise NotInLanguage("complex numbers" if value.dtype.is_complex else "other types")
        self.tensors.append(value.detach().resolve_neg())
        self.sources.append(value)
        return f"t{len(self.tensors) - 1}"


def write(op: Any, args: list, kwargs: dict, form: str, name: str) -> Call:
    """The call of a sample in one of its forms: "function", "method" or "operator"."""
    writer = _Writer()
    if op.name in entries.ARRANGED and not (op.name == "where" and form == "method"):
        args, kwargs = entries.ARRANGED[op.name](list(args), dict(kwargs))
    kwargs = {key: value for key, value in kwargs.items() if key not in entries.STORAGE}
    results = {"out": kwargs.pop("out")} if "out" in kwargs else {}
    template = entries.REFLECTED.get(op.name) or (
        entries.OPERATORS[op.name] if form == "operator" else ""
    )
    if template:
        parts = {symbol: writer.write(value) for symbol, value in zip("ab", args)}
        parts = {
            symbol: f"({text})" if text.startswith("-") else text for symbol, text in parts.items()
        }
        expression = (
            "".join(parts.get(c, c) for c in template)
            if template != "abs(a)"
            else f"abs({parts['a']})"
        )
    elif op.name in entries.ATTRIBUTES:
        expression = f"{writer.write(args[0])}.{name}"
    elif op.name == "__getitem__":
        base = writer.write(args[0])
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        texts = [writer.write(item) for item in index]
        expression = f"{base}[{', '.join(texts) if texts else '()'}]"
        if len(texts) == 1 and isinstance(args[1], tuple):
            expression = f"{base}[{texts[0]},]"
    else:
        texts = [writer.write(value) for value in args]
        texts += [f"{key}={writer.write(value)}" for key, value in kwargs.items()]
        if form == "method" or name == "to":
            expression = f"{texts[0]}.{name}({', '.join(texts[1:])})"
        else:
            expression = f"tsr.{name}({', '.join(texts)})"
    parameters = ", ".join(f"t{i}" for i in range(len(writer.tensors)))
    text = f"@tsr.function\ndef f({parameters}):\n    return {expression}\n"
    return Call(text, writer.tensors, results, writer.sources)
