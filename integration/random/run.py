#!/usr/bin/env python3
"""Runs random programs against the reference.

    run.py --seeds 0:20000 [--report FILE] [--jobs N] [--seconds N] [--calls N] [--simulate CHIP]

Every seed is one program, called with two sets of sizes (--calls); results must lie within the bound
that the reference derives. Nine tenths of the time go to machine code, since each set of sizes is
compiled, as users have it. Seeds that the report has as right already, for as many calls, are not run
again, so that an interrupted range goes on where it stopped. A seed that brings its process down is
recorded as a crash and the range goes on behind it. What failed is printed with one line per kind of
failure (the report has every message in full). The last lines count what happened and which pairs of
operations (one's result is the other's operand) were covered. Show one program: generate.py SEED.
With --simulate the programs' kernels for a GPU are run by the simulator (docs/simulator.md), which needs
a report of its own.

It needs Python and NumPy, no build tree: in an unpacked archive it is tests/random/run.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import reports
from generate import generate
from operations import HEAVY
from worker import VARIANTS

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python"  # in an archive
CHUNK = 25
TIME_LIMIT = 3600  # seconds for one chunk that waits; what computes for too long is ended by the worker
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


def run_chunk(first: int, end: int, path: Path, deadline: float, calls: int, chip: str) -> None:
    """Runs seeds [first, end), going on behind each that ends its process."""
    environment = dict(os.environ, TESSERA_NUM_THREADS=os.environ.get("TESSERA_NUM_THREADS", "2"))
    if any((PACKAGE / "tessera").glob("*.so")):
        search = filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")])
        environment["PYTHONPATH"] = os.pathsep.join(search)
    # Thousands of programs that nobody calls again are kept out of the user's cache.
    with tempfile.TemporaryDirectory(prefix="tessera-random-") as scratch:
        environment["TESSERA_CACHE"] = environment["TMPDIR"] = scratch
        while first < end and time.monotonic() < deadline:
            words = map(str, [first, end, path, deadline, calls, *filter(None, [chip])])
            command = [sys.executable, str(HERE / "worker.py"), *words]
            try:
                done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, timeout=TIME_LIMIT)
                if done.returncode == 0:
                    return
                cause = f"exit status {done.returncode}: {done.stderr.decode(errors='replace')[-300:].strip()}"
            except subprocess.TimeoutExpired:
                cause = f"no result within {TIME_LIMIT} s"
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
            line["message"] = re.sub(r"\S*/(random_\d+\.py)", r"\1", " ".join(line["message"].split()))
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
    return (
        f"{len(results)} programs: {', '.join(f'{n} {s}' for s, n in counts.items())}; {calls} calls\n"
        f"{several} of them with at least two reductions or contractions ({', '.join(sorted(HEAVY))}), "
        f"{long} with long sizes\n"
        f"{checked} elements checked, {excluded} left out at discontinuities\n"
        f"{len(kinds)} operations, {len(pairs)} of {len(kinds) ** 2} pairs covered"
    )


def gather(report: Path) -> dict[int, dict]:
    """The results so far. Each job writes a part of its own, which is moved into the report here;
    parts of a run that was interrupted count too."""
    report.parent.mkdir(parents=True, exist_ok=True)
    with open(report, "a") as out:
        for part in sorted(report.parent.glob(f"{report.stem}.part*")):
            out.writelines(f"{json.dumps(line)}\n" for line in read_report(part)[0].values())
            part.unlink()
    return read_report(report)[0]


def run(
    first: int, end: int, report: Path, jobs: int, seconds: float, calls: int = VARIANTS, chip: str = ""
) -> dict[int, dict]:
    """Runs the seeds that the report lacks, within a time; returns all results of the range."""
    known = {
        seed
        for seed, line in gather(report).items()
        if line["status"] == "skipped" or (line["status"] == "ok" and line.get("calls", VARIANTS) >= calls)
    }
    deadline = time.monotonic() + seconds

    def work(start: int) -> None:
        missing = [s for s in range(start, min(start + CHUNK, end)) if s not in known]
        if missing and time.monotonic() < deadline:
            run_chunk(missing[0], missing[-1] + 1, report.with_suffix(f".part{start}"), deadline, calls, chip)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, range(first, end, CHUNK)))
    results = gather(report)
    return {seed: line for seed, line in results.items() if first <= seed < end}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", default="0:1000", help="FIRST:END, default 0:1000")
    parser.add_argument("--report", type=Path, default=Path("build/fuzz/report.jsonl"),
                        help="one line of JSON per seed, default build/fuzz/report.jsonl")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes, default one per core")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no new seeds after this time")
    parser.add_argument("--calls", type=int, default=VARIANTS, help=f"sets of sizes of a program, default {VARIANTS}")
    parser.add_argument("--simulate", default="", metavar="CHIP", help="simulate kernels for a GPU, such as sm_90")
    arguments = parser.parse_args()
    try:
        first, end = (int(part) for part in arguments.seeds.split(":"))
    except ValueError:
        parser.error(f"expected FIRST:END, got '{arguments.seeds}'")
    wanted = (arguments.jobs, arguments.seconds, arguments.calls, arguments.simulate)
    results = run(first, end, arguments.report, *wanted)
    failed = failures(results)
    print(*failed, summarise(results), sep="\n")
    if len(results) < end - first:
        print(f"{end - first - len(results)} seeds are left: the same command goes on with them")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
