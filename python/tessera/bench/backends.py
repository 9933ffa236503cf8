"""Benchmarks on a GPU: both backends side by side, and our rows beside their peers.

    tessera bench --compare ptx,tileir [NAME… | FILE::FUNCTION --arg …] [--target sm_90]
    tessera bench --target cuda [NAME…]

Each function is compiled by both backends; the resources that the code uses are read from the
machine code itself (cubin.py). With a GPU and PyTorch for its arrays, both run alternately
(gpu/timing.py), each result is checked, and the table shows the counters that explain why one is
faster. Otherwise times are unsupported; for a named chip the rest of the table is shown without
them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tessera as tsr
from tessera import _tessera
from tessera.types import BY_NAME, EXTENSION_NAMES

from . import cubin, functions, history, table

_GPU = Path(__file__).parent / "gpu"  # programs of their own, as they travel to machines with GPUs
_CLOSE = 0.03  # smaller differences count as equal


def missing() -> str | None:
    """Why nothing can be timed on this machine."""
    if not any(one["target"].startswith("sm_") for one in tsr.devices()):
        return "there is no NVIDIA GPU here"
    try:
        import torch
    except ImportError:
        return "PyTorch, whose arrays are used, is not installed"
    return None if torch.cuda.is_available() else "this PyTorch is built without CUDA"


def _modules() -> tuple[Any, Any, Any, Any]:
    """The benchmark's rows, programs, timing and contenders."""
    if str(_GPU) not in sys.path:
        sys.path.insert(0, str(_GPU))
    import bench
    import programs
    import rows
    import timing

    return rows, programs, timing, bench


@dataclass
class Subject:
    """A function, the types of its arguments, and its row of the benchmark if it has one."""

    name: str
    function: tsr.Function
    types: list
    row: Any = None
    arguments: list = field(default_factory=list)

    @property
    def flops(self) -> float:
        return float(self.row.flops) if self.row else 0.0

    def arrays(self) -> list:
        """On the GPU."""
        import torch

        if self.row:
            bench = _modules()[3]
            torch.manual_seed(0)
            return [bench.fill(one) for one in self.row.arguments]
        return [
            torch.from_dlpack(one).cuda() if hasattr(one, "shape") else one
            for one in self.arguments
        ]


def subjects(arguments: argparse.Namespace) -> list[Subject]:
    found = []
    for name in arguments.names:
        if not functions.is_program(name):
            continue
        function = functions.load(name)
        values = functions.arguments_of(function, arguments.arg)
        found.append(
            Subject(function.__name__, function, [_type(one) for one in values], None, values)
        )
    if found:
        return found
    rows, programs, _, _ = _modules()
    for row in rows.MEASURED:
        if not arguments.names or any(text in row.name for text in arguments.names):
            types = [tsr.Tensor[(*one.sizes, BY_NAME[one.dtype])] for one in row.arguments]
            found.append(Subject(row.name, getattr(programs, row.function), types, row))
    return found


def _type(value: Any) -> Any:
    if not hasattr(value, "shape"):
        return value
    names = {other: dtype for dtype, other in EXTENSION_NAMES.items()}
    dtype = names.get(str(value.dtype)) or BY_NAME[str(value.dtype)]
    return tsr.Tensor[(*value.shape, dtype)]


@dataclass
class Made:
    """The code of one backend for a function."""

    backend: str
    compiled: tsr.Compiled | None
    seconds: float
    report: dict
    resources: list[cubin.Resources]
    failure: str = ""

    def worst(self, name: str) -> int:
        return max((getattr(one, name) for one in self.resources), default=0)

    def spilled(self) -> int:
        """Spilled bytes: as reported by the assembler, otherwise the stack size."""
        reported = [
            kernel["spill_bytes"]
            for kernel in self.report.get("kernels", ())
            if "spill_bytes" in kernel
        ]
        return sum(reported) if reported else self.worst("stack")

    def shared(self) -> int:
        reported = [kernel.get("shared_bytes", 0) for kernel in self.report.get("kernels", ())]
        return max([self.worst("shared"), *reported])

    def occupancy(self, chip: str) -> float | None:
        reported = [
            kernel["occupancy"]
            for kernel in self.report.get("kernels", ())
            if "occupancy" in kernel
        ]
        found = reported or [one.occupancy(chip) for one in self.resources]
        return min((one for one in found if one is not None), default=None)

    def tiles(self) -> str:
        return "; ".join(
            " ".join(f"{dim['name']}={dim['tile']}" for dim in kernel["dims"])
            for kernel in self.report.get("kernels", ())
        )


def make(subject: Subject, backend: str, target: str) -> Made:
    start = time.perf_counter()
    try:
        compiled = subject.function.compile(*subject.types, target=target, via=backend)
    except tsr.TesseraError as error:
        return Made(backend, None, 0.0, {}, [], str(error).splitlines()[0])
    spent = time.perf_counter() - start
    resources = list(cubin.kernels(compiled._artifact.bundle).values())
    return Made(backend, compiled, spent, compiled.report(), resources)


