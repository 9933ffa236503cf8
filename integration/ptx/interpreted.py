"""Runs the PTX of the CPU's suite in the interpreter: its results must agree with the reference.

    PYTHONPATH=build/python:integration/ptx python -m pytest -p interpreted integration/cpu [-k …]

As a plugin it replaces the suite's `check`: calls go through the runtime to a fake libcuda
(ptx_calls.py). The simulator runs the same kernels before they become PTX. Calls with more elements
than TESSERA_INTERPRETED_MOST, and programs that this backend rejects, are skipped; both are
counted.
"""

from __future__ import annotations

import os
import platform

import ptx_calls
import pytest
from suite import Suite, pytest_collection_modifyitems  # noqa: F401

TARGET = os.environ.get("TESSERA_INTERPRETED_TARGET", "sm_90")


class Interpreted(Suite):
    def __init__(self) -> None:
        super().__init__(int(os.environ.get("TESSERA_INTERPRETED_MOST", 1 << 15)))

    def visit(self, function, arguments: tuple) -> None:
        result = ptx_calls.call(function, list(arguments), f"{TARGET}:ptx,{platform.machine()}")
        if reason := result.get("refused"):
            return self.refuse(RuntimeError(reason))
        self.counts["right" if result["good"] else "wrong"] += 1
        assert result["good"], result["wrong"]


def pytest_configure(config) -> None:
    config.interpreted = Interpreted()


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    first, *others = config.interpreted.lines()
    for line in (f"interpreted for {TARGET}: {first}", *others):
        terminalreporter.write_line(line)
