"""Judges in processes of their own, so that a case that crashes or hangs is only one result.

A worker prints "ready", reads names of cases from standard input, and prints "result " and a JSON
list [name, kind, note] for each.
"""

from __future__ import annotations

import argparse
import collections
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

#: What a case is told by: its kind and a note. These are findings.
BAD = ("wrong", "crash", "hang")


def serve(lines: Iterable[str], judge: Callable[[str], tuple[str, str]]) -> None:
    """The loop of a worker."""
    print("ready", flush=True)
    for line in lines:
        name = line.strip()
        try:
            answer = judge(name)
        except BaseException as error:  # a finding
            answer = ("crash", f"{type(error).__name__}: {error}"[:200])
        print("result " + json.dumps([name, *answer]), flush=True)


class Worker:
    def __init__(self, command: list[str], seconds: float) -> None:
        self.command, self.seconds = command, seconds
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: queue.Queue = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()
        while (line := self.lines.get()) != "ready\n":
            if line is None:
                raise SystemExit("a worker did not start")

    @staticmethod
    def _read(process: subprocess.Popen, lines: queue.Queue) -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def ask(self, name: str) -> list:
        if self.process is None:
            self.start()
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        end = time.monotonic() + self.seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.1, end - time.monotonic()))
            except queue.Empty:
                self.process.kill()
                self.process.wait()
                self.process = None
                return [name, "hang", f"more than {self.seconds} s"]
            if line is None:
                code = self.process.wait()
                self.process = None
                return [name, "crash", f"exit status {code}"]
            if line.startswith("result "):
                return json.loads(line.removeprefix("result "))


def run_all(
    names: list[str], jobs: int, command: list[str], seconds: float
) -> dict[str, tuple[str, str]]:
    waiting: queue.Queue = queue.Queue()
    for name in names:
        waiting.put(name)
    results: dict[str, tuple[str, str]] = {}

    def work() -> None:
        worker = Worker(command, seconds)
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                break
            name, kind, note = worker.ask(name)
            results[name] = (kind, note)
        if worker.process is not None:
            worker.process.stdin.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, help="the file of the table")
    parser.add_argument("--json", type=Path, help="each test's result")


def _counts(results: dict[str, tuple[str, str]], kinds: Sequence[str]) -> str:
    total = collections.Counter(kind for kind, _ in results.values())
    return ", ".join(f"{total[kind]} {kind}" for kind in kinds)


def table(
    results: dict[str, tuple[str, str]],
    operator_of: Callable[[str], str],
    kinds: Sequence[str],
    good: Sequence[str],
) -> str:
    """The counts, and for each operator its counts and the most frequent reason of what is not
    good."""
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    notes: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for name, (kind, note) in results.items():
        operator = operator_of(name)
        counts[operator][kind] += 1
        if kind not in good:
            notes[operator][note.replace("|", "\\|")] += 1
    text = f"| operator | {' | '.join(kinds)} | most frequent reason |\n"
    text += "| --- " * (len(kinds) + 2) + "|\n"
    for operator in sorted(counts):
        row = " | ".join(str(counts[operator][kind] or "") for kind in kinds)
        why = min(notes[operator], key=lambda note: (-notes[operator][note], note), default="")
        text += f"| {operator} | {row} | {why} |\n"
    return text


def head(title: str, script: str, what: str, results: dict, kinds: Sequence[str]) -> str:
    """The text before a table."""
    return (
        f"# {title}\n\nWritten by `integration/external/{script}`; do not edit.\n\n"
        f"{what}: {_counts(results, kinds)}.\n\n"
    )


def report(
    results: dict[str, tuple[str, str]],
    kinds: Sequence[str],
    options: argparse.Namespace,
    text: Callable[[], str],
) -> int:
    """Writes and prints results; the exit status."""
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, sort_keys=True))
    if options.table:
        options.table.write_text(text())
    print(_counts(results, kinds))
    bad = {name: one for name, one in results.items() if one[0] in BAD}
    for name, (kind, note) in sorted(bad.items()):
        print(f"{kind} {name}: {note}")
    return 1 if bad else 0
