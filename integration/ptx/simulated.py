"""Runs the CPU's suite on the simulator: no program of it may make it complain.

    PYTHONPATH=build/python:integration/ptx python -m pytest -p simulated integration/cpu [-k …]

As a plugin it takes the place of the suite's `check`: the kernels that a GPU would run are simulated on
the suite's arguments, in orders that are against them, and their results are compared with the reference. Calls with
more elements than TESSERA_SIMULATED_MOST are left out, and what this road refuses; both are counted.

With TESSERA_SIMULATED_MUTANTS=1 every operation of synchronisation is spoilt, too, on the arguments of up to three calls of
each program: a mutant must be killed by one of them, or be proven to do the same and stand in equivalents.txt.
TESSERA_WRITE_EQUIVALENTS=1 writes that list (lists.py, for all files side by side).
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


class Mutants:
    """What became of each mutant of each program, on all arguments that were tried."""

    FATES = ("killed", "survived", "orders", "analysis", "unreached")  # the first that some arguments showed holds
    MOST_CALLS = 3

    def __init__(self) -> None:
        self.names = Names()
        self.fates: dict[str, dict[tuple[str, str], str]] = {}  # by program, by kernel and mutant
        self.calls: collections.Counter = collections.Counter()

    def wanted(self, program: str) -> bool:
        """Whether a program has mutants that no arguments have killed so far."""
        if not any(op in program for op in ("tile.barrier", "tile.wait", "tile.await")):
            return False
        if program not in self.names:
            return True
        name = self.names.of(program)
        return self.calls[name] < self.MOST_CALLS and any(fate != "killed" for fate in self.fates[name].values())

    def add(self, program: str, mutants: list[dict]) -> None:
        name = self.names.of(program)
        self.calls[name] += 1
        fates = self.fates.setdefault(name, {})
        for one in mutants:
            holds = {"killed": one["killed"], "analysis": one["always"], "orders": one["equivalent"], "survived": one["reached"]}
            fate = next((fate for fate, holds in holds.items() if holds), "unreached")
            key = one["kernel"], f"{one['op'].removeprefix('tile.')} {one['number']} {one['change']}"
            fates[key] = min(fate, fates.get(key, fate), key=self.FATES.index)

    def found(self) -> dict[str, str]:
        """The mutants that do the same, by kernel and by proof."""
        found: dict[str, list[str]] = {}
        for name, fates in self.fates.items():
            for (kernel, mutant), fate in fates.items():
                if fate not in ("killed", "survived"):
                    found.setdefault(f"{name} | {kernel} {fate}", []).append(mutant)
        return {key: ", ".join(mutants) for key, mutants in found.items()}

    def lines(self) -> list[str]:
        counts = collections.Counter(fate for fates in self.fates.values() for fate in fates.values())
        text = ", ".join(f"{counts[fate]} {fate}" for fate in self.FATES if counts[fate])
        return [f"mutants of {len(self.fates)} programs: {text}"] if counts else []


class Simulated(Suite):
    def __init__(self) -> None:
        super().__init__(int(os.environ.get("TESSERA_SIMULATED_MOST", 20000 if MUTANTS else 1 << 16)))
        self.elements, self.seconds = 0, 0.0
        self.mutants = Mutants()

    def visit(self, function, arguments: tuple) -> None:
        try:
            program = function.inspect_ir("placed", *arguments, target=TARGET) if MUTANTS else ""
            spoils = self.mutants.wanted(program)
            simulation = function.simulate(*arguments, target=TARGET, seeds=SEEDS, mutants=spoils)
        except tsr.TesseraError as error:
            return self.refuse(error)
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
    if MUTANTS and not EQUIVALENTS.holds(session, session.config.simulated.mutants.found()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    suite = config.simulated
    speed = suite.elements / suite.seconds / 1e6 if suite.seconds else 0
    first, *others = suite.lines()
    terminalreporter.write_line(f"simulated on {TARGET}: {first}; {speed:.1f} million elements a second")
    for line in (*suite.mutants.lines(), *others):
        terminalreporter.write_line(line)
