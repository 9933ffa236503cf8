"""Arrays of the tests' own library, which has DLPack's C exchange interface like PyTorch."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np

import tessera as tsr

LIBRARIES = Path(tsr.__file__).parents[2] / "lib"
sys.path.append(str(LIBRARIES))

import fake_arrays  # noqa: E402

CPU, CUDA = 1, 2
_FLOATS = {"fp32": (2, 32), "fp16": (2, 16), "bf16": (4, 16), "int32": (0, 32), "complex": (5, 64)}


def array(*shape: int, dtype: str = "fp32", device: tuple[int, int] = (CPU, 0), **more):
    """A new array of zeros; `strides` in elements, `offset` in bytes from an aligned address."""
    return fake_arrays.Array(
        shape, *_FLOATS[dtype], *device, more.get("strides"), more.get("offset", 0)
    )


def _memory(of) -> np.ndarray:
    count = int(np.prod(of.shape))
    return np.frombuffer((ctypes.c_float * count).from_address(of.address), np.float32)


def values(of) -> np.ndarray:
    """The content of a dense array of fp32."""
    return _memory(of).reshape(of.shape).copy()


def filled(*shape: int, value: float = 1.0, **more):
    """A new dense array of fp32 that holds one number everywhere."""
    made = array(*shape, **more)
    _memory(made)[...] = value
    return made
