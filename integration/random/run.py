#!/usr/bin/env python3
"""Runs random programs against the reference.

    run.py --seeds 0:20000 [--report FILE] [--jobs N] [--seconds N] [--calls N]
           [--gradients | --simulate CHIP | --interpret CHIP | --assemble ptx|tileir [--chips CHIP,…]]

Every seed is one program, called with two sets of sizes (--calls); results must be within the
reference's bound. Nine tenths of the time are code generation, since each set of sizes is compiled.
Seeds that the report already has as correct, for as many calls, are not run again, so that an
interrupted range can be resumed. A seed that crashes its process is recorded as a crash and the
range continues after it. Failures are printed with one line per kind (the report has every message
in full). The last lines count the outcomes and the covered pairs of operations (one's result is the
other's operand). generate.py SEED shows one program. --seeds commit:3000 runs as many programs,
from a seed that depends on the commit's hash (seeds.py).

With --gradients, a scalar of the float results is differentiated with respect to every float
argument, and the gradients are compared with those of the reference; for a part of the programs,
these are compared with finite differences (differences.py). With --simulate the kernels of the PTX
backend run in the simulator (docs/simulator.md), which executes placed Tile IR and rounds each
operation separately. With --interpret an interpreter runs their PTX as the runtime launches it,
after LLVM fused multiplications with additions (integration/ptx/ptx_calls.py; it needs the build
tree). With --assemble they are compiled to PTX or CUDA Tile IR for each chip in turn and assembled
by NVIDIA's programs. Each has a separate report.

It needs Python and NumPy, but no build tree: in an unpacked archive it is tests/random/run.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import reports
import seeds
from generate import generate
from operations import HEAVY
from worker import VARIANTS

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python"  # in an archive
CHUNK = 25
TIME_LIMIT = 3600  # seconds for one chunk
LATE = 300  # seconds that a program may take after the deadline, until which programs are started
STATUSES = ("ok", "wrong", "error", "crash", "skipped")
SEEDS_SHOWN, MESSAGE_SHOWN = 12, 200


def read_report(path: Path) -> tuple[dict[int, dict], int | None]:
    """The results by seed, and the seed that was started last without one."""
    results: dict[int, dict] = {}
    started = None
    for line in reports.lines(path):
        if "start" in line:
            started = line["start"]
        else:
            results[line["seed"]] = line
            started = None
    return results, started


def run_chunk(
    first: int, end: int, path: Path, deadline: float, calls: int, mode: tuple[str, ...]
) -> None:
    """Runs seeds [first, end), continuing after each that ends its process."""
    environment = dict(os.environ, TESSERA_NUM_THREADS=os.environ.get("TESSERA_NUM_THREADS", "2"))
    if any((PACKAGE / "tessera").glob("*.so")):
        search = filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")])
        environment["PYTHONPATH"] = os.pathsep.join(search)
    # Thousands of programs that are called only once are kept out of the user's cache.
    with tempfile.TemporaryDirectory(prefix="tessera-random-") as scratch:
        environment["TESSERA_CACHE"] = environment["TMPDIR"] = scratch
        while first < end and time.monotonic() < deadline:
            words = map(str, [first, end, path, deadline, calls, *mode])
            command = [sys.executable, str(HERE / "worker.py"), *words]
            limit = min(TIME_LIMIT, deadline + LATE - time.monotonic())
            # A session of its own, so that assemblers end with the worker.
            worker = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            try:
                _, errors = worker.communicate(timeout=limit)
                if worker.returncode == 0:
                    return
                cause = f"exit status {worker.returncode}: {errors.decode(errors='replace')[-300:].strip()}"
            except subprocess.TimeoutExpired:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.communicate()
                cause = f"no result within {limit:.0f} s"
            _, crashed = read_report(path)
            crashed = first if crashed is None else crashed
            with open(path, "a") as out:
                print(json.dumps({"seed": crashed, "status": "crash", "message": cause}), file=out)
            first = crashed + 1


def failures(results: dict[int, dict]) -> list[str]:
    """One line per kind of failure: messages that differ only in numbers and names are one kind."""
    kinds: dict[str, list[dict]] = {}
    for _, line in sorted(results.items()):
        if line["status"] not in ("ok", "skipped"):
            line["message"] = re.sub(
                r"\S*/(random_\d+\.py)", r"\1", " ".join(line["message"].split())
            )
            kind = re.sub(r"\d+|\{.*?\}|\(.*?\)|'[^']*'", "", line["message"])
            kinds.setdefault(f"{line['status']}{kind[:80]}", []).append(line)
    texts = []
    for lines in sorted(kinds.values(), key=len, reverse=True):
        seeds = " ".join(str(line["seed"]) for line in lines[:SEEDS_SHOWN])
        more = f" and {len(lines) - SEEDS_SHOWN} more" if len(lines) > SEEDS_SHOWN else ""
        message = lines[0]["message"]
        message = message if len(message) <= MESSAGE_SHOWN else message[: MESSAGE_SHOWN - 1] + "…"
        texts.append(f"{lines[0]['status']}, seed {seeds}{more}: {message}")
    return texts


def facts(seed: int) -> tuple[bool, bool, set[str], set[tuple[str, str]]]:
    """Whether a program has several reductions and long sizes, its operations, their pairs."""
    program = generate(seed)
    return program.heavy >= 2, bool(program.long), set(program.operations), program.pairs


def summarise(results: dict[int, dict]) -> str:
    """Counts, and the coverage of pairs of operations."""
    several = long = 0
    kinds: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    with ProcessPoolExecutor() as pool:
        for is_several, is_long, its_kinds, its_pairs in pool.map(facts, results, chunksize=200):
            several, long = several + is_several, long + is_long
            kinds |= its_kinds
            pairs |= its_pairs
    counts = {s: sum(r["status"] == s for r in results.values()) for s in STATUSES}
    checked = sum(r.get("checked", 0) for r in results.values())
    excluded = sum(r.get("excluded", 0) for r in results.values())
    calls = sum(r.get("calls", VARIANTS) for r in results.values() if r["status"] == "ok")
    kernels = sum(r.get("kernels", 0) for r in results.values())
    work = (
        f"{kernels} kernels assembled"
        if kernels
        else f"{checked} elements checked, {excluded} left out at discontinuities"
    )
    tried = [r["differences"] for r in results.values() if "differences" in r]
    if tried:
        work += f"; {tried.count('right')} of {len(tried)} gradients confirmed by differences"
    if nothing := unjudged(results):
        work += f"; {len(nothing)} of them compare nothing, as {nothing[:5]}"
    return (
        f"{len(results)} programs: {', '.join(f'{n} {s}' for s, n in counts.items())}; {calls} calls\n"
        f"{several} of them with at least two reductions or contractions ({', '.join(sorted(HEAVY))}), "
        f"{long} with long sizes\n"
        f"{work}\n"
        f"{len(kinds)} operations, {len(pairs)} of {len(kinds) ** 2} pairs covered"
    )


def unjudged(results: dict[int, dict]) -> list[int]:
    """Programs without a comparable element, although they have elements."""
    return [
        seed for seed, line in results.items() if line.get("excluded") and not line.get("checked")
    ]


def gather(report: Path) -> dict[int, dict]:
    """The results so far. Each job writes a separate part, which is moved into the report here;
    parts of an interrupted run count too."""
    report.parent.mkdir(parents=True, exist_ok=True)
    with open(report, "a") as out:
        for part in sorted(report.parent.glob(f"{report.stem}.part*")):
            out.writelines(f"{json.dumps(line)}\n" for line in read_report(part)[0].values())
            part.unlink()
    return read_report(report)[0]


def run(
    first: int,
    end: int,
    report: Path,
    jobs: int,
    seconds: float,
    calls: int = VARIANTS,
    mode: tuple[str, ...] = (),
) -> dict[int, dict]:
    """Runs the seeds that the report lacks, within a time; returns all results of the range. `mode`
    is empty for the CPU, or ("gradients",), ("simulate", chip), ("interpret", chip) or ("assemble", backend,
    chips…)."""
    known = {
        seed
        for seed, line in gather(report).items()
        if line["status"] == "skipped"
        or (line["status"] == "ok" and line.get("calls", VARIANTS) >= calls)
    }
    deadline = time.monotonic() + seconds

    def work(start: int) -> None:
        missing = [s for s in range(start, min(start + CHUNK, end)) if s not in known]
        if missing and time.monotonic() < deadline:
            run_chunk(
                missing[0],
                missing[-1] + 1,
                report.with_suffix(f".part{start}"),
                deadline,
                calls,
                mode,
            )

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, range(first, end, CHUNK)))
    results = gather(report)
    return {seed: line for seed, line in results.items() if first <= seed < end}


def chips(backend: str) -> list[str]:
    """All chips with an installed assembler for a backend; the one for sm_70 is CUDA 12's."""
    sys.path.insert(0, str(HERE.parent / "ptx"))
    from assemblers import LEGACY, OLDER

    from tessera import targets

    if OLDER:
        os.environ["TESSERA_PTXAS_12"] = OLDER
    return [
        chip
        for chip, one in targets.chips().items()
        if (backend == "ptx" or "tileir" in one["features"]) and (OLDER or chip not in LEGACY)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--seeds", default="0:1000", help="FIRST:END or commit:COUNT, default 0:1000"
    )
    parser.add_argument(
        "--report",
        type=Path,
        help="one line of JSON per seed, default in build/fuzz, by what is run",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes, default one per core"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="start no new seeds after this time"
    )
    parser.add_argument(
        "--calls",
        type=int,
        default=VARIANTS,
        help=f"sets of sizes of a program, default {VARIANTS}",
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--gradients", action="store_true", help="compute gradients of programs")
    other.add_argument(
        "--simulate", default="", metavar="CHIP", help="simulate kernels for a GPU, such as sm_90"
    )
    other.add_argument(
        "--interpret", default="", metavar="CHIP", help="interpret the PTX for a GPU, such as sm_90"
    )
    other.add_argument(
        "--assemble", default="", choices=["ptx", "tileir"], help="assemble kernels for GPUs"
    )
    parser.add_argument(
        "--chips", default="", help="that --assemble is for, default all of the backend"
    )
    arguments = parser.parse_args()
    try:
        first, end = seeds.range_of(arguments.seeds)
    except ValueError:
        parser.error(f"expected FIRST:END or commit:COUNT, got '{arguments.seeds}'")
    mode: tuple[str, ...] = ()
    if arguments.gradients:
        mode = ("gradients",)
    elif arguments.simulate:
        mode = ("simulate", arguments.simulate)
    elif arguments.interpret:
        mode = ("interpret", arguments.interpret)
    elif arguments.assemble:
        mode = (
            "assemble",
            arguments.assemble,
            *(
                filter(None, arguments.chips.split(","))
                if arguments.chips
                else chips(arguments.assemble)
            ),
        )
    report = arguments.report or Path("build/fuzz") / f"{'-'.join(['report', *mode[:2]])}.jsonl"
    results = run(first, end, report, arguments.jobs, arguments.seconds, arguments.calls, mode)
    failed = failures(results)
    print(f"seeds {first}:{end}", *failed, summarise(results), sep="\n")
    if len(results) < end - first:
        print(f"{end - first - len(results)} seeds are left: the same command goes on with them")
    right = sum(line["status"] == "ok" for line in results.values())
    return 1 if failed or not right else 0


if __name__ == "__main__":
    sys.exit(main())
