#!/usr/bin/env python3
"""Creates build/gpu: all files that a machine with a GPU needs, without a compiler.

    build.py [--arch sm_90] [--via auto|tileir|ptx] [--host x86_64] [--only PART,…]
             [--seeds 0:100] [--calls 2] [--draws 300 --draw-seed commit --draw-part 1/1] [NAME…]

It contains the Python package with the runtime and without the compiler, check.py with its steps,
and parts: the benchmark's bundles, tuning candidates, the CPU's suite and random programs as calls
with their allowed results, drawn programs (benchmarks/draws), the runtime's conformance suite. Programs that the compiler rejects are
listed, recorded as failed cases, and make the exit status 1. Bytecode is assembled once
(build/cubins), so a second run is fast.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BENCH = TOP / "benchmarks/gpu"
TESSERA = TOP / "build/bin/tessera"
DRAWS = TOP / "benchmarks/draws"
sys.path[:0] = [str(BENCH), str(DRAWS.parent), str(TOP / "utils"), str(TOP / "integration/random")]

import candidates
import dist
import fixed
import isolate
import seeds
from counters import COUNTED_ROWS
from draws.distributions import draws, seed_of
from memory import MEMORY_ROWS
from rows import EXTRA, FIXED, MEASURED, ROWS, Row
from small import SMALL_ROWS

BENCH_FILES = (
    "rows",
    "memory",
    "small",
    "peers",
    "triton_peers",
    "timing",
    "exact",
    "bench",
    "counters",
)
STRIP = shutil.which("llvm-strip-22") or "strip"  # for all machines
LIMIT = 60 << 20  # what travels in all, a few MB for the tree left


def environment(target: str) -> dict[str, str]:
    """An environment in which modules for GPUs are assembled with a time limit, and each one
    once."""
    if not target.startswith("sm_"):
        return dict(os.environ)
    kept = TOP / "build/cubins"
    kept.mkdir(exist_ok=True)
    real = os.environ.get("TESSERA_TILEIRAS") or str(TOP / ".venv/bin/tileiras")
    return os.environ | {
        "TESSERA_TILEIRAS": str(HERE / "assemble.sh"),
        "REAL_TILEIRAS": real,
        "KEPT_CUBINS": str(kept),
        "ASSEMBLY_SECONDS": "60",
    }


def run(command: list, target: str, text: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=environment(target)
    )


def compile_row(
    row: Row, out: Path, target: str, is_fixed: bool = False, name: str = ""
) -> str | None:
    """Writes a row's bundle, for many sizes or for its own alone; returns the error."""
    file = out / (name or (row.fixed_bundle if is_fixed else row.bundle))
    program = BENCH / "programs.py"
    if is_fixed:
        text = fixed.with_sizes(program.read_text(), row)
        program = file.with_suffix(".py")
        program.write_text(text)
    command = [TESSERA, "compile", f"{program}::{row.function}", *row.flags(), "--target", target]
    start = time.perf_counter()
    done = run([*command, "-o", file], target)
    seconds = time.perf_counter() - start
    if is_fixed:
        program.unlink()
    print(f"{file.stem:44} {seconds:6.2f} s  {'failed' if done.returncode else ''}", flush=True)
    return done.stderr if done.returncode else None


def chosen(rows: list[Row], options: argparse.Namespace) -> list[Row]:
    return [row for row in rows if not options.names or any(n in row.name for n in options.names)]


