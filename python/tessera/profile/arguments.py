"""Arguments of the command line: types where nothing runs, arrays where something does."""

from __future__ import annotations

import re
from typing import Any

from ..bench import functions
from ..bench.functions import Wrong
from ..types import BY_NAME, Tensor

_TENSOR = re.compile(r"(\w+)\[([\d\s,:-]*)\]")


def of_function(function: Any, texts: list[str], arrays: bool) -> list[Any]:
    """The arguments in their order. `arrays` are random; otherwise only types are made, and the
    arguments may be as large as the target's memory."""
    if arrays:
        return functions.arguments_of(function, texts)
    given = dict(_one(text) for text in texts)
    names, defaults = function._parameters.names, function._parameters.defaults
    if unknown := given.keys() - set(names):
        raise Wrong(f"function '{function.__name__}' has no argument '{sorted(unknown)[0]}'")
    if missing := [name for name in names if name not in given and name not in defaults]:
        raise Wrong(f"--arg {missing[0]}=… is missing: the arguments are {', '.join(names)}")
    return [given.get(name, defaults.get(name)) for name in names]


def _one(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    found = _TENSOR.fullmatch(value)
    if not equals or not found:
        import numpy as np

        return functions.argument(text, np.random.default_rng(0))
    dtype = BY_NAME.get(found[1])
    if dtype is None or dtype.code is None:
        raise Wrong(f"--arg {text}: there is no type '{found[1]}' of arrays")
    try:
        sizes = tuple(int(size) for size in found[2].split(",") if size.strip())
    except ValueError:
        raise Wrong(f"--arg {text}: expected sizes, found '{found[2]}'") from None
    return name, Tensor[(*sizes, dtype)]
