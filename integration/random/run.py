#!/usr/bin/env python3
"""Runs random programs against the reference.

    run.py --seeds 0:20000 [--report FILE] [--jobs N] [--seconds N]

Every seed is one program, called with two sets of sizes; results must lie within the bound that the
reference derives. Seeds that the report has as right already are not run again, so that an
interrupted range goes on where it stopped. A seed that brings its process down is recorded as a crash
and the range goes on behind it. The last lines count what happened and which pairs of operations
(one's result is the other's operand) were covered. Show one program: generate.py SEED.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generate import generate
from operations import HEAVY

HERE = Path(__file__).resolve().parent
CHUNK = 25
TIME_LIMIT = 600  # seconds for one chunk


def read_report(path: Path) -> tuple[dict[int, dict], int | None]:
    """The results by seed, and the seed that was started last without one."""
    results: dict[int, dict] = {}
    started = None
    if path.exists():
        for text in path.read_text().splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # cut off when its process was ended
            if "start" in line:
                started = line["start"]
            else:
                results[line["seed"]] = line
                started = None
    return results, started


def run_chunk(first: int, end: int, path: Path, deadline: float) -> None:
    """Runs seeds [first, end), going on behind each that ends its process."""
    environment = dict(os.environ, TESSERA_NUM_THREADS=os.environ.get("TESSERA_NUM_THREADS", "2"))
    while first < end and time.monotonic() < deadline:
        command = [sys.executable, str(HERE / "worker.py"), str(first), str(end), str(path)]
        try:
            done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=TIME_LIMIT)
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


def summarise(results: dict[int, dict]) -> str:
    """Counts, and the coverage of pairs of operations."""
    programs = [generate(seed) for seed in results]
    counts = {s: sum(r["status"] == s for r in results.values()) for s in ("ok", "wrong", "error", "crash")}
    kinds = {o for p in programs for o in p.operations}
    pairs = set().union(*(p.pairs for p in programs)) if programs else set()
    several = sum(p.heavy >= 2 for p in programs)
    checked = sum(r.get("checked", 0) for r in results.values())
    excluded = sum(r.get("excluded", 0) for r in results.values())
    return (
        f"{len(results)} programs: " + ", ".join(f"{n} {s}" for s, n in counts.items()) + "\n"
        f"{several} of them with at least two reductions or contractions ({', '.join(sorted(HEAVY))})\n"
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


def run(first: int, end: int, report: Path, jobs: int, seconds: float) -> dict[int, dict]:
    """Runs the seeds that the report lacks, within a time; returns all results of the range."""
    known = {seed for seed, line in gather(report).items() if line["status"] == "ok"}
    deadline = time.monotonic() + seconds

    def work(job: int) -> None:
        for start in range(first + job * CHUNK, end, jobs * CHUNK):
            if time.monotonic() > deadline:
                return
            missing = [s for s in range(start, min(start + CHUNK, end)) if s not in known]
            if missing:
                part = report.with_suffix(f".part{job}")
                run_chunk(missing[0], missing[-1] + 1, part, deadline)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, range(jobs)))
    results = gather(report)
    return {seed: line for seed, line in results.items() if first <= seed < end}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", default="0:1000", help="FIRST:END")
    parser.add_argument("--report", type=Path, default=Path("build/fuzz/report.jsonl"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no new seeds after this time")
    arguments = parser.parse_args()
    try:
        first, end = (int(part) for part in arguments.seeds.split(":"))
    except ValueError:
        parser.error(f"expected FIRST:END, got '{arguments.seeds}'")
    results = run(first, end, arguments.report, arguments.jobs, arguments.seconds)
    failures = [line for line in results.values() if line["status"] != "ok"]
    for line in failures:
        print(f"seed {line['seed']}: {line['status']}: {line['message']}")
    print(summarise(results))
    return 1 if failures or not results else 0


if __name__ == "__main__":
    sys.exit(main())
