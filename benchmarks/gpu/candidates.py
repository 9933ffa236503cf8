"""Tuning candidates: one function with other tiles, launch and tuning than the cost model's first choice.

All are part of the text of the schedule, `dims [parallel m = M tile 128, …] order […] launch
<num_warps = 8> tuning <num_stages = 4>`, which the compiler parses. A choice is written
`m=128,k=64,n=256;num_warps=8,num_stages=4`.
Only functions of one kernel have candidates; a choice that does not assemble is not a candidate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tessera.targets import chips

_KERNEL = re.compile(
    r"dims \[(?P<dims>.*?)\] order \[(?P<order>[^\]]*)\]"
    r"(?: launch <(?P<launch>[^>]*)>)?(?: tuning <(?P<tuning>[^>]*)>)?"
)
_DIM = re.compile(r"\b(parallel|stream|inner) (\w+) = (\"[^\"]*\"|\S+) tile (\d+)")

# The fields of the launch configuration (LaunchFields.def); the others are tuning.
LAUNCH = (
    "num_warps",
    "cluster_size",
    "cluster_axis",
    "persistent_ctas",
    "tiles_per_cta",
    "stream_parts",
    "launch_rank",
)

# Tiles as factors of the first choice: rows, columns, depth (or the stream).
_TILES = {
    "product": [
        (1, 0.5, 1), (2, 0.5, 1), (0.5, 1, 1), (1, 1, 2), (1, 0.5, 2), (0.5, 0.5, 1), (0.5, 0.5, 2),
        (1, 1, 0.5), (2, 1, 1), (1, 2, 1),
    ],
    "attention": [(1, 1, 0.5), (0.5, 1, 1), (0.5, 1, 0.5), (1, 1, 2), (2, 1, 0.5), (2, 1, 1)],
    "memory": [(2, 1, 1), (0.5, 1, 1), (4, 1, 1), (1, 0.5, 0.5), (1, 2, 2), (2, 0.5, 0.5), (0.25, 2, 1)],
}  # fmt: skip
_SMS = chips()["sm_90"]["limits"]["sm_count"]
_FIELDS = {
    "product": [
        "num_warps=4",
        "raster_group=8",
        "raster_group=16",
        f"persistent_ctas={_SMS}",
        "cluster_size=2",
        "num_stages=4",
        "num_stages=5",
    ],
    "attention": [
        "num_warps=4",
        f"persistent_ctas={_SMS}",
        "num_stages=3",
        "num_stages=4",
        "min_ctas_per_sm=2",
        "use_tma=0",
    ],
    "memory": [
        "num_warps=4",
        "num_warps=8",
        "num_warps=2",
        "min_ctas_per_sm=2",
        "min_ctas_per_sm=4",
        "use_tma=0",
        "use_tma=1",
    ],
}


@dataclass
class Choice:
    """Tiles by dimension, and fields of launch and tuning by name."""

    tiles: dict[str, int]
    fields: dict[str, int] = field(default_factory=dict)

    def __post_init__(self):
        launch_first = sorted(self.fields.items(), key=lambda one: one[0] not in LAUNCH)
        self.fields = dict(launch_first)

    def __str__(self) -> str:
        parts = [",".join(f"{k}={v}" for k, v in one.items()) for one in (self.tiles, self.fields)]
        return ";".join(part for part in parts if part)


def read(schedule: str) -> tuple[Choice, list[tuple[str, str]]] | None:
    """The choice in a schedule, and its dimensions with their roles; None: not one kernel."""
    kernels = _KERNEL.findall(schedule)
    if len(kernels) != 1:
        return None
    dims, _, launch, tuning = kernels[0]
    found = _DIM.findall(dims)
    pairs = (one.split("=") for one in f"{launch},{tuning}".split(",") if one.strip())
    values = {name.strip(): int(value) for name, value in pairs}
    return Choice({name: int(tile) for _, name, _, tile in found}, values), [f[:2] for f in found]


def write(schedule: str, choice: Choice) -> str:
    """The schedule with another choice."""

    def replace(match: re.Match) -> str:
        dims = _DIM.sub(
            lambda one: f"{one[1]} {one[2]} = {one[3]} tile {choice.tiles[one[2]]}", match["dims"]
        )
        text = f"dims [{dims}] order [{match['order']}]"
        for kind in ("launch", "tuning"):
            fields = ", ".join(
                f"{name} = {value}"
                for name, value in choice.fields.items()
                if (name in LAUNCH) == (kind == "launch")
            )
            text += f" {kind} <{fields}>" if fields else ""
        return text

    return _KERNEL.sub(replace, schedule)


def _knobs(group: str, first: Choice, roles: list[tuple[str, str]]) -> list[str | None]:
    """The dimensions of rows, columns and depth."""
    stream = next((name for role, name in roles if role == "stream"), None)
    wide = [name for role, name in roles if role == "parallel" and first.tiles[name] > 1]
    if group == "product":
        return [wide[0] if len(wide) > 1 else None, wide[-1] if wide else None, stream]
    if group == "attention":
        return [wide[0] if wide else None, None, stream]
    parallel = [name for role, name in roles if role == "parallel"]
    columns = parallel[-1] if stream is None and len(parallel) > 1 else None
    rows = next((name for name in reversed(parallel) if name != columns), None)
    return [rows, columns, stream]


def variants(schedule: str, group: str, most: int) -> list[Choice]:
    """The first choice, then others: tiles and fields alternately, as many as requested."""
    if not (found := read(schedule)):
        return []
    first, roles = found
    knobs = _knobs(group, first, roles)
    tiles, fields = [], []
    for factors in _TILES[group]:
        changed = dict(first.tiles)
        for knob, factor in zip(knobs, factors):
            if knob:
                changed[knob] = max(1, int(changed[knob] * factor))
        tiles.append(Choice(changed, dict(first.fields)))
    for one in _FIELDS[group]:
        name, value = one.split("=")
        fields.append(Choice(dict(first.tiles), {**first.fields, name: int(value)}))
    mixed = [choice for pair in zip(tiles, fields) for choice in pair] + tiles[len(fields) :]
    unique = {str(choice): choice for choice in [first, *mixed]}
    return list(unique.values())[: most + 1]
