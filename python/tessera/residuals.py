"""Forward and backward of a function, for libraries that ask for gradients after a call.

Forward returns the results and *residuals*: tensors that it saves for backward. The compilation of
forward chooses them, and says so in its report, as a text. The compilation of backward gets the
text as an option. Both compile the same function with results and gradients, of which each keeps
one part; the text begins with a digest of it. So that the function is the same, backward is
compiled for the shape classes of arguments that forward was compiled for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from .compiler import Unit
from .errors import CompileError
from .function import Function
from .gradients import Gradient, apply, fresh_names
from .parameters import Bound
from .specialization import Specialization

#: The class of a size of which nothing is known: its divisor, its upper bound, whether it is fixed.
_ANY_SIZE = (1, 0, 0)


class Part(Gradient):
    """Forward or backward."""

    _is_recordable = False


class Backward(Part):
    """Gradients from arguments, cotangents of the float results, and what forward has saved."""

    def __init__(self, function: Function, wanted: str, split: Split, cotangents: int):
        self._split = split
        count = len(split.sources)
        extra = fresh_names("cotangent", cotangents, function._make_parameters().names)
        names = [*function._make_parameters().names, *extra]
        super().__init__(
            function,
            "backward",
            f"backward:{wanted},:{cotangents}:{count}",
            [*extra, *fresh_names("residual", count, names)],
        )
        self._options = {**self._options, "residuals": split.residuals}

    def _unit(
        self, bound: Bound, target: str, options: dict[str, str] | None = None
    ) -> tuple[bytes, Unit]:
        key, unit = super()._unit(bound, target, options)
        classes = dict(zip(self._split.unit.names, self._split.unit.description))
        description = [
            _like(one, classes.get(name)) for name, one in zip(unit.names, unit.description)
        ]
        return key, unit.with_description(description)


def _like(argument: tuple, other: tuple | None) -> tuple:
    """The description of an argument with the size classes of another one."""
    if argument[0] != 0:
        return argument
    *head, dims = argument
    others = [dim[1:] for dim in other[-1]] if other is not None else [_ANY_SIZE] * len(dims)
    return (*head, tuple((dim[0], *rest) for dim, rest in zip(dims, others)))


class Split:
    """What one specialisation of forward saves, and its backward."""

    def __init__(self, pair: Pair, record: Specialization):
        partition = json.loads(record.artifact.meta["report"])["partition"]
        self.pair = pair
        self.unit = record.unit
        self.residuals: str = partition["residuals"]
        self.is_tuple: bool = partition["tuple"]
        entries = self.residuals.partition(":")[2].split(",")
        #: For each saved tensor the number of the result that it is; None for a residual.
        self.sources = [
            int(entry.partition("=")[2]) if "=" in entry else None for entry in entries if entry
        ]
        self._backward: Backward | None = None

    @property
    def num_residuals(self) -> int:
        return self.sources.count(None)

    def saved(self, results: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        """What backward takes, in its order."""
        rest = iter(residuals)
        return [next(rest) if one is None else results[one] for one in self.sources]

    def gradients(
        self,
        values: dict[str, Any],
        cotangents: Sequence[Any],
        is_float: Sequence[bool],
        saved: Sequence[Any],
    ) -> dict[str, Any] | None:
        """The gradients by their names; None if backward cannot be compiled for what was saved."""
        function, wanted = self.pair.function, self.pair.wanted
        given = [one for one, has in zip(cotangents, is_float) if has]
        if self._backward is None:
            self._backward = Backward(function, ",".join(wanted), self, len(given))
        names = function._parameters.names[1 if function._self is not None else 0 :]
        values = function._parameters.defaults | values
        try:
            made = self._backward(*(values[name] for name in names), *given, *saved)
        except CompileError as error:
            if "with digest" not in str(error):
                raise
            return None
        return dict(zip(wanted, made))


class Pair:
    """Forward and backward of a function for gradients of some arguments."""

    def __init__(self, function: Function, wanted: tuple[str, ...]):
        self.function = function
        self.wanted = wanted
        self.forward = Part(function, "forward", f"forward:{','.join(wanted)},", [])
        self._is_possible = True
        self._lock = threading.Lock()
        self._splits: dict[int, tuple[Specialization, Split]] = {}

    def run(self, values: dict[str, Any], keywords: dict | None = None) -> tuple[Any, list, Any]:
        """The results of the function, the residuals, and what backward needs to know; None
        instead of that if the function has no gradients, which an attempt to compute them explains.
        """
        if self._is_possible:
            try:
                return self._run(self.function._parameters.defaults | values, keywords)
            except CompileError:
                self._is_possible = False
        return apply(self.function, values, keywords), [], None

    def _run(self, values: dict[str, Any], keywords: dict | None) -> tuple[Any, list, Split]:
        with self._lock:  # the specialisation that ran is the one that ran last
            made = apply(self.forward, values, keywords)
            table, records = self.forward._active
            record = records[table.last]
        split = self._split_of(record)
        count = len(made) - split.num_residuals
        results, residuals = tuple(made[:count]), list(made[count:])
        return (results if split.is_tuple else results[0]), residuals, split

    def _split_of(self, record: Specialization) -> Split:
        known = self._splits.get(id(record))
        if known is None:
            known = self._splits[id(record)] = (record, Split(self, record))
        return known[1]


def pair_of(function: Function, wanted: tuple[str, ...]) -> Pair:
    """The same object for the same gradients, so that their code is compiled once."""
    known = function.__dict__.setdefault("_pairs", {})
    if wanted not in known:
        known[wanted] = Pair(function, wanted)
    return known[wanted]
