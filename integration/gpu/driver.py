"""Memory of a GPU through NVIDIA's driver alone, for the replay, without PyTorch.

Each allocation is the driver's own, of exactly the requested size, so that compute-sanitizer
detects every out-of-bounds access; an allocator with pools would hide them.
"""

from __future__ import annotations

import ctypes
import functools
import os

import numpy as np


@functools.cache
def _driver() -> ctypes.CDLL:
    """The driver with the first device's primary context, which the runtime uses too."""
    library = ctypes.CDLL(os.environ.get("TESSERA_CUDA_LIBRARY", "libcuda.so.1"))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _call(library, "cuInit", 0)
    _call(library, "cuDeviceGet", ctypes.byref(device), 0)
    _call(library, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call(library, "cuCtxSetCurrent", context)
    return library


def _call(library: ctypes.CDLL, name: str, *arguments) -> None:
    if status := getattr(library, name)(*arguments):
        raise RuntimeError(f"{name}: the driver's error {status}")


def call(name: str, *arguments) -> None:
    """A function of the driver; errors are raised."""
    _call(_driver(), name, *arguments)


def missing() -> str | None:
    """Why no GPU can be used."""
    try:
        _driver()
    except (OSError, RuntimeError) as error:
        return str(error)
    return None


def name() -> str:
    """The first device's."""
    text = ctypes.create_string_buffer(256)
    call("cuDeviceGetName", text, 256, 0)
    return text.value.decode()


def synchronize() -> None:
    call("cuCtxSynchronize")


class Memory:
    """An allocation that holds some bytes."""

    def __init__(self, data: np.ndarray):
        self.size = data.size
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.size))
        self.address = address.value
        source = np.ascontiguousarray(data)
        pointer = source.ctypes.data_as(ctypes.c_void_p)
        call("cuMemcpyHtoD_v2", address, pointer, ctypes.c_size_t(self.size))

    def read(self) -> np.ndarray:
        data = np.empty(self.size, np.uint8)
        pointer = data.ctypes.data_as(ctypes.c_void_p)
        source = ctypes.c_uint64(self.address)
        call("cuMemcpyDtoH_v2", pointer, source, ctypes.c_size_t(self.size))
        return data

    def __del__(self):
        if address := getattr(self, "address", 0):
            _driver().cuMemFree_v2(ctypes.c_uint64(address))
