"""What a kernel takes of a GPU, from the machine code in a bundle: registers, shared memory, stack, threads.

A cubin is an ELF file. `.nv.info` has records of a kind, a format and a value; those for kernels name a symbol.
Both backends end in cubins, so that this looks at both in the same way.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tessera import _tessera, compiler

_CUDA = 190  # e_machine
_REGISTERS, _FRAME, _THREADS, _MOST_THREADS = 0x2F, 0x11, 0x10, 0x05
_SIZED = 0x04  # records of this format have a length and a value behind it


@dataclass
class Resources:
    registers: int = 0
    stack: int = 0  # bytes of a thread: spilled registers, or arrays without a fixed place
    shared: int = 0  # bytes, of those that are fixed when the code is made
    threads: int = 0  # of a block, where the code states them

    def occupancy(self, chip: str) -> float | None:
        """The share of an SM's warps that registers and shared memory let run at once."""
        if not self.registers or not self.threads:
            return None
        compiler.load()
        return _tessera.occupancy(chip, self.threads, self.registers, self.shared)


@dataclass(frozen=True)
class _Section:
    name: str
    data: bytes
    size: int


class _Elf:
    def __init__(self, data: bytes):
        place = struct.unpack_from("<Q", data, 0x28)[0]
        step, count, names = struct.unpack_from("<HHH", data, 0x3A)
        heads = [struct.unpack_from("<IIQQQQ", data, place + i * step) for i in range(count)]
        self.sections = []
        for name, kind, _, _, offset, size in heads:
            at = heads[names][4] + name
            text = data[at : data.index(b"\0", at)].decode(errors="replace")
            self.sections.append(
                _Section(text, b"" if kind == 8 else data[offset : offset + size], size)
            )

    def named(self, name: str) -> _Section | None:
        return next((one for one in self.sections if one.name == name), None)

    def symbols(self) -> list[str]:
        table, names = self.named(".symtab"), self.named(".strtab")
        if not table or not names:
            return []
        places = [
            struct.unpack_from("<I", table.data, at)[0] for at in range(0, len(table.data), 24)
        ]
        return [
            names.data[at : names.data.index(b"\0", at)].decode(errors="replace") for at in places
        ]


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, kind, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            yield kind, data[at : at + size]
            at += size


def _kernels(elf: _Elf) -> dict[str, Resources]:
    found = {
        one.name.removeprefix(".text."): Resources()
        for one in elf.sections
        if one.name.startswith(".text.")
    }
    symbols = elf.symbols()
    if info := elf.named(".nv.info"):
        for kind, value in _records(info.data):
            if kind not in (_REGISTERS, _FRAME) or len(value) < 8:
                continue
            symbol, number = struct.unpack_from("<II", value)
            name = symbols[symbol] if symbol < len(symbols) else ""
            if name in found:
                setattr(found[name], "registers" if kind == _REGISTERS else "stack", number)
    for name, resources in found.items():
        if shared := elf.named(f".nv.shared.{name}"):
            resources.shared = shared.size
        if own := elf.named(f".nv.info.{name}"):
            for kind, value in _records(own.data):
                if kind in (_THREADS, _MOST_THREADS) and len(value) >= 12:
                    x, y, z = struct.unpack_from("<III", value)
                    resources.threads = x * y * z
    return found


def kernels(bundle: bytes) -> dict[str, Resources]:
    """The kernels of all cubins that lie in a bundle, by name."""
    found: dict[str, Resources] = {}
    at = bundle.find(b"\x7fELF")
    while at >= 0:
        if struct.unpack_from("<H", bundle, at + 18)[0] == _CUDA:
            found |= _kernels(_Elf(bundle[at:]))
        at = bundle.find(b"\x7fELF", at + 4)
    return found
