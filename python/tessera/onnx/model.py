"""Models that are called with arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, CompileError, TesseraError
from ..program import define
from .graph import Importer
from .read import read

if TYPE_CHECKING:
    import onnx


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value


class Model:
    """An ONNX model that is called with arrays.

    `model(*inputs)` takes the inputs in the model's order, or by their names, and returns the
    output, or a tuple if the model has several.
    """

    #: The names of the inputs and of the outputs.
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: The text of the function.
    program: str

    def __init__(self, source: Any, constants: Mapping[str, Any] | None, options: dict[str, Any]):
        model = read(source)
        try:
            self._import(model, constants or {}, options)
        except (TesseraError, MemoryError, RecursionError):
            raise
        except Exception as error:  # what no valid model leads to
            raise CompileError(
                f"the model is not valid: {type(error).__name__}: {error}"
            ) from error

    def _import(
        self, model: onnx.ModelProto, constants: Mapping[str, Any], options: dict[str, Any]
    ) -> None:
        importer = Importer(model, constants)
        weights_of = {one.name for one in importer.model.graph.initializer}
        given = set(constants)
        self.inputs = tuple(
            one.name
            for one in importer.model.graph.input
            if one.name not in weights_of and one.name not in given
        )
        self.outputs = tuple(one.name for one in importer.model.graph.output)
        self.program, parameters, known = importer.run()
        self._order = parameters
        self._weights = {name: np.asarray(known[name]) for name in parameters if name in known}
        self._known = {name: np.asarray(known[name]) for name in self.outputs if name in known}
        self._function = define(self.program, "model", options) if self.program else None

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
        return f"<ONNX model ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"


def from_onnx(source: Any, constants: Mapping[str, Any] | None = None, **options: Any) -> Model:
    """The model of a path, of bytes or of a ModelProto, as a callable object.

    constants: inputs that are fixed when the model is imported, such as shapes and axes, by name.
    options: those of `@tsr.function`.
    """
    return Model(source, constants, options)
