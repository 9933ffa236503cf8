"""One sample: called through the language, compared with PyTorch.

An element is correct if it is within PyTorch's own tolerance for its type of PyTorch's result in
that type. If the two round differently it is correct if it is within the reference's bound for the
program of PyTorch's result in float64. Shapes and types must be the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import calls
import exclusions
import numpy as np
import entries
import torch

import tessera as tsr

#: torch.testing.assert_close: (relative, absolute).
TOLERANCES = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1.3e-6, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float16: (1e-3, 1e-5),
}


@dataclass
class Verdict:
    status: str  # passed, failed, excluded, refused (by PyTorch itself)
    message: str = ""
    program: str = ""


def results(value: Any) -> list:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _from_numpy(array: Any) -> torch.Tensor:
    """Results of functions without arguments are NumPy's."""
    array = np.asarray(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().double() if value.is_floating_point() else value
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if isinstance(value, dict):
        return {key: _widened(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_widened(item) for item in value)
    return value


def wrong(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Where elements differ by more than PyTorch's tolerance."""
    if ours.dtype not in TOLERANCES:
        return ours != theirs
    relative, absolute = TOLERANCES[ours.dtype]
    return ~torch.isclose(
        ours.double(), theirs.double(), rtol=relative, atol=absolute, equal_nan=True
    )


def _beyond_bounds(
    call: calls.Call, number: int, ours: torch.Tensor, wide: torch.Tensor
) -> torch.Tensor:
    """Where elements are outside the reference's bound around PyTorch's float64 result."""
    expected = call.function().reference(*call.tensors, bounds=True)
    return outside(expected[number] if type(expected) is tuple else expected, ours, wide)


def outside(one: Any, ours: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
    """Where elements are outside a result's bound around PyTorch's float64 result."""
    got, want = ours.double().numpy(), wide.detach().double().numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        good = (np.abs(got - want) <= one.bound) | (got == want) | (np.isnan(got) & np.isnan(want))
        # A number that the type cannot represent is infinite in it.
        largest = torch.finfo(ours.dtype).max
        good |= (
            np.isinf(got) & (np.sign(got) == np.sign(want)) & (np.abs(want) + one.bound >= largest)
        )
    return torch.from_numpy(np.asarray(~good & ~one.excluded))


def explain(number: int, ours: torch.Tensor, theirs: torch.Tensor, bad: torch.Tensor) -> str:
    at = tuple(int(i) for i in bad.nonzero()[0])
    return (
        f"result {number} {tuple(ours.shape)}: {int(bad.sum())} elements differ; at {at} "
        f"PyTorch has {theirs[at].item()!r}, we have {ours[at].item()!r}"
    )


def compare(op: Any, args: list, kwargs: dict, call: calls.Call, ours: list, theirs: list) -> str:
    """The error, or nothing."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results, PyTorch has {len(theirs)}"
    wide = None
    for number, (mine, its) in enumerate(zip(ours, theirs)):
        its = its.detach()
        if tuple(mine.shape) != tuple(its.shape):
            return (
                f"result {number} has the shape {tuple(mine.shape)}, PyTorch's {tuple(its.shape)}"
            )
        if mine.dtype != its.dtype:
            return f"result {number} is {mine.dtype}, PyTorch's {its.dtype}"
        bad = wrong(mine, its)
        if not bool(bad.any()):
            continue
        if entries.UNORDERED.get(op.name) == number:
            if _same_choice(args[0].detach(), mine, its):
                continue
        elif mine.is_floating_point():
            if wide is None:
                wide = results(op.op(*_widened(args), **_widened(kwargs)))
            bad &= _beyond_bounds(call, number, mine, wide[number])
        if bool(bad.any()):
            return explain(number, mine, its, bad)
    return ""


def _same_choice(source: torch.Tensor, ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    """Whether our indices, along some dimension, name other elements of the same values as
    PyTorch's."""
    for dim, size in enumerate(source.shape):
        others = [d for d in range(source.dim()) if d != dim]
        fits = all(ours.shape[d] == source.shape[d] for d in others)
        if not fits or any(bool((indices >= size).any()) for indices in (ours, theirs)):
            continue
        distinct = ours.sort(dim).values.diff(dim=dim).ne(0).all()
        if bool(distinct) and torch.equal(source.gather(dim, ours), source.gather(dim, theirs)):
            return True
    return not source.dim()


#: Elements that a distribution is judged by; samples of the database have a few.
MANY = 1 << 14
#: How unlikely a right result may be. The seeds are fixed, so a result that passes once always does.
CHANCE = 1e-9


def _deviation(probability: float) -> float:
    """How many standard deviations a sum of many draws may lie from its mean (Chernoff's bound of
    the normal tail)."""
    return math.sqrt(2 * math.log(2 / probability))


def _check_moments(values: torch.Tensor, mean: float, variance: float, fourth: float) -> str:
    """Whether many draws have the mean and variance of their distribution; `fourth` is its fourth
    central moment."""
    values, allowed = values.double(), _deviation(CHANCE)
    found = float(values.mean())
    if not abs(found - mean) <= allowed * math.sqrt(variance / values.numel()) + 1e-3:
        return f"the mean of {values.numel()} draws is {found:.4f}, expected {mean}"
    found = float(((values - mean) ** 2).mean())
    if (
        not abs(found - variance)
        <= allowed * math.sqrt((fourth - variance**2) / values.numel()) + 1e-3
    ):
        return f"the variance of {values.numel()} draws is {found:.4f}, expected {variance:.4f}"
    return ""


def _check_dropped(ours: torch.Tensor, source: torch.Tensor, probability: float) -> str:
    """Whether elements are dropped or scaled, and as many are dropped as the probability
    requires."""
    source = source.detach().double()
    kept = source / (1 - probability)
    good = (ours == 0) | torch.isclose(
        ours.double(), kept, rtol=TOLERANCES[ours.dtype][0], atol=1e-5
    )
    if not bool(good.all()):
        return "elements are neither dropped nor scaled"
    judged = kept.abs() > 1e-3  # others may be 0 without being dropped
    count, dropped = int(judged.sum()), int((judged & (ours == 0)).sum())
    allowed = _deviation(CHANCE) * math.sqrt(count * probability * (1 - probability))
    if abs(dropped - count * probability) > allowed:
        return f"{dropped} of {count} elements are dropped at p={probability}"
    return ""


def _check_random(
    op: Any, args: list, kwargs: dict, call: calls.Call, ours: torch.Tensor, theirs: torch.Tensor
) -> str:
    """The bits are our own; shape, type and distribution are PyTorch's. A sample of a few elements
    says nothing about a distribution, so the same program is also called with many."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{tuple(ours.shape)}, PyTorch has {theirs.dtype}{tuple(theirs.shape)}"

    def many() -> torch.Tensor:
        return (
            call.function()(torch.ones(MANY, dtype=call.tensors[0].dtype)) if call.tensors else ours
        )

    if op.name == "rand_like":
        if not bool(((ours >= 0) & (ours < 1)).all()):
            return "not in [0, 1)"
        return _check_moments(many(), 1 / 2, 1 / 12, 1 / 80)
    if op.name.startswith("randn"):
        if not bool(torch.isfinite(ours).all()) or not bool((ours.abs() < 10).all()):
            return "not normal"
        drawn = many()
        return _check_moments(drawn, 0, 1, 3) if drawn.numel() else ""
    probability = kwargs.get("p", 0.5)
    if not kwargs.get("training", True) or probability == 0:
        return (
            "" if torch.equal(ours, args[0].detach()) else "elements changed without dropping any"
        )
    if probability == 1:
        return "" if not bool(ours.any()) else "elements are left at p=1"
    return _check_dropped(ours, args[0], probability) or _check_dropped(
        many(), torch.ones(MANY), probability
    )


def judge(op: Any, args: list, kwargs: dict, form: str, name: str) -> Verdict:
    try:
        with torch.no_grad():
            theirs = results(op.op(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 (whatever PyTorch raises)
        return Verdict("refused", f"{type(error).__name__}: {error}")
    if theirs[0] is NotImplemented:
        return Verdict("refused", "an operator that PyTorch leaves to the other operand")
    if (reason := exclusions.behaviour(op.name, args, kwargs, is_error=False)) is not None:
        return Verdict("excluded", reason)
    try:
        call = calls.write(op, args, kwargs, form, name)
    except calls.NotInLanguage as error:
        return Verdict("excluded", str(error))
    if any(isinstance(one, torch.Tensor) and one.dtype not in calls.TYPES for one in theirs):
        return Verdict(
            "excluded", "complex numbers" if theirs[0].dtype.is_complex else "other types"
        )
    try:
        ours = results(call.function()(*call.tensors))
    except tsr.TesseraError as error:
        return Verdict("failed", f"{type(error).__name__}: {str(error).splitlines()[0]}", call.text)
    ours = [one if isinstance(one, torch.Tensor) else _from_numpy(one) for one in ours]
    if op.name.split(".")[-1] in entries.RANDOM:
        message = _check_random(op, args, kwargs, call, ours[0], theirs[0])
    else:
        message = compare(op, args, kwargs, call, ours, theirs)
    return Verdict("failed" if message else "passed", message, call.text)


def judge_error(op: Any, args: list, kwargs: dict, name: str) -> Verdict:
    """A sample that PyTorch rejects must be rejected."""
    if (reason := exclusions.behaviour(op.name, args, kwargs, is_error=True)) is not None:
        return Verdict("excluded", reason)
    try:
        call = calls.write(op, args, kwargs, "function", name)
    except calls.NotInLanguage as error:
        return Verdict("excluded", str(error))
    except (TypeError, ValueError) as error:
        return Verdict("refused", f"a call that cannot be written: {error}")
    try:
        result = call.function()(*call.tensors, **call.results)
    except tsr.TesseraError as error:
        # An internal compiler error is not a rejection.
        internal = "internal" in str(error)
        return Verdict(
            "failed" if internal else "passed",
            str(error).splitlines()[0] if internal else "",
            call.text,
        )
    shapes = [tuple(getattr(one, "shape", ())) for one in results(result)]
    return Verdict(
        "failed", f"PyTorch raises an error, we give a result of the shape {shapes}", call.text
    )
