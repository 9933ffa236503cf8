"""`tsr.grad`, `tsr.value_and_grad`, `tsr.vjp`, `tsr.jvp` of functions, outside of functions.

A gradient is a function like others: it is called, compiled and inspected in the same way. The
compiler gets the same source and the option `grad`, and decides what it means; inside a
`@tsr.function` the same names are operations of the language.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from .errors import ArgumentError, kind_of
from .function import Function
from .parameters import Parameters


class Gradient(Function):
    """The gradient of a function."""

    def __init__(self, function: Function, kind: str, text: str, extra: list[str]):
        self._inner = function
        self._kind = kind
        self._text = text
        self._extra = extra
        inherited = function._options.get("grad")
        options = {**function._options, "grad": f"{inherited};{text}" if inherited else text}
        super().__init__(function.__wrapped__, options, function._target)
        self._self = function._self
        self._reset()

    def _make_parameters(self) -> Parameters:
        parameters = self._inner._make_parameters()
        if self._extra:
            parameters.append(self._extra)
        return parameters

    def __repr__(self) -> str:
        return f"<tessera {self._kind} of {self._inner!r}>"

    @property
    def __signature__(self) -> inspect.Signature:
        signature = self._inner.__signature__
        if not self._extra:
            return signature
        given = [
            one.replace(default=inspect.Parameter.empty) for one in signature.parameters.values()
        ]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return signature.replace(
            parameters=[*given, *(inspect.Parameter(name, kind) for name in self._extra)]
        )

    def __reduce__(self) -> tuple:
        return Gradient, (self._inner, self._kind, self._text, self._extra)

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        if instance is None or self._self is not None:
            return self
        return Gradient(self._inner.__get__(instance, owner), self._kind, self._text, self._extra)


def make(
    kind: str,
    function: Any,
    argnums: int | Sequence[int] | None = None,
    *,
    wrt: str | Sequence[str] | None = None,
    has_aux: bool = False,
    results: int = 1,
) -> Gradient:
    """The gradient of a function, with respect to parameters by number or by name."""
    if not isinstance(function, Function):
        raise ArgumentError(
            f"tsr.{kind}: expected a function that is decorated with @tsr.function, "
            f"found {kind_of(function)}"
        )
    names = function._make_parameters().names[1 if function._self is not None else 0 :]
    if kind == "jvp" and wrt is not None and argnums == 0:
        argnums = None
    if argnums is not None and wrt is not None:
        raise ArgumentError(f"tsr.{kind}: expected either argnums or wrt, found both")
    if argnums is None and wrt is None and kind not in ("vjp",):
        argnums = 0
    chosen: Any = wrt if wrt is not None else argnums
    is_tuple = chosen is not None and not isinstance(chosen, (int, str))
    picked = [] if chosen is None else list(chosen) if is_tuple else [chosen]
    text = ",".join(_name(kind, function, names, one) for one in picked) + ("," * is_tuple)
    extra: list[str] = []
    if kind == "vjp":
        extra = _fresh("cotangent", results, function)
    elif kind == "jvp":
        extra = _fresh("tangent", len(picked), function)
    flag = "aux" if has_aux else str(results) if results != 1 else ""
    return Gradient(function, kind, f"{kind}:{text}" + (f":{flag}" if flag else ""), extra)


def _name(kind: str, function: Function, names: list[str], chosen: Any) -> str:
    """The name of a parameter; whether it exists is the compiler's to say."""
    if isinstance(chosen, str) and chosen.isidentifier():
        return chosen
    if not isinstance(chosen, int) or isinstance(chosen, bool):
        raise ArgumentError(
            f"tsr.{kind}: expected the name or number of a parameter, found {chosen!r}"
        )
    if not -len(names) <= chosen < len(names):
        raise ArgumentError(
            f"tsr.{kind}: expected a number below {len(names)} of a parameter of "
            f"'{function.__name__}', found {chosen}"
        )
    return names[chosen]


def _fresh(word: str, count: int, function: Function) -> list[str]:
    """Names of parameters that the function does not have, as the compiler chooses them."""
    taken = list(function._make_parameters().names)
    for index in range(count):
        name = f"{word}_{index}" if count > 1 else word
        while name in taken:
            name += "_"
        taken.append(name)
    return taken[len(taken) - count :]