def build_bench(out: Path, options: argparse.Namespace) -> list[str]:
    jobs = [(row, False) for row in chosen([*MEASURED, *EXTRA], options)]
    jobs += [(row, True) for row in chosen(FIXED, options)]
    for row, is_fixed in jobs:
        (out / (row.fixed_bundle if is_fixed else row.bundle)).unlink(missing_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        failures = list(
            pool.map(lambda job: compile_row(job[0], out, options.target, job[1]), jobs)
        )
    return [f"{row.name}: {why}" for (row, _), why in zip(jobs, failures) if why]


def build_memory(out: Path, options: argparse.Namespace) -> list[str]:
    """Each row by its own backend and by the other one."""
    jobs = []
    for row in chosen(MEMORY_ROWS, options):
        other = "tileir" if row.backend == "ptx" else "ptx"
        jobs += [(row, row.backend, row.bundle), (row, other, row.other_bundle)]
    with ThreadPoolExecutor(options.jobs) as pool:
        one = lambda job: compile_row(job[0], out, options.by(job[1]), name=job[2])  # noqa: E731
        failures = list(pool.map(one, jobs))
    return [f"{row.name} via {via}: {why}" for (row, via, _), why in zip(jobs, failures) if why]


def build_small(out: Path, options: argparse.Namespace) -> list[str]:
    rows = chosen(SMALL_ROWS, options)
    with ThreadPoolExecutor(options.jobs) as pool:
        failures = list(pool.map(lambda row: compile_row(row, out, options.target), rows))
    return [f"{row.name}: {why}" for row, why in zip(rows, failures) if why]


def build_counters(out: Path, options: argparse.Namespace) -> list[str]:
    """Bundles of the PTX backend with the compiler's report on their kernels."""
    script = "import json, sys; import programs, tessera as tsr\n"
    script += "types = [tsr.Tensor[(*one['sizes'], getattr(tsr, one['dtype']))] for one in json.loads(sys.argv[2])]\n"
    script += "code = getattr(programs, sys.argv[1]).compile(*types, target=sys.argv[3])\n"
    script += "code.save(sys.argv[4]); print(json.dumps(code.report()['kernels']))"
    failures = []
    for row in chosen(COUNTED_ROWS, options):
        types = json.dumps([{"sizes": one.sizes, "dtype": one.dtype} for one in row.arguments])
        command = [
            sys.executable,
            "-c",
            script,
            row.function,
            types,
            options.by("ptx"),
            out / row.bundle,
        ]
        paths = os.pathsep.join((str(TOP / "build/python"), str(BENCH)))
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment(options.target) | {"PYTHONPATH": paths},
        )
        if done.returncode:
            failures.append(f"{row.name}: {done.stderr}")
        else:
            (out / row.bundle).with_suffix(".json").write_text(done.stdout)
    return failures


def candidates_of(row: Row, out: Path, options: argparse.Namespace) -> dict:
    """The signature of the row's kernel, and bundles of its candidates by their choice, the cost
    model's first."""
    target = options.by("tileir" if options.via == "auto" else options.via)
    program = [f"{BENCH / 'programs.py'}::{row.function}", *row.flags(), "--target", target]
    program += ["--option", "tuning=false"]
    done = run([TESSERA, "compile", *program, "--emit", "sched", "-o", "-"], target)
    reported = run([TESSERA, "explain", *program], target).stdout
    signature = re.search(r"^  table   (\w+)", reported, re.MULTILINE)
    files: dict[str, str] = {}
    for choice in candidates.variants(done.stdout, row.group, options.candidates):
        text = candidates.write(done.stdout, choice)
        file = f"{row.name}@{re.sub(r'[^0-9a-z]+', '_', str(choice))}.tsb"
        command = [TESSERA, "compile", "-", "--target", target, "-o", out / file]
        if run(command, target, text).returncode == 0:
            files[str(choice)] = file
    print(f"{row.name:44} {len(files):3} candidates", flush=True)
    return {"signature": signature[1] if signature else "", "files": files}


def build_tune(out: Path, options: argparse.Namespace) -> list[str]:
    for file in out.glob("*.tsb"):
        file.unlink()
    rows = chosen(ROWS, options)
    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda row: candidates_of(row, out, options), rows))
    table = {row.name: one for row, one in zip(rows, found) if len(one["files"]) > 1}
    (out / "candidates.json").write_text(json.dumps(table, indent=1) + "\n")
    return []


