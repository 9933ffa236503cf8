"""Hardware counters from Nsight Compute: `ncu --csv --page raw --print-units base … > counters.csv`.

The metrics are those of benchmarks/gpu/counters.py; any of them may be missing.
"""

from __future__ import annotations

import csv
from pathlib import Path

from ..errors import ArgumentError

METRICS = {
    "registers": "launch__registers_per_thread",
    "threads": "launch__block_size",
    "static": "launch__shared_mem_per_block_static",
    "dynamic": "launch__shared_mem_per_block_dynamic",
    "occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "spills": "smsp__sass_inst_executed_op_local.sum",
    "read": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "ns": "gpu__time_duration.sum",
}


def read(path: Path) -> dict[str, dict[str, float]]:
    """Counters by kernel; the mean of several launches."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: cannot read counters: {error}") from None
    lines = [one for one in text.splitlines() if one.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]  # the first row has the units
    if not rows or "Kernel Name" not in rows[0]:
        raise ArgumentError(
            f"{path}: expected the output of 'ncu --csv --page raw', with a column 'Kernel Name'"
        )
    sums: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        sums.setdefault(row["Kernel Name"], []).append(_numbers(path, row))
    return {
        name: {key: sum(one[key] for one in seen) / len(seen) for key in seen[0]}
        for name, seen in sums.items()
    }


def _numbers(path: Path, row: dict[str, str]) -> dict[str, float]:
    try:
        return {
            name: float(row[metric].replace(",", ""))
            for name, metric in METRICS.items()
            if row.get(metric)
        }
    except ValueError as error:
        raise ArgumentError(f"{path}: expected numbers in base units ({error})") from None
