"""Compiles the CPU's suite for every chip through PTX, and assembles it with NVIDIA's ptxas: only
listed kernels may spill.

    PYTHONPATH=build/python:integration/ptx python -m pytest -p assembled integration/cpu [-k …]

As a plugin it replaces the suite's `check`. Each function is compiled once for the types of its
arguments, for the chips of TESSERA_ASSEMBLED_CHIPS or for all. spills.txt has the bytes that a
thread of a kernel spills, for each chip, and why; TESSERA_WRITE_SPILLS=1 writes it (lists.py, for
all files in parallel). CUDA 13 has no sm_70: a ptxas of CUDA 12 assembles it.
"""

from __future__ import annotations

import os

import pytest
from assemblers import assembler
from kernels import CHIPS
from suite import Listing, Names, Suite, pytest_collection_modifyitems  # noqa: F401

import tessera as tsr

WANTED = os.environ.get("TESSERA_ASSEMBLED_CHIPS", " ".join(CHIPS)).replace(",", " ").split()
# Another release of ptxas may spill less.
SPILLS = Listing(
    "spills.txt",
    "TESSERA_WRITE_SPILLS",
    lambda known, found: int(found or 0) <= int(known or 0),
    reasoned=True,
)


class Assembled(Suite):
    def __init__(self) -> None:
        super().__init__(int(os.environ.get("TESSERA_ASSEMBLED_MOST", 1 << 20)))
        self.names = Names()
        self.spills: dict[str, str] = {}

    def visit(self, function, arguments: tuple) -> None:
        program = self.program(function, arguments)
        if program in self.names:
            return
        name = self.names.of(program)
        for chip in WANTED:
            os.environ["TESSERA_PTXAS"] = str(assembler(chip))
            try:
                report = function.compile(*arguments, target=f"{chip}:ptx").report()
            except tsr.TesseraError as error:
                self.refuse(error)
            self.counts[chip] += 1
            for kernel in report.get("kernels", ()):
                if kernel.get("spill_bytes"):
                    self.spills[f"{name} | {chip} {kernel['name']}"] = str(kernel["spill_bytes"])


def pytest_configure(config) -> None:
    config.assembled = Assembled()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Chips that were not run keep their lines."""
    suite = session.config.assembled
    files = {item.path.name for item in session.items}
    others = {
        key: value
        for key, value in SPILLS.read()[1].items()
        if key.partition("::")[0] in files and key.rpartition(" | ")[2].split()[0] not in WANTED
    }
    if not SPILLS.holds(session, {**others, **suite.spills}):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    suite = config.assembled
    for line in (*suite.lines(), f"{len(suite.spills)} kernels spill"):
        terminalreporter.write_line(line)
