"""Models of paths, bytes and ModelProtos, with their external data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError

if TYPE_CHECKING:
    import onnx


def package() -> Any:
    try:
        import onnx
    except ImportError:
        raise ArgumentError(
            "from_onnx needs the package onnx, which is not installed: pip install onnx"
        ) from None
    return onnx


def read(source: Any) -> onnx.ModelProto:
    """The model of a path, bytes or a ModelProto, with its external data."""
    onnx = package()
    if isinstance(source, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(source)
        folder = None
    elif isinstance(source, (bytes, bytearray, memoryview)):
        model, folder = _parse(bytes(source), "the bytes"), None
    elif isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ArgumentError(
                f"from_onnx: cannot read {path!r}: {error.strerror or error}"
            ) from None
        model, folder = _parse(data, repr(path)), os.path.dirname(os.path.abspath(path))
    else:
        raise ArgumentError(
            f"from_onnx: expected a path, bytes or a ModelProto, got {type(source).__name__}"
        )
    _load_external(model, folder)
    return model


def _parse(data: bytes, what: str) -> onnx.ModelProto:
    onnx = package()
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:
        raise ArgumentError(f"from_onnx: {what}: not an ONNX model: {error}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise ArgumentError(f"from_onnx: {what}: not an ONNX model: there is no graph")
    return model


def _load_external(model: onnx.ModelProto, folder: str | None) -> None:
    from onnx import external_data_helper as helper

    for tensor in helper._get_all_tensors(model):
        if not helper.uses_external_data(tensor):
            continue
        if folder is None:
            raise ArgumentError(
                f"from_onnx: the data of '{tensor.name}' is in another file; give the path of the "
                "model"
            )
        try:
            # Refuses files outside of the folder, also through links.
            helper.load_external_data_for_tensor(tensor, folder)
        except Exception as error:
            raise ArgumentError(
                f"from_onnx: the external data of '{tensor.name}' cannot be read: {error}"
            ) from None
        tensor.data_location = 0
        del tensor.external_data[:]
