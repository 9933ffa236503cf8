"""Arrays of other libraries: reading them for the runtime, and allocating results.

A tensor is passed to the runtime as (address, element type, sizes, strides in elements), and its
device if that is a GPU; a library object allocates results on its device. NumPy's and PyTorch's
arrays and Python numbers usually bypass this module: the extension reads them itself.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable
from typing import Any

from . import _tessera
from .errors import ArgumentError, DeviceError, OutOfMemoryError, TesseraError
from .exchange import ExchangeLibrary, has_exchange
from .types import BY_NAME, DTYPES, EXTENSION_NAMES, DType

_CPU_DEVICES = (1, 3, 11)  # DLPack: CPU, and host memory pinned by CUDA or ROCm
_LINE = 64  # bytes of a cache line
_DEVICE_NAMES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "cuda (managed)"}


def cuda_device(ordinal: int) -> int:
    """The runtime's number of a GPU."""
    return 0x10000 + ordinal


def device_text(device: int) -> str:
    return f"cuda:{device - cuda_device(0)}" if device else "the cpu"


def _empty_at_line(numpy: Any, shape: tuple, dtype: Any) -> Any:
    """An empty NumPy array; a large one starts at a cache line, as in the extension."""
    size = math.prod(shape) * dtype.itemsize
    if size < 1 << 16:
        return numpy.empty(shape, dtype)
    memory = numpy.empty(size + _LINE - 1, numpy.uint8)
    return numpy.ndarray(shape, dtype, memory, -memory.ctypes.data % _LINE)


