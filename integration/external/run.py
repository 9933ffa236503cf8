#!/usr/bin/env python3
"""Judges the language by PyTorch's operator database (`make test-external`).

    run.py [--only NAME…] [--types TYPE…] [--limit N] [--jobs N] [--report FILE]
           [--keep | --again] [--tables]

Every entry of the database that is an operation of the language is called with the database's
reference inputs (as a function) and sample inputs (as a method, an operator, under its synonyms),
in every type that both have, and compared with PyTorch. Error inputs, and invalid calls that
PyTorch rejects, must raise. Gradients of the sample inputs are compared with PyTorch's and with
finite differences, in float64. Tasks that the report has for this build are not run again, so that an
interrupted run can be resumed. The other judges run after it, and `--tables` writes the
committed results (results.md, gradients.md), unless only some entries or types were requested.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import tables
from exclusions import EXCLUSIONS
from tables import ORDERS, TYPES

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.append(str(TOP / "integration/random"))

import reports  # noqa: E402

TIME_LIMIT = 3600  # seconds for one task on a busy machine; worker.py limits its processor time
SHARE = {"values": 0.02, "gradients": 0.01}  # of samples that may be excluded


def fingerprint(limit: int) -> str:
    """Identifies the build: results of another one do not count."""
    digest = hashlib.sha256(str(limit).encode())
    for path in sorted(
        [
            *HERE.glob("*.py"),
            *(TOP / "build/python/tessera").glob("*.so"),
            *(TOP / "build/lib").glob("*.so*"),
        ]
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Worker:
    """A process that judges one task after the other; a process that ends is replaced."""

    def __init__(self, scratch: str, limit: int):
        self.command = [sys.executable, str(HERE / "worker.py"), str(limit)]
        # PyTorch creates samples on a visible GPU; the CPU is judged.
        self.environment = {
            **os.environ,
            "TESSERA_CACHE": scratch,
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONPATH": f"{TOP / 'build/python'}:{HERE}",
        }
        self.process: subprocess.Popen | None = None

    def run(self, task: str) -> dict:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self.process
        timer = threading.Timer(TIME_LIMIT, process.kill)
        timer.start()
        try:
            process.stdin.write(task + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            return json.loads(line)
        status = process.wait()
        return {"task": task, "failed": 1, "messages": [f"the process ended with status {status}"]}

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()


def tasks() -> list[str]:
    environment = {**os.environ, "PYTHONPATH": f"{TOP / 'build/python'}:{HERE}"}
    done = subprocess.run(
        [sys.executable, str(HERE / "worker.py"), "--list"],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if done.returncode:
        sys.exit(f"run.py: the database cannot be read\n{done.stderr[-2000:]}")
    return done.stdout.split("\n")[:-1]


def read(report: Path, build: str, keep: bool) -> dict[str, dict]:
    """The report's results for this build; with `keep`, also those that passed with another one."""
    results: dict[str, dict] = {}
    for line in reports.lines(report):
        if line["build"] == build or (keep and not line.get("failed")):
            results[line["task"]] = line
        else:
            results.pop(line["task"], None)
    return results


