#!/usr/bin/env python3
"""Draws programs and shapes at random, checks them, and times them beside the best peer.

Everything is determined by the seed, by default the commit's hash. A repeated run continues where
the last one of the same commit and seed stopped; Ctrl-C keeps what was measured.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import platform
import shlex
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(TOP / "integration/gpu")]
sys.path.append(str(TOP / "build/python"))

import isolate  # noqa: E402

from draws import report, results  # noqa: E402
from draws.distributions import COUNT, Draw, draws, seed_of  # noqa: E402
from tessera.bench import command, history, plots, table  # noqa: E402

RESULTS = TOP / "benchmarks/results/draws"
WORK = TOP / "build/draws"  # caches of compiled code, and the programs
TESSERA = TOP / "build/bin/tessera"
OVERHEAD = "overhead"
CHUNK = 10  # draws that are compiled, then measured
EXAMPLES = """
examples:
  make draws                                       all draws of this commit, one and two threads
  make draws DRAWS_ARGS="--minutes 9"              a part; the next one continues it
  make draws DRAWS_ARGS="--part 2/8 --threads 1"   the second eighth
  make draws DRAWS_ARGS="--seed 7 --only softmax --list"
"""


def parse(words: list[str] | None = None) -> argparse.Namespace:
    made = argparse.ArgumentParser(
        prog="make draws",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--seed", default="commit", help="a number, or commit (default): the hash of the commit")
    add("--count", type=int, default=COUNT, help="how many are drawn, default %(default)s")
    add("--only", default="", metavar="TEXT,…", help="draws whose names contain one of these texts")
    add("--part", default="1/1", metavar="K/N", help="every N-th draw, from the K-th on")
    add("--minutes", type=float, default=1e6, help="stop after this time")
    add("--threads", default="1,2", help="numbers of threads, default %(default)s")
    add("--seconds", type=float, default=0.5, help="of timing for a draw, default %(default)s")
    add("--compile", type=int, default=10**6, metavar="N",
        help="torch.compile is a peer of the first N draws, default: of all; it compiles for long")  # fmt: skip
    add("--json", type=Path, help=f"the file of the results; default in {RESULTS.name}/")
    add("--again", action="store_true", help="measure again what was measured")
    add("--list", action="store_true", help="print the drawn programs and exit")
    add("--source", action="store_true", help="with --list: also their text")
    add("--report", action="store_true", help="print the report of what was measured and exit")
    options = made.parse_args(words)
    try:
        options.threads = [int(text) for text in options.threads.split(",")]
        options.seed = seed_of(options.seed)
        first, parts = map(int, options.part.split("/"))
        if not 1 <= first <= parts:
            raise ValueError(f"--part {options.part}: expected K/N with K from 1 to N")
    except ValueError as error:
        made.error(str(error))
    options.of_part = (first - 1, parts)
    return options


def selected(options: argparse.Namespace) -> list[Draw]:
    first, parts = options.of_part
    found = draws(options.seed, options.count)[first::parts]
    return [one for one in found if any(text in one.name for text in options.only.split(","))]


def show(one: Draw, source: bool) -> None:
    size = f"{one.program.flops / 1e9:9.3g} GFLOP {one.program.bytes / 2**20:9.3g} MiB"
    print(f"{size}  {','.join(one.program.regimes):18} {one.name}")
    if source:
        print(one.program.source(), f"# {shlex.join(one.program.flags())}\n", sep="\n")


class Run:
    """The results so far, on disk after each one."""

    def __init__(self, options: argparse.Namespace):
        about = history.start("wall")
        arch, commit = platform.machine(), about["commit"]
        self.path = options.json or RESULTS / f"cpu-{commit}-{arch}.json"
        self.data = {
            "target": f"cpu, {arch}",
            "device": about["machine"]["processor"],
            "commit": commit,
            "seed": options.seed,
            "time": about["time"],
            "machine": about["machine"],
            "draws": [],
            "prepared": {},
            "results": {},
            "explained": {},
        }
        if self.path.exists():
            old = json.loads(self.path.read_text())
            if (old["commit"], old["seed"]) == (commit, options.seed):
                self.data = old
            else:
                print(f"{self.path} is of commit {old['commit']}, seed {old['seed']}: replaced")
        known = {one["name"]: one for one in self.data["draws"]}
        known |= {d.name: report.describe(d) for d in draws(options.seed, options.count)}
        self.data["draws"] = list(known.values())

    def of(self, kind: str, threads: int) -> dict[str, dict]:
        label = f"{threads} thread{'s' if threads > 1 else ''}"
        return self.data[kind].setdefault(label, {})

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(history._rounded(self.data), indent=1) + "\n")
        part.replace(self.path)

    def finish(self, drawn: list[Draw]) -> None:
        """The table and the plot beside the results, with reasons for the worst."""
        by_name = {one.name: one for one in drawn}
        for found in self.data["results"].values():
            for name in results.worst(found):
                if name not in self.data["explained"] and name in by_name:
                    text = report.explain(by_name[name], TESSERA, WORK / "programs")
                    self.data["explained"][name] = "\n".join(report.reasons(text))
        self.write()
        text = report.whole(self.data)
        self.path.with_suffix(".txt").write_text(text)
        self.path.with_suffix(".svg").write_text(plots.ratios(self.data))
        print(f"\n{text}\nresults: {self.path}")


def environment(threads: int) -> list[str]:
    """Variables of the workers: as of `tessera bench`, with caches that parts of a run share."""
    found = command._environment(threads)
    found |= {"TESSERA_CACHE": str(WORK / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    found |= {"TORCHINDUCTOR_CACHE_DIR": str(WORK / "inductor")}
    return [f"{key}={text}" for key, text in found.items() if os.environ.get(key) != text]


def work(
    run: Run,
    options: argparse.Namespace,
    bar: table.Table,
    names: list[str],
    threads: int,
    kind: str,
    end: float,
) -> None:
    """Runs a chunk in processes of its own; `kind`: prepared or results."""
    words = ["--seed", options.seed, "--threads", threads, "--folder", WORK / "programs"]
    words += ["--seconds", options.seconds]
    words += ["--prepare"] if kind == "prepared" else []

    def add(name: str, result: dict) -> None:
        run.of(kind, threads)[name] = result
        if kind == "results":
            run.write()
            bar.done += 1
            bar.line(line(name, threads, result), "red" if not result["good"] else "dim")
        bar.progress(f"{'measured' if kind == 'results' else 'compiled'} {name}")

    for compiled in (True, False):
        those = [name for name in names if wants_compile(run, options, name, threads) == compiled]
        full = ["env", *environment(threads), sys.executable, HERE / "measure.py", *words]
        full += ["--compile"] if compiled else []
        isolate.run([str(word) for word in full], those, end, add)


def wants_compile(run: Run, options: argparse.Namespace, name: str, threads: int) -> bool:
    """Whether torch.compile is a peer: one that could not be compiled in time is none."""
    if name == OVERHEAD or int(name.split("_")[0]) >= options.compile:
        return False
    prepared = run.of("prepared", threads).get(name, {"good": True})
    return prepared["good"] and "compile" not in prepared.get("failed", {})


def line(name: str, threads: int, result: dict) -> str:
    if not result["good"]:
        return f"{threads}  0.1   {name}  {results.error(result).splitlines()[0][:150]}"
    if "ratio" not in result:
        return f"{threads}        {name}  {result.get('overhead_us', 'no peer')}"
    ours, theirs = (result["medians"][who] * 1e3 for who in ("tessera", result["against"]))
    times = f"{ours:.4g} ms, {result['against']} {theirs:.4g} ms"
    return f"{threads} {result['ratio']:5.2f}  {name}  {times}"


def measure(run: Run, options: argparse.Namespace, drawn: list[Draw]) -> None:
    end = time.monotonic() + 60 * options.minutes
    names = [OVERHEAD, *(one.name for one in drawn)]

    def rest(kind: str, threads: int) -> list[str]:
        return [name for name in names if options.again or name not in run.of(kind, threads)]

    todo = {threads: rest("results", threads) for threads in options.threads}
    bar = table.Table(sum(map(len, todo.values())))
    bar.progress("compiling")
    while any(todo.values()) and time.monotonic() < end:
        chunks = {threads: left[:CHUNK] for threads, left in todo.items()}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            for threads, chunk in chunks.items():
                unknown = [n for n in chunk if n in rest("prepared", threads) and n != OVERHEAD]
                if unknown:
                    jobs.append(
                        pool.submit(work, run, options, bar, unknown, threads, "prepared", end)
                    )
            for job in jobs:
                job.result()
        for threads, chunk in chunks.items():
            work(run, options, bar, chunk, threads, "results", end)
        todo = {threads: left[CHUNK:] for threads, left in todo.items()}


def main() -> int:
    options = parse()
    drawn = selected(options)
    if options.list:
        for one in drawn:
            show(one, options.source)
        return 0
    run = Run(options)
    if not options.report:
        try:
            measure(run, options, drawn)
        except KeyboardInterrupt:
            print("interrupted: the results so far are kept")
    run.finish(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
