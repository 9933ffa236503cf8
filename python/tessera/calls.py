"""One call through the Python code: its arguments, its results, its stream."""

from __future__ import annotations

import contextlib
from typing import Any

from .arrays import NumPyLibrary, device_text
from .errors import DeviceError
from .parameters import Bound
from .results import Destination
from .streams import handle_of


class Call:
    def __init__(self, bound: Bound, out: Any, stream: Any):
        if bound.library is None:
            bound.library = NumPyLibrary()
        self.bound = bound
        self.library = bound.library
        self.device = bound.device
        if stream is not None and not self.device:
            raise DeviceError("stream= is for CUDA arrays; the arguments are on the cpu")
        self.is_other_stream = stream is not None
        self.stream = 0
        if self.device:
            self.stream = self.library.current_stream() if stream is None else handle_of(stream)
        self.destination = Destination(bound, out, self.stream)

    @property
    def place(self) -> str:
        return device_text(self.device)

    def run(self, table: Any) -> tuple | None:
        """The call's return value, in a tuple of one; None if no specialisation accepts it."""
        with (
            self.library.on_stream(self.stream)
            if self.is_other_stream
            else contextlib.nullcontext()
        ):
            result = table.run(
                self.bound.specifications,
                self.bound.missing,
                self.destination.allocate,
                self.stream,
            )
            return None if result is None else (self.destination.finish(*result),)
