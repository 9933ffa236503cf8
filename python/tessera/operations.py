"""The operations of the language, as names.

A program uses them inside `@tsr.function`, where the compiler implements them. Called from Python
they raise an error that says so; as values they can be captured, aliased and imported like any
other name, and `help()` describes them.
"""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

from .entries import ENTRIES
from .errors import TesseraError


class Operation:
    """The name of an operation."""

    def __init__(self, name: str, signature: str, meaning: str):
        self.__name__ = self.__qualname__ = name
        self.__module__ = "tessera"
        self.__doc__ = meaning
        self._signature = signature

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TesseraError(
            f"tsr.{self.__name__} is an operation of the language: "
            "call it inside a function that is decorated with @tsr.function"
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Operation:
        """The name itself, wherever it is stored; this makes help() treat it as a function."""
        return self

    @property
    def __signature__(self) -> inspect.Signature:
        scope: dict[str, Any] = {}
        exec(f"def operation({self._signature}): pass", scope)
        return inspect.signature(scope["operation"])

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<operation tsr.{self.__name__}>"


class Transformation(Operation):
    """An operation on functions, which has the same meaning outside of them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .gradients import checkpoint, make

        if self.__name__ == "checkpoint":
            return checkpoint(*args, **kwargs)
        return make(self.__name__, *args, **kwargs)


_TRANSFORMATIONS = ("grad", "value_and_grad", "vjp", "jvp", "checkpoint")

OPERATIONS = {
    name: (Transformation if name in _TRANSFORMATIONS else Operation)(name, *entry)
    for name, entry in ENTRIES.items()
}
