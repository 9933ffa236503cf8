"""Common parts of the numerics tests: functions from text, arrays of every layout, the comparison.

A result is correct if every element is within the bound that the reference derives for it from its
operations; no test states a tolerance. Results are written into poisoned memory.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import shutil
import tempfile
import zlib
from pathlib import Path

import numpy as np

FLOATS = ("fp64", "fp32", "bf16", "fp16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
LAYOUTS = ("dense", "permuted", "stepped", "reversed", "offset", "repeated")

_HEADER = """import math
import tessera as tsr
from tessera import Tensor, bf16, fp8_e4m3, fp8_e5m2, fp16, fp32, fp64, int8, int16, int32, int64, uint8
"""
_folder = Path(tempfile.mkdtemp(prefix="tessera-tests-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_numbers = itertools.count()


def spell(dtype: str) -> str:
    """A type as programs write it: `bool` alone is Python's."""
    return "tsr.bool" if dtype == "bool" else dtype


def define(text: str, name: str = "f"):
    """The function `name` of a program text: `def f(x):` with its decorator left out."""
    path = _folder / f"defined_{next(_numbers)}.py"
    path.write_text(_HEADER + "\n@tsr.function\n" + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def numpy_dtype(dtype: str) -> np.dtype:
    names = {"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
    if dtype in names:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, names[dtype]))
    return np.dtype({"fp64": "f8", "fp32": "f4", "fp16": "f2"}.get(dtype, dtype))


def has_bf16() -> bool:
    return importlib.util.find_spec("ml_dtypes") is not None


def random(
    shape,
    dtype: str = "fp32",
    layout: str = "dense",
    low: float | None = None,
    high: float | None = None,
    seed: int = 0,
) -> np.ndarray:
    """A random array: normal, or uniform in [low, high], in memory of the given layout."""
    shape = tuple(shape)
    rng = np.random.default_rng([seed, *shape, zlib.crc32(f"{dtype}{layout}".encode())])

    def fill(shape: tuple[int, ...]) -> np.ndarray:
        if dtype == "bool":
            values = rng.random(shape) < 0.5
        elif dtype in INTEGERS:
            least = 0 if dtype == "uint8" else -7
            values = rng.integers(least if low is None else low, 8 if high is None else high, shape)
        else:
            values = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
        return np.asarray(values, numpy_dtype(dtype))

    if not shape or layout == "dense":
        return fill(shape)
    if layout == "permuted":
        return fill(shape[::-1]).transpose()
    if layout == "stepped":
        return fill((*shape[:-1], 3 * shape[-1]))[..., ::3]
    if layout == "reversed":
        return fill(shape)[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "offset":
        return fill(tuple(s + 1 for s in shape))[tuple(slice(1, None) for _ in shape)]
    return np.broadcast_to(fill((1, *shape[1:])), shape)


def poisoned(expected) -> np.ndarray:
    """Memory for a result, filled with a pattern that no kernel writes."""
    dtype = numpy_dtype(expected.dtype.name)
    count = int(np.prod(expected.value.shape, dtype=np.int64))
    memory = np.full(count * dtype.itemsize, 0xFF, np.uint8)
    return memory.view(dtype).reshape(expected.value.shape)


def wrong_elements(result: np.ndarray, expected, compared: np.ndarray | None = None) -> np.ndarray:
    """The positions at which a result is not allowed by the reference, among those that are
    compared: by default those with a bound."""
    assert result.shape == expected.value.shape, (result.shape, expected.value.shape)
    assert result.dtype == numpy_dtype(expected.dtype.name), (result.dtype, expected.dtype)
    if expected.value.dtype.kind == "f":
        got = result.astype(np.float64)
        with np.errstate(invalid="ignore"):
            good = (np.abs(got - expected.value) <= expected.bound) | (got == expected.value)
        good |= np.isnan(got) & np.isnan(expected.value)
    else:
        good = result == expected.value
    return np.argwhere(~good & (~expected.excluded if compared is None else compared))


def check(function, *arguments, least: float = 0.5, nan: bool = False) -> tuple:
    """Calls the function and its reference; returns the results. At least the fraction `least` of
    the elements of each result, and at least one, must have been compared. With `nan`, elements
    that are NaN in the reference must be NaN also without a bound, and count as compared."""
    assert 0 < least <= 1, f"expected a share of elements that are compared, found {least}"
    expected = function.reference(*arguments, bounds=True)
    expected = expected if type(expected) is tuple else (expected,)
    outs = tuple(poisoned(one) for one in expected)
    function(*arguments, out=outs if len(outs) > 1 else outs[0])
    for number, (out, one) in enumerate(zip(outs, expected)):
        compared = ~one.excluded | (np.isnan(one.value) if nan else False)
        bad = wrong_elements(out, one, compared)
        if len(bad):
            at = tuple(int(i) for i in bad[0])
            shapes = [getattr(a, "shape", a) for a in arguments]
            raise AssertionError(
                f"result {number} of {shapes}: {len(bad)} of {out.size} elements are wrong; at {at} expected "
                f"{one.value[at]!r} within {one.bound[at]:.3g}, got {out[at]!r}"
            )
        count = int(np.sum(compared))
        assert count >= least * out.size, f"only {count} of {out.size} elements could be compared"
    return outs
