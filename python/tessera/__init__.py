"""Tessera: a tile compiler for tensor programs.

import tessera as tsr

@tsr.function
def softmax_rows(x):
    return tsr.softmax(x * 0.5, dim=-1)

y = softmax_rows(numpy_array)
"""

from __future__ import annotations

import builtins as _builtins
import math as _math
import os as _os

try:
    from . import _tessera
except ImportError as error:
    # Python itself also rejects a sub-interpreter with its own GIL, with another message.
    if "subinterpreters" not in str(error):
        raise
    raise ImportError(
        "tessera cannot be imported in a sub-interpreter; import it in the main interpreter, or use "
        "processes"
    ) from None
from .errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    Diagnostic,
    FixIt,
    OutOfMemoryError,
    OutOfRangeError,
    TesseraError,
)

_tessera.set_errors(TesseraError, ArgumentError, DeviceError, OutOfMemoryError, OutOfRangeError)

from . import tiers
from .function import Compiled, Function, function, jit, warm
from .operations import OPERATIONS as _OPERATIONS
from .options import accum, numerics, schedule
from .types import BY_NAME as _TYPES
from .types import DType, Region, Tensor, TensorType, read, reduce_sum, write

__version__ = _tessera.version

inf = _math.inf
nan = _math.nan
pi = _math.pi
e = _math.e

# The language's own names: operations (tsr.softmax) and element types (tsr.fp16, tsr.float16).
globals().update(_OPERATIONS)
globals().update(_TYPES)


def load(path: str | _os.PathLike[str], weights: str | _os.PathLike[str] | None = None) -> object:
    """Loads a bundle that `tessera build` or `f.compile(...).save(path)` wrote, and the weights that
    were written beside it."""
    from .bundle import load as load_bundle

    return load_bundle(path, weights)


def from_onnx(
    source: object, constants: dict[str, object] | None = None, **options: object
) -> object:
    """The ONNX model of a path, of bytes or of a ModelProto, as a callable object.

    constants: inputs that are fixed when the model is imported, such as shapes and axes, by name.
    options: those of `@tsr.function`; see docs/onnx.md.
    """
    from .onnx import from_onnx as import_model

    return import_model(source, constants, **options)


def from_stablehlo(source: object, **options: object) -> object:
    """The StableHLO module of text, of bytes or of a path, as a callable object.

    Generic text needs no other package; bytes of `jax.export` and pretty text need jaxlib.
    options: those of `@tsr.function`; see docs/stablehlo.md.
    """
    from .stablehlo import from_stablehlo as import_module

    return import_module(source, **options)


def autotune(**settings: object) -> object:
    """Decorator above `@tsr.function`: tunes when the function is first called with new sizes.

    Keywords: space, constraints, objective, key, budget, cache, strategy, seed; see
    docs/schedules.md.
    """
    from .tune import autotune as decorator

    return decorator(**settings)  # type: ignore[arg-type]


def custom_vjp(target_function: object) -> object:
    """Decorator: a function whose derivative is given by `f.defvjp(forward, backward)`; see
    docs/gradients.md."""
    from .gradients import custom_vjp as decorator

    return decorator(target_function)  # type: ignore[arg-type]


def set_num_threads(count: int) -> None:
    """Sets how many threads one launch may use; 0 restores TESSERA_NUM_THREADS or all cores."""
    _tessera.set_num_threads(count)


def get_num_threads() -> int:
    """How many threads one launch may use, including the caller."""
    return _tessera.get_num_threads()


def metrics() -> dict:
    """The runtime's counters: calls, launches, memory, the cache, compilations."""
    return _tessera.metrics()


def metrics_text() -> str:
    """The same in Prometheus' text format."""
    return _tessera.metrics_text()


def devices() -> list:
    """The devices of this machine."""
    import json

    from . import compiler

    compiler.load()
    return json.loads(_tessera.devices())["devices"]


#: What the package offers: the names above, operations and element types; its modules are its own.
_PUBLIC = {
    "ArgumentError",
    "CompileError",
    "Compiled",
    "DType",
    "DeviceError",
    "Diagnostic",
    "FixIt",
    "Function",
    "OutOfMemoryError",
    "OutOfRangeError",
    "Region",
    "Tensor",
    "TensorType",
    "TesseraError",
    "accum",
    "autotune",
    "custom_vjp",
    "devices",
    "e",
    "from_onnx",
    "from_stablehlo",
    "function",
    "get_num_threads",
    "inf",
    "jit",
    "load",
    "metrics",
    "metrics_text",
    "nan",
    "numerics",
    "pi",
    "read",
    "reduce_sum",
    "schedule",
    "set_num_threads",
    "tiers",
    "warm",
    "write",
    *_OPERATIONS,
    *_TYPES,
}
# `from tessera import *` does not replace Python's own names (sum, max, print, bool, …).
__all__ = sorted(name for name in _PUBLIC if not hasattr(_builtins, name))


def __dir__() -> list[str]:
    return sorted({*_PUBLIC, "__version__"})
