"""The result of `f.compile`: one specialisation, for one target."""

from __future__ import annotations

import pickle
from typing import Any

from . import _tessera
from .arrays import device_text
from .calls import Call
from .compiler import Artifact, Unit
from .errors import ArgumentError, CompileError, DeviceError
from .parameters import Parameters
from .specialization import arguments_text

STAGES = (
    "graph", "sched", "tile", "placed", "target", "llvm", "asm", "tileir", "ptx", "sass", "explain",
)  # fmt: skip


def check_stage(stage: str) -> None:
    if stage not in STAGES:
        raise ArgumentError(f"expected a stage of {' '.join(STAGES)}, found {stage!r}")


def stage_text(unit: Unit, stage: str) -> str:
    result = unit.compile([stage], no_code=True)
    if stage not in result["ir"]:
        raise CompileError(f"target '{unit.target}' has no stage '{stage}'")
    return result["ir"][stage]


class Compiled(_tessera.Function):
    """Callable with arrays of the compiled shape class; its code may be for another machine."""

    def __init__(self, parameters: Parameters, instance: Any, unit: Unit, artifact: Artifact):
        self.__name__ = unit.name
        self._parameters = parameters
        self._self = instance
        self._unit = unit
        self._artifact = artifact
        self._table = _tessera.Table()
        self._devices: set[int] = set()  # that the code is loaded for
        quick = instance is None and not {"out", "stream"} & set(parameters.names)
        count = len(parameters.names)
        self._configure(parameters.kinds, parameters.required if quick else count + 1)
        self._activate(self._table, [])

    def _slow(self, args: tuple, kwargs: dict) -> Any:
        names = self._parameters.names
        out = kwargs.pop("out", None) if "out" not in names else None
        stream = kwargs.pop("stream", None) if "stream" not in names else None
        if self._self is not None:
            args = (self._self, *args)
        bound = self._parameters.bind(self._parameters.assign(args, kwargs))
        self._parameters.check(bound)
        call = Call(bound, out, stream)
        call.destination.returns_tuple = self._artifact.meta["tuple"]
        if bound.device not in self._devices:
            self._load(bound.device)
        result = call.run(self._table)
        if result is None:
            arguments = ", ".join(arguments_text(self._unit))
            reason = _tessera.last_error()
            raise ArgumentError(
                "these arguments are not of the class that was compiled: "
                f"{self._unit.name}({arguments})" + (f" ({reason})" if reason else "")
            )
        return result[0]

    def _load(self, device: int) -> None:
        meta = self._artifact.meta
        try:
            self._table.add(self._artifact.module, self._unit.name, 0, None, meta["tuple"], device)
        except KeyError:
            raise DeviceError(
                f"function '{self._unit.name}' was compiled for target '{self._unit.target}', "
                f"the arrays are on {device_text(device)}"
            ) from None
        self._devices.add(device)

    def inspect_ir(self, stage: str) -> str:
        check_stage(stage)
        return stage_text(self._unit, stage)

    def report(self) -> dict[str, Any]:
        return self._artifact.report(self._unit)

    def save(self, path: Any) -> None:
        """Writes the bundle; tessera.load reads it."""
        with open(path, "wb") as file:
            file.write(self._artifact.bundle)

    def __reduce__(self) -> tuple:
        raise pickle.PicklingError(
            f"compiled function '{self._unit.name}' cannot be pickled; write it with save(path) and "
            "read it with tessera.load(path)"
        )

    def __repr__(self) -> str:
        arguments = ", ".join(arguments_text(self._unit))
        return f"<{self._unit.name}({arguments}) for {self._unit.target}>"
