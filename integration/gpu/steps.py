"""The steps of the check: the items of each one, and how an item runs.

A step's items are found in the copied files (build.py), so a smaller `make gpu` is a smaller check.
A result says whether the item passed; `unsupported` gives a reason instead, if this machine cannot
judge it; `failure` means that the process may be unusable now.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")


def missing_torch() -> str | None:
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if torch.cuda.is_available() else "there is no GPU that PyTorch can use"


class Step:
    name: str
    title: str
    verbose = True  # print a line for each item, not only for those that are wrong

    def missing(self) -> str | None:
        """Why the step cannot run on this machine."""
        import driver

        return driver.missing()

    def names(self) -> list[str]:
        raise NotImplementedError

    def prepare(self, names: list[str], deadline: float) -> bool:
        """Work that is done once before the items, outside the process that runs them; returns
        whether there was any."""
        return False

    def run(self, name: str, sustained: float) -> dict:
        """One item, with this many seconds of load for timed work."""
        raise NotImplementedError

    def settle(self, results: dict[str, dict]) -> str:
        """Judges results again that depend on those of other items; says by what, if there are
        any."""
        return ""

    def line(self, name: str, result: dict) -> str:
        for key in ("failure", "wrong", "refused", "unsupported"):
            if key in result:
                return f"{name:44} {key}: {result[key].splitlines()[0][:160]}"
        return f"{name:44} {'right' if result['good'] else 'WRONG'}"


class Replay(Step):
    """Recorded calls with their allowed results."""

    verbose = False

    def __init__(self, name: str, title: str):
        self.name, self.title = name, title

    @functools.cached_property
    def archives(self) -> list:
        import replay

        return [replay.Archive(path) for path in sorted((HERE / self.name).glob("*.zip"))]

    def names(self) -> list[str]:
        return [name for archive in self.archives for name in archive.cases]

    def run(self, name: str, sustained: float) -> dict:
        import replay

        (archive,) = (archive for archive in self.archives if name in archive.cases)
        return replay.run(archive, name)


class Sanitizer(Step):
    """A selection of the suite's calls under NVIDIA's compute-sanitizer."""

    name = "sanitizer"
    title = "compute-sanitizer over a selection of the suite"
    count = 240
    seconds = 60.0  # for one tool

    def missing(self) -> str | None:
        return super().missing() or (
            None if self.program() else "compute-sanitizer is not installed"
        )

    @staticmethod
    def program() -> str | None:
        folders = [*sorted(Path("/usr/local").glob("cuda*/bin")), Path("/opt/cuda/bin")]
        path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)])
        return shutil.which("compute-sanitizer", path=path)

    def names(self) -> list[str]:
        return list(SANITIZERS) if STEPS["suite"].names() else []

    def cases(self) -> dict[str, dict]:
        """Those of the suite that were not rejected."""
        all_of_them = (pair for one in STEPS["suite"].archives for pair in one.cases.items())
        return {name: case for name, case in all_of_them if "bundle" in case}

    def selection(self, without_bulk: bool) -> list[str]:
        """Calls spread evenly over the suite."""
        able = [
            name for name, case in self.cases().items() if not (without_bulk and case.get("bulk"))
        ]
        return able[:: max(1, len(able) // self.count)][: self.count]

    def sees_bulk(self) -> bool:
        """Whether initcheck tracks memory that bulk copies write; not every release of it does."""
        command = [self.program(), "--tool", "initcheck", sys.executable, str(HERE / "bulk.py")]
        found = {}
        for how in ("plain", "bulk"):
            done = subprocess.run([*command, how], capture_output=True, text=True)
            found[how] = "Uninitialized" in done.stdout
            if done.returncode or found["plain"]:
                raise RuntimeError(f"the kernels of bulk.py: {done.stdout}{done.stderr}")
        return not found["bulk"]

    def run(self, name: str, sustained: float) -> dict:
        """One tool over the selection; its output follows the name of a call."""
        import isolate

        results: dict[str, dict] = {}
        relayed = any(case.get("bulk") for case in self.cases().values())
        blind = name == "initcheck" and relayed and not self.sees_bulk()
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            command = [self.program(), "--tool", name]
            # Driver errors that the runtime expects and handles are not errors.
            command += ["--report-api-errors", "no"] if name == "memcheck" else []
            command += [sys.executable, str(HERE / "check.py"), "--tell", "--worker", "suite"]
            end = time.monotonic() + self.seconds
            left = isolate.run(command, self.selection(blind), end, results.__setitem__, output)
            output.seek(0)
            lines = output.read().splitlines()
        reported = findings(lines, isolate.MARK)
        bad = [call for call, one in results.items() if not one["good"]]
        if (
            not reported
            and not any(one["good"] for one in results.values())
            and any("not supported" in line for line in lines)
        ):
            return {"good": True, "unsupported": "\n".join(lines[:3]), "calls": 0}
        result = {
            "calls": len(results),
            "left": len(left),
            "findings": reported,
            "without_bulk": blind,
        }
        if reported or bad:
            result["wrong"] = "; ".join([*(f"{k}: {v[0]}" for k, v in reported.items()), *bad])
        return {**result, "good": not reported and not bad and bool(results)}

    def line(self, name: str, result: dict) -> str:
        apart = (
            ", none that relays by bulk copies: it does not see them"
            if result.get("without_bulk")
            else ""
        )
        return f"{super().line(name, result)} ({result.get('calls', 0)} calls{apart})"


def findings(lines: list[str], mark: str) -> dict[str, list[str]]:
    """The findings of compute-sanitizer, by call: the first lines of each call's findings."""
    found: dict[str, list[str]] = {}
    call = ""
    for line in lines:
        if line.startswith(mark):
            call = line.removeprefix(mark)
        elif re.match(r"=+ +(Invalid|Error|Uninitialized|Barrier|Warning|Race|Program hit)", line):
            found.setdefault(call, []).append(line.lstrip("= "))
        elif call in found and re.match(r"=+  +(at|and|by|Access) ", line) and len(found[call]) < 8:
            found[call].append(line.lstrip("= "))
    return found


