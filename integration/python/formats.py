"""The formats of caches and bundles, for tests that create forged files."""

from __future__ import annotations

import struct
from pathlib import Path

_MASK = (1 << 64) - 1


def checksum(data: bytes) -> int:
    """As runtime/src/Bundle.cpp has it."""
    state = 0x9E3779B97F4A7C15 ^ len(data)
    whole = len(data) // 8 * 8
    for word in (
        *struct.unpack(f"<{whole // 8}Q", data[:whole]),
        int.from_bytes(data[whole:], "little"),
    ):
        state = (state ^ word) * 0xFF51AFD7ED558CCD & _MASK
        state ^= state >> 32
    state = state * 0xC4CEB9FE1A85EC53 & _MASK
    return state ^ (state >> 29)


def entries(cache: Path) -> list[Path]:
    """The files of a cache that hold entries."""
    return sorted(path for path in cache.glob("[0-9a-f][0-9a-f]/*") if len(path.name) == 62)


def key_of(entry: Path) -> str:
    """The whole key that an entry holds."""
    data = entry.read_bytes()
    (length,) = struct.unpack_from("<Q", data, 24)
    return data[40 : 40 + length].decode()


def payload_of(entry: Path) -> bytes:
    data = entry.read_bytes()
    (length,) = struct.unpack_from("<Q", data, 24)
    return data[40 + length :]


def code_entries(cache: Path) -> list[Path]:
    return [path for path in entries(cache) if key_of(path).startswith('["entry",')]


def index_entries(cache: Path) -> list[Path]:
    return [path for path in entries(cache) if key_of(path).startswith('["index",')]


Sections = list[tuple[int, bytes]]
MANIFEST, IMAGE, FUNCTION = 1, 2, 3


def sections_of(bundle: bytes) -> Sections:
    (count,) = struct.unpack_from("<I", bundle, 16)
    table = [struct.unpack_from("<IIQQQ", bundle, 32 + 32 * i) for i in range(count)]
    return [(kind, bundle[offset : offset + length]) for kind, _, offset, length, _ in table]


def bundle_of(sections: Sections, version: int = 4, overlap: bool = False) -> bytes:
    """A bundle of sections; with `overlap`, those with the same content have the same offset."""
    base = (32 + 32 * len(sections) + 63) // 64 * 64
    table, body = b"", b""
    places: dict[bytes, int] = {}
    sums: dict[bytes, int] = {}
    for kind, content in sections:
        if not overlap or content not in places:
            body += bytes(-len(body) % 64)
            places[content] = base + len(body)
            sums[content] = checksum(content)
            body += content
        table += struct.pack("<IIQQQ", kind, 0, places[content], len(content), sums[content])
    header = (
        struct.pack("<4sIQIIQ", b"TSRB", version, base + len(body), len(sections), 0, 0) + table
    )
    header = header[:24] + struct.pack("<Q", checksum(header)) + header[32:]
    return header + bytes(base - len(header)) + body


def with_manifest(bundle: bytes, manifest: bytes) -> bytes:
    return bundle_of(
        [(kind, manifest if kind == MANIFEST else content) for kind, content in sections_of(bundle)]
    )