def record(out: Path, options: argparse.Namespace, command: list[str], **more) -> list[str]:
    """Runs record.py in several processes, each with its part; returns the rejected cases."""
    search = [TOP / "build/python", HERE, TOP / "integration/cpu", TOP / "integration/random"]
    variables = environment(options.target) | {"PYTHONPATH": os.pathsep.join(map(str, search))}
    for file in out.glob("*.zip"):
        file.unlink()
    workers = []
    for part in range(options.jobs):
        job = {"out": str(out / f"{part}.zip"), "target": options.target, "part": part}
        job |= {"parts": options.jobs, "names": options.names, **more}
        variables["TESSERA_RECORD"] = json.dumps(job)
        log = (out / f"{part}.log").open("w")
        workers.append(subprocess.Popen(command, env=variables, stdout=log, stderr=log))
    statuses = [worker.wait() for worker in workers]
    failures = []
    for part, status in enumerate(statuses):
        log = out / f"{part}.log"
        try:
            cases = json.loads(zipfile.ZipFile(out / f"{part}.zip").read("cases.json"))
        except (OSError, zipfile.BadZipFile, KeyError):
            failures.append(
                f"{out.name}: the recorder ended with {status}:\n{log.read_text()[-2000:]}"
            )
            continue
        log.unlink()
        refused = [f"{case['name']}: {case['refused']}" for case in cases if "refused" in case]
        failures += refused
        print(f"{out.name}: {len(cases)} calls, {len(refused)} of them refused", flush=True)
    return failures


def build_suite(out: Path, options: argparse.Namespace) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "record", "-p", "no:cacheprovider"]
    return record(out, options, [*command, str(TOP / "integration/cpu")])


def build_random(out: Path, options: argparse.Namespace) -> list[str]:
    command = [sys.executable, str(HERE / "record.py")]
    return record(out, options, command, seeds=seeds.range_of(options.seeds), calls=options.calls)


def build_cts(out: Path, options: argparse.Namespace) -> list[str]:
    source = options.runtime / "bin/runtime_cts"
    subprocess.run([STRIP, "-o", out / source.name, source], check=True)
    return []


def build_calls(out: Path, options: argparse.Namespace) -> list[str]:
    """The output of integration/gpu_calls, with its own check."""
    command = [sys.executable, TOP / "integration/gpu_calls/build.py"]
    search = {"PYTHONPATH": str(TOP / "build/python")}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | search)
    if done.returncode:
        return [f"calls: {done.stderr[-2000:]}"]
    shutil.rmtree(out)
    shutil.copytree(TOP / "build/gpu_calls", out)
    return []


def build_draws(out: Path, options: argparse.Namespace) -> list[str]:
    """Bundles of drawn programs, with what their results have to be at sampled indices."""
    for file in [*out.glob("*.tsb"), *out.glob("*.npz")]:
        file.unlink()
    for file in DRAWS.glob("*.py"):
        shutil.copy2(file, out / file.name)
    seed = seed_of(options.draw_seed)
    first, parts = map(int, options.draw_part.split("/"))
    names = [one.name for one in draws(seed, options.draws, "gpu")[first - 1 :: parts]]
    names = [n for n in names if not options.names or any(text in n for text in options.names)]
    command = [sys.executable, DRAWS / "bundle.py", "--seed", seed, "--target", options.target]
    command += ["--folder", out]
    found: dict[str, dict] = {}

    def add(name: str, result: dict) -> None:
        found[name] = result
        print(f"{name:80} {'' if result['good'] else 'failed'}", flush=True)

    def work(part: int) -> None:
        those = names[part :: options.jobs]
        isolate.run([str(word) for word in command], those, float("inf"), add)

    os.environ.update(environment(options.target))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    ordered = {name: found[name] for name in names if name in found}
    manifest = {"seed": seed, "count": options.draws, "draws": ordered}
    (out / "draws.json").write_text(json.dumps(manifest, indent=1) + "\n")
    failed = {name: one for name, one in ordered.items() if not one["good"]}
    return [f"{name}: {one.get('refused') or one.get('failure')}" for name, one in failed.items()]


PARTS = {
    "bench": build_bench,
    "cts": build_cts,
    "calls": build_calls,
    "suite": build_suite,
    "random": build_random,
    "tune": build_tune,
    "memory": build_memory,
    "small": build_small,
    "counters": build_counters,
    "draws": build_draws,
}


