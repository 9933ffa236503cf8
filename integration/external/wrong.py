"""Invalid calls derived from valid ones: for most operations the database has no error inputs.

In a few samples of an entry, one argument at a time gets another shape or value, or an argument is
added. If PyTorch rejects the result, the language must reject it; if PyTorch accepts it, it is not
an error. exclusions.py names the exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import entries
import torch

SAMPLES = 5  # of an entry, spread over all
FAR = 1000  # beyond every dimension and size of a sample
#: Keywords that the call in the language does not have.
UNSEEN = entries.STORAGE | {"padding_idx", "scale_grad_by_freq", "sparse"}


def _changed(value: Any) -> Iterator[Any]:
    """Values, some of which are invalid in place of this one."""
    if isinstance(value, torch.Tensor):
        yield value.unsqueeze(0).expand(3, *value.shape)
        if value.ndim:
            yield torch.cat([value] * 3, -1)
        yield "wrong"
    elif type(value) is int:
        yield from (value + FAR, value - FAR, value + 0.5)
    elif isinstance(value, str):
        yield "wrong"
    elif isinstance(value, (tuple, list)) and value and all(type(item) is int for item in value):
        yield type(value)([value[0] + FAR, *value[1:]])
        yield type(value)([value[0], *value])


def calls(args: list, kwargs: dict) -> Iterator[tuple[list, dict]]:
    """The call with one change each."""
    kwargs = {key: value for key, value in kwargs.items() if key not in UNSEEN}
    for i, value in enumerate(args):
        for other in _changed(value):
            yield [*args[:i], other, *args[i + 1 :]], kwargs
    for key, value in kwargs.items():
        for other in _changed(value):
            yield args, {**kwargs, key: other}
    yield [None, *args[1:]], kwargs
    yield args, {**kwargs, "wrong": 1}
    yield [*args, *[7] * 12], kwargs


def of(op: Any) -> Iterator[tuple[list, dict, str]]:
    """Calls of an entry that PyTorch rejects, with its message."""
    types = op.supported_dtypes("cpu")
    dtype = next((one for one in (torch.float32, torch.int32, torch.int64) if one in types), None)
    if (
        dtype is None
        or op.name == "to"
        or op.name in entries.ATTRIBUTES
        or op.name.startswith("__")
    ):
        return  # nothing that a caller writes, or written from parts of the sample
    samples = [
        one
        for one in op.sample_inputs("cpu", dtype)
        if not isinstance(one.input, torch.Tensor) or one.input.numel()
    ]
    for sample in samples[:: max(len(samples) // SAMPLES, 1)][:SAMPLES]:
        for args, kwargs in calls([sample.input, *sample.args], sample.kwargs):
            try:
                with torch.no_grad():
                    op.op(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 (whatever PyTorch raises)
                yield args, kwargs, str(error)
