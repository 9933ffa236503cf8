#!/usr/bin/env python3
"""PyTorch modules drawn at random through torch.compile(backend="tessera"), beside eager mode and
Inductor.

Each result is compared with float64 and has to be about as exact as eager mode's. Processes prepare
cases in parallel: they compile and check them. Then one process at a time measures those that it
holds. A process that crashes or exceeds the time limit is replaced.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent)]

from draws.distributions import commit, seed_of  # noqa: E402

from operators import report  # noqa: E402

KINDS = ("operator", "block", "network")
ROUND = 15.0  # seconds in which a process takes further cases
START = 120.0  # seconds for a process to start and to import PyTorch
HOLD = 3  # cases that a process prepares before they are timed
Key = tuple[str, int]


def parse() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__)
    add = made.add_argument
    add("--seed", default="commit", help="a number, or commit (default): the hash of the commit")
    add("--count", type=int, default=200, help="how many are drawn, default %(default)s")
    add("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    add("--only", nargs="+", default=[], metavar="NAME", help="the beginnings of names: o012 conv")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--dtype", choices=("fp32", "bf16", "fp16"), default="fp32")
    add("--part", default="1/1", metavar="K/N", help="every N-th case, from the K-th on")
    add("--jobs", type=int, help="processes that prepare cases; default 1, on a GPU 8")
    add("--threads", type=int, default=1, help="of a CPU")
    add("--timeout", type=float, default=60.0, help="seconds for each step of a case")
    add("--budget", type=float, default=1e9, metavar="SECONDS", help="stop in this time")
    add("--no-peer", action="store_true", help="without Inductor, which compiles for long")
    add("--table", type=Path, metavar="FILE.md", help="write the results there, as Markdown")
    add("--json", type=Path, help="write each result there at once")
    add("--list", action="store_true", help="print the cases and exit")
    options = made.parse_args()
    try:
        options.seed = seed_of(options.seed)
        first, parts = map(int, options.part.split("/"))
    except ValueError as error:
        made.error(str(error))
    options.of_part = (first - 1, parts)
    options.jobs = options.jobs or (8 if options.device == "cuda" else 1)
    return options


def selected(options: argparse.Namespace) -> list[Key]:
    from operators.programs import draw_one, plan

    first, parts = options.of_part
    keys = plan(options.count, options.kind)[first::parts]
    if not options.only:
        return keys
    if all(re.fullmatch("[obn][0-9]{3}", text) for text in options.only):
        return [key for key in keys if f"{key[0][0]}{key[1]:03}" in options.only]

    def is_wanted(key: Key) -> bool:
        name = draw_one(options.seed, *key, options.device).name
        return any(name.startswith(text) or name[5:].startswith(text) for text in options.only)

    return [key for key in keys if is_wanted(key)]


class Ended(Exception):
    """A process crashed or was stopped."""


class Process:
    """A worker process and the cases that it holds."""

    def __init__(self, settings: Any, log: Path):
        self.settings, self.log = settings, log
        self.held: list[Key] = []
        self.process: Any = None

    def _start(self) -> None:
        from operators import measure

        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.log.write_text("")
        words = (theirs, self.settings, str(self.log))
        self.process = context.Process(target=measure.serve, args=words, daemon=True)
        self.process.start()
        theirs.close()
        self.answer(START)

    def ask(self, *words: Any) -> None:
        """Starts the process if there is none. A process that cannot start fails the case."""
        if self.process is None:
            self._start()
        try:
            self.connection.send(words)
        except OSError:
            self.end("crashed")

    def answer(self, timeout: float) -> dict[str, Any]:
        try:
            if self.connection.poll(max(0.0, timeout)):
                return self.connection.recv()
        except (EOFError, OSError):
            self.end("crashed")
        self.end(f"no answer in {timeout:.0f} s")
        raise AssertionError

    def close(self) -> None:
        if self.process is not None:
            self.connection.close()
            self.process.join(5)
            self.process.kill()

    def end(self, reason: str) -> None:
        if reason == "crashed":
            self.process.join(5)
            tail = self.log.read_text(errors="replace").strip().splitlines()[-1:]
            reason = f"crashed, exit code {self.process.exitcode} {' '.join(tail)[:200]}"
        self.process.kill()
        self.process.join()
        self.process = None
        raise Ended(reason)


class Run:
    def __init__(self, options: argparse.Namespace, folder: Path):
        from operators.measure import Settings

        self.options = options
        self.queue = deque(selected(options))
        self.peerless: set[Key] = set()  # the peer crashed, or took too long
        self.total = len(self.queue)
        self.results: dict[Key, dict[str, Any]] = {}
        self.lock = threading.Lock()
        self.start = time.monotonic()
        # The last of the time is for what was prepared.
        self.end = self.start + options.budget
        self.last_prepare = self.end - min(20.0, 0.1 * options.budget)
        settings = Settings(options.seed, options.device, options.dtype, options.threads)
        logs = (folder / f"{index}.log" for index in range(options.jobs))
        self.processes = [Process(settings, log) for log in logs]

    def about(self) -> dict[str, Any]:
        import torch

        name = platform.machine()
        if self.options.device == "cuda":
            name = torch.cuda.get_device_name()
        words = {"machine": name, "torch": torch.__version__, "dtype": self.options.dtype}
        words |= {"commit": commit()[:7] or "unknown", "device": self.options.device}
        return words | {"seed": self.options.seed}

    def done(self, key: Key) -> None:
        """Prints and writes a result."""
        with self.lock:
            one = self.results[key]
            count = sum("finished" in other for other in self.results.values()) + 1
            one["finished"] = round(time.monotonic() - self.start, 1)
            print(f"{count:3}/{self.total} {report.line(one)}", flush=True)
            if self.options.json:
                text = {"seed": self.options.seed, "device": self.options.device}
                text |= {"dtype": self.options.dtype, "results": self.finished()}
                part = self.options.json.with_suffix(".part")
                part.write_text(json.dumps(text, indent=1) + "\n")
                part.replace(self.options.json)

    def finished(self) -> list[dict[str, Any]]:
        return [one for one in self.results.values() if "finished" in one]

    def left(self) -> float:
        return self.last_prepare - time.monotonic()

    def prepare(self, process: Process, until: float) -> None:
        """A process takes cases until its turn ends."""
        hold = HOLD if len(self.processes) > 1 else 1
        while len(process.held) < hold and time.monotonic() < until and self.left() > 0:
            with self.lock:
                if not self.queue:
                    return
                key = self.queue.popleft()
            self._prepare(process, key)

    def _prepare(self, process: Process, key: Key) -> None:
        one: dict[str, Any] = {"name": f"{key[0][0]}{key[1]:03}", "kind": key[0]}
        timeout = self.options.timeout
        peer = not self.options.no_peer and key not in self.peerless
        try:
            process.ask("prepare", *key, peer)
            one |= process.answer(min(2 * timeout, self.left()))
            one |= process.answer(min(timeout, self.left()))
            if "skipped" not in one and "failed" not in one:
                one |= process.answer(min(timeout, self.left()))
                process.held.append(key)
        except Ended as error:
            self.give_back(process)
            if self.left() <= 0:
                return
            if "error" in one:  # the peer is at fault
                with self.lock:
                    self.peerless.add(key)
                    self.queue.appendleft(key)
                return
            one["failed"] = str(error)
        self.results[key] = one
        if key not in process.held:
            self.done(key)

    def give_back(self, process: Process) -> None:
        """What a process held is prepared again by others."""
        with self.lock:
            self.queue.extendleft(process.held)
            process.held = []

    def measure(self, process: Process) -> None:
        while process.held:
            key = process.held.pop(0)
            try:
                process.ask("time", *key)
                limit = min(self.options.timeout, self.end - time.monotonic())
                self.results[key] |= process.answer(limit)
            except Ended as error:
                self.give_back(process)
                if time.monotonic() >= self.end:
                    return
                self.results[key]["failed"] = f"timing: {error}"
            self.done(key)

    def all(self) -> None:
        while self.queue and self.left() > 0:
            until = time.monotonic() + ROUND
            threads = [
                threading.Thread(target=self.prepare, args=(one, until)) for one in self.processes
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for process in self.processes:
                self.measure(process)


def main() -> int:
    options = parse()
    # Processes compile in parallel, so each has one thread for it.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["TESSERA_NUM_THREADS"] = str(options.threads)
    if options.list:
        from operators.programs import draw_one

        for key in selected(options):
            case = draw_one(options.seed, *key, options.device)
            size = f"{case.flops / 1e9:9.3g} GFLOP {case.bytes / 2**20:9.3g} MiB"
            print(f"{size}  {case.name}: {case}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, Path(folder))
        print(f"seed {options.seed}, {run.total} cases\n    {'':4}{report.head()}")
        try:
            run.all()
        except KeyboardInterrupt:
            print("interrupted")
        found = run.finished()
        print(report.whole(found))
        seconds = time.monotonic() - run.start
        print(f"{len(found)} of {run.total} cases in {seconds:.0f} s, seed {options.seed}")
        if options.table:
            options.table.write_text(report.markdown(run.about(), found))
        for process in run.processes:
            process.close()
    return 1 if any("failed" in one for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
