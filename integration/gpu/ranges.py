"""The allowed values of a result, element by element, in the result's own type.

The reference gives a value and a bound in float64. Here that becomes a first allowed number and how
many follow it: numbers of a type are counted in order, so that -0.0 and 0.0 are 0, the smallest
positive number is 1, and so on. It takes the space of the result itself, and needs no float64 where
it is used.
"""

from __future__ import annotations

import numpy as np

ANY = np.uint64(2**64 - 1)  # the reference does not know
NAN = np.uint64(2**64 - 2)  # the reference is NaN

# Floating types: NumPy's (or ml_dtypes') name, the bits, and the position of the largest finite
# number.
KINDS = {
    "fp64": "float64",
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
}
_BITS = dict(zip(KINDS, (np.int64, np.int32, np.int16, np.int16, np.int8, np.int8)))
_LAST = dict(zip(KINDS, (0x7FF << 52, 0xFF << 23, 0xFF << 7, 0x1F << 10, 0x7E, 0x1F << 2)))
_PLAIN = {"int64": "i8", "int32": "i4", "int16": "i2", "int8": "i1", "uint8": "u1", "bool": "u1"}


SAMPLE = 1 << 12  # elements of a result that are compared, at most


def compared(size: int) -> np.ndarray:
    """Flat indices of the elements of a result that are compared: all of a small one; of a large
    one its ends and, between them, one element of each of as many equal parts."""
    if size <= SAMPLE:
        return np.arange(size)
    ends = SAMPLE // 8
    edges = np.linspace(ends, size - ends, SAMPLE - 2 * ends + 1).astype(np.int64)
    widths = np.diff(edges)
    inner = edges[:-1] + np.random.default_rng(size).integers(0, 1 << 62, widths.size) % widths
    return np.concatenate([np.arange(ends), inner, np.arange(size - ends, size)])


def unwritten(raw: np.ndarray, dtype: str) -> int:
    """How many elements of a result still have the pattern that memory was filled with before.
    Integers can be equal to it."""
    return int((raw.view(storage(dtype)) == -1).sum()) if dtype in _BITS else 0


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


def _type(dtype: str) -> np.dtype:
    if KINDS[dtype] in ("float64", "float32", "float16"):
        return np.dtype(KINDS[dtype])
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, KINDS[dtype]))


def _widen(where: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers at positions, in float64."""
    least = np.iinfo(where.dtype).min
    bits = np.where(where < 0, least - where, where).astype(where.dtype)
    return bits.view(_type(dtype)).astype(np.float64)


def _edge(limits: np.ndarray, dtype: str, inwards: int) -> np.ndarray:
    """The position of the number nearest to each limit that does not exceed it."""
    nearest = limits.astype(_type(dtype))
    where = positions(nearest.view(np.uint8), dtype).reshape(limits.shape)
    beyond = (_widen(where, dtype) - limits) * inwards < 0
    return where + (beyond * inwards).astype(where.dtype)


def _distance(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """last - first, modulo 2⁶⁴, so that the largest of 64 bits is correct too."""
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
        # If the bound is finer than the type, the number nearest to the value is correct.
        near = positions(value.astype(_type(dtype)).view(np.uint8), dtype)
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
        isnan = abs(found.astype(np.int64)) > _LAST[dtype]
        good = np.where(count == NAN, isnan, good & ~isnan)
    return np.flatnonzero(~(good | (count == ANY)))
