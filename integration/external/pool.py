"""Judges in processes of their own, so that a case that crashes or hangs is only one result.

A worker prints "ready", reads names of cases from standard input, and prints "result " and a JSON
list [name, kind, note] for each.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterable


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
