"""Imported models that are called with arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ArgumentError
from .program import define


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value


class ImportedModel:
    """A model that is called with arrays.

    `model(*inputs)` takes the inputs in the model's order, or by their names, and returns the
    output, or a tuple if the model has several.
    """

    #: What the model was written in.
    kind = "imported"
    #: The names of the inputs and of the outputs.
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: The text of the function.
    program: str

    def _define(
        self,
        program: str,
        order: Sequence[str],
        weights: Mapping[str, np.ndarray],
        known: Mapping[str, np.ndarray],
        options: dict[str, Any],
    ) -> None:
        """The function of a program, whose parameters are inputs and weights in the given order.

        known: outputs that the program does not compute.
        """
        self.program = program
        self._order = order
        self._weights = weights
        self._known = known
        self._function = define(program, "model", options) if program else None

    def __call__(self, *args: Any, **named: Any) -> Any:
        if len(args) > len(self.inputs):
            raise ArgumentError(
                f"the model has {len(self.inputs)} inputs, and the call gives {len(args)}"
            )
        values = dict(zip(self.inputs, args))
        for name, value in named.items():
            if name not in self.inputs:
                raise ArgumentError(f"the model has no input '{name}'")
            if name in values:
                raise ArgumentError(f"the input '{name}' is given twice")
            values[name] = value
        if missing := [name for name in self.inputs if name not in values]:
            raise ArgumentError(f"the inputs {', '.join(missing)} are not given")
        results: Iterator[Any] = iter(())
        if self._function is not None:
            arrays = [
                self._weights[name] if name in self._weights else _array(values[name])
                for name in self._order
            ]
            answer = self._function(*arrays)
            results = iter(answer if isinstance(answer, tuple) else (answer,))
        outputs = tuple(
            self._known[name].copy() if name in self._known else next(results)
            for name in self.outputs
        )
        return outputs[0] if len(outputs) == 1 else outputs

    def __repr__(self) -> str:
        return f"<{self.kind} model ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"
