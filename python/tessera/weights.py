"""Files of weights in the format of safetensors, read and written without that package.

A file is the length of a header (8 bytes, little-endian), the header (JSON: by name the type, the
shape and the range of bytes of a tensor, and texts under `__metadata__`), and the bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from .arrays import numpy_dtype
from .errors import TesseraError
from .types import BY_NAME, DType

_LONGEST_HEADER = 100_000_000
_NAMES = {
    "F64": "fp64",
    "F32": "fp32",
    "BF16": "bf16",
    "F16": "fp16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
    "F8_E4M3": "fp8_e4m3",
    "F8_E5M2": "fp8_e5m2",
}
_CODES = {name: code for code, name in _NAMES.items()}


def write(
    path: str | os.PathLike[str],
    tensors: Mapping[str, tuple[DType, tuple[int, ...], Any]],
    metadata: Mapping[str, str],
) -> None:
    """Writes tensors: by name the type, the shape and the bytes."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    offset = 0
    for name, (dtype, shape, data) in tensors.items():
        end = offset + len(data)
        header[name] = {
            "dtype": _CODES[dtype.name],
            "shape": list(shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for _, _, data in tensors.values():
            file.write(data)


def _array(data: Any, name: str, entry: Any) -> Any:
    """One tensor as an array; what the header says is untrusted."""
    problem = f"invalid weights: tensor {name[:80]!r}"
    if not isinstance(entry, dict) or entry.get("dtype") not in _NAMES:
        raise TesseraError(f"{problem} has no type of the language")
    shape, ends = entry.get("shape"), entry.get("data_offsets")
    for numbers in (shape, ends):
        if not isinstance(numbers, list) or not all(
            isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers
        ):
            raise TesseraError(f"{problem} has no shape or no range of bytes")
    dtype = numpy_dtype(BY_NAME[_NAMES[entry["dtype"]]], "weights are", "install it")
    size = math.prod(shape) * dtype.itemsize
    if len(ends) != 2 or ends[1] - ends[0] != size or ends[1] > len(data):
        raise TesseraError(f"{problem} is not as long as its shape says")
    array = data[ends[0] : ends[1]].view(dtype).reshape(shape)
    return array if array.flags.aligned else array.copy()


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a file by name, which share its memory, and its metadata."""
    import numpy

    try:
        size = os.path.getsize(path)
        data = numpy.memmap(path, numpy.uint8, "c") if size else numpy.zeros(0, numpy.uint8)
    except OSError as error:
        raise TesseraError(f"{os.fspath(path)}: {error.strerror}") from None
    length = int.from_bytes(data[:8].tobytes(), "little")
    try:
        if size < 8 or length > min(_LONGEST_HEADER, size - 8):
            raise TesseraError("invalid weights: the file has no header")
        try:
            header = json.loads(data[8 : 8 + length].tobytes())
        except (ValueError, RecursionError):
            raise TesseraError("invalid weights: the header is no JSON") from None
        if not isinstance(header, dict):
            raise TesseraError("invalid weights: the header is no JSON object")
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict):
            raise TesseraError("invalid weights: the metadata is no JSON object")
        elements = data[8 + length :]
        arrays = {name: _array(elements, name, entry) for name, entry in header.items()}
    except TesseraError as error:
        raise TesseraError(f"{os.fspath(path)}: {error}") from None
    return arrays, {str(key): str(value) for key, value in metadata.items()}
