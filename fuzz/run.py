#!/usr/bin/env python3
"""Runs the fuzzers of the readers: source, ir, expressions, bytecode, bundle.

    fuzz/run.py [FUZZER…] [--runs N | --seconds S] [--build DIR]
    fuzz/run.py FUZZER --input FILE…        runs inputs, for instance a finding, once

What a fuzzer found worth keeping lies in DIR/fuzz/FUZZER/corpus, so that a run goes on where the last
one stopped; what ended it in DIR/fuzz/FUZZER/findings, with a log, and it goes on after that. The total of inputs
over all runs is printed. Seeds are made of the tree's tests (fuzz/seeds.py). The fuzzers of a build
with TESSERA_SANITIZE=address follow coverage and see invalid accesses (`make fuzz-inputs`); those of a
plain one look for wrong answers, assertions and hangs.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import seeds

TOP = Path(__file__).resolve().parent.parent
FUZZERS = ["source", "ir", "expressions", "bytecode", "bundle"]
LONGEST = {"expressions": 400}  # bytes; the work for a product grows with the square of its length
CHUNK = 40_000  # inputs of one process: contexts and interned expressions only grow
MOST_FINDINGS = 20  # of one fuzzer, then it is time to repair
OPTIONS = [
    "-timeout=200",  # seconds for an input that does not end; Fuzz.h counts those of the processor
    "-report_slow_units=200",
    "-rss_limit_mb=3000",
    "-malloc_limit_mb=1000",
    "-keep_seed=1",
    "-mutate_depth=2",
    "-print_final_stats=1",
    "-verbosity=1",
]
ENVIRONMENT = {
    # LLVM's archives are not instrumented, and what is interned is never freed.
    "ASAN_OPTIONS": "allow_user_poisoning=0:alloc_dealloc_mismatch=0:detect_leaks=0",
    "ASAN_SYMBOLIZER_PATH": "/usr/lib/llvm-22/bin/llvm-symbolizer",
}


@dataclass
class Chunk:
    runs: int
    finding: str  # what ended it, or nothing
    output: str


class Fuzzer:
    def __init__(self, name: str, build: Path):
        self.name = name
        self.program = build / "fuzz" / "bin" / f"fuzz-{name}"
        self.folder = build / "fuzz" / name
        self.count = self.folder / "runs"
        for part in ("corpus", "findings", "seeds"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        if not self.program.exists():
            sys.exit(f"fuzz/run.py: {self.program} is not there: build the target fuzzers")
        seeds.write(name, self.folder / "seeds", build)

    def execute(self, arguments: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.program, *OPTIONS, f"-max_len={LONGEST.get(self.name, 8000)}", *arguments],
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def run(self, runs: int, seconds: int, seed: int, corpus: bool = True) -> Chunk:
        arguments = [f"-runs={runs}", f"-artifact_prefix={self.folder}/findings/", f"-seed={seed}"]
        if seconds:
            arguments.append(f"-max_total_time={seconds}")
        folders = [self.folder / "corpus"] if corpus else []
        done = self.execute([*arguments, *map(str, [*folders, self.folder / "seeds"])])
        executed = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", done.stdout, re.M)
        return Chunk(int(executed[-1]) if executed else 0, finding(done), done.stdout)

    def total(self, more: int = 0) -> int:
        total = (int(self.count.read_text()) if self.count.exists() else 0) + more
        self.count.write_text(str(total))
        return total


def finding(done: subprocess.CompletedProcess) -> str:
    """The line that says what went wrong."""
    if done.returncode == 0:
        return ""
    for pattern in (
        r"^fuzz: .*",
        r".*Assertion .* failed.*",
        r".*runtime error: .*",
        r"^SUMMARY: .*",
    ):
        if found := re.search(pattern, done.stdout, re.M):
            return found[0]
    return f"exit status {done.returncode}"


def fuzz(fuzzer: Fuzzer, runs: int, seconds: int) -> int:
    """Runs in chunks; returns the number of findings."""
    start, done, findings = time.monotonic(), 0, 0
    while done < runs and findings < MOST_FINDINGS:
        left = max(1, int(seconds - (time.monotonic() - start))) if seconds else 0
        # Each process has a seed of its own, which a repeated run does not use again.
        chunk = fuzzer.run(min(CHUNK, runs - done), left, 1 + fuzzer.total() % 2**31)
        done += max(chunk.runs, 1)
        print(
            f"{fuzzer.name:12} {done:9} inputs {time.monotonic() - start:7.0f} s, "
            f"{fuzzer.total(chunk.runs)} in all",
            flush=True,
        )
        if chunk.finding:
            findings += 1
            kept = re.search(r"Test unit written to (\S+)", chunk.output)
            if kept:
                Path(kept[1] + ".log").write_text(chunk.output)
            print(f"  {chunk.finding}\n  {kept[1] if kept else chunk.output[-2000:]}", flush=True)
        if seconds and time.monotonic() - start >= seconds:
            break
    return findings


def smoke(fuzzer: Fuzzer, runs: int, report: Path) -> int:
    """A short run that is the same every time, for `make test`."""
    chunk = fuzzer.run(runs, 0, seed=1, corpus=False)
    report.write_text(json.dumps({"runs": chunk.runs, "wanted": runs, "finding": chunk.finding}))
    print(chunk.output[-6000:] if chunk.finding else f"{fuzzer.name}: {chunk.runs} inputs")
    return bool(chunk.finding)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "fuzzers", nargs="*", metavar="FUZZER", help=f"default: {' '.join(FUZZERS)}"
    )
    parser.add_argument("--runs", type=int, default=0, help="inputs per fuzzer; default: 20000")
    parser.add_argument("--seconds", type=int, default=0, help="time per fuzzer")
    parser.add_argument("--input", type=Path, nargs="+", default=[], help="inputs to run once")
    parser.add_argument("--build", type=Path, default=TOP / "build-address")
    parser.add_argument("--smoke", type=Path, metavar="REPORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.fuzzers or FUZZERS
    if unknown := set(names) - set(FUZZERS):
        parser.error(f"unknown fuzzer {', '.join(sorted(unknown))}; expected {', '.join(FUZZERS)}")
    runs = arguments.runs or (10**12 if arguments.seconds else 20_000)

    fuzzers = [Fuzzer(name, arguments.build.resolve()) for name in names]
    if arguments.input:
        done = fuzzers[0].execute([str(path) for path in arguments.input])
        print(done.stdout)
        return done.returncode
    if arguments.smoke:
        return smoke(fuzzers[0], runs, arguments.smoke)
    findings = sum(fuzz(fuzzer, runs, arguments.seconds) for fuzzer in fuzzers)
    print(f"{sum(f.total() for f in fuzzers)} inputs in all, {findings} findings in this run")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
