"""Bank conflicts and uncoalesced accesses: the simulator's costs of accesses at small sizes.

Sizes shrink together: dimensions of one size stay equal, and keep the remainder that decides
alignment.
"""

from __future__ import annotations

import json
from typing import Any

from .. import _tessera, compiler
from ..errors import TesseraError
from .case import Case, Variant, dense
from .model import Access

_LARGEST = 128  # sizes that the simulator gets
_KEPT = 64  # what a size is a multiple of stays, up to this


def small(size: int) -> int:
    return size if size <= _LARGEST else _LARGEST - _KEPT + size % _KEPT or _KEPT


def accesses(case: Case) -> list[Access]:
    """Accesses that take more transactions than the fewest possible; TesseraError where the
    simulator cannot run the function."""
    import numpy as np

    changed = {name: dense(one, tuple(map(small, one[2]))) for name, one in case.tensors().items()}
    unit = case.unit(Variant(options={"via": "ptx"}, specifications=changed))
    compiler.load()
    rng = np.random.default_rng(0)
    keep, values = [], []
    for name, one in zip(case.bound.names, case.bound.specifications):
        if isinstance(one, str):
            continue
        if name not in changed:
            values.append(one)
            continue
        array = _array(changed[name], rng)
        keep.append(array)
        values.append((array.ctypes.data, *changed[name][1:]))
    result = _tessera.simulate(unit.request(), values, 1, 0, 1, False, False)
    report = json.loads(result["report"] or "{}").get("simulation")
    if report is None:
        raise TesseraError("the simulator does not run this function: " + result["text"].strip())
    return list(_costs(report))


def _array(specification: tuple, rng: Any) -> Any:
    """Bytes of small numbers; whatever the type is, no element is infinite."""
    import numpy as np

    from ..types import DTYPES

    _, code, sizes, _ = specification
    dtype = DTYPES[code]
    if dtype.numpy_name and dtype.numpy_name.startswith(("float",)):
        return rng.standard_normal(sizes).astype(dtype.numpy_name)
    if dtype.numpy_name:
        return rng.integers(0, 2, sizes).astype(dtype.numpy_name)
    if dtype.name == "bf16":
        words = rng.standard_normal(sizes, np.float32).view(np.uint32) >> 16
        return words.astype(np.uint16)
    return np.zeros(sizes, np.uint8)


def _line(place: Any) -> int | None:
    """Of "f.py:3:12"."""
    numbers = [part for part in str(place).split(":")[1:] if part.isdigit()]
    return int(numbers[0]) if numbers else None


def _costs(report: dict[str, Any]) -> Any:
    for launch in report.get("launches", []):
        for one in launch.get("accesses", []):
            units, fewest = one["transactions"], one["fewest"]
            yield Access(
                launch.get("kernel", ""),
                one["op"],
                _line(one["at"]),
                one["memory"],
                units,
                fewest,
            )
