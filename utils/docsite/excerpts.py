"""Excerpts of what the compiler prints, as documentation quotes them.

In an excerpt, `…` matches any text, and a line with `…` alone matches any lines. Excerpts need not
start or end with it. Values may have other numbers (%3), as long as each number stands for one value
throughout.
"""

from __future__ import annotations

import re


def _match_line(expected: str, found: str, numbers: dict[str, str]) -> dict[str, str] | None:
    """`numbers`, extended by the values of the line; None if the line does not match."""
    words = " ".join(expected.split())
    names = re.findall(r"%(\d+)", words)
    pattern = re.escape(words).replace("…", ".*")
    pattern = re.sub(r"%\d+", r"%(\\d+)", pattern)
    match = re.fullmatch(pattern, found)
    if match is None:
        return None
    updated = dict(numbers)
    for name, number in zip(names, match.groups()):
        if updated.setdefault(name, number) != number:
            return None
    return updated


class Excerpt:
    """The search for an excerpt in a text. `missing` is the first line that was not found, or None;
    `text` is the excerpt with the value numbers of the text."""

    def __init__(self, expected: str, found: str):
        self.wanted = [line.strip() for line in expected.splitlines() if line.strip()]
        self.lines = [" ".join(line.split()) for line in found.splitlines()]
        self.furthest = 0
        numbers = self._search(0, 0, {}, True)
        self.missing = self.wanted[self.furthest] if numbers is None else None
        self.text = re.sub(
            r"%(\d+)", lambda value: f"%{(numbers or {}).get(value[1], value[1])}", expected
        )

    def _search(
        self, index: int, position: int, numbers: dict[str, str], anywhere: bool
    ) -> dict[str, str] | None:
        if index == len(self.wanted):
            return numbers
        if self.wanted[index] == "…":
            return self._search(index + 1, position, numbers, True)
        self.furthest = max(self.furthest, index)
        end = len(self.lines) if anywhere else min(position + 1, len(self.lines))
        for place in range(position, end):
            matched = _match_line(self.wanted[index], self.lines[place], numbers)
            if matched is not None:
                result = self._search(index + 1, place + 1, matched, False)
                if result is not None:
                    return result
        return None
