"""The interface of the fake libcuda, and arrays that claim to be on its devices."""

from __future__ import annotations

import ctypes

from exchange import CUDA, LIBRARIES, array


class Counts(ctypes.Structure):
    """Live objects and request counts of the fake libcuda (runtime/cts/fake/FakeCuda.h)."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in (
            "streams events libraries graphs graph_execs allocations host_allocations "
            "contexts_on_stack launches misuses"
        ).split()
    ]


#: Runs a kernel of PTX text: its name, the grid, bytes of dynamic shared memory, words and their number (FakeCuda.h).
Runner = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint * 3),
    ctypes.c_uint,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.c_int64,
)


class _Control(ctypes.Structure):
    _fields_ = [
        ("counts", ctypes.CFUNCTYPE(Counts)),
        ("fail_next", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_int)),
        (
            "last_launch",
            ctypes.CFUNCTYPE(
                None,
                ctypes.POINTER(ctypes.c_uint * 3),
                ctypes.POINTER(ctypes.c_int),
                ctypes.POINTER(ctypes.c_int),
                ctypes.POINTER(ctypes.c_uint),
            ),
        ),
        ("entry_points", ctypes.c_void_p),
        ("revive", ctypes.CFUNCTYPE(None)),
        (
            "last_arguments",
            ctypes.CFUNCTYPE(
                ctypes.c_int64,
                ctypes.POINTER(ctypes.c_void_p),
                ctypes.POINTER(ctypes.c_uint64),
                ctypes.c_int64,
            ),
        ),
        (
            "last_sizes",
            ctypes.CFUNCTYPE(
                None, ctypes.POINTER(ctypes.c_uint * 3), ctypes.POINTER(ctypes.c_uint * 3)
            ),
        ),
        ("set_runner", ctypes.CFUNCTYPE(None, Runner)),
        (
            "memory_blocks",
            ctypes.CFUNCTYPE(
                ctypes.c_int64,
                ctypes.POINTER(ctypes.c_uint64),
                ctypes.POINTER(ctypes.c_uint64),
                ctypes.c_int64,
            ),
        ),
    ]


_library = ctypes.CDLL(str(LIBRARIES / "libfake_cuda.so"))
_library.fake_cuda_control.restype = ctypes.POINTER(_Control)
_control = _library.fake_cuda_control().contents


def counts() -> Counts:
    return _control.counts()


def set_runner(runner: Runner | None) -> None:
    """Sets a runner of PTX kernels, which otherwise compute nothing. The caller keeps the runner
    alive."""
    _control.set_runner(runner or Runner(0))


def revive() -> None:
    _control.revive()


def memory_blocks() -> list[tuple[int, int]]:
    """The addresses and sizes of all blocks of device memory."""
    count = _control.memory_blocks(None, None, 0)
    addresses, sizes = ((ctypes.c_uint64 * count)() for _ in range(2))
    _control.memory_blocks(addresses, sizes, count)
    return list(zip(addresses, sizes))


def launches() -> int:
    return counts().launches


def fail_next(name: str, result: int, after: int = 0) -> None:
    _control.fail_next(name.encode(), result, after)


def last_launch() -> tuple[int, list[int]]:
    """The stream and the arguments of the last launch."""
    stream, words = ctypes.c_void_p(), (ctypes.c_uint64 * 64)()
    count = _control.last_arguments(ctypes.byref(stream), words, 64)
    return stream.value or 0, list(words[:count])


def last_config() -> tuple[list[int], list[int], int, list[int]]:
    """The grid, the block, the bytes of shared memory and the cluster of the last launch."""
    grid, block, cluster = ((ctypes.c_uint * 3)() for _ in range(3))
    cooperative, dependent, shared = ctypes.c_int(), ctypes.c_int(), ctypes.c_uint()
    _control.last_sizes(ctypes.byref(grid), ctypes.byref(block))
    _control.last_launch(
        ctypes.byref(cluster), *map(ctypes.byref, (cooperative, dependent, shared))
    )
    return list(grid), list(block), shared.value, list(cluster)


class _Stream(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("handle", ctypes.c_void_p),
    ]


def new_stream(ordinal: int = 0) -> int:
    """A stream's handle."""
    runtime = ctypes.CDLL(str(LIBRARIES / "libtessera_rt.so"))
    stream = _Stream()
    assert runtime.tessera_rt_stream_create(0x10000 + ordinal, 0, ctypes.byref(stream)) == 0
    return stream.handle


def gpu(*shape: int, ordinal: int = 0, **more):
    """A new array on a fake GPU."""
    return array(*shape, device=(CUDA, ordinal), **more)
