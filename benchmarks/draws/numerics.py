"""Results against float64: elements at sampled indices with the reference's bounds, all of the
others roughly.

A sample fixes some indices of each free size: the first, the last and random ones. The program on
the arguments at these indices has exactly the elements of the result at these indices as its
result, so that the reference (`f.reference`, float64 with an error bound for each element) needs to
evaluate only them. Every other element must be as close to float64 as the sampled ones have to be,
within a factor, which finds tiles that were not computed or were written to the wrong place. Where
even one index of each free size is too much for the reference, as in blocks of models, all elements
are compared with float64 and a bound by the number and the length of the contractions.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import peers, values
from .distributions import Draw
from .program import Program

LARGEST = 1 << 27  # elements in float64 of the result of a contraction, at a time
WORK = 1 << 24  # multiply-adds or elements that the reference evaluates
MOST_WORK = 1 << 26  # beyond which there is no sample
MOST = 1 << 12  # elements of the result in a sample
#: Elements outside the sample may err by this multiple of the sampled bounds: bounds differ from
#: element to element, by the size of the terms, and those of normal values by less than this.
ROUGH = 16.0
UNIT = {"fp64": 2.0**-53, "fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8}


def sample(draw: Draw) -> dict[str, np.ndarray]:
    """Indices for each free size."""
    program = draw.program
    counts = {dim: program.sizes[dim] for dim in program.free}

    def too_many() -> bool:
        found = math.prod(counts.get(dim, program.sizes[dim]) for dim in program.result)
        return work(program, counts) > WORK or found > MOST

    while too_many() and max(counts.values(), default=1) > 1:
        largest = max(counts, key=counts.__getitem__)
        counts[largest] = (counts[largest] + 1) // 2
    rng = random.Random(f"sample/{draw.seed}/{draw.number}")
    chosen = {}
    for dim, count in counts.items():
        extent = program.sizes[dim]
        found = rng.sample(range(extent), count)
        if 2 < count < extent:
            found[:2] = 0, extent - 1
        chosen[dim] = np.array(sorted(set(found)))
    return chosen


def work(program: Program, counts: dict[str, int]) -> int:
    """Multiply-adds and elements of a sample with so many indices."""
    sizes = program.sizes | counts
    arrays = [one.dims for one in program.arguments]
    return sum(math.prod(sizes[dim] for dim in dims) for dims in [*program.spaces, *arrays])


def expected(draw: Draw, function: Any, chosen: dict[str, np.ndarray]) -> Any:
    """The reference's values, bounds and excluded elements at the sampled indices, or None if it
    would take too long; `function` is the program with `sampled` indices."""
    program = draw.program
    if work(program, {dim: len(indices) for dim, indices in chosen.items()}) > MOST_WORK:
        return None
    parts = [values.part(program, one, draw.seed, chosen) for one in program.arguments]
    if program.index:
        parts.append(chosen[program.index[0]])
    return function.reference(*parts, bounds=True)


def at(program: Program, array: Any, chosen: dict[str, np.ndarray]) -> np.ndarray:
    """The sampled elements of a result."""
    indices = [chosen.get(dim, np.arange(program.sizes[dim])) for dim in program.result]
    return np.asarray(array[np.ix_(*indices)] if indices else array)


def compare(found: np.ndarray, reference: Any) -> str | None:
    """None if every sampled element is within its bound, or there is no sample, otherwise the
    error."""
    if reference is None:
        return None
    value = found.astype(np.float64)
    exact = np.asarray(reference.value).astype(np.float64)
    if value.shape != exact.shape:
        return f"expected shape {exact.shape}, found {value.shape}"
    same = (value == exact) | (np.isnan(value) & np.isnan(exact)) | reference.excluded
    with np.errstate(invalid="ignore"):
        wrong = ~same & ~(np.abs(value - exact) <= reference.bound)
    if not wrong.any():
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{wrong.sum()} of {wrong.size} sampled elements are wrong; at {where}: expected "
        f"{exact[where]:.6g} within {np.asarray(reference.bound)[where]:.2g}, found {value[where]:.6g}"
    )


def allowance(program: Program, reference: Any) -> tuple[float, float]:
    """What an element may err by, absolutely and relative to its value: 16 times the largest bound
    of the sample and the median of bounds relative to their values. Without a sample, or if the
    reference excludes all of it, each contraction rounds to its type and adds the random walk of
    its sums, both with a margin, to values whose deviation is about 1. A product without a
    contraction may err by a rounding for each factor: near 1 these are not independent."""
    if reference is not None:
        kept = ~np.asarray(reference.excluded)
        bound = np.asarray(reference.bound)[kept]
        exact = np.abs(np.asarray(reference.value).astype(np.float64)[kept])
        finite = np.isfinite(bound) & np.isfinite(exact)
        if finite.any():
            relative = np.median(bound[finite] / (exact[finite] + 1e-30))
            return ROUGH * float(bound[finite].max()), ROUGH * float(relative)
    longest = max((program.sizes[space[-1]] for space in program.spaces), default=1)
    kind = program.arguments[0].dtype
    sums = UNIT["fp64" if kind == "fp64" else "fp32"]
    steps = 8 * math.sqrt(longest) if program.spaces else program.regime[2]
    each = 4 * UNIT[kind] + steps * sums
    return (1 + len(program.spaces)) * each, (1 + len(program.spaces)) * each


def pieces(program: Program, most: int) -> Iterator[dict[str, int]]:
    """Indices of free sizes, so that no contraction has a larger result than `most` elements."""
    chosen = [dim for dim in program.free if program.sizes[dim] > 1 and dim in ("B", "H")]
    largest = max((program.count(space[:-1]) for space in program.spaces), default=0)
    fixed: list[str] = []
    while largest > most and chosen:
        fixed.append(chosen.pop(0))
        largest //= program.sizes[fixed[-1]]
    ranges = (range(program.sizes[dim]) for dim in fixed)
    return (dict(zip(fixed, indices)) for indices in itertools.product(*ranges))


def rough(program: Program, tensors: list, found: Any, allowed: tuple[float, float]) -> str | None:
    """All elements, as tensors of PyTorch, against PyTorch's float64, piece by piece."""
    expected = tuple(program.sizes[dim] for dim in program.result)
    if tuple(found.shape) != expected:
        return f"expected shape {expected}, found {tuple(found.shape)}"

    def cut(tensor: Any, dims: tuple[str, ...], piece: dict[str, int]) -> Any:
        for dim, at in piece.items():
            if dim in dims:
                tensor = tensor.narrow(dims.index(dim), at, 1)
        return tensor

    for piece in pieces(program, LARGEST):
        small = dataclasses.replace(program, sizes=program.sizes | dict.fromkeys(piece, 1))
        parts = [cut(x, one.dims, piece) for x, one in zip(tensors, program.arguments)]
        wrong = _rough(small, parts, cut(found, program.result, piece), allowed)
        if wrong:
            return f"{wrong} of {piece}" if piece else wrong
    return None


