#!/usr/bin/env python3
"""Judges the language by PyTorch's operator database (`make test-external`).

    run.py [--only NAME…] [--types TYPE…] [--limit N] [--jobs N] [--report FILE]
           [--keep | --again] [--table FILE]

Every entry of the database that is an operation of the language is called with the database's
reference inputs (as a function) and sample inputs (as a method, an operator, under its synonyms),
in every type that both have, and compared with PyTorch. Error inputs, and invalid calls that
PyTorch rejects, must raise. Tasks that the report has for this build are not run again, so that an
interrupted run can be resumed. The other judges run after it, and `--table` writes the committed
results, unless only some entries or types were requested.
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
from collections import Counter
from pathlib import Path

from exclusions import EXCLUSIONS

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.append(str(TOP / "integration/random"))

import reports  # noqa: E402

TIME_LIMIT = 3600  # seconds for one task on a busy machine; worker.py limits its processor time
SHARE = 0.02  # of samples that may be excluded
TYPES = (
    "float64",
    "float32",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "errors",
)
SHORT = ("fp64", "fp32", "bf16", "fp16", "i64", "i32", "i16", "i8", "u8", "bool", "errors")


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
            counts = total(results.values())
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


def total(lines) -> Counter:
    counts: Counter = Counter(passed=0, failed=0, excluded=0, refused=0)
    for line in lines:
        for status in ("passed", "failed", "excluded", "refused"):
            counts[status] += line.get(status, 0)
    return counts


def summary(results: dict[str, dict]) -> str:
    counts = total(results.values())
    judged = counts["passed"] + counts["failed"] + counts["excluded"]
    operations = {task.rsplit("|", 1)[0] for task in results}
    share = 100 * counts["excluded"] / max(judged, 1)
    return (
        f"{len(operations)} entries, {judged} samples: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['excluded']} excluded ({share:.2f} %)"
    )


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


def table(results: dict[str, dict], beside: list[str], version: str, limit: int) -> str:
    """The committed page: a row per entry, a column per type."""
    rows: dict[str, dict[str, dict]] = {}
    reasons: Counter = Counter()
    for task, line in results.items():
        name, variant, dtype = task.split("|")
        rows.setdefault(f"{name} ({variant})" if variant else name, {})[dtype] = line
        reasons.update(line.get("reasons", {}))

    def cell(line: dict | None) -> str:
        if line is None:
            return ""
        passed, failed, excluded = (line.get(key, 0) for key in ("passed", "failed", "excluded"))
        text = f"{passed}" if not failed else f"**{passed}/{passed + failed}**"
        return (text if passed or failed else "") + (f" −{excluded}" if excluded else "")

    lines = [
        "# PyTorch's operator database",
        "",
        f"Written by `make test-external` with PyTorch {version}: {summary(results)}.",
        "",
        "A cell counts the samples that passed; **a/b** says that a of b did, −n that n were excluded. The last column",
        "has the error inputs and wrong calls made of samples. An empty cell: PyTorch has no such samples."
        + (
            f" Of each form and type, at least {limit} samples ran, or all that there are."
            if limit
            else ""
        ),
        "",
        "| entry | " + " | ".join(SHORT) + " |",
        "| --- |" + " ---: |" * len(SHORT),
    ]
    for name in sorted(rows, key=str.lower):
        lines.append(
            f"| {name} | " + " | ".join(cell(rows[name].get(dtype)) for dtype in TYPES) + " |"
        )
    lines += ["", "## Exclusions", "", "| behaviour | samples | reason |", "| --- | ---: | --- |"]
    lines += [
        f"| {name} | {reasons[name]} | {EXCLUSIONS[name]} |" for name in EXCLUSIONS if reasons[name]
    ]
    lines += [
        "",
        "## Beside the database",
        "",
        "Special values by PyTorch, signs of zeros included; NumPy's cases and validation sets for what the database lacks.",
        "",
    ]
    lines += [f"- {text}" for text in beside]
    return "\n".join(lines) + "\n"


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
        "--types", nargs="+", default=[], choices=TYPES, help="element types, or errors"
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
    parser.add_argument("--table", type=Path, help="write the results as Markdown")
    arguments = parser.parse_args()
    wanted = [
        task
        for task in tasks()
        if not arguments.only or task.split("|")[0].removeprefix("nn.functional.") in arguments.only
    ]
    wanted = [
        task for task in wanted if not arguments.types or task.rsplit("|", 1)[1] in arguments.types
    ]
    results = run(
        wanted, arguments.report, arguments.jobs, arguments.limit, arguments.keep, arguments.again
    )
    print(*failures(results), summary(results), sep="\n")
    unnamed = {
        name for line in results.values() for name in line.get("reasons", {})
    } - EXCLUSIONS.keys()
    if unnamed:
        print("exclusions without a reason:", ", ".join(sorted(unnamed)))
    beside = others() if not arguments.only and not arguments.types else []
    if arguments.table and beside:
        import torch

        page = table(results, [text for text, _ in beside], torch.__version__, arguments.limit)
        arguments.table.write_text(page)
    counts = total(results.values())
    judged = counts["passed"] + counts["failed"] + counts["excluded"]
    unhappy = [text for text, good in beside if not good]
    if not counts["passed"]:
        print("no sample passed: nothing was judged")
    bad = counts["failed"] or not counts["passed"] or unnamed or unhappy
    return 1 if bad or (not arguments.only and counts["excluded"] > SHARE * judged) else 0


if __name__ == "__main__":
    sys.exit(main())
