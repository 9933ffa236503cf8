"""The tuning table: the fastest measured schedule of each kernel on a device.

The compiler reads it from the cache's folder (include/tessera/Support/TuningTable.h describes the
format). A file that `tessera tune --export` writes is the same text, so that tables of several
machines of one kind can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import _tessera
from ..errors import TesseraError

VERSION = 2
_TITLE = "# kernel          via     tiles            fields                                   ms       first    made      measured"


@dataclass(frozen=True)
class Line:
    """One measured choice; `text` is its line in a table."""

    kernel: str
    via: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        return self.kernel, self.via

    @property
    def is_current(self) -> bool:
        """Whether it was measured with this compiler."""
        return self.text.split()[6].partition("/")[0] in ("-", _tessera.version)


def line(
    kernel: str,
    via: str,
    schedule: dict[str, int],
    ms: float,
    first: float,
    origin: str,
) -> Line:
    """A choice that was measured with this compiler."""
    tiles = "x".join(str(value) for name, value in schedule.items() if name.startswith("tile."))
    fields = ",".join(f"{name}={value}" for name, value in schedule.items() if "." not in name)
    made = f"{_tessera.version}/-"
    text = f"{kernel}  {via:6}  {tiles:16} {fields or '-':40} {ms:8.5f} {first:8.5f} {made:8}  {origin}"
    return Line(kernel, via, text)


def parse(text: str, name: str) -> tuple[str, list[Line]]:
    """The device and the lines of a table; TesseraError if it is none of this version."""
    head, *rest = text.splitlines() or [""]
    words = head.split()
    if words[:3] != ["tessera", "tuning", str(VERSION)] or len(words) != 4:
        raise TesseraError(
            f"{name}: expected a table that begins with 'tessera tuning {VERSION} DEVICE', "
            f"found {head[:60]!r}"
        )
    lines = []
    for number, one in enumerate(rest, 2):
        parts = one.split()
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) < 7 or len(parts[0]) != 16 or parts[1] not in ("ptx", "tileir", "cpu"):
            raise TesseraError(f"{name}: line {number} is no measured choice: {one[:60]!r}")
        lines.append(Line(parts[0], parts[1], one.rstrip()))
    return words[3], lines


def device_of(name: str) -> str:
    """The device of a table's file name, "tuning-sm_90.txt"."""
    return name.removeprefix("tuning-").removesuffix(".txt")


def read(name: str) -> list[Line]:
    """The lines of a table in the cache; none if it is missing or malformed."""
    data = _tessera.cache_get_table(name)
    try:
        return parse((data or b"").decode("utf-8", "replace"), name)[1] if data else []
    except TesseraError as error:
        _tessera.log(1, f"the table is replaced: {error}")
        return []


def text_of(device: str, lines: Iterable[Line]) -> str:
    """A table; of several lines for one kernel and backend, the last one counts."""
    distinct = {one.key: one for one in lines}
    return "\n".join(
        [
            f"tessera tuning {VERSION} {device}",
            _TITLE,
            *(one.text for one in distinct.values()),
            "",
        ]
    )


def merge(name: str, lines: Iterable[Line]) -> int:
    """Adds lines to a table in the cache; returns how many kernels it has."""
    every = {one.key: one for one in [*read(name), *lines]}
    if not _tessera.cache_put_table(name, text_of(device_of(name), every.values()).encode()):
        raise TesseraError(f"the tuning table {name} could not be written into the cache's folder")
    return len(every)
