"""Runs the CPU's suite on the simulator: no program may have findings.

    PYTHONPATH=build/python:integration/ptx python -m pytest -p simulated integration/cpu [-k …]

As a plugin it replaces the suite's `check`: the kernels that a GPU would run are simulated on the
suite's arguments, with adversarial schedules, and their results are compared with the reference.
Calls with more elements than TESSERA_SIMULATED_MOST are skipped and counted; a program that this
backend rejects is an error.

With TESSERA_SIMULATED_MUTANTS=1 every synchronisation operation is mutated, too, on the arguments
of up to three calls of each program, of more while some mutants are not reached. A mutant must be
killed by one of them, or be proven equivalent and listed in equivalents.txt. A mutant that no
arguments reach is unproven: it is listed in unreached.txt, and the last line says how many are
reached. TESSERA_WRITE_EQUIVALENTS=1 writes both lists (lists.py, for all files in parallel).
"""

from __future__ import annotations

import collections
import os

import pytest
from suite import Listing, Names, Suite, pytest_collection_modifyitems  # noqa: F401

import tessera as tsr

TARGET = os.environ.get("TESSERA_SIMULATED_TARGET", "sm_90")
SEEDS = int(os.environ.get("TESSERA_SIMULATED_SEEDS", 2))
MUTANTS = os.environ.get("TESSERA_SIMULATED_MUTANTS") == "1"
EQUIVALENTS = Listing("equivalents.txt", "TESSERA_WRITE_EQUIVALENTS")
UNREACHED = Listing("unreached.txt", "TESSERA_WRITE_EQUIVALENTS")


class Mutants:
    """The outcome of each mutant of each program, over all arguments that were tried."""

    FATES = (
        "killed",
        "survived",
        "orders",
        "analysis",
        "unreached",
    )  # the first outcome that some arguments showed
    PROOFS = ("orders", "analysis")
    MOST_CALLS, MOST_TO_REACH = 3, 8

    def __init__(self) -> None:
        self.names = Names()
        self.fates: dict[str, dict[tuple[str, str], str]] = {}  # by program, by kernel and mutant
        self.calls: collections.Counter = collections.Counter()

    def wanted(self, program: str) -> bool:
        """Whether a program has mutants that no arguments have killed so far."""
        if not any(
            op in program for op in ("tile.barrier", "tile.cp_async_wait", "tile.mbarrier_wait")
        ):
            return False
        if program not in self.names:
            return True
        name = self.names.of(program)
        fates = set(self.fates[name].values())
        most = self.MOST_TO_REACH if "unreached" in fates else self.MOST_CALLS
        return self.calls[name] < most and fates != {"killed"}

    def add(self, program: str, mutants: list[dict]) -> None:
        name = self.names.of(program)
        self.calls[name] += 1
        fates = self.fates.setdefault(name, {})
        for one in mutants:
            holds = {
                "killed": one["killed"],
                "analysis": one["always"],
                "orders": one["equivalent"],
                "survived": one["reached"],
            }
            fate = next((fate for fate, holds in holds.items() if holds), "unreached")
            key = (
                one["kernel"],
                f"{one['op'].removeprefix('tile.')} {one['number']} {one['change']}",
            )
            fates[key] = min(fate, fates.get(key, fate), key=self.FATES.index)

    def found(self, *wanted: str) -> dict[str, str]:
        """The mutants with one of these outcomes, by kernel and outcome."""
        found: dict[str, list[str]] = {}
        for name, fates in self.fates.items():
            for (kernel, mutant), fate in fates.items():
                if fate in wanted:
                    found.setdefault(f"{name} | {kernel} {fate}", []).append(mutant)
        return {key: ", ".join(mutants) for key, mutants in found.items()}

    def lines(self) -> list[str]:
        counts = collections.Counter(
            fate for fates in self.fates.values() for fate in fates.values()
        )
        text = ", ".join(f"{counts[fate]} {fate}" for fate in self.FATES if counts[fate])
        return (
            [f"mutants of {len(self.fates)} programs: {text}", coverage(counts)] if counts else []
        )


def coverage(fates: collections.Counter) -> str:
    """How many mutants some arguments reach, of all."""
    return f"coverage: reached {fates.total() - fates['unreached']} of {fates.total()} mutants"


class Simulated(Suite):
    def __init__(self) -> None:
        super().__init__(
            int(os.environ.get("TESSERA_SIMULATED_MOST", 20000 if MUTANTS else 1 << 16))
        )
        self.elements, self.seconds = 0, 0.0
        self.mutants = Mutants()

    def visit(self, function, arguments: tuple) -> None:
        try:
            program = function.inspect_ir("placed", *arguments, target=TARGET) if MUTANTS else ""
            spoils = self.mutants.wanted(program)
            simulation = function.simulate(*arguments, target=TARGET, seeds=SEEDS, mutants=spoils)
        except tsr.TesseraError as error:
            self.refuse(error)
        report = simulation.report
        self.elements += report["elements"]
        self.seconds += report["seconds"]
        self.counts["clean" if simulation.ok else "wrong"] += 1
        if spoils:
            self.mutants.add(program, report["mutants"])
        assert simulation.ok and not any(one["wrong"] for one in report["results"]), simulation.text


def pytest_configure(config) -> None:
    config.simulated = Simulated()


def pytest_sessionfinish(session: pytest.Session) -> None:
    mutants = session.config.simulated.mutants
    if MUTANTS:
        held = [
            EQUIVALENTS.holds(session, mutants.found(*mutants.PROOFS)),
            UNREACHED.holds(session, mutants.found("unreached")),
        ]
        if not all(held):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    suite = config.simulated
    speed = suite.elements / suite.seconds / 1e6 if suite.seconds else 0
    first, *others = suite.lines()
    terminalreporter.write_line(
        f"simulated on {TARGET}: {first}; {speed:.1f} million elements per second"
    )
    for line in (*suite.mutants.lines(), *others):
        terminalreporter.write_line(line)
