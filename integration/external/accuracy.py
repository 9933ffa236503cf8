#!/usr/bin/env python3
"""NumPy's validation sets as the judge of the elementary functions (run.py runs it).

NumPy ships arguments with results that were computed in higher precision and rounded, and the
allowed error in units in the last place. They include special values: infinities, NaN, subnormal
numbers, both zeros.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cases
import numpy as np

import tessera as tsr

DATA = Path(np.__file__).parent / "_core/tests/data"
PREFIX = "umath-validation-set-"

#: Units that a function of float64 may be off; NumPy's own are accurate to one. What each function has is in the table
#: of the pass that expands them (tile-expand-math).
FLOAT64_UNITS = 3


def functions() -> list[str]:
    """Those with a set that the language has, by NumPy's names."""
    names = (path.stem.removeprefix(PREFIX) for path in sorted(DATA.glob(f"{PREFIX}*.csv")))
    return [name for name in names if hasattr(tsr, name)]


def read(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Arguments, results and the allowed units of one type; a row is type, bits, bits, units."""
    rows = [line.split(",") for line in (DATA / f"{PREFIX}{name}.csv").read_text().splitlines()]
    rows = [row for row in rows if row[0] == f"np.{dtype}"]
    bits = [
        np.array([int(row[column], 16) for row in rows], dtype.replace("float", "uint"))
        for column in (1, 2)
    ]
    return bits[0].view(dtype), bits[1].view(dtype), max((int(row[3]) for row in rows), default=0)


def check(name: str, dtype: str) -> tuple[int, str]:
    """How many arguments were judged, and the error, if any."""
    x, expected, units = read(name, dtype)
    if dtype == "float64":
        units = max(units, FLOAT64_UNITS)
    result = cases.define(f"tsr.{name}(x)", 1)(x)
    with np.errstate(all="ignore"):
        near = abs(result - expected) <= units * np.spacing(abs(expected))
        good = near | (result == expected) | (np.isnan(result) & np.isnan(expected))
    good &= np.isnan(expected) | (np.signbit(result) == np.signbit(expected))
    if good.all():
        return x.size, ""
    at = int(np.argmin(good))
    return (
        x.size,
        f"{(~good).sum()} of {x.size} wrong: at {x[at]!r} expected {expected[at]!r}, got {result[at]!r}",
    )


def main() -> int:
    judged = failed = 0
    for name in functions():
        for dtype in ("float32", "float64"):
            count, wrong = check(name, dtype)
            judged += count
            failed += bool(wrong)
            if wrong:
                print(f"{name} of {dtype}: {wrong}")
    print(
        f"{judged} arguments of {len(functions())} functions of NumPy's validation sets, {failed} functions failed"
    )
    return 1 if failed or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
