#!/usr/bin/env python3
"""Makes build/gpu: all that a machine with a GPU needs to check and measure, without a compiler.

    build.py [--arch sm_90] [--host x86_64] [--only PART,…] [NAME…]

It holds the Python package with the runtime and without the compiler, check.py with its steps, and
bundles. What was compiled before from the same source by the same compiler is kept.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BENCH = TOP / "benchmarks/gpu"
sys.path.insert(0, str(BENCH))

from rows import ROWS, Row

LIMIT = 64 << 20  # what travels in all


def compile_row(row: Row, out: Path, target: str) -> str | None:
    """Writes a row's bundle; returns what went wrong."""
    program = f"{BENCH / 'programs.py'}::{row.function}"
    command = [TOP / "build/bin/tessera", "compile", program, *row.flags(), "--target", target]
    start = time.perf_counter()
    done = subprocess.run([*command, "-o", out / row.bundle], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    print(f"{row.name:44} {seconds:6.2f} s  {'failed' if done.returncode else ''}", flush=True)
    return done.stderr if done.returncode else None


def build_bench(out: Path, target: str, options: argparse.Namespace) -> list[str]:
    """The benchmark's bundles; returns what could not be compiled."""
    out.mkdir(exist_ok=True)
    chosen = [row for row in ROWS if not options.names or any(n in row.name for n in options.names)]
    for row in chosen:
        (out / row.bundle).unlink(missing_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        failures = list(pool.map(lambda row: compile_row(row, out, target), chosen))
    return [f"{row.name}: {why}" for row, why in zip(chosen, failures) if why]


def copy_scripts(out: Path) -> None:
    package = out / "tessera"
    package.mkdir(parents=True, exist_ok=True)
    source = TOP / "build/python/tessera"
    for file in [*source.glob("*.py"), *source.glob("_tessera*.so"), source / "libtessera_rt.so"]:
        shutil.copy2(file, package / file.name)
    for name in ("check.py", "steps.py", "isolate.py"):
        shutil.copy2(HERE / name, out / name)
    for name in ("rows.py", "peers.py", "timing.py", "exact.py", "bench.py"):
        shutil.copy2(BENCH / name, out / name)


def commit() -> str:
    command = ["git", "-C", str(TOP), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


PARTS = {"bench": build_bench}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of what is compiled; default: all")
    parser.add_argument("--only", default=",".join(PARTS), help="parts; default: %(default)s")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--host", default="x86_64", help="the machine that has the GPU")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    out = TOP / "build/gpu"
    copy_scripts(out)
    target = f"{options.arch}:tileir,{options.host}"
    failures = []
    for part in options.only.split(","):
        failures += PARTS[part](out / part, target, options)
    (out / "built.json").write_text(json.dumps({"commit": commit(), "target": target}) + "\n")
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{out.relative_to(TOP)}: {size / 1e6:.1f} MB")
    if size > LIMIT:
        print(f"that is more than the {LIMIT / 1e6:.0f} MB that travel", file=sys.stderr)
    return int(bool(failures) or size > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