def _time(subject: Subject, made: list[Made]) -> tuple[dict, str, int]:
    """Milliseconds and ratios by backend, the error in a result, and bytes read and written."""
    import torch

    _, _, timing, bench = _modules()
    arrays = subject.arrays()
    outs = {one.backend: one.compiled(*arrays) for one in made}
    torch.cuda.synchronize()
    wrong = ""
    if subject.row:
        errors = {
            backend: bench.exact.error(subject.row.function, arrays, out)
            for backend, out in outs.items()
        }
        wrong = ", ".join(
            f"{backend} is wrong ({error:.1f} bounds)"
            for backend, error in errors.items()
            if error > 1
        )
    calls = {
        one.backend: lambda one=one: one.compiled(*arrays, out=outs[one.backend]) for one in made
    }
    tensors = [
        one
        for one in [*arrays, *functions._results(outs[made[0].backend])]
        if hasattr(one, "element_size")
    ]
    if subject.row and not subject.flops:
        calls |= bench.peers._copies(tensors)
    moved = sum(one.numel() * one.element_size() for one in tensors)
    plan, flush = timing.plan(bool(subject.flops), 0.0), timing.cache_flush(moved)
    return timing.measure(calls, plan, made[0].backend, flush=flush), wrong, moved


def reasons(fast: Made, slow: Made, chip: str) -> str:
    """Possible reasons why the slower backend is slower."""
    found = []
    if slow.spilled() > fast.spilled():
        found.append(f"{slow.backend} spills {slow.spilled()} B")
    occupied = fast.occupancy(chip), slow.occupancy(chip)
    if None not in occupied and occupied[1] < 0.8 * occupied[0]:
        cause = (
            "registers" if slow.worst("registers") > fast.worst("registers") else "shared memory"
        )
        shares = [f"{100 * one:.0f} %" for one in occupied]
        found.append(
            f"{slow.backend} fills {shares[1]} of the threads, {fast.backend} {shares[0]}: {cause}"
        )
    kernels = [len(one.report.get("kernels", ())) for one in (fast, slow)]
    if kernels[1] > kernels[0]:
        found.append(f"{slow.backend} has {kernels[1]} kernels, {fast.backend} {kernels[0]}")
    if fast.tiles() != slow.tiles():
        found.append(f"tiles differ: {fast.backend} {fast.tiles()}, {slow.backend} {slow.tiles()}")
    return "; ".join(found) or "the counters are alike: the instructions differ"


def _cells(subject: Subject, one: Made, chip: str, times: dict, moved: int) -> list[str]:
    cells = [subject.name, one.backend]
    if one.failure:
        return [*cells, "", "", "", "", "", "", "", "", f"refused: {one.failure}"]
    occupied = one.occupancy(chip)
    kernels = one.report.get("kernels", ())
    predicted = sum(kernel["predicted_us"] for kernel in kernels)
    reported = times.get(one.backend, {})
    rate = ""
    if ms := reported.get("burst_ms"):
        rate = (
            f"{subject.flops / ms / 1e9:.0f} TF/s"
            if subject.flops
            else f"{moved / ms / 1e6:.0f} GB/s"
        )
    return [
        *cells,
        f"{reported['burst_ms']:.4f}" if reported.get("burst_ms") else "",
        rate,
        f"{predicted / 1e3:.4f}",
        str(one.worst("registers")),
        str(one.spilled()),
        f"{one.shared() / 1024:.1f}",
        f"{100 * occupied:.0f} %" if occupied is not None else "",
        f"{one.seconds * 1e3:.0f}",
        one.tiles(),
    ]


def remember(chip: str, program: str, backend: str, ms: float, other: float, origin: str) -> None:
    """Writes which backend was faster into the cache's table, which the compiler reads
    (lib/Pipeline/Backends.h)."""
    name = f"backends-{chip}.txt"
    head = f"tessera backends 1 {chip}"
    old = (_tessera.cache_get_table(name) or b"").decode("utf-8", "replace").splitlines()
    if not old or old[0].strip() != head:
        old = []
    kept = [one for one in old[1:] if one.split() and one.split()[0] not in (program, "#")]
    title = "# program         backend     ms       other    measured"
    line = f"{program}  {backend:7} {ms:8.5f} {other:8.5f}  {origin}"
    _tessera.cache_put_table(name, ("\n".join([head, title, *kept, line]) + "\n").encode())


HEAD = "function|backend|ms|rate|model ms|registers|spilled B|shared KiB|occupancy|compiled ms|tiles".split(
    "|"
)


