"""What plugins share that run the CPU's suite otherwise: its programs without its check, and lists that are committed.

A list says of programs what is known and accepted; files of the suite that run whole are compared with it. Programs
of tests have no names, so each is known by the test that has it first.
"""

from __future__ import annotations

import collections
import operator
import os
import sys
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[2]


def current_test() -> tuple[str, str]:
    """The file and the name of the test that runs."""
    path, _, test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("::")
    return Path(path).name, test


def pytest_collection_modifyitems(items: list) -> None:
    """Tests that look at what was compiled for the CPU are none of ours."""
    others = ("recompile", "one_pass", "one_sum_for_all")
    items[:] = [item for item in items if not any(name in item.nodeid for name in others)]


class Suite:
    """Stands in for the suite's harness while pytest runs it; `visit` is called with each program and its arguments."""

    def __init__(self, most: int) -> None:
        sys.path.insert(0, str(TOP / "integration/cpu"))
        import harness

        self.numpy_dtype = harness.numpy_dtype
        self.most = most
        self.counts: collections.Counter = collections.Counter()
        self.reasons: collections.Counter = collections.Counter()
        harness.check = self.check

    def check(self, function, *arguments, least: float = 0.5) -> tuple:
        expected = function.reference(*arguments, bounds=True)
        expected = expected if type(expected) is tuple else (expected,)
        size = sum(one.size for one in arguments if isinstance(one, np.ndarray))
        if size + sum(one.value.size for one in expected) > self.most:
            self.counts["left out"] += 1
        else:
            self.visit(function, arguments)
        return tuple(one.value.astype(self.numpy_dtype(one.dtype.name)) for one in expected)

    def refuse(self, error: Exception) -> None:
        """Counts what this road does not take."""
        self.counts["refused"] += 1
        self.reasons[str(error).splitlines()[0][:120]] += 1
        if "internal" in str(error) or "within the warp" in str(error):
            raise error

    def lines(self) -> list[str]:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return [counts, *(f"  {count} refused: {reason}" for reason, count in self.reasons.most_common(12))]

    def visit(self, function, arguments: tuple) -> None:
        raise NotImplementedError


class Names:
    """Programs by the tests that have them first, file by file."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], str] = {}
        self.numbers: collections.Counter = collections.Counter()

    def __contains__(self, program: str) -> bool:
        return (current_test()[0], program) in self.names

    def of(self, program: str) -> str:
        file, test = current_test()
        if (file, program) not in self.names:
            number = self.numbers[file, test] = self.numbers[file, test] + 1
            self.names[file, program] = f"{file}::{test}" + (f" #{number}" if number > 1 else "")
        return self.names[file, program]


class Listing:
    """A committed list: lines `test | what | value` under a head."""

    def __init__(self, name: str, variable: str, fits: Callable[[str, str], bool] = operator.eq, folder: Path | None = None) -> None:
        """`fits`: whether a value that is listed allows what was found; each may be empty. TESSERA_LISTS names another folder."""
        self.path = (folder or Path(os.environ.get("TESSERA_LISTS") or Path(__file__).resolve().parent)) / name
        self.variable, self.fits = variable, fits

    def read(self) -> tuple[str, dict[str, str]]:
        lines = self.path.read_text().splitlines()
        head = "".join(f"{line}\n" for line in lines if line.startswith("#"))
        return head, dict(line.rsplit(" | ", 1) for line in lines if line and not line.startswith("#"))

    def write(self, lines: dict[str, str]) -> None:
        head = self.read()[0]
        self.path.write_text(head + "".join(sorted(f"{key} | {value}\n" for key, value in lines.items())))

    def holds(self, session: pytest.Session, found: dict[str, str]) -> bool:
        """Whether what is listed of the files that run whole allows what was found in them."""
        if session.config.option.keyword or session.shouldstop:
            return True
        files = {item.path.name for item in session.items}
        listed = self.read()[1]
        others = {key: value for key, value in listed.items() if key.partition("::")[0] not in files}
        known = {key: value for key, value in listed.items() if key not in others}
        if os.environ.get(self.variable) == "1":
            self.write({**others, **found})
            return True
        wrong = [key for key in sorted(found.keys() | known.keys()) if not self.fits(known.get(key, ""), found.get(key, ""))]
        for key in wrong:
            print(f"{key}: listed as {known.get(key, 'nothing')}, found {found.get(key, 'nothing')}")
        return not wrong
