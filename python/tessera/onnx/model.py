"""ONNX models that are called with arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CompileError, TesseraError
from ..models import ImportedModel
from .graph import Importer
from .read import read

if TYPE_CHECKING:
    import onnx


class Model(ImportedModel):
    """An ONNX model that is called with arrays."""

    kind = "ONNX"

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
        program, parameters, known = importer.run()
        weights = {name: np.asarray(known[name]) for name in parameters if name in known}
        computed = {name: np.asarray(known[name]) for name in self.outputs if name in known}
        self._define(program, parameters, weights, computed, options)


def from_onnx(source: Any, constants: Mapping[str, Any] | None = None, **options: Any) -> Model:
    """The model of a path, of bytes or of a ModelProto, as a callable object.

    constants: inputs that are fixed when the model is imported, such as shapes and axes, by name.
    options: those of `@tsr.function`.
    """
    return Model(source, constants, options)
