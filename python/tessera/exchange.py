"""Libraries with DLPack's C exchange interface: the extension reads and creates their arrays."""

from __future__ import annotations

import contextlib
from typing import Any

from . import _tessera
from .errors import ArgumentError, DeviceError
from .types import DTYPES, DType


def has_exchange(value: Any) -> bool:
    """Whether the type itself has the interface; a subclass may interpret its data differently."""
    return "__dlpack_c_exchange_api__" in vars(type(value))


class ExchangeLibrary:
    """One library's arrays on one device."""

    def __init__(self, name: str, value: Any):
        self.like = value
        self.device = self._read(name, value)[4]

    @staticmethod
    def _read(name: str, array: Any) -> tuple:
        specification = _tessera.read_array(array)
        if specification is None:
            known = " ".join(dtype.name for dtype in DTYPES)
            raise ArgumentError(
                f"argument '{name}': expected an element type of {known}, on the cpu or cuda, "
                "found an array that cannot be described so"
            )
        return specification

    def specification(self, name: str, array: Any) -> tuple[tuple, Any]:
        specification = self._read(name, array)
        return specification if self.device else specification[:4], array

    def empty(self, dtype: DType, shape: tuple) -> tuple[int, Any]:
        return _tessera.make_array(self.like, dtype.code, shape, self.device)

    def current_stream(self) -> int:
        return _tessera.current_stream(self.like, self.device)

    @staticmethod
    def on_stream(_: int) -> Any:
        return contextlib.nullcontext()

    @staticmethod
    def finish(array: Any) -> Any:
        return array

    @staticmethod
    def copy(target: Any, source: Any) -> None:
        raise DeviceError("out: expected a dense array, which the results can be written to")
