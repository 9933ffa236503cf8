"""Options of a compilation as the compiler's key/value pairs: numerics policies, guarantees, code
generation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import ArgumentError, did_you_mean
from .types import DType, fp32, fp64

#: Each option and its values; True stands for both bools. Options after `via` concern code
#: generation: the calls that the code must accept, and how it is compiled (C++'s
#: TargetLoweringOptions).
_KNOWN: dict[str, tuple] = {
    "numerics": ("default", "strict"),
    "matmul": ("default", "fp32", "tf32", "bf16"),
    "fast_math": (True,),
    "deterministic": (True,),
    "batch_invariant": (True,),
    "accum": (fp32, fp64),
    "residual_bytes": (int,),  # the most that forward saves for backward beside its results
    "via": ("auto", "tileir", "ptx"),
    "alignment": ("default", "element"),  # of addresses on a GPU: 16 bytes, or one element
    "indices": ("default", "64"),  # the bits of indices on a GPU
    "strides": ("default", "any"),  # on a GPU: positive, or negative too
    "optimization_level": (0, 1, 2, 3),  # of machine code
    "tensor_cores": (True,),  # whether tensor cores, AMX or BFMMLA may be used
    "profiling": (True,),  # line tables and frame pointers, and kernels are timed
    "tuning": (True,),  # whether measured tiles, launch and tuning are used
    "schedule": (str,),  # choices that replace the scheduler's: "tile.m=128,num_stages=4"
}


class Numerics(dict):
    """The result of `tsr.numerics(...)`: a policy, passed as `numerics=`."""


def numerics(**policy: Any) -> Numerics:
    """A numerics policy: tsr.numerics(matmul="tf32", fast_math=False, deterministic=True).

    matmul: the precision of factors in fp32 contractions: "fp32" (not rounded), "tf32", "bf16".
    fast_math: True allows approximate functions and quotients, False forbids them; by default
        they are used where the program's type has no higher precision.
    deterministic: False allows atomic sums in any order.
    batch_invariant: a row's result does not depend on the other rows.
    accum: the minimum accumulation type of sums.
    """
    return Numerics(merge({}, policy))


def _text(name: str, value: Any) -> str:
    allowed = _KNOWN[name]
    if allowed == (True,) and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, DType) and value in allowed:
        return value.name
    if allowed == (str,) and isinstance(value, str):
        return value
    if allowed == (int,) and type(value) is int and value >= 0:
        return str(value)
    if type(value) in (str, int) and allowed != (True,) and value in allowed:
        return str(value)
    kinds = {(True,): "a bool", (str,): "a string", (int,): "a number of at least 0"}
    expected = kinds.get(allowed, " or ".join(map(repr, allowed)))
    raise ArgumentError(f"option '{name}': expected {expected}, found {value!r}")


def merge(options: dict[str, str], more: dict[str, Any]) -> dict[str, str]:
    """Options with others on top, each checked and converted to text."""
    merged = dict(options)
    for name, value in more.items():
        if name == "numerics" and isinstance(value, Numerics):
            merged.update(value)
            continue
        if name not in _KNOWN:
            raise ArgumentError(f"there is no option '{name}'{did_you_mean(name, _KNOWN)}")
        merged[name] = _text(name, value)
    return merged


def _decorator(change: Callable[[dict[str, str]], dict[str, str]]) -> Callable:
    """A decorator that changes the options of a function, above or below `@tsr.function`."""

    def decorate(target: Any) -> Any:
        from .function import Function

        if isinstance(target, Function):
            return Function(
                target.__wrapped__, change(target._options), target._target, target._choice
            )
        target.__tessera_options__ = change(getattr(target, "__tessera_options__", {}))
        return target

    return decorate


def accum(dtype: DType) -> Callable:
    """Decorator `@accum(fp32)`: the minimum accumulation type of sums and contractions."""
    if dtype not in (fp32, fp64):
        raise ArgumentError(f"@accum: expected fp32 or fp64, found {dtype!r}")
    return _decorator(lambda options: merge(options, {"accum": dtype}))


def schedule(choices: str = "", /, **fields: Any) -> Callable:
    """Decorator `@tsr.schedule(kernel=0, num_stages=4, **{"tile.m": 128})`, or
    `@tsr.schedule("tile.m=128,num_stages=4")`: replaces choices of the scheduler for one kernel.

    Tiles are given by the names of dimensions in the schedule, None removes a field. Several
    decorators add up.
    """
    for name, value in fields.items():
        if not (value is None or type(value) is int or name in ("kernel", "backend")):
            raise ArgumentError(
                f"@schedule: expected a number or None for {name!r}, found {value!r}"
            )
    words = [f"{name}={'none' if value is None else value}" for name, value in fields.items()]
    text = ",".join([*words, *([choices] if choices else [])])
    if not text:
        raise ArgumentError('@schedule: expected choices, such as "tile.m=128" or num_stages=4')

    def change(options: dict[str, str]) -> dict[str, str]:
        before = options.get("schedule", "")
        return merge(options, {"schedule": f"{before};{text}" if before else text})

    return _decorator(change)
