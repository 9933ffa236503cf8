#!/usr/bin/env python3
"""Checks and measures the output of build.py, on the machine with the GPU.

    check.py [--only STEP,…] [--json FILE] [--seconds N] [--sustained SECONDS | --burst] [NAME…]

Needs Python 3.11 or later with NumPy, and NVIDIA's driver; the benchmark needs PyTorch; nothing
needs a compiler. Steps are in steps.py. Results are written to the file one by one; a file of the
same commit is continued: its results are not run again. --seconds limits the run: items that were
not reached are counted, and the next run continues there. Benchmarks measure in bursts and under
load: --sustained is the number of seconds of load for each contender of a goal, --burst skips it.
Without a GPU it prints "unsupported".
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import driver
import isolate
import steps


class Report:
    """Results by step and name, on disk after each one."""

    def __init__(self, path: Path | None, about: dict):
        self.path = path
        self.data = {**about, "steps": {}}
        if path and path.exists():
            old = json.loads(path.read_text())
            if old.get("commit") == about["commit"]:
                self.data["steps"] = old["steps"]
            else:
                print(f"{path} is of commit {old.get('commit')}: it is written anew")

    def of(self, step: str) -> dict[str, dict]:
        return self.data["steps"].setdefault(step, {})

    def add(self, step: str, name: str, result: dict) -> None:
        self.of(step)[name] = result
        self.write()

    def write(self) -> None:
        if self.path:
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(self.data, indent=1) + "\n")
            part.replace(self.path)


def run_step(step: steps.Step, options: argparse.Namespace, deadline: float, report: Report) -> int:
    """Returns how many of the step's items are wrong."""
    if reason := step.missing():
        print(f"\n{step.name}: unsupported: {reason}", flush=True)
        return 0
    known = step.names()
    chosen = [n for n in known if not options.names or any(text in n for text in options.names)]
    rest = [name for name in chosen if name not in report.of(step.name)]
    print(f"\n{step.name}: {step.title}: {len(rest)} of {len(known)}", flush=True)
    start = time.monotonic()
    if rest and step.prepare(rest, deadline):
        print(f"{step.name}: prepared in {time.monotonic() - start:.0f} s", flush=True)

    shown: dict[str, str] = {}

    def add(name: str, result: dict) -> None:
        report.of(step.name)[name] = result
        step.settle(report.of(step.name))
        report.write()
        if step.verbose or not result["good"]:
            shown[name] = step.line(name, result)
            print(shown[name], flush=True)

    seconds = 0.0 if options.burst else options.sustained
    command = [sys.executable, __file__, "--sustained", str(seconds), "--worker", step.name]
    left = isolate.run(command, rest, deadline, add)
    changed = {name: step.line(name, report.of(step.name)[name]) for name in shown}
    changed = {name: text for name, text in changed.items() if text != shown[name]}
    if changed:
        print(
            f"{step.name}: {len(changed)} rows by {step.settle(report.of(step.name))}", flush=True
        )
        print(*changed.values(), sep="\n", flush=True)
    results = [report.of(step.name)[name] for name in chosen if name not in left]
    bad = sum(not result["good"] for result in results)
    unsupported = sum("unsupported" in result for result in results)
    reported = f"{len(results) - bad - unsupported} of {len(results)} right"
    reported += f", {unsupported} unsupported" if unsupported else ""
    reported += f", {len(left)} not reached" if left else ""
    print(f"{step.name}: {reported}, {time.monotonic() - start:.0f} s", flush=True)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of items; default: all")
    parser.add_argument("--only", help=f"steps, of {','.join(steps.STEPS)}; default: all of them")
    parser.add_argument("--json", type=Path, help="the file that holds results")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--burst", action="store_true", help="no measurements under load")
    parser.add_argument("--sustained", type=float, default=0.75, metavar="SECONDS",
                        help="of load for each contender of a goal, default 0.75")  # fmt: skip
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        name, job, log = options.worker
        step = steps.STEPS[name]
        run = functools.partial(step.run, sustained=options.sustained)
        isolate.work(Path(job), Path(log), run, options.tell)
        return 0
    chosen = options.only.split(",") if options.only else list(steps.STEPS)
    if unknown := [name for name in chosen if name not in steps.STEPS]:
        parser.error(f"expected steps of {', '.join(steps.STEPS)}, found {', '.join(unknown)}")
    # A folder that is not whole would fail in each item.
    subprocess.run([sys.executable, "-c", "import tessera"], cwd=HERE, check=True)
    if reason := driver.missing():
        print(f"unsupported: {reason}")
        return 0
    deadline = time.monotonic() + options.seconds
    about = steps.about()
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    report = Report(options.json, about)
    bad = sum(run_step(steps.STEPS[name], options, deadline, report) for name in chosen)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
