"""GPU streams of any library."""

from __future__ import annotations

from typing import Any

from .errors import ArgumentError


def handle_of(stream: Any) -> int:
    """The native handle: of PyTorch's and CuPy's streams, of the protocol `__cuda_stream__`, or an
    int."""
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        stream = (protocol() if callable(protocol) else protocol)[1]
    for name in ("cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise ArgumentError(
            "stream: expected a stream of PyTorch or CuPy, an object with __cuda_stream__, or a "
            f"handle as an int, found {type(stream).__name__}"
        )
    return stream