class Conformance(Step):
    """The runtime's own suite: the CPU's driver and CUDA's pass the same tests."""

    name = "cts"
    title = "the runtime's conformance suite"
    program = HERE / "cts/runtime_cts"

    def names(self) -> list[str]:
        return ["runtime_cts"] if self.program.exists() else []

    def run(self, name: str, sustained: float) -> dict:
        environment = dict(os.environ)
        if cubins := sorted(self.program.parent.glob("*.cubin")):
            environment["TESSERA_CTS_TILEIR"] = str(cubins[0])
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = [str(self.program), f"--gtest_output=json:{report}"]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            reported = done.stdout.splitlines()[-4:] + done.stderr.splitlines()[-4:]
            if not report.exists():
                return {
                    "good": False,
                    "wrong": f"exit status {done.returncode}",
                    "output": reported,
                }
            suites = json.loads(report.read_text())["testsuites"]
        tests = [(f"{s['name']}.{t['name']}", t) for s in suites for t in s["testsuite"]]
        failed = {
            title: test["failures"][0]["failure"][:400]
            for title, test in tests
            if "failures" in test
        }
        result = {
            "good": done.returncode == 0 and not failed and bool(tests),
            "tests": len(tests),
            "skipped": [title for title, test in tests if test.get("result") == "SKIPPED"],
            "failed": failed,
            "properties": {k: v for _, t in tests for k, v in t.items() if k.endswith("_ns")},
        }
        if failed:
            result["wrong"] = ", ".join(failed)
        return result

    def line(self, name: str, result: dict) -> str:
        counts = f"{result.get('tests', 0)} tests, {len(result.get('skipped', []))} skipped"
        return f"{super().line(name, result)} ({counts}) {result.get('properties') or ''}"


class Calls(Step):
    """Calls with PyTorch's tensors: streams, graphs, errors, threads, processes
    (integration/gpu_calls)."""

    name = "calls"
    title = "calls with PyTorch's tensors, each part in a process"
    script = HERE / "calls/check.py"

    def missing(self) -> str | None:
        return missing_torch()

    def names(self) -> list[str]:
        text = self.script.read_text() if self.script.exists() else ""
        return re.findall(r"^def check_(\w+)\(", text, re.MULTILINE)

    def run(self, name: str, sustained: float) -> dict:
        command = [sys.executable, str(self.script), "--part", name]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=120
        )
        reported = (done.stdout + done.stderr).splitlines()
        result = {"good": done.returncode == 0, "output": reported[-20:]}
        if done.returncode:
            result["wrong"] = reported[-1] if reported else f"exit status {done.returncode}"
        return result


class Bench(Step):
    """The benchmark, with its peers."""

    name = "bench"
    title = "error/bound, our burst, speeds and then ratios burst/sustained (! short of the goal)"

    @property
    def rows(self) -> list:
        from rows import MEASURED

        return MEASURED

    def missing(self) -> str | None:
        return missing_torch()

    def names(self) -> list[str]:
        from rows import EXTRA

        rows = [*self.rows, *EXTRA]
        return [row.name for row in rows if (HERE / self.name / row.bundle).exists()]

    def compiled(self, names: list[str]) -> list[str]:
        """Those of the items with a peer that PyTorch compiles."""
        return [
            row.name
            for row in self.rows
            if row.name in names
            and any(peer in ("compile", "flex") for goal in row.goals for peer in goal.against)
        ]

    def prepare(self, names: list[str], deadline: float) -> bool:
        """Compiles PyTorch's forms in several processes; the disk cache keeps them."""
        compiled = self.compiled(names)
        script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import steps; steps.STEPS[{self.name!r}].warm(sys.argv[1:])"
        groups = [group for group in (compiled[i::8] for i in range(8)) if group]
        workers = [
            subprocess.Popen([sys.executable, "-c", script, *group], stderr=subprocess.DEVNULL)
            for group in groups
        ]
        for worker in workers:
            try:
                worker.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
        return bool(workers)

    def run(self, name: str, sustained: float) -> dict:
        import bench
        from rows import EXTRA

        (row,) = (row for row in [*self.rows, *EXTRA] if row.name == name)
        if row in EXTRA:
            return bench.launch(row, HERE / self.name / row.bundle)
        return bench.run(row, HERE / self.name / row.bundle, sustained)

    def settle(self, results: dict[str, dict]) -> str:
        """Rows are compared with the fastest copy of the whole run."""
        import bench

        copies = bench.fastest_copies(results.values())
        for row in self.rows:
            if "times" in results.get(row.name, {}):
                bench.judge(row, results[row.name], copies)
        speeds = ", ".join(f"{rate:.0f} GB/s {kind}" for kind, rate in copies.items())
        return f"the fastest copy of the run: {speeds}" if speeds else ""

    def line(self, name: str, result: dict) -> str:
        import bench

        return bench.line(name, result) if "times" in result else super().line(name, result)

    def warm(self, names: list[str]) -> None:
        import bench

        for row in self.rows:
            if row.name in names:
                try:
                    bench.warm(row)
                except Exception:  # the measurement tells
                    pass


