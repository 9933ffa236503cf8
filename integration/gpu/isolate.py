"""Runs items one after another in a separate process, and in a new one after each failure.

An error on the GPU ends all work of its process. The worker writes a line when an item begins and
one when it ends; the parent reads them as they come, so that completed results are kept when time
runs out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Callable

_SILENCE = 150.0  # seconds for one item, compilation by peers included
_POLL = 0.05
MARK = "item: "


def run(
    command: list[str],
    names: list[str],
    deadline: float,
    report: Callable[[str, dict], None],
    output: IO | None = None,
) -> list[str]:
    """Runs `command JOB LOG` until every name has a result; returns those that were not reached in
    time."""
    rest = list(names)
    with tempfile.TemporaryDirectory() as folder:
        while rest and time.monotonic() < deadline:
            job, log = Path(folder) / "job", Path(folder) / f"{len(rest)}.log"
            job.write_text(json.dumps(rest))
            log.touch()
            worker = subprocess.Popen([*command, str(job), str(log)], stdout=output)
            done = _follow(worker, log, deadline, report)
            rest = [name for name in rest if name not in done]
            if not done and rest and time.monotonic() < deadline:  # it did not come to the first
                status = f"the worker ended with {worker.returncode}"
                report(rest.pop(0), {"good": False, "failure": status})
    return rest


def _follow(
    worker: subprocess.Popen, log: Path, deadline: float, report: Callable[[str, dict], None]
) -> set[str]:
    """Reads a worker's log until it ends, is silent for too long, or the time is over."""
    done: set[str] = set()
    begun: str | None = None
    heard = time.monotonic()
    with log.open() as file:
        while True:
            ended = worker.poll() is not None
            for text in iter(file.readline, ""):
                heard = time.monotonic()
                entry = json.loads(text)
                begun = entry["name"]
                if "result" in entry:
                    report(begun, entry["result"])
                    done.add(begun)
                    begun = None
            if ended:
                if begun:
                    failure = f"the process ended with {worker.returncode}"
                    report(begun, {"good": False, "failure": failure})
                    done.add(begun)
                return done
            now = time.monotonic()
            if now > deadline or now - heard > _SILENCE:
                worker.kill()
                worker.wait()
                if begun and now <= deadline:
                    failure = f"no result in {_SILENCE:.0f} s"
                    report(begun, {"good": False, "failure": failure})
                    done.add(begun)
                return done
            time.sleep(_POLL)


def work(job: Path, log: Path, item: Callable[[str], dict], tell: bool = False) -> None:
    """The worker: ends at the first item that raises, as the GPU may be in any state then. `tell`:
    names are also printed, before the output of a tool around the worker."""
    with log.open("a") as file:
        for name in json.loads(job.read_text()):
            if tell:
                print(f"{MARK}{name}", flush=True)
            print(json.dumps({"name": name}), file=file, flush=True)
            start = time.monotonic()
            try:
                result = item(name)
            except Exception as error:  # whatever it is, the other items continue
                failure = f"{type(error).__name__}: {error}"
                result = {"good": False, "failure": failure}
            result["seconds"] = round(time.monotonic() - start, 3)
            print(json.dumps({"name": name, "result": result}), file=file, flush=True)
            if "failure" in result:
                sys.exit(0)