def run(
    wanted: list[str], report: Path, jobs: int, limit: int, keep: bool, again: bool
) -> dict[str, dict]:
    build = fingerprint(limit)
    results = {} if again else read(report, build, keep)
    left: queue.SimpleQueue[str] = queue.SimpleQueue()
    pending = [task for task in wanted if task not in results]
    for task in pending:
        left.put(task)
    report.parent.mkdir(parents=True, exist_ok=True)
    lock, started, shown = threading.Lock(), time.monotonic(), [0.0]

    def progress() -> None:
        done = len(pending) - left.qsize()
        if sys.stderr.isatty() or time.monotonic() - shown[0] > 30 or done == len(pending):
            shown[0] = time.monotonic()
            counts = tables.total(results.values())
            end = "\r" if sys.stderr.isatty() else "\n"
            print(
                f"{done}/{len(pending)} tasks, {counts['passed']} samples passed, {counts['failed']} failed, "
                f"{time.monotonic() - started:.0f} s ",
                end=end,
                file=sys.stderr,
                flush=True,
            )

    def work(scratch: str) -> None:
        worker = Worker(scratch, limit)
        while True:
            try:
                task = left.get_nowait()
            except queue.Empty:
                break
            line = {**worker.run(task), "build": build}
            with lock, open(report, "a") as out:
                print(json.dumps(line), file=out)
                results[task] = line
                progress()
        worker.close()

    with tempfile.TemporaryDirectory(prefix="tessera-external-") as scratch:
        threads = [
            threading.Thread(target=work, args=(scratch,)) for _ in range(min(jobs, len(pending)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {task: results[task] for task in wanted if task in results}


def others() -> list[tuple[str, bool]]:
    """The last lines of the other judges, and whether they passed."""
    said = []
    for judge in ("special", "cases", "accuracy"):
        done = subprocess.run(
            [sys.executable, str(HERE / f"{judge}.py")],
            text=True,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(TOP / "build/python")},
        )
        print(done.stdout, end="")
        said.append(
            (
                f"`{judge}.py`: {(done.stdout.splitlines() or ['it ended early'])[-1]}",
                done.returncode == 0,
            )
        )
    return said


def failures(results: dict[str, dict]) -> list[str]:
    """One line per kind of failure: messages of an entry that differ only in numbers are one
    kind."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for task, line in results.items():
        entry, dtype = task.rsplit("|", 1)
        for message in line.get("messages", []):
            message = re.sub(r"<external sample \d+>:\d+:\d+: ", "", message)
            kind = re.sub(
                r"-?\d+(\.\d+)?(e[-+]?\d+)?|nan|inf|\(.*?\)|\[.*?\]|int\d+|u?float\d+",
                "",
                message.split("|")[0],
            )
            kinds.setdefault(f"{entry} {kind}", []).append((dtype, message))
    return [
        f"{key.split(' ')[0]} [{' '.join(dict.fromkeys(dtype for dtype, _ in found))}] ×{len(found)}: {found[0][1]}"
        for key, found in kinds.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--only", nargs="+", default=[], help="names of entries, without nn.functional."
    )
    parser.add_argument(
        "--types",
        nargs="+",
        default=[],
        choices=(*TYPES, *ORDERS),
        help="element types, errors, or first and second gradients",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes, default one per core"
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=TOP / "build/external/report.jsonl",
        help="one line of JSON per task",
    )
    parser.add_argument(
        "--limit", type=int, default=0, help="samples of each form of a task, for a quick look"
    )
    parser.add_argument(
        "--keep", action="store_true", help="tasks that passed with another build are not run again"
    )
    parser.add_argument("--again", action="store_true", help="run what the report has already")
    parser.add_argument("--tables", action="store_true", help="write the results as Markdown")
    arguments = parser.parse_args()
    wanted = [
        task
        for task in tasks()
        if not arguments.only or task.split("|")[0].removeprefix("nn.functional.") in arguments.only
    ]
    wanted = [
        task for task in wanted if not arguments.types or tables.type_of(task) in arguments.types
    ]
    results = run(
        wanted, arguments.report, arguments.jobs, arguments.limit, arguments.keep, arguments.again
    )
    parts = tables.parts(results)
    print(
        *failures(results),
        *(f"{name}: {tables.summary(one)}" for name, one in parts.items()),
        sep="\n",
    )
    unnamed = {
        name for line in results.values() for name in line.get("reasons", {})
    } - EXCLUSIONS.keys()
    if unnamed:
        print("exclusions without a reason:", ", ".join(sorted(unnamed)))
    is_whole = not arguments.only and not arguments.types
    beside = others() if is_whole else []
    if arguments.tables and is_whole:
        import torch

        page = tables.values(
            parts["values"], [text for text, _ in beside], torch.__version__, arguments.limit
        )
        (HERE / "results.md").write_text(page)
    if arguments.tables and not arguments.only and "gradients" in parts:
        import torch

        page = tables.gradients(parts["gradients"], torch.__version__, arguments.limit)
        (HERE / "gradients.md").write_text(page)
    good = all([is_good(name, one, not arguments.only) for name, one in parts.items()])
    return 0 if parts and good and not unnamed and all(passed for _, passed in beside) else 1


def is_good(name: str, results: dict[str, dict], is_whole: bool) -> bool:
    """Whether samples passed, none failed, and few were excluded."""
    counts = tables.total(results.values())
    judged = counts["passed"] + counts["failed"] + counts["excluded"]
    if not counts["passed"]:
        print(f"{name}: no sample passed: nothing was judged")
    few = not is_whole or counts["excluded"] <= SHARE[name] * judged
    if not few:
        print(f"{name}: more than {100 * SHARE[name]:.0f} % of the samples are excluded")
    return bool(counts["passed"]) and not counts["failed"] and few


if __name__ == "__main__":
    sys.exit(main())