class Memory(Bench):
    """Memory-bound rows, on the PTX backend."""

    name = "memory"

    @property
    def rows(self) -> list:
        from memory import MEMORY_ROWS

        return MEMORY_ROWS


class Own(Bench):
    """Rows that their module, which has the step's name, runs and shows itself."""

    table = ""  # what the module calls its rows
    shown = ""  # what a result has that the module shows

    @property
    def module(self):
        return importlib.import_module(self.name)

    @property
    def rows(self) -> list:
        return getattr(self.module, self.table)

    def run(self, name: str, sustained: float) -> dict:
        (row,) = (row for row in self.rows if row.name == name)
        return self.module.run(row, HERE / self.name / row.bundle)

    def line(self, name: str, result: dict) -> str:
        return (
            self.module.line(name, result) if self.shown in result else super().line(name, result)
        )


class Small(Own):
    """A few microseconds of work, with its launch."""

    name, table, shown = "small", "SMALL_ROWS", "small"
    title = "error/bound, microseconds of a call, then ratios (! behind the fastest peer)"


class Counters(Own):
    """The compiler's report on kernels beside the counters of Nsight Compute."""

    name, table, shown = "counters", "COUNTED_ROWS", "kernels"
    title = "reported/counted"

    def missing(self) -> str | None:
        return missing_torch() or self.module.missing()

    def prepare(self, names: list[str], deadline: float) -> bool:
        return False


class Tune(Bench):
    """Candidates beside the cost model's first choice."""

    name = "tune"
    title = "speed of the cost model's first choice over the best candidate's"

    @functools.cached_property
    def candidates(self) -> dict[str, dict]:
        """By row: its kernel's signature and the file of each choice, the cost model's first."""
        path = HERE / "tune/candidates.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def names(self) -> list[str]:
        return list(self.candidates)

    def prepare(self, names: list[str], deadline: float) -> bool:
        return False

    def run(self, name: str, sustained: float) -> dict:
        import bench
        from rows import ROWS

        (row,) = (row for row in ROWS if row.name == name)
        known = self.candidates[name]
        files = {choice: HERE / "tune" / file for choice, file in known["files"].items()}
        return {**bench.tune(row, files), "signature": known["signature"]}

    def line(self, name: str, result: dict) -> str:
        if "best" not in result:
            return super().line(name, result)
        return f"{name:44} {result['first_of_best']:.3f}  {result['first']}  best {result['best']}"


class Draws(Bench):
    """Programs and shapes drawn at random (benchmarks/draws), beside the best peer."""

    name = "draws"
    title = "ratio to the best peer, our time, its time"
    folder = HERE / "draws"
    chunk = 60  # items whose peers are compiled before any runs: a part of a run takes minutes

    @property
    def module(self):
        return importlib.import_module("draws.gpu")

    def names(self) -> list[str]:
        path = self.folder / "draws.json"
        return list(json.loads(path.read_text())["draws"]) if path.exists() else []

    def compiled(self, names: list[str]) -> list[str]:
        return names[: self.chunk]

    def prepare(self, names: list[str], deadline: float) -> bool:
        """In half of the time at most."""
        now = time.monotonic()
        return super().prepare(names, now + (deadline - now) / 2)

    def run(self, name: str, sustained: float) -> dict:
        return self.module.run(self.folder, name)

    def settle(self, results: dict[str, dict]) -> str:
        return ""

    def line(self, name: str, result: dict) -> str:
        shown = "medians" in result
        return self.module.line(name, result) if shown else Step.line(self, name, result)

    def warm(self, names: list[str]) -> None:
        for name in names:
            self.module.warm(self.folder, name)


STEPS = {
    step.name: step
    for step in (
        Replay("suite", "the CPU's suite"),
        Replay("random", "random programs"),
        Conformance(),
        Calls(),
        Sanitizer(),
        Bench(),
        Memory(),
        Small(),
        Counters(),
        Tune(),
        Draws(),
    )
}


def about() -> dict:
    """The identity of the results."""
    import driver

    built = json.loads((HERE / "built.json").read_text())
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {**built, "device": driver.name(), "time": now}