def _rough(program: Program, tensors: list, found: Any, allowed: tuple[float, float]) -> str | None:
    """A piece; of the index of an extremum, the value there."""
    import torch

    absolute, relative = allowed
    if program.index_of:
        kind, text, dim = program.index_of
        terms = peers.exact(program, tensors, (text,))
        exact = getattr(torch, kind)(terms, dim)
        inside = found.clamp(0, terms.shape[dim] - 1)
        picked = terms.gather(dim, inside.unsqueeze(dim)).squeeze(dim)
        found = picked.where(found == inside, math.nan)
        absolute, relative = 0.0, ROUGH * UNIT[program.arguments[0].dtype]
    else:
        exact = peers.exact(program, tensors)
    found, exact = found.to(torch.float64), exact.to(torch.float64)
    same = (found == exact) | (found.isnan() & exact.isnan())
    wrong = ~same & ~((found - exact).abs() <= absolute + relative * exact.abs())
    count = int(wrong.sum())
    if not count:
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    return (
        f"{count} of {wrong.numel()} elements are far from float64; at {where}: expected "
        f"{exact[where].item():.6g}, found {found[where].item():.6g}"
    )


def poisoned(program: Program) -> np.ndarray:
    """Memory for the result, filled with a pattern that no kernel writes."""
    dtype = values.numpy_type(program.dtype)
    memory = np.full(program.count(program.result) * dtype.itemsize, 0xFF, np.uint8)
    return memory.view(dtype).reshape([program.sizes[dim] for dim in program.result])
