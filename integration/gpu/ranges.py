"""What a result may be, element by element, in the result's own type.

The reference gives a value and a bound in float64. Here that becomes a first allowed number and how many
follow it: elements of a type are counted in order, so that -0.0 and 0.0 are 0, the smallest positive
number is 1, and so on. It takes the room of the result itself, and needs no float64 where it is used.
"""

from __future__ import annotations

import numpy as np

ANY = np.uint64(2**64 - 1)  # the reference cannot tell
NAN = np.uint64(2**64 - 2)  # the reference says nan

_BITS = {"fp64": np.int64, "fp32": np.int32, "bf16": np.int16, "fp16": np.int16}
_PLAIN = {"int64": "i8", "int32": "i4", "int16": "i2", "int8": "i1", "uint8": "u1", "bool": "u1"}


def storage(dtype: str) -> np.dtype:
    """The type that holds positions of elements of a type."""
    return np.dtype(_BITS.get(dtype) or _PLAIN[dtype])


def positions(raw: np.ndarray, dtype: str) -> np.ndarray:
    """Memory (bytes) of a result as positions in the order of its type."""
    bits = np.ascontiguousarray(raw).view(storage(dtype))
    if dtype not in _BITS:
        return bits
    least = np.iinfo(bits.dtype).min
    return np.where(bits < 0, least - bits, bits)


def _narrow(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bf16":
        import ml_dtypes

        return values.astype(ml_dtypes.bfloat16)
    return values.astype({"fp64": "f8", "fp32": "f4", "fp16": "f2"}[dtype])


def _widen(where: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers at positions, in float64."""
    least = np.iinfo(where.dtype).min
    bits = np.where(where < 0, least - where, where).astype(where.dtype)
    kinds = {"fp64": "f8", "fp32": "f4", "fp16": "f2"}
    if dtype != "bf16":
        return bits.view(kinds[dtype]).astype(np.float64)
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def _edge(limits: np.ndarray, dtype: str, inwards: int) -> np.ndarray:
    """The position of the number nearest to each limit that is not beyond it."""
    nearest = _narrow(limits, dtype)
    where = positions(nearest.view(np.uint8), dtype).reshape(limits.shape)
    beyond = (_widen(where, dtype) - limits) * inwards < 0
    return where + (beyond * inwards).astype(where.dtype)


def _distance(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """last - first, modulo 2⁶⁴, so that the largest of 64 bits is right too."""
    return last.astype(np.int64).view(np.uint64) - first.astype(np.int64).view(np.uint64)


def allowed(value: np.ndarray, bound: np.ndarray, excluded: np.ndarray, dtype: str):
    """First positions and counts for a result of the reference, flat."""
    value, bound, excluded = (np.ravel(one) for one in (value, bound, excluded))
    if dtype not in _BITS:
        first = value.astype(_PLAIN[dtype])
        return first, np.where(excluded, ANY, np.uint64(0))
    with np.errstate(all="ignore"):
        exact = ~np.isfinite(value) | np.isnan(bound)  # infinities, and where only equality counts
        low = np.where(exact, value, value - bound)
        high = np.where(exact, value, value + bound)
        first, last = _edge(low, dtype, 1), _edge(high, dtype, -1)
        # Where the bound is finer than the type, the number nearest to the value is right.
        near = positions(_narrow(value, dtype).view(np.uint8), dtype)
        first, last = np.where(last < first, near, first), np.where(last < first, near, last)
        count = _distance(first, last)
    count[np.isnan(value)] = NAN
    count[excluded] = ANY
    return first, count


def wrong(raw: np.ndarray, dtype: str, first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Flat indices of the elements of a result that are not allowed."""
    found = positions(raw, dtype)
    good = (_distance(first, found) <= count) & (found >= first)
    if dtype in _BITS:
        infinity = positions(_narrow(np.array([np.inf]), dtype).view(np.uint8), dtype)[0]
        isnan = abs(found.astype(np.int64)) > int(infinity)
        good = np.where(count == NAN, isnan, good & ~isnan)
    return np.flatnonzero(~(good | (count == ANY)))
