"""Compares the committed lists of spills and mutants with the whole CPU suite.

    PYTHONPATH=build/python python integration/ptx/lists.py [LIST…] [-j N]
        [--chips sm_80,…] [--files matmul,…] [--write]

The lists are spills.txt for every chip, and equivalents.txt and unreached.txt for sm_90. Each file of
the suite runs in a separate process, for spills one for each chip, N of them in
parallel, the longest files first. Obsolete lines are printed with a `-`, missing ones with a `+`;
--write updates the lists. A spill needs a reason, which is written by hand: a line without one is
printed with a `!`. The exit status is 1 if there are lines that were not written or have no reason,
or if a test failed.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from kernels import CHIPS
from simulated import EQUIVALENTS, UNREACHED, coverage
from suite import TOP, Listing

SPILLS = Listing("spills.txt", "TESSERA_WRITE_SPILLS", reasoned=True)
LISTS = {"spills": [SPILLS], "equivalents": [EQUIVALENTS, UNREACHED]}


@dataclass
class Job:
    listings: list[Listing]
    file: Path
    chip: str = ""  # none: of mutants

    def owns(self, key: str) -> bool:
        """Whether the job covers a line completely."""
        file, what = key.partition("::")[0], key.rpartition(" | ")[2]
        return file == self.file.name and (not self.chip or what.split()[0] == self.chip)

    def run(self) -> tuple[dict[str, dict[str, str]], bool, str]:
        """The findings by the list's name, whether the tests passed, and their output."""
        variables = (
            {"TESSERA_ASSEMBLED_CHIPS": self.chip}
            if self.chip
            else {"TESSERA_SIMULATED_MUTANTS": "1"}
        )
        paths = [os.environ.get("PYTHONPATH", ""), str(TOP / "integration/ptx")]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "assembled" if self.chip else "simulated",
            str(self.file),
        ]
        with tempfile.TemporaryDirectory(prefix="tessera-lists-") as scratch:
            for listing in self.listings:
                shutil.copy(listing.path, scratch)
            variables |= {
                "TESSERA_LISTS": scratch,
                "TESSERA_CACHE": f"{scratch}/cache",
                "PYTHONPATH": os.pathsep.join(paths),
            }
            variables |= {
                self.listings[0].variable: "1",
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
            }
            done = subprocess.run(
                command,
                cwd=TOP,
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                check=False,
            )
            found = {}
            for listing in self.listings:
                written = listing.at(Path(scratch)).read()[1]
                found[listing.path.name] = {
                    key: value for key, value in written.items() if self.owns(key)
                }
        return found, done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "lists", nargs="*", metavar="LIST", help=f"{', '.join(LISTS)}; default: both"
    )
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument(
        "--files",
        default="",
        help="parts of the suite by name, as matmul for test_matmul.py; default: all",
    )
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if unknown := set(arguments.lists) - set(LISTS):
        parser.error(f"unknown list {', '.join(sorted(unknown))}")
    wanted = [f"test_{name}.py" for name in arguments.files.split(",") if name]
    files = sorted(
        (TOP / "integration/cpu").glob("test_*.py"), key=lambda file: -file.stat().st_size
    )
    files = [file for file in files if not wanted or file.name in wanted]
    lists = arguments.lists or LISTS
    jobs = [Job(LISTS["equivalents"], file) for file in files if "equivalents" in lists]
    jobs += [
        Job(LISTS["spills"], file, chip)
        for file in files
        for chip in arguments.chips.split(",")
        if "spills" in lists
    ]
    if not jobs:
        parser.error(f"no file is called {arguments.files}")

    def timed(job: Job) -> tuple[float, tuple[dict[str, dict[str, str]], bool, str]]:
        start = time.monotonic()
        result = job.run()
        return time.monotonic() - start, result

    start, status = time.monotonic(), 0
    fates: collections.Counter = collections.Counter()
    news = {
        listing.path.name: listing.read()[1] for listings in LISTS.values() for listing in listings
    }
    with ThreadPoolExecutor(arguments.jobs) as pool:
        started = {pool.submit(timed, job): job for job in jobs}
        for future in as_completed(started):
            job, (seconds, (found, passed, text)) = started[future], future.result()
            lines = text.strip().splitlines() or [""]
            reported = next((line for line in lines if line.startswith("mutants of")), lines[-1])
            for count, fate in re.findall(r"(\d+) (\w+)", reported.partition(":")[2]):
                fates[fate] += int(count)
            print(
                f"{job.file.name} {job.chip or 'mutants'}: {reported}; {seconds:.0f} s", flush=True
            )
            if not passed:
                print(text[-4000:])
                status = 1
                continue
            for listing in job.listings:
                new, its = news[listing.path.name], found[listing.path.name]
                known = {key: value for key, value in new.items() if job.owns(key)}
                for key in sorted(known.keys() | its.keys()):
                    if known.get(key) == its.get(key):
                        continue
                    status |= not arguments.write
                    for sign, value in (("-", known.get(key)), ("+", its.get(key))):
                        if value:
                            print(f"{sign} {key} | {value}", flush=True)
                    new.pop(key, None)
                new.update(its)
                if arguments.write:
                    listing.write(new)
    if fates:
        print("all mutants:", ", ".join(f"{count} {fate}" for fate, count in fates.most_common()))
        print(coverage(fates))
    for key in SPILLS.unexplained() if "spills" in lists else []:
        print(
            f"! {key}: expected a reason that the head of {SPILLS.path.name} explains, found '{SPILLS.reasons()[key]}'"
        )
        status = 1
    print(f"{len(jobs)} runs, {time.monotonic() - start:.0f} s")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
