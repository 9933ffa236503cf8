"""`f.reference`: the function evaluated in float64, with an error bound per element for tests."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _tessera, compiler
from .errors import compile_error
from .parameters import Bound
from .types import DTYPES, DType


class Reference(NamedTuple):
    """One result: compiled values are within `bound` of `value` unless excluded."""

    value: Any
    bound: Any  # float64, zeros for integers and bools
    excluded: Any  # bool: the bound includes a discontinuity
    dtype: DType  # of the compiled function's result


def evaluate(unit: compiler.Unit, bound: Bound, with_bounds: bool) -> Any:
    import numpy

    compiler.load()
    runtime_values = [one for one in bound.specifications if not isinstance(one, str)]
    result = _tessera.reference(unit.request(), runtime_values)
    if result["status"] != 0:
        raise compile_error(result["text"], result["diagnostics"], unit.name)
    outputs = []
    for dtype, value_dtype, shape, value, error, excluded in result["outputs"]:
        array = numpy.frombuffer(value, DTYPES[value_dtype].numpy_name).reshape(shape)
        outputs.append(
            Reference(
                array.copy(),
                numpy.zeros(shape)
                if error is None
                else numpy.frombuffer(error).reshape(shape).copy(),
                numpy.zeros(shape, bool)
                if excluded is None
                else numpy.frombuffer(excluded, bool).reshape(shape).copy(),
                DTYPES[dtype],
            )
        )
    items = outputs if with_bounds else [output.value for output in outputs]
    return tuple(items) if result["tuple"] or len(items) != 1 else items[0]
