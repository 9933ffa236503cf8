"""Calls of the PTX backend whose kernels an interpreter runs: everything between placed Tile IR and
a GPU, without one.

The compiler's bundle, the runtime with its host program and launches, and the comparison are those
of a GPU (integration/gpu); only the driver is fake (runtime/cts/fake), and interpreter.py runs its
launches.
"""

from __future__ import annotations

import collections
import ctypes
import os
import platform
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(TOP / "integration" / folder)
    for folder in ("gpu", "fake_gpu", "python", "cpu", "random", "ptx")
]
# Read where the runtime is first used.
os.environ["TESSERA_CUDA_LIBRARY"] = str(TOP / "build/lib/libfake_cuda.so")

import fake  # noqa: E402
import record  # noqa: E402
import replay  # noqa: E402
from harness import numpy_dtype  # noqa: E402
from interpreter import Kernel  # noqa: E402
from ptx_values import Memory  # noqa: E402

TARGET = f"sm_90:ptx,{platform.machine()}"

replay.memory_on = lambda _, data: _Block(data)
replay.driver.synchronize = lambda: None  # launches run synchronously
_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED
_kernels: dict[tuple[bytes, bytes], Kernel] = {}
_errors: list[Exception] = []
launched: collections.Counter = collections.Counter()  # kernels by name


class _Block:
    """Memory of arguments and results, instead of the driver's."""

    alive: weakref.WeakSet = weakref.WeakSet()

    def __init__(self, data: np.ndarray) -> None:
        whole = np.empty(data.size + 256, np.uint8)
        start = -whole.ctypes.data % 256
        self.data = whole[start : start + data.size]
        self.data[...] = data
        self.address = self.data.ctypes.data
        _Block.alive.add(self)

    def read(self) -> np.ndarray:
        return self.data


def _view(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)


@fake.Runner
def _run(text, name, grid, shared, words, count) -> int:
    """The callback of the fake libcuda. An error is raised where the call is made."""
    try:
        if (text, name) not in _kernels:
            _kernels[text, name] = Kernel(text.decode(), name.decode())
        blocks = [(address, _view(address, size)) for address, size in fake.memory_blocks() if size]
        memory = Memory(blocks + [(one.address, one.data) for one in _Block.alive])
        _kernels[text, name].launch(memory, words[:count], list(grid.contents), shared)
        memory.give_back()
        launched[name.decode()] += 1
        return 0
    except Exception as error:
        _errors.append(error)
        return _FAILED


def _recorded(
    function, arguments: list, target: str, replayed: Callable[[replay.Archive], object]
) -> object:
    """The result of a call that is recorded as for a GPU, and replayed."""
    os.environ["TESSERA_PTXAS"] = "none"  # the bundle then has PTX
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "call.zip"
        archive = record.Archive(path, target)
        archive.add("call", function, arguments, [None] * len(arguments))
        archive.close()
        _kernels.clear()
        fake.set_runner(_run)
        try:
            result = replayed(replay.Archive(path))
        except Exception:
            if not _errors:
                raise
        finally:
            fake.set_runner(None)
            fake.revive()
        if _errors:  # a launch may have failed without the call's notice, as on a GPU
            error = _errors[0]
            _errors.clear()
            raise error
        return result


def call(function, arguments: list, target: str = TARGET) -> dict:
    """Runs a function on copies of its arguments and compares its results with the reference, as
    integration/gpu/replay.py does: {"good": …, "wrong": …}. A program that the compiler rejects is
    "refused"."""
    return _recorded(function, arguments, target, lambda archive: replay.run(archive, "call"))


def results(function, arguments: list, target: str = TARGET) -> list[np.ndarray]:
    """The results of a function."""
    outs = _recorded(
        function, arguments, target, lambda archive: replay.results(archive, archive.cases["call"])
    )
    return [
        memory.read().view(numpy_dtype(dtype)).reshape(shape).copy()
        for dtype, shape, memory in outs
    ]
