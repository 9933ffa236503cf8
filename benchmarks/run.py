#!/usr/bin/env python3
"""`make bench`: Tessera and the peers that are installed, timed in one interleaved run.

    benchmarks/run.py [--only TEXT…] [--threads 1,2] [--quick] [--seconds S] [--clock wall|cpu]
                      [--json FILE] [--list]

Every number of threads has a process of its own, so that all libraries are told it in the way they
prefer. In that process contenders take turns (harness.py). A row is one comparison: our median, the
peer's, the ratio peer / ours with its confidence interval, the same of the fastest calls, and the
target. Results go to benchmarks/results/ as JSON. PyTorch takes part where Python can import it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
PACKAGE = (
    HERE.parent / "build" / "python"
)  # where the tree's Python environment is not the one that runs this
sys.path.append(str(PACKAGE))

import report  # noqa: E402

MARKS = {True: "ok", False: "short", None: ""}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="TEXT",
        default=[],
        help="benchmarks whose name has one of these",
    )
    parser.add_argument("--threads", default="1,2", help="numbers of threads, default 1,2")
    parser.add_argument("--quick", action="store_true", help="fewer shapes, less time for each")
    parser.add_argument(
        "--seconds", type=float, help="for each row; default 2, or 0.5 with --quick"
    )
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: time of the calling thread, for one thread on a busy machine",
    )
    parser.add_argument("--json", type=Path, help="where results go; default benchmarks/results/")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.threads = [int(text) for text in arguments.threads.split(",")]
    if arguments.clock == "cpu" and arguments.threads != [1]:
        parser.error("--clock cpu sees one thread only: add --threads 1")
    arguments.seconds = arguments.seconds or (0.5 if arguments.quick else 2.0)
    return arguments


# -- the process that measures --------------------------------------------------------------------


def selected(arguments: argparse.Namespace) -> tuple[list, list]:
    """Cases and figures that the command line asks for."""
    import latency
    from kernels import attention, chain, linear, matmul, precision, rows

    def keep(item) -> bool:
        named = not arguments.only or any(text in item.title for text in arguments.only)
        return named and (item.quick or not arguments.quick)

    modules = (matmul, attention, rows, linear, chain, precision)
    cases = [case for module in modules for case in module.cases() if keep(case)]
    figures = [
        one for one in [*latency.figures(arguments.clock), *latency.memory_figures()] if keep(one)
    ]
    return cases, figures if arguments.threads[0] == 1 else []


def send(kind: str, **fields) -> None:
    print(json.dumps({"kind": kind, **fields}), flush=True)


def run_case(case, arguments: argparse.Namespace) -> None:
    from harness import OURS, measure

    start = time.perf_counter()
    prepared = case.prepare()
    if wrong := prepared.check():
        send("error", title=case.title, text=wrong)
        return
    clock = time.thread_time if arguments.clock == "cpu" else time.perf_counter
    timing = measure(prepared.calls, arguments.seconds, clock=clock)
    targets = []
    for target in case.targets:
        present = [name for name in target.contenders if name in timing.rounds]
        if not present:
            continue
        peer = min(present, key=timing.median)
        ratio, low, high = timing.ratio(peer)
        targets.append(
            {
                "against": peer,
                "seconds": timing.median(peer),
                "ratio": ratio,
                "low": low,
                "high": high,
                "best_ratio": timing.best_ratio(peer),
                "target": target.ratio,
            }
        )
    send(
        "case",
        group=case.group,
        title=case.title,
        seconds=timing.median(OURS),
        flops=case.flops,
        bytes=case.bytes,
        rounds=len(timing.rounds[OURS]),
        targets=targets,
        medians={n: timing.median(n) for n in timing.rounds},
        best=timing.best,
        spent=time.perf_counter() - start,
    )


def work(arguments: argparse.Namespace) -> int:
    """Measures what is selected with one number of threads; sends results as lines of JSON."""
    from peers import openblas, pytorch

    for peer in (openblas, pytorch):
        peer.set_threads(arguments.threads[0])
    cases, figures = selected(arguments)
    import latency
    import numpy
    import tessera

    versions = {"tessera": tessera.__version__, "numpy": numpy.__version__}
    versions |= {"openblas": openblas.description()} if openblas.available() else {}
    versions |= {"torch": pytorch.description()} if pytorch.available() else {}
    send("start", total=len(cases) + len(figures), versions=versions)
    for case in cases:
        send("running", title=case.title)
        try:
            run_case(case, arguments)
        except tessera.TesseraError as error:
            send("error", title=case.title, text=str(error))
    for figure in figures:
        send("running", title=figure.title)
        try:
            value, least, greatest = latency.summary(figure.measure())
        except (tessera.TesseraError, subprocess.CalledProcessError) as error:
            send("error", title=figure.title, text=str(error))
            continue
        send(
            "figure",
            group=figure.group,
            title=figure.title,
            unit=figure.unit,
            value=value,
            low=least,
            high=greatest,
            limit=figure.limit,
        )
    return 0


# -- the process that shows -----------------------------------------------------------------------


def show_case(table: report.Table, result: dict) -> None:
    title, ours = result["title"], report.seconds_text(result["seconds"])
    rate = report.rate_text(result["flops"], result["bytes"], result["seconds"])
    if not result["targets"]:
        table.row([title, ours, rate, "no peer", *[""] * 6], None)
    for one in result["targets"]:
        good = one["ratio"] >= one["target"]
        interval = f"{one['low']:.2f} .. {one['high']:.2f}"
        table.row(
            [
                title,
                ours,
                rate,
                one["against"],
                report.seconds_text(one["seconds"]),
                f"{one['ratio']:.2f}",
                interval,
                f"{one['best_ratio']:.2f}",
                f">= {one['target']:g}",
                MARKS[good],
            ],
            good,
        )
        title = ours = rate = ""


def show_figure(table: report.Table, result: dict) -> None:
    good = None if result["limit"] is None else result["value"] <= result["limit"]
    digits = 1 if result["unit"] else 0
    limit = "" if result["limit"] is None else f"<= {result['limit']:g}"
    cells = [result["title"], "", "", result["unit"], "", f"{result['value']:.{digits}f}"]
    cells += [f"{result['low']:.{digits}f} .. {result['high']:.{digits}f}", "", limit, MARKS[good]]
    table.row(cells, good)


def run_threads(
    arguments: argparse.Namespace, threads: int, table: report.Table, results: dict
) -> int:
    """Runs the measuring process for one number of threads and shows what it sends."""
    command = [sys.executable, str(HERE / "run.py"), "--worker", "--threads", str(threads)]
    command += ["--clock", arguments.clock, "--seconds", str(arguments.seconds)] + (
        ["--quick"] if arguments.quick else []
    )
    command += ["--only", *arguments.only] if arguments.only else []
    names = ("TESSERA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = dict(os.environ, **{name: str(threads) for name in names})
    environment["OPENBLAS_THREAD_TIMEOUT"] = "22"  # 2^22 ticks, about 2 ms: see harness.py
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [os.environ.get("PYTHONPATH"), str(PACKAGE)])
    )
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    group = None
    for text in worker.stdout:
        try:
            message = json.loads(text)
        except ValueError:
            table.line(text.rstrip())
            continue
        kind = message.pop("kind")
        if kind == "start":
            table.total, table.done = message["total"], 0
            results["versions"] = message["versions"]
            versions = ", ".join(
                f"{name} {version}" for name, version in message["versions"].items()
            )
            table.header(f"{threads} thread{'s' if threads > 1 else ''}: {versions}")
        elif kind == "running":
            table.progress(message["title"])
        else:
            table.done += 1
            results["rows"].append({"kind": kind, "threads": threads, **message})
            if kind == "error":
                table.line(f"{message['title']}: {message['text']}", "red")
            elif kind == "case":
                if group not in (None, message["group"]):
                    table.line("")
                group = message["group"]
                show_case(table, message)
            else:
                show_figure(table, message)
    return worker.wait()


def main() -> int:
    arguments = parse_arguments()
    if arguments.worker:
        return work(arguments)
    if arguments.list:
        arguments.threads = [1]
        for items in selected(arguments):
            print(*(item.title for item in items), sep="\n")
        return 0
    results: dict = {
        "commit": report.commit(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": report.machine(),
        "clock": arguments.clock,
        "rows": [],
    }
    machine = results["machine"]
    print(f"{machine['processor']}, {machine['cores']} cores; commit {results['commit']}")
    if machine["load"] > 0.5:
        print(
            report.paint(
                f"the machine is busy (load {machine['load']:.1f}): medians are noisy, see 'best'",
                "red",
            )
        )
    table = report.Table(0)
    status = 0
    for threads in arguments.threads:
        status |= run_threads(arguments, threads, table, results)
    path = (
        arguments.json
        or HERE / "results" / f"{results['time'].replace(':', '')}-{results['commit']}.json"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    table.line(f"\nresults: {path}")
    return 1 if status or any(row["kind"] == "error" for row in results["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
