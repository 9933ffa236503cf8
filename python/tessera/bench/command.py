"""The command line of `tessera bench`, and what it shows.

Every number of threads has a process of its own (worker.py), so that all libraries are told it in the way they
prefer. A row is one comparison: our median, how far it is from the machine's ceilings, the peer's median, the ratio
peer / ours with its confidence interval, the same of the fastest calls, and the target. Runs are kept as JSON
(history.py); --compare tells what changed between two of them, --report draws them all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from . import ceilings, functions, history, judge, table

_PACKAGE = Path(os.path.abspath(__file__)).parents[2]  # links are not followed: libraries lie beside them
ROADS = ("tileir", "ptx")
EXAMPLES = """
examples:
  tessera bench attention softmax --quick         our own benchmarks whose names have these words
  tessera bench model.py::mlp --arg x=fp32[512,768] --arg w=fp32[768,3072]
                                                  a function of yours, beside PyTorch on the same text
  tessera bench --compare old.json new.json       what became slower; exit status 1 if something did
  tessera bench --compare ptx,tileir softmax      both roads to a GPU, side by side
  tessera bench --report report.html              what was measured so far, drawn
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tessera bench",
        description="Times Tessera and the peers that are installed in one interleaved run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("names", nargs="*", metavar="NAME", help="parts of names of our benchmarks, or FILE::FUNCTION")
    add("--only", nargs="+", metavar="NAME", default=[], help=argparse.SUPPRESS)
    add("--arg", "-a", action="append", default=[], help="an argument of FUNCTION: x=fp32[64,128], n=3")
    add("--peer", action="append", default=[], metavar="[NAME=]FILE::FUNCTION",
        help="also time this; named torch… it gets tensors of PyTorch, else NumPy's arrays")  # fmt: skip
    add("--target", default="cpu", help="cpu (default), cuda, or with --compare a GPU such as sm_90")
    add("--threads", default="1,2", help="numbers of threads, default 1,2")
    add("--quick", action="store_true", help="fewer shapes, less time for each")
    add("--seconds", type=float, help="for each row; default 2, or 0.5 with --quick")
    add("--clock", choices=["wall", "cpu"], default="wall",
        help="cpu: time of the calling thread, for one thread on a busy machine")  # fmt: skip
    add("--compare", nargs="+", metavar="OLD NEW | ROAD,ROAD",
        help="two runs (files, or folders for the newest in them), or tileir,ptx on a GPU")  # fmt: skip
    add("--least", type=float, default=100 * judge.LEAST, metavar="PERCENT",
        help="a smaller change is none, default %(default)g")  # fmt: skip
    add("--json", type=Path, help=f"the file or folder that results go to; default {history.folder()}")
    add("--html", type=Path, help="then write a report of all results in that folder")
    add("--report", type=Path, metavar="HTML", help="write that report and leave")
    add("--list", action="store_true", help="print the names and leave")
    add("--worker", help=argparse.SUPPRESS)
    return made


def parse(words: list[str] | None) -> argparse.Namespace:
    made = parser()
    arguments = made.parse_args(words)
    arguments.names += arguments.only
    try:
        arguments.threads = [int(text) for text in arguments.threads.split(",")]
    except ValueError:
        made.error(f"--threads: expected numbers, found '{arguments.threads}'")
    if min(arguments.threads) < 1:
        made.error("--threads: expected positive numbers")
    if arguments.clock == "cpu" and arguments.threads != [1]:
        made.error("--clock cpu sees one thread only: add --threads 1")
    if arguments.compare:
        roads = arguments.compare[0].split(",")
        arguments.roads = roads if set(roads) <= set(ROADS) and len(set(roads)) == 2 else None
        # A road list takes one word: what follows it are names.
        if arguments.roads:
            arguments.names = arguments.compare[1:] + arguments.names
        elif len(arguments.compare) != 2:
            made.error("--compare: expected OLD NEW, or two of the roads tileir,ptx")
    elif arguments.target not in ("cpu", "cuda"):
        made.error(f"--target: expected cpu or cuda, found '{arguments.target}'")
    arguments.seconds = arguments.seconds or (0.5 if arguments.quick else 2.0)
    return arguments


# -- measuring ------------------------------------------------------------------------------------


class Shown:
    """What worker processes send, on the terminal and in the run's results."""

    def __init__(self, run: dict):
        self.run = run
        self.table = table.Table(0)
        self.group: str | None = None
        self.failed = False

    def take(self, threads: int, kind: str, message: dict) -> None:
        if kind == "start":
            self.table.total, self.table.done = message["total"], -1
            self.run["versions"] = message["versions"]
            self.group = None
            told = ", ".join(f"{name} {version}" for name, version in message["versions"].items())
            self.title = f"{threads} thread{'s' if threads > 1 else ''}: {told}"
        elif kind == "running":
            self.table.progress(message["title"])
        elif kind == "wrong":
            self.failed = True
            print(f"tessera: error: {message['text']}", file=sys.stderr)
        elif kind == "ceiling":
            self.table.done += 1
            if message["ceiling"]:
                self.run["ceilings"].append(message["ceiling"])
                self.title += f"\n{ceilings.text(message['ceiling'])}"
            self.table.header(self.title)
        else:
            self._row(threads, kind, message)

    def _row(self, threads: int, kind: str, message: dict) -> None:
        self.table.done += 1
        self.run["rows"].append({"kind": kind, "threads": threads, **message})
        if kind == "error":
            self.failed = True
            self.table.line(f"{message['title']}: {message['text']}", "red")
        elif kind == "figure":
            self.table.row(*table.figure_row(message))
        else:
            if self.group not in (None, message["group"]):
                self.table.line("")
            self.group = message["group"]
            for row in table.case_rows(message):
                self.table.row(*row)


