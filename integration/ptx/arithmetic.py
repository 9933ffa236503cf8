"""The arithmetic of PTX instructions: rounded as the ISA says, and with the largest error that it
allows.

Fused multiply-adds round once. Instructions with an error bound instead of a rounding
(`ex2.approx`, `div.full`) are off by almost that bound, in a direction that depends on the
operands' bits: no program may rely on better results.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Callable

import numpy as np

_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
_LIBM.fma.restype = ctypes.c_double
_LIBM.fma.argtypes = [ctypes.c_double] * 3
_FMA = np.frompyfunc(_LIBM.fma, 3, 1)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum of doubles, and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A sum of doubles rounded to odd: a second rounding, to fewer digits, is then correct."""
    total, rest = _two_sum(a, b)
    is_even = (total.view(np.int64) & 1) == 0
    moved = np.nextafter(total, np.where(rest > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (rest != 0) & is_even, moved, total)


def _two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product of doubles, and its rounding error (Dekker), if nothing overflows or
    underflows."""

    def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wide = x * 134217729.0
        high = wide - (wide - x)
        return high, x - high

    product = a * b
    (a1, a2), (b1, b2) = halves(a), halves(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a b + c with one rounding."""
    if a.dtype != np.float64:  # products are exact in f64
        return _odd_sum(a.astype(np.float64) * b, c.astype(np.float64)).astype(a.dtype)
    # Boldo and Melquiond: the parts are summed without error, except for the last, which is rounded
    # to odd.
    high, low = _two_product(a, b)
    upper, lower = _two_sum(c, low)
    total, rest = _two_sum(high, upper)
    result = total + _odd_sum(lower, rest)
    sizes = np.abs(np.stack([a, b, high, c]))
    rare = ~(sizes < 2.0**960).all(0) | ((sizes < 2.0**-900) & (sizes != 0)).any(0)
    rare |= (high == 0) & (a != 0) & (b != 0)
    if rare.any():
        result[rare] = _FMA(a[rare], b[rare], c[rare]).astype(np.float64)
    zero = (high == 0) & (low == 0) & ~rare
    return np.where(zero, high + c, result)


def flushed(value: np.ndarray) -> np.ndarray:
    """With subnormal numbers flushed to zero."""
    return np.where(
        np.abs(value) < np.finfo(value.dtype).tiny, np.copysign(value.dtype.type(0), value), value
    )


def _off(exact: np.ndarray, ulps: float, *operands: np.ndarray) -> np.ndarray:
    """f32 near exact results (f64), off by up to this many units in the last place, depending on
    the operands' bits."""
    mixed = np.zeros(exact.shape, np.uint32)
    for one in operands:
        mixed = (mixed ^ one.view(np.uint32)) * np.uint32(0x9E3779B1)
        mixed ^= mixed >> np.uint32(15)
    share = mixed.astype(np.float64) / 2.0**31 - 1  # fraction of the allowed error, from -1 to 1
    unit = np.exp2(np.floor(np.log2(np.abs(exact))) - 23)
    # Rounding uses half a unit of the allowed error.
    moved = exact + share * max(ulps - 0.5, 0) * unit
    return np.where(np.isfinite(exact) & (exact != 0), moved, exact).astype(np.float32)


def _approximate(exact: Callable[..., np.ndarray], ulps: float) -> Callable[..., np.ndarray]:
    return lambda *xs: _off(exact(*(x.astype(np.float64) for x in xs)), ulps, *xs)


def _full_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """As on chips, a product with the reciprocal: at most two units off, and 41 / 41 may be less
    than 1."""
    shift = np.where(
        np.abs(y) > 2.0**126,
        np.float32(0.25),
        np.where(np.abs(y) < 2.0**-100, np.float32(2.0**24), np.float32(1)),
    )
    product = (x * shift) * _approximate(lambda one: 1 / one, 0.75)(y * shift)
    special = ~np.isfinite(x) | ~np.isfinite(y) | (x == 0) | (y == 0)
    return np.where(special, x / y, product)


def _log2(x: np.ndarray) -> np.ndarray:
    """Between 1/2 and 2 the error is absolute, below 2^-21.5: a share of the unit of 4 + log2(x)."""
    exact = np.log2(x.astype(np.float64))
    near = _off(exact + 4, 0.66, x).astype(np.float64) - 4
    return np.where((x > 0.5) & (x < 2), near, _off(exact, 2, x)).astype(np.float32)


#: Instructions of f32 that are approximate, with the largest error that the ISA gives them, in units of the last place. What
#: it says of zeros and infinities is exact: 2^0 is 1, tanh of 0 is 0.
APPROXIMATE: dict[str, Callable[..., np.ndarray]] = {
    "ex2.approx": lambda x: np.where(x == 0, np.float32(1), _approximate(np.exp2, 2)(x)),
    "rcp.approx": _approximate(lambda x: 1 / x, 1),
    "rsqrt.approx": _approximate(lambda x: 1 / np.sqrt(x), 2),
    "sqrt.approx": _approximate(np.sqrt, 1),
    "div.full": _full_quotient,
    "lg2.approx": _log2,
    "tanh.approx": _approximate(np.tanh, 2.0**13),  # 2^-11 of the result
}

_ROUNDED = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc}


