#!/usr/bin/env python3
"""Compiles the bundles of the GPU check into build/gpu, beside what runs them.

    build.py [--arch sm_90] [--host x86_64] [NAME…]

build/gpu then holds all that the machine with the GPU needs: the Python package with the runtime
and without the compiler, the bundles, and check.py.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import CASES, Case

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]


def compile_case(case: Case, out: Path, target: str) -> str | None:
    """Writes a bundle; returns what went wrong."""
    program = f"{HERE / 'programs.py'}::{case.function}"
    command = [TOP / "build/bin/tessera", "compile", program, *case.flags(), "--target", target]
    start = time.perf_counter()
    done = subprocess.run([*command, "-o", out / case.bundle], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    print(f"{case.name:44} {seconds:6.2f} s  {'failed' if done.returncode else ''}", flush=True)
    return done.stderr if done.returncode else None


def copy_package(out: Path) -> None:
    package = out / "tessera"
    package.mkdir(parents=True, exist_ok=True)
    source = TOP / "build/python/tessera"
    for file in [*source.glob("*.py"), *source.glob("_tessera*.so"), source / "libtessera_rt.so"]:
        shutil.copy2(file, package / file.name)
    for name in ("cases.py", "check.py"):
        shutil.copy2(HERE / name, out / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of cases; default: all")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--host", default="x86_64", help="the machine that has the GPU")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    out = TOP / "build/gpu"
    copy_package(out)
    chosen = [c for c in CASES if not options.names or any(n in c.name for n in options.names)]
    target = f"{options.arch}:tileir,{options.host}"
    with ThreadPoolExecutor(options.jobs) as pool:
        failures = list(pool.map(lambda case: compile_case(case, out, target), chosen))
    for case, failure in zip(chosen, failures):
        if failure:
            print(f"\n{case.name}:\n{failure}", file=sys.stderr)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{len(chosen)} bundles in {out.relative_to(TOP)}, {size / 1e6:.1f} MB in all")
    return int(any(failures))


if __name__ == "__main__":
    sys.exit(main())
