"""Options of a compilation: numerics policies and promises, as the compiler's key/value pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import ArgumentError, did_you_mean
from .types import DType

_KNOWN = ("numerics", "matmul", "fast_math", "deterministic", "batch_invariant", "accum", "via")


class Numerics(dict):
    """What `tsr.numerics(...)` returns: a policy, to be given as `numerics=`."""


def numerics(**policy: Any) -> Numerics:
    """A numerics policy: tsr.numerics(matmul="tf32", fast_math=False, deterministic=True)."""
    return Numerics(merge({}, policy))


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, DType):
        return value.name
    raise ArgumentError(
        f"option '{name}': expected a string, a number, a bool or a type, found {value!r}"
    )


def merge(options: dict[str, str], more: dict[str, Any]) -> dict[str, str]:
    """Options with others on top, each checked and as text."""
    merged = dict(options)
    for name, value in more.items():
        if name == "numerics" and isinstance(value, Numerics):
            merged.update(value)
            continue
        if name not in _KNOWN:
            raise ArgumentError(f"there is no option '{name}'{did_you_mean(name, _KNOWN)}")
        merged[name] = _text(name, value)
    return merged


def accum(dtype: DType) -> Callable:
    """Decorator `@accum(fp32)`: the type that sums and contractions accumulate in."""
    if not isinstance(dtype, DType):
        raise ArgumentError(f"@accum: expected an element type, found {dtype!r}")

    def decorate(target: Any) -> Any:
        from .function import Function

        if isinstance(target, Function):
            return Function(
                target.__wrapped__, merge(target._options, {"accum": dtype}), target._target
            )
        target.__tessera_options__ = merge(
            getattr(target, "__tessera_options__", {}), {"accum": dtype}
        )
        return target

    return decorate