def to_bf16(value: np.ndarray) -> np.ndarray:
    """The bits of f32 rounded to bf16."""
    bits = value.view(np.uint32).astype(np.uint64)
    near = bits + np.uint64(0x7FFF) + (bits >> np.uint64(16) & np.uint64(1)) >> np.uint64(16)
    return np.where(np.isnan(value), np.uint64(0x7FFF), near).astype(np.uint16)


def to_tf32(value: np.ndarray) -> np.ndarray:
    """The bits of f32 rounded to tf32, ties away from zero; the others are 0."""
    bits = value.view(np.uint32)
    return np.where(np.isfinite(value), (bits + np.uint32(0x1000)) & ~np.uint32(0x1FFF), bits)


def to_integer(value: np.ndarray, dtype: np.dtype, how: str) -> np.ndarray:
    """Numbers out of range saturate; NaN becomes 0, or the highest bit for 64-bit types."""
    bounds = np.iinfo(dtype)
    whole = _ROUNDED[how](value.astype(np.float64))
    inside = (whole >= float(bounds.min)) & (whole < float(bounds.max) + (bounds.bits < 64))
    result = np.where(inside, whole, 0).astype(dtype)
    result = np.where(whole >= float(bounds.max), dtype.type(bounds.max), result)
    result = np.where(whole < float(bounds.min), dtype.type(bounds.min), result)
    is_wide = value.itemsize == 8 or bounds.bits == 64
    empty = np.array(1 << bounds.bits - 1 if is_wide else 0, f"u{dtype.itemsize}").view(dtype)[()]
    return np.where(np.isnan(value), empty, result)


def convert(value: np.ndarray, dtype: np.dtype, parts: list[str]) -> np.ndarray:
    """cvt between types that NumPy has."""
    how = next((part for part in parts if part in _ROUNDED), "")
    if value.dtype.kind == "f" and dtype.kind != "f":
        return to_integer(value, dtype, how)
    if value.dtype.kind == dtype.kind == "f" and how:
        return _ROUNDED[how](value).astype(dtype)
    return value.astype(dtype)


def high_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper half of the product of integers."""
    bits = 8 * a.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}8")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    exact = a.astype(object) * b.astype(object) >> 64
    return (exact & (1 << 64) - 1).astype(np.uint64).view(a.dtype)


def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division, truncated; an arbitrary value if the divisor is 0."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    rest = np.fmod(a, safe)
    return (a - rest) // safe


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, np.where(b == 0, b.dtype.type(1), b))


def shifted(name: str, a: np.ndarray, count: np.ndarray) -> np.ndarray:
    """shl and shr; a count of at least the width shifts all bits out."""
    bits = 8 * a.itemsize
    near = np.minimum(count, bits - 1).astype(a.dtype)
    if name == "shr" and a.dtype.kind == "i":
        return a >> near
    return np.where(count >= bits, a.dtype.type(0), a << near if name == "shl" else a >> near)