def runtime_for(host: str) -> Path:
    """The build directory with the runtime and its conformance suite for `host`, up to date."""
    if host == platform.machine():
        return TOP / "build"
    return dist.build(host, ["tessera_rt", "python_package", "runtime_cts"])


def copy_scripts(out: Path, runtime: Path) -> None:
    package = out / "tessera"
    shutil.rmtree(package, ignore_errors=True)
    left = shutil.ignore_patterns("__pycache__", "libtessera.so", "bench")  # no compiler
    source = runtime / "python/tessera"
    shutil.copytree(source, package, ignore=left, ignore_dangling_symlinks=True)
    scripts = [
        HERE / f"{n}.py"
        for n in ("check", "steps", "isolate", "driver", "bulk", "replay", "ranges")
    ]
    scripts += [BENCH / f"{name}.py" for name in BENCH_FILES]
    programs = ("run", "worker", "reports")  # all but what runs and tests them
    scripts += [
        file
        for file in (TOP / "integration/random").glob("*.py")
        if file.stem not in programs and not file.stem.startswith("test_")
    ]
    scripts += [TOP / "integration/cpu/harness.py"]  # it draws the suite's arrays again
    for file in scripts:
        shutil.copy2(file, out / file.name)


def commit() -> str:
    command = ["git", "-C", str(TOP), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def summary(failures: list[str]) -> list[str]:
    """Failures that differ only in numbers and names, once each, with how often they occurred."""
    kinds: dict[str, list[str]] = {}
    for failure in failures:
        reason = failure.partition(": ")[2]
        kinds.setdefault(re.sub(r"\d+|'[^']*'|\S*/\S*", "", reason)[:120], []).append(failure)
    ordered = sorted(kinds.values(), key=len, reverse=True)
    return [f"{len(same)} × {same[0]}" if len(same) > 1 else same[0] for same in ordered]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of what is compiled; default: all")
    default = ",".join(part for part in PARTS if part != "draws")  # as large as all the others
    parser.add_argument("--only", default=default, help="parts, and draws; default: %(default)s")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument(
        "--via", default="auto", choices=("auto", "tileir", "ptx"), help="the backend"
    )
    parser.add_argument("--host", default="x86_64", help="the machine that has the GPU")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seeds", default="0:100", help="random programs, or commit:3000; default %(default)s"
    )
    parser.add_argument(
        "--calls",
        type=int,
        default=2,
        help="sets of sizes of a random program, default %(default)s",
    )
    parser.add_argument(
        "--candidates", type=int, default=6, help="for each row, default %(default)s"
    )
    parser.add_argument(
        "--draws", type=int, default=300, help="drawn programs, default %(default)s"
    )
    parser.add_argument("--draw-seed", default="commit", help="a number, or commit (default)")
    parser.add_argument("--draw-part", default="1/1", metavar="K/N", help="every N-th of them")
    parser.add_argument("--out", type=Path, default=TOP / "build/gpu")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"expected parts of {', '.join(PARTS)}, found {', '.join(unknown)}")
    gpu = options.arch.startswith("sm_")
    backend = {"auto": "", "tileir": "tileir,", "ptx": "ptx,"}
    options.by = lambda via: f"{options.arch}:{backend[via]}{options.host}" if gpu else options.arch
    options.target = options.by(options.via)
    options.runtime = runtime_for(options.host)
    copy_scripts(options.out, options.runtime)
    failures = []
    for part in parts:
        start = time.perf_counter()
        (options.out / part).mkdir(exist_ok=True)
        failures += PARTS[part](options.out / part, options)
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
    built = {"commit": commit(), "target": options.target}
    (options.out / "built.json").write_text(json.dumps(built) + "\n")
    print(*summary(failures), sep="\n\n", file=sys.stderr)
    size = sum(file.stat().st_size for file in options.out.rglob("*") if file.is_file())
    print(f"{options.out}: {size / 1e6:.1f} MB, {len(failures)} failures")
    if size > LIMIT:
        print(f"that is more than the {LIMIT / 1e6:.0f} MB that travel", file=sys.stderr)
    return int(bool(failures) or size > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
