"""The results of a call."""

from __future__ import annotations

import math
import os
from typing import Any

from . import _tessera
from .arrays import NumPyLibrary, adapt, device_text, is_array, is_dense, overlap
from .errors import ArgumentError, OutOfMemoryError, kind_of
from .parameters import Bound
from .types import DTYPES, DType

#: What code for GPUs takes the addresses of results to be multiples of.
_GPU_ALIGNMENT = 16

_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _new_array(library: Any, dtype: DType, shape: tuple) -> tuple[int, Any]:
    """Rejects results that do not fit in memory: some systems overcommit, and kill the process that
    writes to it."""
    if not library.device and math.prod(shape) * dtype.itemsize > _MEMORY:
        raise OutOfMemoryError(f"out of memory: a result has the shape {shape}")
    return library.empty(dtype, shape)


def _is_read_only(array: Any) -> bool:
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return bool(interface["data"][1])
    return getattr(getattr(array, "flags", None), "writeable", True) is False


class Destination:
    """The memory of results: arguments that the function writes, then new arrays of the arguments'
    library, or the arrays of `out=`."""

    def __init__(self, bound: Bound, out: Any, stream: int = 0):
        self.bound = bound
        self.library = bound.library
        self.stream = stream
        self.returns_tuple = False  # of a function that writes arguments
        self.is_tuple = isinstance(out, (tuple, list))
        self.outs = None if out is None else list(out) if self.is_tuple else [out]
        self.written = bound.written
        # library, index, array, its memory, source
        self.copies: list[tuple[Any, int, Any, tuple, int]] = []
        self.keep: list[Any] = []
        self.specifications: list[tuple] = []

    def allocate(self, index: int, code: int, shape: tuple) -> tuple[int, Any]:
        dtype = DTYPES[code]
        argument = ""
        if index < len(self.written):
            argument, target = self.written[index]
            name = f"argument '{argument}'"
        elif self.outs is None:
            return _new_array(self.library, dtype, shape)
        else:
            place = index - len(self.written)
            name = f"out[{place}]" if self.is_tuple else "out"
            if place >= len(self.outs):
                plural = "" if len(self.outs) == 1 else "s"
                raise ArgumentError(f"out: expected more than {len(self.outs)} array{plural}")
            target = self.outs[place]
        if not is_array(target):
            raise ArgumentError(f"{name}: expected an array, found {kind_of(target)}")
        specification, owner, library = adapt(name, target)
        if _is_read_only(target) or _is_read_only(owner):  # the owner is NumPy's view of the memory
            raise ArgumentError(
                f"{name}: expected an array that can be written, found a read-only one"
            )
        if library.device != self.library.device:
            raise ArgumentError(
                f"{name}: expected an array on the device of the arguments, "
                f"{device_text(self.library.device)}, found one on {device_text(library.device)}"
            )
        if (specification[1], tuple(specification[2])) != (code, shape):
            found = f"{DTYPES[specification[1]].name}{list(specification[2])}"
            raise ArgumentError(f"{name}: expected {dtype.name}{list(shape)}, found {found}")
        sizes, strides = specification[2:4]
        if 0 not in sizes and any(n > 1 and not step for n, step in zip(sizes, strides)):
            raise ArgumentError(
                f"{name}: expected memory for each element, found an array that repeats elements"
            )
        direct = (
            is_dense(specification)
            and owner is target
            or library is not NumPyLibrary
            and is_dense(specification)
        )
        if library.device and specification[0] % _GPU_ALIGNMENT:
            direct = False
        for position, other in enumerate(self.bound.specifications):
            if not isinstance(other, tuple):
                continue
            shared = overlap(specification, other)
            other_name = self.bound.names[position] if self.bound.names else str(position)
            region = self.bound.regions.get(other_name)
            if shared == "partly":
                raise ArgumentError(
                    f"{name}: it overlaps an argument partly; pass the same array, or another one"
                )
            if shared != "no" and region is not None and not region.is_written:
                raise ArgumentError(
                    f"{name}: it is argument '{other_name}', which is {region} and cannot be written"
                )
            is_own = other_name == argument and region is not None and not region.is_read
            direct = direct and (shared == "no" or is_own)
        for other in self.specifications:
            if overlap(specification, other) != "no":
                which = "that is written" if self.written else "of out"
                raise ArgumentError(f"{name}: it overlaps another array {which}")
        self.specifications.append(specification)
        self.keep.append(owner)
        if direct:
            return specification[0], target
        address, array = _new_array(library, dtype, shape)
        self.copies.append((library, index, target, specification, address))
        return address, array

    def _copy(self, library: Any, array: Any, memory: tuple, source: int, result: Any) -> None:
        if library.device and is_dense(memory):
            size = math.prod(memory[2]) * DTYPES[memory[1]].itemsize
            _tessera.copy(library.device, self.stream, memory[0], source, size)
        else:
            library.copy(array, result)

    def finish(self, results: list, as_tuple: bool) -> Any:
        for library, index, array, memory, source in self.copies:
            self._copy(library, array, memory, source, results[index])
        if self.written:
            results = results[len(self.written) :]
            as_tuple = self.returns_tuple
            if not results and not as_tuple:
                return None
        if self.outs is None:
            results = [self.library.finish(array) for array in results]
        else:
            if len(results) != len(self.outs):
                plural = "" if len(results) == 1 else "s"
                raise ArgumentError(
                    f"out: expected {len(results)} array{plural}, found {len(self.outs)}"
                )
            results = self.outs
        return tuple(results) if as_tuple else results[0]
