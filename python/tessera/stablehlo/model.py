"""StableHLO modules that are called with arrays."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np

from .. import _tessera, compiler
from ..errors import CompileError
from ..models import ImportedModel
from ..types import BY_NAME
from .convert import BYTECODE, generic, is_installed, packed, read

# What MLIR says about operations and attributes in the form of a dialect that it does not have.
_PRETTY = re.compile(r"custom op|not found for custom|unregistered dialect|dialect .* not found")


def _imported(text: bytes) -> dict[str, Any]:
    compiler.load()
    return json.loads(_tessera.import_stablehlo(packed(text)))


def _answer(data: bytes) -> dict[str, Any]:
    """What the compiler makes of a module, converted if it is not generic text."""
    if data.startswith(BYTECODE):
        data = generic(data)
        answer = _imported(data)
    else:
        answer = _imported(data)
        if b"hlo." in data and _PRETTY.search(answer.get("error", "")):
            data = generic(data)
            answer = _imported(data)
    names = [what for what, _ in answer.get("unsupported", ())]
    if any(what.startswith("chlo.") for what in names) and is_installed():
        try:
            expanded = _imported(generic(data, expands=True))
        except CompileError:
            return answer
        if "error" not in expanded:
            return expanded
    return answer


def _constant(record: dict[str, Any]) -> np.ndarray:
    if record["dtype"] == "bf16":
        import ml_dtypes

        dtype = np.dtype(ml_dtypes.bfloat16)
    else:
        dtype = np.dtype(BY_NAME[record["dtype"]].numpy_name)
    data = base64.b64decode(record["data"])
    return np.frombuffer(data, dtype).reshape(record["shape"])


class Model(ImportedModel):
    """A StableHLO module that is called with arrays."""

    kind = "StableHLO"

    def __init__(self, source: Any, options: dict[str, Any]):
        answer = _answer(read(source))
        if "error" in answer:
            raise CompileError(f"the module is not valid: {answer['error']}")
        if answer["unsupported"]:
            problems = dict.fromkeys((what, why) for what, why in answer["unsupported"])
            lines = [f"  {what}: {why}" for what, why in problems]
            raise CompileError("the module cannot be imported:\n" + "\n".join(lines))
        self.inputs = tuple(answer["inputs"])
        self.outputs = tuple(answer["outputs"])
        # An input may have the name of a constant's parameter.
        weights = {f"constant {one['name']}": _constant(one) for one in answer["constants"]}
        names = dict(zip(answer["arguments"], self.inputs))
        order = [names.get(one, f"constant {one}") for one in answer["parameters"]]
        self._define(answer["program"], order, weights, {}, options)


def from_stablehlo(source: Any, **options: Any) -> Model:
    """The module of text, bytes or a path, as a callable object.

    Generic text needs no other package; bytes of `jax.export` and pretty text need jaxlib.
    options: those of `@tsr.function`.
    """
    return Model(source, options)
