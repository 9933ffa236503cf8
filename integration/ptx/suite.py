"""Common parts of plugins that run the CPU's suite differently: its programs without its check, and
committed lists.

A list records known and accepted properties of programs; files of the suite that run completely are
compared with it. Programs of tests have no names, so each is identified by the first test that has
it.
"""

from __future__ import annotations

import collections
import inspect
import operator
import os
import re
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
    """Tests of the code compiled for the CPU do not apply."""
    others = ("recompile", "one_pass", "one_sum_for_all")
    items[:] = [item for item in items if not any(name in item.nodeid for name in others)]


class Suite:
    """Replaces the suite's harness while pytest runs it; `visit` is called with each program and
    its arguments."""

    def __init__(self, most: int) -> None:
        sys.path.insert(0, str(TOP / "integration/cpu"))
        import harness

        self.numpy_dtype = harness.numpy_dtype
        self.most = most
        self.counts: collections.Counter = collections.Counter()
        self.reasons: collections.Counter = collections.Counter()
        harness.check = self.check

    def check(self, function, *arguments, least: float = 0.5, nan: bool = False) -> tuple:
        expected = function.reference(*arguments, bounds=True)
        expected = expected if type(expected) is tuple else (expected,)
        size = sum(one.size for one in arguments if isinstance(one, np.ndarray))
        if size + sum(one.value.size for one in expected) > self.most:
            self.counts["left out"] += 1
        else:
            self.visit(function, arguments)
        return tuple(one.value.astype(self.numpy_dtype(one.dtype.name)) for one in expected)

    def refuse(self, error: Exception) -> None:
        """A program that this backend rejects: there is none in the suite, so that is an error, but
        reported briefly."""
        self.counts["refused"] += 1
        self.reasons[str(error).splitlines()[0][:120]] += 1
        raise error

    def lines(self) -> list[str]:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return [
            counts,
            *(f"  {count} refused: {reason}" for reason, count in self.reasons.most_common(12)),
        ]

    @staticmethod
    def program(function, arguments: tuple) -> str:
        """The text of a function and the kinds of its arguments, which identify a program."""
        kinds = [
            f"{one.dtype}{one.ndim}" if isinstance(one, np.ndarray) else type(one).__name__
            for one in arguments
        ]
        return f"{inspect.getsource(function.__wrapped__)} {kinds}"

    def visit(self, function, arguments: tuple) -> None:
        raise NotImplementedError


class Names:
    """Programs by the first test that has them, file by file."""

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
    """A committed list: lines `test | what | value` under a head. If reasons are required, each
    line ends with one more field, a word that the head explains: `# word   why`."""

    UNEXPLAINED = "unexplained"  # what --write gives a line that is new; it holds no check

    def __init__(
        self,
        name: str,
        variable: str,
        fits: Callable[[str, str], bool] = operator.eq,
        folder: Path | None = None,
        reasoned: bool = False,
    ) -> None:
        """`fits`: whether a listed value allows the found one; each may be empty. TESSERA_LISTS
        names another folder."""
        self.path = (
            folder or Path(os.environ.get("TESSERA_LISTS") or Path(__file__).resolve().parent)
        ) / name
        self.variable, self.fits, self.reasoned = variable, fits, reasoned

    def at(self, folder: Path) -> Listing:
        """The same list in another folder."""
        return Listing(self.path.name, self.variable, self.fits, folder, self.reasoned)

    def _lines(self) -> list[list[str]]:
        """Key, value and, if asked for, reason of each line."""
        lines = [
            line for line in self.path.read_text().splitlines() if line and not line.startswith("#")
        ]
        return [line.rsplit(" | ", 2 if self.reasoned else 1) for line in lines]

    def read(self) -> tuple[str, dict[str, str]]:
        head = "".join(
            f"{line}\n" for line in self.path.read_text().splitlines() if line.startswith("#")
        )
        return head, {line[0]: line[1] for line in self._lines()}

    def reasons(self) -> dict[str, str]:
        return {line[0]: line[2] for line in self._lines()} if self.reasoned else {}

    def explained(self) -> set[str]:
        """The words that the head explains."""
        return set(re.findall(r"^# (\w+)   +\S", self.read()[0], re.MULTILINE))

    def write(self, lines: dict[str, str]) -> None:
        """A new line gets the reason of the same kernel on another chip."""
        head, known = self.read()[0], self.reasons()
        others = {re.sub(r" \| sm_\d+ ", " ", key): reason for key, reason in known.items()}

        def ending(key: str) -> str:
            if not self.reasoned:
                return ""
            return f" | {known.get(key) or others.get(re.sub(r' [|] sm_[0-9]+ ', ' ', key)) or self.UNEXPLAINED}"

        self.path.write_text(
            head
            + "".join(sorted(f"{key} | {value}{ending(key)}\n" for key, value in lines.items()))
        )

    def holds(self, session: pytest.Session, found: dict[str, str]) -> bool:
        """Whether the list allows the findings in the files that ran completely."""
        unexplained = self.unexplained()
        for key in unexplained:
            print(
                f"{self.path.name}: {key}: expected a reason that the head explains, found '{self.reasons()[key]}'"
            )
        if session.config.option.keyword or session.shouldstop:
            print(f"{self.path.name} was not compared: that needs whole files, without -k and -x")
            return not unexplained
        files = {item.path.name for item in session.items}
        listed = self.read()[1]
        others = {
            key: value for key, value in listed.items() if key.partition("::")[0] not in files
        }
        known = {key: value for key, value in listed.items() if key not in others}
        if os.environ.get(self.variable) == "1":
            self.write({**others, **found})
            return True
        wrong = [
            key
            for key in sorted(found.keys() | known.keys())
            if not self.fits(known.get(key, ""), found.get(key, ""))
        ]
        for key in wrong:
            print(
                f"{key}: listed as {known.get(key, 'nothing')}, found {found.get(key, 'nothing')}"
            )
        return not wrong and not unexplained

    def unexplained(self) -> list[str]:
        words = self.explained()
        return [key for key, reason in self.reasons().items() if reason not in words]
