#!/usr/bin/env python3
"""Runs the test suites of a build and adds up their results.

    utils/test.py [SUITE…] [-k PATTERN] [-j N] [--sanitize address|thread]

Suites: unit (gtest programs), lit, fuzz (a short run of each fuzzer), python (pytest files of
integration/ and python/). PATTERN selects the tests whose name contains it. Programs run in
parallel, one per core; lit uses all cores. --sanitize uses the build of that name, build-address,
and the parts of the suites that are useful there (sanitizers.py). The last line is 'N passed, N
failed[, N skipped]'; the exit status is 1 if a test failed, if a report could not be read, or if a
suite ran no test at all.

The lines before it say why tests were skipped, first the tools that are missing on this machine.
Missing programs of the build are a failure, and so are those that `make test` installs if CI=true
is set.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from sanitizers import SANITIZERS, Sanitizer

TOP = Path(__file__).resolve().parent.parent
sys.path.append(str(TOP / "integration/random"))

import seeds  # noqa: E402

SUITES = ["unit", "lit", "fuzz", "python"]
SMOKE = {"source": 8000, "ir": 8000, "expressions": 20000, "bytecode": 20000, "bundle": 20000}
LIT = "/usr/lib/llvm-22/bin/lit"
TIME_LIMIT = 1800  # seconds for one program; a hang is a failure, not a stuck machine

# The phrases by which a skipped test says that something is missing. lit's features include others
# than programs, too.
MISSING = [
    re.compile(r"(?:^|: )([^:]*?) is not (?P<how>installed|built)"),
    re.compile(r"could not import '([\w.]+)'"),
    re.compile(r"unavailable features: (ptxas)\b"),
]
# Tools that `make test` does not install.
OPTIONAL = {
    "torch",
    "jax",
    "onnx",
    "mypy",
    "pyright",
    "basedpyright",
    "abi3audit",
    "nvJitLink",
    "CUDA's header",
}


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    output: str = ""  # shown when something failed
    failures: list[str] = field(default_factory=list)
    reasons: collections.Counter[str] = field(
        default_factory=collections.Counter
    )  # of skipped tests

    @property
    def count(self) -> int:
        return self.passed + self.failed + self.skipped

    def fail(self, what: str) -> None:
        self.failed += 1
        self.failures.append(what)

    def skip(self, reason: str) -> None:
        self.skipped += 1
        self.reasons[" ".join(reason.split()) or "no reason"] += 1

    def add(self, other: "Result") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.failures += other.failures
        self.reasons += other.reasons

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


@dataclass
class Program:
    """One process to run, and how to read its report."""

    suite: str
    name: str
    command: list[str]
    report: Path
    read: Callable[[Path], Result]
    may_be_empty: bool = False  # as when a pattern selects tests

    def run(self, environment: dict[str, str]) -> Result:
        start = time.monotonic()
        try:
            done = subprocess.run(
                self.command,
                cwd=TOP,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIME_LIMIT,
            )
            status, output = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as expired:
            status, output = -1, (expired.stdout or b"").decode(errors="replace")
            output += f"\nstopped after {TIME_LIMIT} s"
        try:
            result = self.read(self.report)
        except (OSError, LookupError, TypeError, ValueError, ElementTree.ParseError) as error:
            result = Result()
            result.fail(
                f"{self.name}: exit status {status}, and the report cannot be read: {error}"
            )
        # A crash after the last test. pytest's status 5 means that there was no test.
        if status not in (0, 5) and not result.failed:
            result.fail(f"{self.name}: exit status {status}")
        if not result.count and not self.may_be_empty:
            result.fail(f"{self.name}: no test ran")
        result.output = output
        result.seconds = time.monotonic() - start
        return result


def read_gtest(report: Path) -> Result:
    """A test that a pattern deselects is reported, too, as not run."""
    result = Result()
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            result.fail(f"{case.get('classname')}.{case.get('name')}")
        elif skipped is not None:
            result.skip(skipped.get("message", ""))
        elif case.get("status") == "run":
            result.passed += 1
        elif "DISABLED_" in f"{case.get('classname')}.{case.get('name')}":
            result.skip("disabled")
    return result


def read_lit(report: Path) -> Result:
    result = Result()
    for test in json.loads(report.read_text())["tests"]:
        code = test["code"]
        if code in ("PASS", "XFAIL", "FLAKYPASS"):
            result.passed += 1
        elif code in ("UNSUPPORTED", "SKIPPED"):
            result.skip(test.get("output", ""))
        elif code != "EXCLUDED":
            result.fail(test["name"])
    return result


def read_junit(report: Path) -> Result:
    result = Result()
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.fail(f"{case.get('classname')}::{case.get('name')}")
        elif skipped is not None:
            # For a whole file the element's text is a tuple of file, line and words.
            words = re.search(r"Skipped: (.*?)['\"]?\)?$", skipped.text or "")
            whole = words and skipped.get("message") == "collection skipped"
            result.skip(words[1] if whole else skipped.get("message", ""))
        else:
            result.passed += 1
    return result


def read_fuzz(report: Path) -> Result:
    read = json.loads(report.read_text())
    result = Result()
    if read["finding"]:
        result.fail(read["finding"])
    elif read["runs"] < read["wanted"]:
        result.fail(f"{report.stem}: {read['runs']} of {read['wanted']} inputs were tried")
    else:
        result.passed += 1
    return result


def missing(reason: str) -> tuple[str, bool] | None:
    """The missing part of a skipped test, and whether the build should have it."""
    for pattern in MISSING:
        if found := pattern.search(reason):
            return found[1], found.groupdict().get("how") == "built"
    return None


def tell_skipped(result: Result, strict: bool) -> list[str]:
    """The closing lines about skipped tests; a required part that is missing counts as a
    failure."""
    wants: dict[str, int] = collections.Counter()
    others: dict[str, int] = collections.Counter()
    failures = []
    for reason, count in result.reasons.items():
        want = missing(reason)
        if want is None:
            others[reason] += count
            continue
        wants[want[0]] += count
        if want[1] or strict and want[0] not in OPTIONAL:
            failures.append(want[0])
    for what in sorted(set(failures)):
        why = "where CI=true is set" if strict else "what is built"
        result.fail(f"{wants[what]} skipped for want of {what}, which must not be missing ({why})")
    lines = [f"skipped for want of {what}: {wants[what]}" for what in sorted(wants)]
    return lines + [f"skipped: {others[reason]}: {reason}" for reason in sorted(others)]


def unit_programs(build: Path, reports: Path, pattern: str) -> list[Program]:
    programs = []
    paths = [*(build / "unittests").glob("*"), *(build / "bin").glob("*_cts")]
    for path in sorted(paths):
        if path.is_file() and os.access(path, os.X_OK):
            report = reports / f"unit-{path.name}.xml"
            command = [str(path), f"--gtest_output=xml:{report}", "--gtest_brief=1"]
            if pattern:
                command.append(f"--gtest_filter=*{pattern}*")
            programs.append(Program("unit", path.name, command, report, read_gtest, bool(pattern)))
    return programs


def lit_programs(build: Path, reports: Path, pattern: str, jobs: int) -> list[Program]:
    report = reports / "lit.json"
    command = [LIT, "-sv", f"-j{jobs}", "--no-progress-bar", "-o", str(report), str(build / "test")]
    if pattern:
        command += ["--filter", pattern, "--allow-empty-runs"]
    return [Program("lit", "lit", command, report, read_lit, bool(pattern))]


def fuzz_programs(build: Path, reports: Path, pattern: str) -> list[Program]:
    programs = []
    for name, runs in SMOKE.items():
        report = reports / f"fuzz-{name}.json"
        command = [sys.executable, "fuzz/run.py", name, "--runs", str(runs), "--build", str(build)]
        if pattern in f"fuzz-{name}":
            command += ["--smoke", str(report)]
            programs.append(Program("fuzz", name, command, report, read_fuzz))
    return programs


def python_programs(reports: Path, pattern: str) -> list[Program]:
    programs = []
    files = [f for d in ("integration", "python") for f in sorted((TOP / d).rglob("test_*.py"))]
    for number, path in enumerate(files):
        report = reports / f"python-{number}.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
        command += ["-o", "empty_parameter_set_mode=fail_at_collect"]
        command += [f"--junitxml={report}", str(path.relative_to(TOP))]
        if pattern:
            command += ["-k", pattern]
        programs.append(Program("python", path.stem, command, report, read_junit, bool(pattern)))
    return programs


def run(programs: list[Program], jobs: int, environment: dict[str, str]) -> dict[str, Result]:
    """Runs the programs and returns the sum for each suite; prints one line per program."""
    suites: dict[str, Result] = {}
    with ThreadPoolExecutor(jobs) as pool:
        futures = [(p, pool.submit(p.run, environment)) for p in programs]
        for program, future in futures:
            result = future.result()
            suites.setdefault(program.suite, Result()).add(result)
            print(
                f"{program.suite:7} {program.name:32} {result.seconds:7.1f} s  {result}", flush=True
            )
            if result.failed:
                print(result.output.rstrip(), flush=True)
    return suites


def choose(suite: str, programs: list[Program], sanitizer: Sanitizer | None) -> list[Program]:
    """The programs that are useful for a sanitizer."""
    if not sanitizer:
        return programs
    if suite == "unit":
        return [p for p in programs if sanitizer.takes(sanitizer.unit, p.name)]
    if suite == "python":
        return [p for p in programs if any(sanitizer.takes(sanitizer.python, c) for c in p.command)]
    return programs if getattr(sanitizer, suite) else []


def read_reports(sanitizer: Sanitizer, folder: Path) -> Result:
    reports = sanitizer.reports(folder)
    for report in reports:
        print(report.rstrip(), flush=True)
    return Result(failed=len(reports), failures=[r.strip().splitlines()[-1] for r in reports])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)}; default: all"
    )
    parser.add_argument(
        "-k", dest="pattern", default="", help="only tests whose name contains this"
    )
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--sanitize", choices=[*SANITIZERS, ""], default="", help="an instrumented build"
    )
    arguments = parser.parse_args()
    wanted = arguments.suites or SUITES
    if unknown := set(wanted) - set(SUITES):
        parser.error(f"unknown suite {', '.join(sorted(unknown))}")
    sanitizer = SANITIZERS.get(arguments.sanitize)
    build = TOP / (f"build-{sanitizer.name}" if sanitizer else "build")

    with tempfile.TemporaryDirectory(prefix="tessera-test-") as scratch:
        reports = Path(scratch)
        # A separate cache: no test sees code of an earlier build.
        environment = dict(os.environ, TESSERA_CACHE=str(reports / "cache"), NO_COLOR="1")
        if sanitizer:
            environment["PYTHONPATH"] = str(build / "python")
            sanitizer.widen_stacks()
        totals: dict[str, Result] = {}
        start = time.monotonic()
        if "python" in wanted and not sanitizer:
            # New seeds for each commit; all files use the same.
            first = seeds.first()
            environment["TESSERA_FUZZ_FIRST"] = str(first)
            print(
                f"random programs: seeds from {first}, by the commit's hash; one again: {seeds.repeat()}",
                flush=True,
            )
        makers = {
            "unit": lambda: unit_programs(build, reports, arguments.pattern),
            "lit": lambda: lit_programs(build, reports, arguments.pattern, arguments.jobs),
            "fuzz": lambda: fuzz_programs(build, reports, arguments.pattern),
            "python": lambda: python_programs(reports, arguments.pattern),
        }
        # lit uses all cores, so it runs first and alone; the rest shares them.
        for suites in (["lit"], ["unit", "fuzz"], ["python"]):
            programs = []
            for suite in suites:
                if suite in wanted:
                    programs += choose(suite, makers[suite](), sanitizer)
            preload = suites != ["unit", "fuzz"]
            more = sanitizer.environment(reports, preload) if sanitizer else {}
            totals |= run(programs, 1 if suites == ["lit"] else arguments.jobs, environment | more)
        if sanitizer:
            totals["sanitizer"] = read_reports(sanitizer, reports)

    total = Result()
    for result in totals.values():
        total.add(result)
    ran = {suite for suite, result in totals.items() if result.passed or result.failed}
    for suite in wanted:
        if suite not in ran and not arguments.pattern and not sanitizer:
            total.fail(f"{suite}: no test of this suite ran")
    skipped = tell_skipped(total, os.environ.get("CI") == "true")
    if total.failures:
        print("\nfailed:", *total.failures, sep="\n  ")
    print("", *skipped, sep="\n")
    for what, why in (sanitizer.left_out if sanitizer else {}).items():
        print(f"not run with SANITIZE={sanitizer.name}: {what}: {why}")
    print(f"\n{time.monotonic() - start:.1f} s")
    print(total)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
