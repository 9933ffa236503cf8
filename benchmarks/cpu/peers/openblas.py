"""OpenBLAS through its C interface, without the NumPy layer."""

from __future__ import annotations

import ctypes
import os
from typing import Callable

import numpy as np

_ROW_MAJOR, _NO_TRANSPOSE = 101, 111


def _flags() -> set[str]:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def _load() -> ctypes.CDLL | None:
    # The library takes newer processors for very old ones; select their kernels explicitly.
    flags = _flags()
    core = "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else None
    forced = core is not None and "OPENBLAS_CORETYPE" not in os.environ
    if forced:
        os.environ["OPENBLAS_CORETYPE"] = core
    try:
        library = ctypes.CDLL("libopenblas.so.0")
    except OSError:
        return None
    finally:
        if forced:
            del os.environ["OPENBLAS_CORETYPE"]
    integer, pointer, real = ctypes.c_int, ctypes.c_void_p, ctypes.c_float
    library.cblas_sgemm.argtypes = (
        [integer] * 6 + [real] + [pointer, integer] * 2 + [real, pointer, integer]
    )
    library.cblas_sgemm.restype = None
    for name in ("openblas_get_corename", "openblas_get_config"):
        getattr(library, name).restype = ctypes.c_char_p
    return library


_library = _load()


def available() -> bool:
    return _library is not None


def set_threads(count: int) -> None:
    if _library:
        _library.openblas_set_num_threads(count)


def description() -> str:
    version = _library.openblas_get_config().decode().split()[1]
    return f"{version} ({_library.openblas_get_corename().decode()})"


def matmul(a: np.ndarray, b: np.ndarray) -> Callable[[], np.ndarray]:
    """A call that computes a @ b into an array made once."""
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), np.float32)
    sgemm = _library.cblas_sgemm
    arguments = (
        _ROW_MAJOR,
        _NO_TRANSPOSE,
        _NO_TRANSPOSE,
        m,
        n,
        k,
        1.0,
        a.ctypes.data,
        k,
        b.ctypes.data,
        n,
        0.0,
        c.ctypes.data,
        n,
    )

    def call() -> np.ndarray:
        sgemm(*arguments)
        return c

    return call