def compare_backends(arguments: argparse.Namespace) -> int:
    why = missing()
    if why:
        print(
            f"unsupported: --compare {','.join(arguments.backends)} times code on a GPU, and {why}"
        )
        if not arguments.target.startswith("sm_"):
            print("name a chip, as in --target sm_90, to see what both backends compile for it")
            return 0
    target = arguments.target if arguments.target.startswith("sm_") else "cuda"
    try:
        chosen = subjects(arguments)
    except (functions.Wrong, tsr.TesseraError) as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 1
    rows, notes, failed = [], [], False
    rates: dict[str, tuple[float, float]] = {}  # of the faster backend and of a copy
    bar = table.Table(len(chosen))
    for subject in chosen:
        bar.progress(subject.name)
        made = [make(subject, backend, target) for backend in arguments.backends]
        good = [one for one in made if one.compiled]
        chip = next((one.report["target"].split(":")[0].rstrip("a") for one in good), "")
        times: dict = {}
        moved = 0
        if not why and good:
            times, wrong, moved = _time(subject, good)
            failed = failed or bool(wrong)
            notes += [f"{subject.name}: {wrong}"] if wrong else []
        rows += [_cells(subject, one, chip, times, moved) for one in made]
        copies = [
            times[name]["burst_ms"]
            for name in ("copy", "copy_kernel")
            if "burst_ms" in times.get(name, {})
        ]
        if copies:
            best = min(times[one.backend]["burst_ms"] for one in good)
            rates[subject.name] = (moved / best / 1e6, moved / min(copies) / 1e6)
        if len(good) == 2:
            key = (lambda one: times[one.backend]["burst_ms"]) if times else _predicted_order(chip)
            fast, slow = sorted(good, key=key)
            if times:
                took = [times[one.backend]["burst_ms"] for one in (fast, slow)]
                origin = f"{subject.name}, {tsr.devices()[-1]['name']}"
                remember(chip, fast.report["program"], fast.backend, *took, origin)
            if (
                times
                and times[slow.backend]["burst_ms"] > (1 + _CLOSE) * times[fast.backend]["burst_ms"]
            ):
                ratio = times[slow.backend]["burst_ms"] / times[fast.backend]["burst_ms"]
                notes.append(
                    f"{subject.name}: {fast.backend} is {ratio:.2f} times as fast: {reasons(fast, slow, chip)}"
                )
            elif not times:
                notes.append(f"{subject.name}: {reasons(fast, slow, chip)}")
        failed = failed or len(good) < 2
        bar.done += 1
    # A row's own copy may be slow, so all are compared with the fastest.
    fastest = max((copy for _, copy in rates.values()), default=0.0)
    notes += [
        f"{name}: {100 * ours / fastest:.0f} % of the speed of a copy"
        for name, (ours, _) in rates.items()
    ]
    if not rows:
        print(
            f"tessera: error: no benchmark has '{' or '.join(arguments.names)}' in its name",
            file=sys.stderr,
        )
        return 1
    bar.line("")
    print(*table.aligned([HEAD, *rows]), sep="\n")
    print("", *notes, sep="\n")
    return 1 if failed else 0


def _predicted_order(chip: str):
    """Without times: the backend that spills less, then the one with higher occupancy, comes
    first."""
    return lambda one: (one.spilled(), -(one.occupancy(chip) or 0))


def measure_gpu(arguments: argparse.Namespace) -> int:
    """Our rows on this machine's GPU, beside their peers; stored like results of
    integration/gpu."""
    if why := missing():
        print(f"unsupported: --target cuda: {why}")
        return 0
    if any(functions.is_program(name) for name in arguments.names):
        print(
            "a function of yours on a GPU: tessera bench --compare tileir,ptx FILE::FUNCTION --arg …"
        )
        return 2
    import torch

    _, _, timing, bench = _modules()
    chosen = subjects(arguments)
    results: dict[str, dict] = {}
    bar = table.Table(len(chosen))
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        for subject in chosen:
            bar.progress(subject.name)
            bundle = Path(folder) / subject.row.bundle
            try:
                subject.function.compile(*subject.types, target="cuda").save(bundle)
                sustained = 0.0 if arguments.quick else timing.SUSTAINED
                result = bench.run(subject.row, bundle, sustained)
            except Exception as error:  # a failing row does not stop the others
                result = {"good": False, "failure": f"{type(error).__name__}: {error}"}
            results[subject.name] = result
            copies = bench.fastest_copies(results.values())
            for one in chosen:
                if "times" in results.get(one.name, {}):
                    bench.judge(one.row, results[one.name], copies)
            bar.line(bench.line(subject.name, result), "green" if result["good"] else "red")
            bar.done += 1
    run = history.start("gpu")
    kept = {"device": torch.cuda.get_device_name(), "commit": run["commit"], "time": run["time"]}
    kept |= {"steps": {"bench": results}}
    place = arguments.json or history.folder()
    if place.suffix != ".json":
        place = place / f"{run['time'].replace(':', '')}-{run['commit']}-gpu.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"\nresults: {place}")
    return 0 if all(one["good"] for one in results.values()) else 1
