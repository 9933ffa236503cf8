"""The command line of `tessera bench`, and its output.

Every number of threads has a separate process (worker.py), so that each library is configured in
its preferred way. A row is one comparison: our median, its fraction of the machine's roofline, the
peer's median, the ratio peer / ours with its confidence interval, the same for the fastest calls,
and the target. Runs are stored as JSON (history.py); --compare shows the changes between two of
them, --report draws them all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from . import roofline, functions, history, judge, table

_PACKAGE = Path(os.path.abspath(__file__)).parents[
    2
]  # links are not resolved: libraries are beside them
BACKENDS = ("tileir", "ptx")
EXAMPLES = """
examples:
  tessera bench attention softmax --quick         benchmarks of this tree whose names contain these words
  tessera bench model.py::mlp --arg x=fp32[512,768] --arg w=fp32[768,3072]
                                                  a function of yours, next to PyTorch on the same source
  tessera bench --compare old.json new.json       what became slower; exit status 1 if a row did
  tessera bench --compare ptx,tileir softmax      both GPU backends, next to each other
  tessera bench --report report.html              a page with all results so far
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tessera bench",
        description="Time Tessera and the installed peers, alternating in one run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add(
        "names",
        nargs="*",
        metavar="NAME",
        help="a part of a benchmark's name, or FILE::FUNCTION",
    )
    add("--only", nargs="+", metavar="NAME", default=[], help=argparse.SUPPRESS)
    add(
        "--arg",
        "-a",
        action="append",
        default=[],
        help="an argument of FUNCTION: x=fp32[64,128], n=3",
    )
    add("--peer", action="append", default=[], metavar="[NAME=]FILE::FUNCTION",
        help="another contender; if NAME starts with torch, it gets PyTorch tensors, else NumPy arrays")  # fmt: skip
    add(
        "--target", default="cpu", help="cpu (default), cuda, or with --compare a GPU such as sm_90"
    )
    add("--threads", default="1,2", help="numbers of threads, default 1,2")
    add("--quick", action="store_true", help="fewer shapes and less time per row")
    add("--seconds", type=float, help="time per row; default 2, or 0.5 with --quick")
    add("--clock", choices=["wall", "cpu"], default="wall",
        help="cpu: CPU time of the calling thread, for --threads 1 on a busy machine")  # fmt: skip
    add("--compare", nargs="+", metavar="OLD NEW | BACKEND,BACKEND",
        help="two runs (files, or folders: their newest run), or tileir,ptx on a GPU")  # fmt: skip
    add("--least", type=float, default=100 * judge.LEAST, metavar="PERCENT",
        help="ignore smaller changes, default %(default)g")  # fmt: skip
    add(
        "--json",
        type=Path,
        help=f"file or folder for results; default {history.folder()}",
    )
    add("--html", type=Path, help="also write a report of all results in that folder")
    add("--report", type=Path, metavar="HTML", help="write that report and exit")
    add("--retire", nargs="+", type=Path, metavar="FILE", default=[],
        help="keep one line of each of these results in their folder's history, and remove them")  # fmt: skip
    add("--list", action="store_true", help="print the names and exit")
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
        backends = arguments.compare[0].split(",")
        arguments.backends = (
            backends if set(backends) <= set(BACKENDS) and len(set(backends)) == 2 else None
        )
        # A backend list is one word: names follow it.
        if arguments.backends:
            arguments.names = arguments.compare[1:] + arguments.names
        elif len(arguments.compare) != 2:
            made.error("--compare: expected OLD NEW, or two of the backends tileir,ptx")
    elif arguments.target not in ("cpu", "cuda"):
        made.error(f"--target: expected cpu or cuda, found '{arguments.target}'")
    arguments.seconds = arguments.seconds or (0.5 if arguments.quick else 2.0)
    return arguments


# -- measuring ------------------------------------------------------------------------------------


class Shown:
    """Shows the results of worker processes on the terminal and adds them to the run's results."""

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
            reported = ", ".join(
                f"{name} {version}" for name, version in message["versions"].items()
            )
            self.title = f"{threads} thread{'s' if threads > 1 else ''}: {reported}"
        elif kind == "running":
            self.table.progress(message["title"])
        elif kind == "wrong":
            self.failed = True
            print(f"tessera: error: {message['text']}", file=sys.stderr)
        elif kind == "ceiling":
            self.table.done += 1
            if message["ceiling"]:
                self.run["roofline"].append(message["ceiling"])
                self.title += f"\n{roofline.text(message['ceiling'])}"
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
    environment.setdefault("TESSERA_TIER", "2")  # compiled code is timed
    environment["OPENBLAS_THREAD_TIMEOUT"] = "22"  # 2^22 ticks, about 2 ms: see harness.py
    known = [str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(known)
    return environment


def run_threads(arguments: argparse.Namespace, threads: int, shown: Shown) -> bool:
    """Runs the measuring process for one number of threads; returns whether it succeeded."""
    job = {**vars(arguments), "threads": [threads]}
    job = {key: value for key, value in job.items() if not isinstance(value, Path)}
    command = [sys.executable, "-m", "tessera.bench", "--worker", json.dumps(job)]
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
    head = [
        "benchmark",
        "threads",
        "old ms",
        "new ms",
        "change",
        "95 % interval",
        "p",
        "beside",
        "",
    ]
    colours = {"slower": "red", "faster": "green"}
    rows = [_change_cells(one) for one in found.changes]
    shades = [colours.get(one.verdict) for one in found.changes]
    print(*table.aligned([head, *rows], shades), sep="\n")
    for names, which in ((found.only_old, "first"), (found.only_new, "second")):
        if names:
            print(table.paint(f"in the {which} run alone: {', '.join(names)}", "dim"))
    counts = [
        f"{sum(one.verdict == v for one in found.changes)} {v}"
        for v in ("slower", "faster", "same", "unknown")
    ]
    least = math.expm1(found.floor) * 100
    print(f"\n{', '.join(counts)}; changes below {least:.1f} % are noise or nobody's concern")
    return 1 if found.slower else 0


def write_page(results: Path, output: Path) -> None:
    from . import page

    written = page.write(results, output)
    print(f"report: {output} ({written / 1e3:.0f} KB)")


def retire(files: list[Path]) -> int:
    """Results that newer ones replace become lines of the history; nothing is removed if one cannot
    be read."""
    from . import past

    try:
        for path in files:
            past.line(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"tessera: error: {path}: expected results of a run ({error})", file=sys.stderr)
        return 2
    for path in files:
        print(f"{path.name}: {past.retire(path)}")
    return 0


def main(words: list[str] | None = None) -> int:
    arguments = parse(words)
    if arguments.worker:
        from .worker import work

        return work(argparse.Namespace(**json.loads(arguments.worker)))
    if arguments.compare:
        if not arguments.backends:
            return compare(arguments)
        from .backends import compare_backends

        return compare_backends(arguments)
    if arguments.list:
        from .worker import selected

        arguments.threads = [1]
        for items in selected(arguments):
            print(*(item.title for item in items), sep="\n")
        return 0
    if arguments.retire:
        return retire(arguments.retire)
    if arguments.report:
        folder = arguments.json or history.folder()
        if not folder.is_dir():
            print(f"tessera: error: {folder}: expected a folder of results", file=sys.stderr)
            return 2
        write_page(folder, arguments.report)
        return 0
    if arguments.target == "cuda":
        from .backends import measure_gpu

        return measure_gpu(arguments)
    return measure(arguments)
