#!/usr/bin/env python3
"""Runs the tests that take too long for every change, and writes the outcome into the tree.

    utils/test_all.py [PART…] [--again] [--table FILE] [--share X]

Parts are commands of the Makefile; without names all of them run, one after the other, each with a
log in build/test-all. The table names the commit and has one line for each part: its outcome, its
seconds and its last line of output. Parts that the table has as passed for this commit are not run
again, so that an interrupted run can be resumed. --share 0.1 runs a tenth of the random programs.
The exit status is 1 if a part failed or is missing.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TABLE = TOP / "test" / "results" / "all.txt"
LOGS = TOP / "build" / "test-all"
HEAD = f"{'part':18} {'fate':8} {'seconds':>8}  last line"
# : Tests that are skipped because the tree's own environment has no PyTorch.
PEERS = "integration/external integration/gpu/test_rows.py integration/python/test_torch.py integration/python/test_calls.py integration/cpu/test_float8.py integration/bench/test_command.py"

PYTEST = 'python=$(utils/external.sh) && "$python" -m pip install --quiet pytest && PYTHONPATH=build/python "$python" -m pytest -q'


@dataclass(frozen=True)
class Part:
    name: str
    command: str  # of the shell, in the tree
    what: str


def random(count: int, share: float, options: str = "") -> str:
    arguments = f' FUZZ_ARGS="{options}"' if options else ""
    return f"make fuzz SEEDS=commit:{max(1, round(count * share))}{arguments}"


def parts(share: float) -> list[Part]:
    return [
        Part("test", "CI=true make test", "every test, missing tools are failures"),
        Part(
            "spills",
            "make lists LISTS_ARGS=spills",
            "the CPU's suite assembled for every chip (make assemble, side by side)",
        ),
        Part(
            "mutants",
            "make lists LISTS_ARGS=equivalents",
            "the CPU's suite on the simulator with all its mutants",
        ),
        Part("simulate", "make simulate", "the CPU's suite on the simulator, larger calls"),
        Part("random", random(20000, share), "random programs on the CPU"),
        Part(
            "random-gradients",
            random(20000, share, "--gradients"),
            "gradients of random programs on the CPU",
        ),
        Part(
            "random-simulate",
            random(6000, share, "--simulate sm_90"),
            "random programs on the simulator",
        ),
        Part(
            "random-ptx",
            random(9000, share, "--calls 1 --assemble ptx"),
            "random programs assembled by way of PTX",
        ),
        Part(
            "random-tileir",
            random(1400, share, "--calls 1 --assemble tileir"),
            "random programs assembled by way of CUDA Tile IR",
        ),
        Part(
            "chaos",
            f"TESSERA_CHAOS_CALLS={max(8, round(10**6 * share))} PYTHONPATH=build/python "
            ".venv/bin/python -m pytest -q integration/tiers/test_chaos.py",
            "calls from 8 threads while guards fail and the compiler has faults",
        ),
        Part("external", "make test-external", "PyTorch's operator database and NumPy's cases"),
        Part(
            "peers",
            f"{PYTEST} {PEERS}",
            "tests that need PyTorch",
        ),
        Part("training", f"{PYTEST} integration/training", "training beside PyTorch"),
        Part("address", "make test SANITIZE=address", "with AddressSanitizer and UBSan"),
        Part("thread", "make test SANITIZE=thread", "with ThreadSanitizer"),
        Part(
            "fuzz-inputs",
            'make fuzz-inputs FUZZ_ARGS="--runs 100000"',
            "mutated inputs of the readers",
        ),
    ]


@dataclass(frozen=True)
class Fate:
    fate: str  # passed or failed
    seconds: float
    last: str

    @property
    def passed(self) -> bool:
        return self.fate == "passed"


def commit() -> str:
    """The commit, and whether files other than the table differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=TOP, capture_output=True, text=True
        ).stdout.strip()

    changed = [
        line
        for line in git("status", "--porcelain").splitlines()
        if not line.endswith("test/results/all.txt")
    ]
    return (git("rev-parse", "HEAD") or "no commit") + (" with changes" if changed else "")


def read(path: Path, of: str) -> dict[str, Fate]:
    """The table's parts, if it is of this commit."""
    lines = path.read_text().splitlines() if path.exists() else []
    if f"commit {of}" not in lines:
        return {}
    found = {}
    for line in lines[lines.index(HEAD) + 1 :]:
        name, fate, *rest = line.split(maxsplit=3)
        if fate in ("passed", "failed"):
            found[name] = Fate(fate, float(rest[0]), rest[1] if len(rest) > 1 else "")
    return found


def write(path: Path, of: str, wanted: list[Part], fates: dict[str, Fate]) -> None:
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d', time.gmtime())}"
    )
    lines = [
        "What make test-all found last. Written by utils/test_all.py.",
        "",
        f"commit {of}",
        f"machine {machine}",
        "",
    ]
    lines += [f"{part.name}: {part.what}: {part.command}" for part in wanted]
    lines += ["", HEAD]
    for part in wanted:
        if fate := fates.get(part.name):
            lines.append(f"{part.name:18} {fate.fate:8} {fate.seconds:8.0f}  {fate.last}")
        else:
            lines.append(f"{part.name:18} not run")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n")


def run(part: Part, logs: Path) -> Fate:
    logs.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with open(logs / f"{part.name}.log", "w+", errors="replace") as log:
        done = subprocess.run(
            part.command,
            shell=True,
            cwd=TOP,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        log.seek(0)
        said = [line.strip() for line in log if line.strip()]
    last = said[-1][:160] if said else f"exit status {done.returncode}"
    return Fate("passed" if done.returncode == 0 else "failed", time.monotonic() - start, last)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="default: all of them")
    parser.add_argument(
        "--again", action="store_true", help="run what the table has for this commit already"
    )
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--share", type=float, default=1.0, help="of the random programs")
    arguments = parser.parse_args()
    all_of_them = parts(arguments.share)
    if unknown := set(arguments.parts) - {part.name for part in all_of_them}:
        parser.error(
            f"unknown part {', '.join(sorted(unknown))}; expected {', '.join(part.name for part in all_of_them)}"
        )
    of = commit()
    fates = {} if arguments.again and not arguments.parts else read(arguments.table, of)
    for part in all_of_them:
        if arguments.parts and part.name not in arguments.parts:
            continue
        if not arguments.again and part.name in fates and fates[part.name].passed:
            continue
        print(f"{part.name}: {part.command}", flush=True)
        fates[part.name] = run(part, LOGS)
        print(
            f"{part.name}: {fates[part.name].fate}, {fates[part.name].seconds:.0f} s: {fates[part.name].last}",
            flush=True,
        )
        write(arguments.table, of, all_of_them, fates)
    missing = [part.name for part in all_of_them if part.name not in fates]
    failed = [name for name, fate in fates.items() if not fate.passed]
    print(f"{len(fates) - len(failed)} parts passed, {len(failed)} failed, {len(missing)} not run")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