def _environment(threads: int) -> dict[str, str]:
    names = ("TESSERA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = dict(os.environ, **{name: str(threads) for name in names})
    environment["OPENBLAS_THREAD_TIMEOUT"] = "22"  # 2^22 ticks, about 2 ms: see harness.py
    known = [str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(known)
    return environment


def run_threads(arguments: argparse.Namespace, threads: int, shown: Shown) -> bool:
    """Runs the measuring process for one number of threads; whether that went well."""
    told = {**vars(arguments), "threads": [threads]}
    told = {key: value for key, value in told.items() if not isinstance(value, Path)}
    command = [sys.executable, "-m", "tessera.bench", "--worker", json.dumps(told)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, env=_environment(threads), text=True)
    assert worker.stdout
    for text in worker.stdout:
        try:
            message = json.loads(text)
            kind = message.pop("kind")
        except (ValueError, AttributeError, KeyError):
            shown.table.line(text.rstrip())
            continue
        shown.take(threads, kind, message)
    return worker.wait() == 0


def measure(arguments: argparse.Namespace) -> int:
    programs = [name for name in arguments.names if functions.is_program(name)]
    run = history.start(arguments.clock, Path(programs[0].partition("::")[0]) if programs else None)
    machine = run["machine"]
    print(f"{machine['processor']}, {machine['cores']} cores; commit {run['commit']}")
    if machine["load"] > 0.5:
        busy = f"the machine is busy (load {machine['load']:.1f}): medians are noisy, see 'best'"
        print(table.paint(busy, "red"))
    shown = Shown(run)
    good = True
    for threads in arguments.threads:
        good = run_threads(arguments, threads, shown) and good
        if not good and not run["rows"]:
            return 1
    path = history.save(run, arguments.json)
    shown.table.line(f"\nresults: {path}")
    if arguments.html:
        write_page(path.parent, arguments.html)
    return 0 if good and not shown.failed else 1


# -- comparing and drawing ------------------------------------------------------------------------


def _change_cells(one: history.Change) -> list[str]:
    cells = [one.title, str(one.threads), *map(table.seconds_text, (one.old, one.new))]
    if one.shift is None:
        return [*cells, "", "", "", "", one.verdict]
    interval = " .. ".join(f"{(end - 1) * 100:+.1f}" for end in (one.shift.low, one.shift.high))
    return [*cells, one.shift.percent(), interval, f"{one.p:.3f}", one.against, one.verdict]


def compare(arguments: argparse.Namespace) -> int:
    """Exit status 1 if a row became slower, beyond noise."""
    try:
        old, new = (history.read(Path(text)) for text in arguments.compare)
    except ValueError as error:
        print(f"tessera: error: {error}", file=sys.stderr)
        return 2
    found = history.compare(old, new, arguments.least / 100)
    print(f"{old['commit']} of {old['time']} -> {new['commit']} of {new['time']}")
    if not found.same_machine:
        print(table.paint("the runs are of different machines: times tell little", "red"))
    head = ["benchmark", "threads", "old ms", "new ms", "change", "95 % interval", "p", "beside", ""]
    colours = {"slower": "red", "faster": "green"}
    rows = [_change_cells(one) for one in found.changes]
    shades = [colours.get(one.verdict) for one in found.changes]
    print(*table.aligned([head, *rows], shades), sep="\n")
    for names, which in ((found.only_old, "first"), (found.only_new, "second")):
        if names:
            print(table.paint(f"in the {which} run alone: {', '.join(names)}", "dim"))
    counts = [f"{sum(one.verdict == v for one in found.changes)} {v}" for v in ("slower", "faster", "same", "unknown")]
    least = math.expm1(found.floor) * 100
    print(f"\n{', '.join(counts)}; changes below {least:.1f} % are noise or nobody's concern")
    return 1 if found.slower else 0


def write_page(results: Path, output: Path) -> None:
    from . import page

    written = page.write(results, output)
    print(f"report: {output} ({written / 1e3:.0f} KB)")


def main(words: list[str] | None = None) -> int:
    arguments = parse(words)
    if arguments.worker:
        from .worker import work

        return work(argparse.Namespace(**json.loads(arguments.worker)))
    if arguments.compare:
        if not arguments.roads:
            return compare(arguments)
        from .roads import compare_roads

        return compare_roads(arguments)
    if arguments.list:
        from .worker import selected

        arguments.threads = [1]
        for items in selected(arguments):
            print(*(item.title for item in items), sep="\n")
        return 0
    if arguments.report:
        folder = arguments.json or history.folder()
        if not folder.is_dir():
            print(f"tessera: error: {folder}: expected a folder of results", file=sys.stderr)
            return 2
        write_page(folder, arguments.report)
        return 0
    if arguments.target == "cuda":
        from .roads import measure_gpu

        return measure_gpu(arguments)
    return measure(arguments)
