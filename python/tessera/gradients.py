"""`tsr.grad`, `tsr.value_and_grad`, `tsr.vjp`, `tsr.jvp` of functions, outside of functions, and
functions with a derivative rule or a checkpoint policy.

A gradient is a function like others: it is called, compiled and inspected in the same way. The
compiler gets the same source and the option `grad`, and decides what it means; inside a
`@tsr.function` the same names are operations of the language.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from .errors import ArgumentError, kind_of
from .function import Function, function
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
        super().__init__(function.__wrapped__, options, function._target, function._choice)
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


class Decorated(Gradient):
    """The function itself, with something that gradients use."""

    def __repr__(self) -> str:
        return Function.__repr__(self)

    def __reduce__(self) -> str | tuple:
        is_named = getattr(sys.modules.get(self.__module__), self.__qualname__, None) is self
        return Function.__reduce__(self) if is_named else super().__reduce__()

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        """A method: one bound function per object, as Function.__get__ has it."""
        if instance is None or self._self is not None:
            return self
        kept = getattr(instance, "__dict__", None)
        key = f"__tessera_{self._kind}_{self.__qualname__}"
        bound = kept.get(key) if kept is not None else None
        if bound is None or bound.__wrapped__ is not self.__wrapped__:
            bound = self._bind(self._inner.__get__(instance, owner))
            if kept is not None:
                kept[key] = bound
        return bound

    def _bind(self, inner: Function) -> Function:
        raise NotImplementedError


class CustomVjp(Decorated):
    """A function with a derivative rule: `f.defvjp(forward, backward)`."""

    def __init__(self, inner: Function):
        super().__init__(inner, "custom_vjp", "custom_vjp", [])

    def defvjp(self, forward: Callable, backward: Callable) -> None:
        """`forward` has the parameters of the function, and returns its results and a tuple of
        residuals. `backward` gets the residuals, then a cotangent for each float result, and
        returns a gradient for each float argument; None stands for zeros."""
        rules = {"forward": forward, "backward": backward}
        for name, rule in rules.items():
            is_lambda = getattr(rule, "__name__", "") == "<lambda>"
            if not isinstance(rule, (types.FunctionType, Function)) or is_lambda:
                found = "a lambda; define it with def" if is_lambda else kind_of(rule)
                raise ArgumentError(f"defvjp: expected a function for '{name}', found {found}")
        self.__wrapped__.__tessera_rule__ = types.SimpleNamespace(**rules)

    def _bind(self, inner: Function) -> Function:
        return CustomVjp(inner)


class Checkpoint(Decorated):
    """A function with a checkpoint policy."""

    def _bind(self, inner: Function) -> Function:
        return Checkpoint(inner, self._kind, self._text, [])


def _decorated(target: Any, what: str) -> Function:
    if isinstance(target, Function):
        return target
    if isinstance(target, types.FunctionType):
        return function(target)
    raise ArgumentError(f"tsr.{what}: expected a function, found {kind_of(target)}")


def custom_vjp(target_function: Callable) -> CustomVjp:
    """Decorator `@tsr.custom_vjp`: a function whose derivative `f.defvjp(forward, backward)` gives."""
    return CustomVjp(_decorated(target_function, "custom_vjp"))


_POLICIES = ("auto", "nothing", "everything", "contractions")


def checkpoint(f: Callable | None = None, policy: str | Sequence[str] = "auto") -> Any:
    """`tsr.checkpoint(f, policy=…)`, or the decorator `@tsr.checkpoint(policy=…)`."""
    names = [policy] if isinstance(policy, str) else list(policy)
    is_known = names[0] in _POLICIES if isinstance(policy, str) else all(map(_is_name, names))
    if not is_known:
        expected = ", ".join(map(repr, _POLICIES))
        raise ArgumentError(
            f"tsr.checkpoint: expected {expected} or a tuple of names for 'policy', found {policy!r}"
        )
    text = f"checkpoint::{policy}"
    if not isinstance(policy, str):
        text = f"checkpoint:{','.join(names)},:names" if names else "checkpoint::nothing"

    def decorate(target: Any) -> Checkpoint:
        return Checkpoint(_decorated(target, "checkpoint"), "checkpoint", text, [])

    return decorate if f is None else decorate(f)


def _is_name(name: Any) -> bool:
    return (
        isinstance(name, str) and bool(name) and not set(name) & set(";:,") and name == name.strip()
    )


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
        extra = fresh_names("cotangent", results, function._make_parameters().names)
    elif kind == "jvp":
        extra = fresh_names("tangent", len(picked), function._make_parameters().names)
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


def fresh_names(word: str, count: int, names: Sequence[str]) -> list[str]:
    """Names of parameters that a function does not have, as the compiler chooses them."""
    taken = list(names)
    for index in range(count):
        name = f"{word}_{index}" if count > 1 else word
        while name in taken:
            name += "_"
        taken.append(name)
    return taken[len(taken) - count :]


# -- other libraries' gradients ---------------------------------------------------------------------


def apply(function: Function, values: dict[str, Any], keywords: dict | None = None) -> Any:
    """Calls a function with arguments by name: by position where that is possible, which is
    faster."""
    parameters = function._parameters
    own = 0 if function._self is None else 1
    args, by_name = [], dict(keywords or {})
    for position, name in enumerate(parameters.names[own:], own):
        if name not in values:
            continue
        if position < parameters.positional and len(args) == position - own:
            args.append(values[name])
        else:
            by_name[name] = values[name]
    return function(*args, **by_name)


def gradients(
    function: Function,
    wanted: Sequence[str],
    values: dict[str, Any],
    cotangents: Sequence[Any],
    is_float: Sequence[bool],
) -> dict[str, Any]:
    """The gradients of the wanted arguments by their names, from arguments by name and a cotangent
    for each result; those of integers are ignored."""
    # The same object for the same gradients, so that its code is compiled once.
    known = function.__dict__.setdefault("_vjps", {})
    key = (tuple(wanted), len(is_float))
    if key not in known:
        known[key] = make("vjp", function, wrt=key[0], results=len(is_float))
    parameters = function._parameters
    values = parameters.defaults | values
    names = parameters.names[1 if function._self is not None else 0 :]
    given = [one if has else 0 for one, has in zip(cotangents, is_float)]
    return dict(zip(wanted, known[key](*(values[name] for name in names), *given)))
