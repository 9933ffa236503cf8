"""Runs the CPU's suite on the simulator: no program of it may make it complain.

    PYTHONPATH=build/python:integration/ptx python -m pytest -p simulated integration/cpu [-k …]

As a plugin it takes the place of the suite's `check`: the kernels that a GPU would run are simulated on
the suite's arguments, in orders that are against them, and their results are compared with the reference. Calls with
more elements than TESSERA_SIMULATED_MOST are left out, and what this road refuses; both are counted. With
TESSERA_SIMULATED_MUTANTS=1 every operation of synchronisation is spoilt, too, once for each kernel: nothing of that may go by.
"""

from __future__ import annotations

import collections
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import tessera as tsr

TOP = Path(__file__).resolve().parents[2]
MOST = int(os.environ.get("TESSERA_SIMULATED_MOST", 1 << 16))
TARGET = os.environ.get("TESSERA_SIMULATED_TARGET", "sm_90")
SEEDS = int(os.environ.get("TESSERA_SIMULATED_SEEDS", 2))
MUTANTS = os.environ.get("TESSERA_SIMULATED_MUTANTS") == "1"


class Suite:
    """Stands in for the suite's harness while pytest runs it."""

    def __init__(self) -> None:
        sys.path.insert(0, str(TOP / "integration/cpu"))
        import harness

        self.numpy_dtype = harness.numpy_dtype
        self.counts: collections.Counter = collections.Counter()
        self.elements, self.seconds = 0, 0.0
        self.reasons: collections.Counter = collections.Counter()
        self.mutants: collections.Counter = collections.Counter()
        self.equivalent: collections.Counter = collections.Counter()
        self.spoilt: set[str] = set()
        harness.check = self.check

    def check(self, function, *arguments, least: float = 0.5) -> tuple:
        expected = function.reference(*arguments, bounds=True)
        expected = expected if type(expected) is tuple else (expected,)
        size = sum(one.size for one in arguments if isinstance(one, np.ndarray))
        if size + sum(one.value.size for one in expected) > MOST:
            self.counts["left out"] += 1
        else:
            self.simulate(function, arguments)
        return tuple(one.value.astype(self.numpy_dtype(one.dtype.name)) for one in expected)

    def simulate(self, function, arguments) -> None:
        try:
            spoils = MUTANTS and self.is_new(function, arguments)
            simulation = function.simulate(*arguments, target=TARGET, seeds=SEEDS, mutants=spoils)
        except tsr.TesseraError as error:
            self.counts["refused"] += 1
            self.reasons[str(error).splitlines()[0][:120]] += 1
            if "internal" in str(error) or "within the warp" in str(error):
                raise
            return
        self.elements += simulation.report["elements"]
        self.seconds += simulation.report["seconds"]
        self.counts["clean" if simulation.ok else "wrong"] += 1
        wrong = [one for one in simulation.report["results"] if one["wrong"]]
        survivors = []
        for one in simulation.report["mutants"]:
            fates = {"killed": one["killed"], "equivalent": one["equivalent"], "not reached": not one["reached"]}
            fate = next((name for name, holds in fates.items() if holds), "survived")
            self.mutants[fate] += 1
            if fate == "equivalent":
                self.equivalent[f"{one['op']} {one['change']}"] += 1
            if fate == "survived":
                survivors.append(one)
        assert simulation.ok and not wrong, (simulation.text, survivors)

    def is_new(self, function, arguments) -> bool:
        """Kernels are spoilt once, whatever they are called with."""
        text = function.inspect_ir("placed", *arguments, target=TARGET)
        is_new = text not in self.spoilt and "tile.barrier" in text
        self.spoilt.add(text)
        return is_new


def pytest_configure(config) -> None:
    config.simulated = Suite()


def pytest_collection_modifyitems(items: list) -> None:
    """Tests that look at what was compiled for the CPU are none of ours."""
    others = ("recompile", "one_pass", "one_sum_for_all")
    items[:] = [item for item in items if not any(name in item.nodeid for name in others)]


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    suite = config.simulated
    counts = ", ".join(f"{count} {name}" for name, count in sorted(suite.counts.items()))
    speed = suite.elements / suite.seconds / 1e6 if suite.seconds else 0
    terminalreporter.write_line(f"simulated on {TARGET}: {counts}; {speed:.1f} million elements a second")
    if suite.mutants:
        mutants = ", ".join(f"{count} {name}" for name, count in sorted(suite.mutants.items()))
        terminalreporter.write_line(f"mutants of {len(suite.spoilt)} programs: {mutants}")
        for change, count in suite.equivalent.most_common():
            terminalreporter.write_line(f"  {count} equivalent: {change}")
    for reason, count in suite.reasons.most_common(12):
        terminalreporter.write_line(f"  {count} refused: {reason}")