def root_module(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def is_array(value: Any) -> bool:
    """Whether a value is an array of some library (and not a NumPy number)."""
    if hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"):
        return True
    if has_exchange(value):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _unsupported_type(name: str, found: Any) -> ArgumentError:
    known = " ".join(dtype.name for dtype in DTYPES)
    return ArgumentError(f"argument '{name}': expected an element type of {known}, found {found}")


_NUMPY_DTYPES: dict[Any, DType | None] = {}  # numpy creates the name of a type on each access


def _numpy_dtype(dtype: Any) -> DType | None:
    if dtype not in _NUMPY_DTYPES:
        _NUMPY_DTYPES[dtype] = BY_NAME.get(dtype.name) if dtype.isnative else None
    return _NUMPY_DTYPES[dtype]


def numpy_dtype(dtype: DType, what: str, advice: str) -> Any:
    """NumPy's type, or that of the package ml_dtypes."""
    import numpy

    if dtype not in EXTENSION_NAMES:
        return numpy.dtype(dtype.numpy_name)
    try:
        import ml_dtypes
    except ImportError:
        raise TesseraError(
            f"{what} {dtype.name}, which NumPy has only with the package ml_dtypes; {advice}"
        ) from None
    return numpy.dtype(getattr(ml_dtypes, EXTENSION_NAMES[dtype]))


class NumPyLibrary:
    """NumPy, and everything that is read through it."""

    device = 0

    def finish(self, array: Any) -> Any:
        return array

    @staticmethod
    def specification(name: str, array: Any) -> tuple[tuple, Any]:
        import numpy

        if type(array) is not numpy.ndarray:
            if type(array).__name__ == "MaskedArray":
                raise ArgumentError(f"argument '{name}': expected an array without a mask")
            array = numpy.asarray(array)
        dtype = _numpy_dtype(array.dtype)
        if dtype is None:
            raise _unsupported_type(
                name, array.dtype.name if array.dtype.isnative else repr(array.dtype.str)
            )
        if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
            array = array.copy()
        strides = tuple(stride // array.itemsize for stride in array.strides)
        address = array.__array_interface__["data"][0]
        return (address, dtype.code, array.shape, strides), array

    @staticmethod
    def empty(dtype: DType, shape: tuple) -> tuple[int, Any]:
        import numpy

        numpy_type = numpy_dtype(dtype, "a result is", "install it, or return x.to(fp32)")
        try:
            array = _empty_at_line(numpy, shape, numpy_type)
        except (MemoryError, ValueError):
            raise OutOfMemoryError(f"out of memory: a result has the shape {shape}") from None
        return array.__array_interface__["data"][0], array

    def copy(self, target: Any, source: Any) -> None:
        target[...] = source


class TorchLibrary:
    """PyTorch, on the CPU or on one GPU."""

    def __init__(self, ordinal: int | None = None):
        self.device = 0 if ordinal is None else cuda_device(ordinal)
        self.place = "cpu" if ordinal is None else f"cuda:{ordinal}"
        self.ordinal = ordinal

    def current_stream(self) -> int:
        import torch

        return torch.cuda.current_stream(self.ordinal).cuda_stream

    def on_stream(self, handle: int) -> Any:
        """Allocations and copies inside use this stream."""
        import torch

        if not handle:
            return torch.cuda.stream(torch.cuda.default_stream(self.ordinal))
        return torch.cuda.stream(torch.cuda.ExternalStream(handle, device=self.place))

    @staticmethod
    def finish(tensor: Any) -> Any:
        return tensor

    @staticmethod
    def specification(name: str, tensor: Any) -> tuple[tuple, Any]:
        import torch

        if tensor.layout != torch.strided:
            raise ArgumentError(
                f"argument '{name}': expected a strided tensor, found {tensor.layout}"
            )
        if tensor.device.type not in ("cpu", "cuda"):
            raise DeviceError(
                f"argument '{name}': memory of {tensor.device} cannot be used yet, "
                "expected the cpu or cuda"
            )
        dtype = BY_NAME.get(str(tensor.dtype).removeprefix("torch."))
        if dtype is None:
            raise _unsupported_type(name, tensor.dtype)
        tensor = tensor.detach().resolve_conj().resolve_neg()
        specification = (tensor.data_ptr(), dtype.code, tuple(tensor.shape), tensor.stride())
        if tensor.device.type == "cuda":
            specification += (cuda_device(tensor.device.index),)
        return specification, tensor

    def empty(self, dtype: DType, shape: tuple) -> tuple[int, Any]:
        import torch

        name = dtype.numpy_name or EXTENSION_NAMES[dtype]
        try:
            tensor = torch.empty(shape, dtype=getattr(torch, name), device=self.place)
        except RuntimeError:
            raise OutOfMemoryError(f"out of memory: a result has the shape {shape}") from None
        return tensor.data_ptr(), tensor

    @staticmethod
    def copy(target: Any, source: Any) -> None:
        target.detach().copy_(source)


class CudaArrayLibrary:
    """Any library whose arrays have `__cuda_array_interface__`."""

    def __init__(self, value: Any):
        self.namespace = sys.modules.get(root_module(value))
        self.cuda = getattr(self.namespace, "cuda", None)  # as CuPy has it
        if hasattr(value, "__dlpack_device__"):
            self.ordinal = int(value.__dlpack_device__()[1])
        else:
            self.ordinal = getattr(getattr(value, "device", None), "id", 0)
        self.device = cuda_device(self.ordinal)
        self.stream = 0

    def _on_device(self) -> Any:
        make = getattr(self.cuda, "Device", None)
        return make(self.ordinal) if make else contextlib.nullcontext()

    def current_stream(self) -> int:
        get = getattr(self.cuda, "get_current_stream", None)
        with self._on_device():
            return int(get().ptr) if get else self.stream

    def on_stream(self, handle: int) -> Any:
        """Allocations and copies inside use this stream."""
        external = getattr(self.cuda, "ExternalStream", None)
        return external(handle) if external else contextlib.nullcontext()

    @staticmethod
    def finish(array: Any) -> Any:
        return array

    def specification(self, name: str, array: Any) -> tuple[tuple, Any]:
        interface = array.__cuda_array_interface__
        kind, itemsize = interface["typestr"][1], int(interface["typestr"][2:])
        names = {"f": f"float{8 * itemsize}", "i": f"int{8 * itemsize}", "u": f"uint{8 * itemsize}"}
        dtype = BY_NAME.get("bool" if kind == "b" else names.get(kind, ""))
        if dtype is None or interface["typestr"][0] == ">":
            raise _unsupported_type(name, interface["typestr"])
        shape = tuple(interface["shape"])
        strides = interface.get("strides")
        if strides is None:
            steps = [1]
            for size in reversed(shape[1:]):
                steps.insert(0, steps[0] * size)
            strides = tuple(steps[: len(shape)])
        elif any(stride % itemsize for stride in strides):
            raise ArgumentError(
                f"argument '{name}': expected strides that are multiples of the element's size, "
                f"found {tuple(strides)} bytes"
            )
        else:
            strides = tuple(stride // itemsize for stride in strides)
        self.stream = interface.get("stream") or 0
        return (interface["data"][0], dtype.code, shape, strides, self.device), array

    def empty(self, dtype: DType, shape: tuple) -> tuple[int, Any]:
        make = getattr(self.namespace, "empty", None)
        if make is None or dtype.numpy_name is None:
            raise DeviceError(
                f"a result is {dtype.name}{list(shape)}, which the arguments' library cannot make; "
                "pass an array as out="
            )
        try:
            with self._on_device():
                array = make(shape, dtype.numpy_name)
        except MemoryError:
            raise OutOfMemoryError(f"out of memory: a result has the shape {shape}") from None
        return array.__cuda_array_interface__["data"][0], array

    @staticmethod
    def copy(target: Any, source: Any) -> None:
        target[...] = source


class DLPackLibrary(NumPyLibrary):
    """Any other library: its arrays are read as NumPy views, and its own from_dlpack takes the
    results, whose memory is ours."""

    def __init__(self, from_dlpack: Callable[[Any], Any]):
        self.from_dlpack = from_dlpack

    @staticmethod
    def empty(dtype: DType, shape: tuple) -> tuple[int, Any]:
        import numpy

        size = math.prod(shape) * int(dtype.itemsize)
        try:
            memory = _empty_at_line(numpy, (size + _LINE,), numpy.dtype("uint8"))
        except (MemoryError, ValueError):
            raise OutOfMemoryError(f"out of memory: a result has the shape {shape}") from None
        address = memory.ctypes.data
        address += -address % _LINE
        return address, _tessera.export(memory, address, dtype.code, tuple(shape))

    def finish(self, exported: Any) -> Any:
        return self.from_dlpack(exported)

    def copy(self, target: Any, source: Any) -> None:
        target[...] = self.from_dlpack(source)


def _through_dlpack(name: str, value: Any) -> tuple[Any, NumPyLibrary]:
    import numpy

    try:
        device, number = value.__dlpack_device__()
    except AttributeError:
        raise ArgumentError(
            f"argument '{name}': expected an array with memory, found {type(value).__name__}"
            + (
                "; call the function outside of jax.jit, or through jax.pure_callback"
                if root_module(value) == "jax"
                else ""
            )
        ) from None
    if device not in _CPU_DEVICES:
        found = _DEVICE_NAMES.get(device, f"device type {device}")
        raise DeviceError(
            f"argument '{name}': memory of {found}:{number} cannot be used through __dlpack__ alone, "
            "expected the cpu; for cuda the array's type must have __cuda_array_interface__ or "
            "__dlpack_c_exchange_api__"
        )
    try:
        array = numpy.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError):
        array = numpy.asarray(value)  # types that DLPack has and NumPy lacks
    if hasattr(value, "__array_namespace__"):
        namespace = value.__array_namespace__()
    else:
        namespace = sys.modules.get(root_module(value))
    from_dlpack = getattr(namespace, "from_dlpack", None)
    return array, NumPyLibrary() if from_dlpack is None else DLPackLibrary(from_dlpack)


def adapt(name: str, value: Any) -> tuple[tuple, Any, Any]:
    """An array as (specification, object that keeps its memory alive, its library)."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    library: Any = NumPyLibrary()
    if torch and isinstance(value, torch.Tensor):
        where = value.device
        library = TorchLibrary(where.index if where.type == "cuda" else None)
    elif numpy and isinstance(value, numpy.ndarray):
        pass
    elif has_exchange(value):
        library = ExchangeLibrary(name, value)
    elif hasattr(value, "__cuda_array_interface__"):
        library = CudaArrayLibrary(value)
    else:
        value, library = _through_dlpack(name, value)
    specification, owner = library.specification(name, value)
    if specification[0] % DTYPES[specification[1]].itemsize:
        raise ArgumentError(
            f"argument '{name}': expected an address that is a multiple of the element's size, "
            f"found {specification[0]:#x}"
        )
    return specification, owner, library


def byte_range(specification: tuple) -> tuple[int, int]:
    """First and one past the last byte that a tensor touches; equal if it is empty."""
    address, code, sizes, strides, *_ = specification
    if 0 in sizes:
        return address, address
    low = sum(min(0, (size - 1) * stride) for size, stride in zip(sizes, strides))
    high = sum(max(0, (size - 1) * stride) for size, stride in zip(sizes, strides))
    itemsize = int(DTYPES[code].itemsize)
    return address + low * itemsize, address + (high + 1) * itemsize


def overlap(a: tuple, b: tuple) -> str:
    """How two tensors share memory: "no", "same" (element for element) or "partly"."""
    (a_low, a_high), (b_low, b_high) = byte_range(a), byte_range(b)
    if a_low == a_high or b_low == b_high or a_high <= b_low or b_high <= a_low:
        return "no"
    return "same" if a == b else "partly"


def is_dense(specification: tuple) -> bool:
    """Row-major without gaps, the layout of kernel results."""
    _, _, sizes, strides, *_ = specification
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size != 1 and stride != expected:
            return 0 in sizes
        expected *= size
    return True
