#!/usr/bin/env python3
"""Fills the table of tiles, launch and tuning that the compiler uses instead of its cost model's choice.

    tuning.py [--table FILE] FILE…

FILEs are results of `check.py --only tune`, or …-candidates.json files. The table is
tuning-CHIP.txt in the cache's folder ($TESSERA_CACHE, else ~/.cache/tessera);
include/tessera/Support/TuningTable.h describes its format. Lines of other kernels are kept. Rows
whose sizes share code share a line: the choice that is best for all of them counts. The cost
model's own choice is kept if nothing is faster by more than noise.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

NOISE = 0.01  # smaller speedups are ignored
COLUMNS = ("# kernel", "via", "tiles", "fields", "ms", "first", "made", "measured")


@dataclass
class Measured:
    """The measurements of one kernel: by row, the milliseconds of each choice; the first is the
    model's."""

    first: str
    rows: dict[str, dict[str, float]] = field(default_factory=dict)
    where: str = ""
    via: str = "tileir"

    def best(self) -> str:
        """Among the choices that every row has, the one that loses least against each row's own
        best."""
        tables = list(self.rows.values())
        common = [choice for choice in tables[0] if all(choice in one for one in tables)]

        def loss(choice: str) -> float:
            return math.prod(one[choice] / min(one.values()) for one in tables) ** (1 / len(tables))

        best = min(common, key=loss)
        return self.first if loss(self.first) <= (1 + NOISE) * loss(best) else best


def folder() -> Path:
    """The cache's folder, as in the runtime."""
    if given := os.environ.get("TESSERA_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "tessera" if base else Path.home() / ".cache/tessera"


def read(path: Path) -> dict:
    """The results of a machine with a GPU; ValueError if it is something else."""
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path}: expected JSON") from None
    try:
        collect([data])
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise ValueError(
            f"{path}: expected results of `check.py --only tune` ({error!r})"
        ) from None
    return data


def collect(files: list[dict]) -> dict[str, dict[str, Measured]]:
    """By chip and signature, later files over earlier ones; wrong results are excluded."""
    found: dict[str, dict[str, Measured]] = {}
    for data in sorted(files, key=lambda one: one["time"]):
        chip = data["target"].partition(":")[0]
        rows = data["rows"] if "rows" in data else data["steps"].get("tune", {})
        for name, row in rows.items():
            times = {choice: ms for choice, ms in row.get("ms", {}).items() if ms}
            if not row["good"] or "signature" not in row or row["first"] not in times:
                continue
            kernels = found.setdefault(chip, {})
            known = kernels.get(row["signature"])
            if known is None or known.first != row["first"]:
                known = kernels[row["signature"]] = Measured(row["first"])
            known.rows[name] = times
            known.via = data["target"].partition(":")[2].partition(",")[0] or "tileir"
            known.where = f"{data['device']}, {data['commit']}"
    return found


def line(signature: str, measured: Measured) -> str:
    """A line of the table; times are those of the row that takes longest."""
    best = measured.best()
    tiles, _, fields = best.partition(";")
    sizes = "x".join(one.partition("=")[2] for one in tiles.split(","))
    slowest = max(measured.rows.values(), key=lambda one: one[measured.first])
    times = f"{slowest[best]:.5f}  {slowest[measured.first]:.5f}"
    origin = f"{' and '.join(measured.rows)}, {measured.where}"
    return f"{signature}  {measured.via:6} {sizes:16} {fields or '-':40} {times}  {'-':8}  {origin}"


def fill(path: Path, chip: str, kernels: dict[str, Measured]) -> None:
    """Adds lines to a table, replacing those of the same kernels."""
    head = f"tessera tuning 2 {chip}"
    old = path.read_text(errors="replace").splitlines() if path.exists() else []
    if not old or old[0].strip() != head:
        old = []
    kept = [one for one in old[1:] if one.split() and one.split()[0] not in {*kernels, "#"}]
    kernel, via, tiles, fields, ms, first, made, origin = COLUMNS
    title = f"{kernel:17} {via:6} {tiles:16} {fields:40} {ms:8} {first:8} {made:8} {origin}"
    lines = [head, title, *kept, *(line(*one) for one in kernels.items())]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n")
    part.chmod(0o600)  # the compiler reads only files that nobody else can write
    part.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--table", type=Path, help="the table to fill; default: the cache's")
    options = parser.parse_args()
    try:
        found = collect([read(path) for path in options.files])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if not found:
        print("no candidates in these files: `check.py --only tune` measures them", file=sys.stderr)
        return 1
    for chip, kernels in found.items():
        path = options.table or folder() / f"tuning-{chip}.txt"
        fill(path, chip, kernels)
        changed = sum(one.best() != one.first for one in kernels.values())
        print(
            f"{path}: {len(kernels)} kernels, {changed} of them other than the cost model's choice"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
