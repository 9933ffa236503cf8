"""The `report()` of a kernel beside the GPU's counters (Nsight Compute).

Registers, threads, shared memory and spills must be the same, occupancy within a percent.

`report()` counts every input and every output once, at the row's sizes. The counters are those of
the DRAM, after an L2 cache that ncu flushes before a kernel, not after it: written data that fits
there is not counted. Therefore a memory-bound kernel must move the reported bytes, less at most the
cache size, and no more than a tenth over. A compute-bound kernel may move more, if waves of CTAs
read an operand again that the cache has evicted: the report is then a lower bound. The predicted
time is that of the roofline alone.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

from memory import MEMORY_ROWS
from rows import ROWS, Row

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

_WANTED = ("softmax_bf16_32768x4096", "layer_norm_fp32_32768x4096", "cross_entropy_fp32_8192x32768",
           "column_sum_fp32_16384x8192", "transpose_bf16_16384x8192", "cumsum_fp32_16384x4096",
           "matmul_bf16_4096x4096x4096", "causal_attention_bf16_8x16x2048x128")  # fmt: skip
COUNTED_ROWS = [
    row for row in {r.name: r for r in [*ROWS, *MEMORY_ROWS]}.values() if row.name in _WANTED
]
assert len(COUNTED_ROWS) == len(_WANTED)
_CACHE = "bytes of the second-level cache:"
_AGAIN = 1.1  # of the reported bytes: the part that may be read twice


def missing() -> str | None:
    return None if shutil.which("ncu") else "Nsight Compute (ncu) is not installed"


def call(row: Row, bundle: Path) -> None:
    """The kernels that ncu profiles: the row's kernels, once each."""
    import bench
    import torch

    import tessera as tsr

    torch.manual_seed(0)
    arguments = [bench.fill(one) for one in row.arguments]
    getattr(tsr.load(bundle), row.function)(*arguments)
    torch.cuda.synchronize()
    print(_CACHE, torch.cuda.get_device_properties(0).L2_cache_size)


def measured(row: Row, bundle: Path) -> tuple[dict[str, dict[str, float]], int]:
    """Counters by kernel, and the bytes that the cache keeps."""
    names = {kernel["name"] for kernel in json.loads(bundle.with_suffix(".json").read_text())}
    command = [
        "ncu",
        "--csv",
        "--page",
        "raw",
        "--clock-control",
        "none",
        "--metrics",
        ",".join(METRICS.values()),
    ]
    command += ["--print-units", "base", "--kernel-name", f"regex:^({'|'.join(sorted(names))})$"]
    command += [sys.executable, __file__, row.name, str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = [one for one in done.stdout.splitlines() if one.startswith('"')]
    if not lines:
        raise RuntimeError((done.stdout + done.stderr).strip()[-300:])
    table = list(csv.DictReader(lines))[1:]  # the first row has the units
    number = lambda text: float(text.replace(",", ""))  # noqa: E731
    kernels = {
        one["Kernel Name"]: {k: number(one[m]) for k, m in METRICS.items() if one.get(m)}
        for one in table
    }
    cache = next(
        (int(one.split()[-1]) for one in done.stdout.splitlines() if one.startswith(_CACHE)), 0
    )
    return kernels, cache


def alike(bound: str, reported: float, moved: float, cache: float) -> bool:
    """Whether the counted bytes agree with the reported ones."""
    return reported - cache <= moved and (bound != "memory" or moved <= _AGAIN * reported)


def run(row: Row, bundle: Path) -> dict:
    """Both sides of each kernel of a row, and whether they agree."""
    found, cache = measured(row, bundle)
    kernels, good = [], True
    for reported in json.loads(bundle.with_suffix(".json").read_text()):
        seen = found.get(reported["name"])
        if not seen:
            kernels.append({"name": reported["name"], "wrong": "not seen"})
            good = False
            continue
        pairs = {
            "registers": (reported["registers"], seen["registers"]),
            "threads": (reported["threads"], seen["threads"]),
            "shared": (reported["shared_bytes"], seen["static"] + seen["dynamic"]),
            "occupancy": (round(reported["occupancy"], 2), round(seen["occupancy"] / 100, 2)),
        }
        if "spills" in seen:  # not all versions count them
            pairs["spills"] = (reported["spill_bytes"] > 0, seen["spills"] > 0)
        good &= all(
            abs(a - b) <= (0.01 if name == "occupancy" else 0) for name, (a, b) in pairs.items()
        )
        moved = seen["read"] + seen["written"]
        good &= alike(reported["bound"], reported["bytes"], moved, cache)
        kernels.append({"name": reported["name"], "pairs": pairs, "bytes": (reported["bytes"], moved), "us": seen["ns"] / 1e3,
                        "predicted_us": reported["predicted_us"], "bound": reported["bound"]})  # fmt: skip
    return {"good": good, "kernels": kernels}


def line(name: str, result: dict) -> str:
    parts = []
    for one in result["kernels"]:
        if "wrong" in one:
            parts.append(f"{one['name']} {one['wrong']}")
            continue
        pairs = " ".join(f"{k} {a:g}/{b:g}" for k, (a, b) in one["pairs"].items())
        reported, moved = (number / 1e6 for number in one["bytes"])
        least = "" if one["bound"] == "memory" else "at least "
        parts.append(
            f"{pairs}  memory {least}{reported:.1f}/{moved:.1f} MB, {one['us']:.0f} us "
            f"(predicted {one['predicted_us']:.0f}, bound by {one['bound']})"
        )
    return f"{name:44} {'; '.join(parts)}{'' if result['good'] else '  DIFFERENT'}"


if __name__ == "__main__":
    (chosen,) = (row for row in COUNTED_ROWS if row.name == sys.argv[1])
    call(chosen, Path(sys.argv[2]))
