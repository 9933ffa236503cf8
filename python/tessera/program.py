"""Functions of program texts that were not written by a user."""

from __future__ import annotations

import linecache
import math
from typing import Any

from .function import Function
from .options import merge
from .types import Tensor

_NUMBERS: dict[str, int] = {}


def define(
    text: str, name: str, options: dict[str, Any] | None = None, kind: type[Function] = Function
) -> Function:
    """The function of a program text, which error messages can quote."""
    number = _NUMBERS[name] = _NUMBERS.get(name, -1) + 1
    file = f"<{name} {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    import tessera

    scope = {"tsr": tessera, "math": math, "Tensor": Tensor, "__name__": __name__}
    exec(compile(text, file, "exec"), scope)
    return kind(scope[name], merge({}, options or {}), None)
