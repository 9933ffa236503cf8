#!/usr/bin/env python3
"""Checks that FileCheck can fail: a prefix with nothing but -NOT lines passes on no output at all.

    check_prefixes.py [FOLDER]      prints one line per violation, exit status 1 if there is any

Read are the RUN lines of every file below the folder. Wrong is a call of FileCheck whose prefixes have
no positive line in its file, one that allows empty output or unused prefixes, and a line whose prefix
no call names.
"""

import os
import re
import shlex
import sys
from typing import Iterator, NamedTuple

SUFFIXES = (".mlir", ".py", ".tsr", ".test")
RUN = re.compile(r"^\s*(?://|#|;)*\s*RUN:\s?(.*)$")
KINDS = r"(?:-NEXT|-SAME|-DAG|-LABEL|-EMPTY|-COUNT-\d+|-NOT)"
LINE = re.compile(
    rf"(?:^|(?<![\w-]))([A-Z][A-Z0-9_]*(?:-[A-Z0-9_]+)*?)({KINDS})?(?:\{{[A-Z]+\}})?:"
)
# Words of lit, and the names of its other lines.
WORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "COM", "END"}
ALLOW = ("allow-empty", "allow-unused-prefixes")


class Violation(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class Call(NamedTuple):
    """One call of FileCheck."""

    line: int
    path: str  # as written: `%s`, or a file that the test makes or keeps beside it
    prefixes: list[str]
    options: list[str]


def commands(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The commands of a test, continued lines joined, with the number of their first line."""
    begun, text = 0, ""
    for number, line in enumerate(lines, 1):
        if not (match := RUN.match(line)):
            continue
        begun, text = begun or number, text + match[1]
        if text.endswith("\\"):
            text = text[:-1] + " "
        else:
            yield begun, text
            begun, text = 0, ""


def calls(lines: list[str]) -> Iterator[Call]:
    for number, command in commands(lines):
        for part in re.split(r"\||&&|;", command):
            try:
                words = shlex.split(part)
            except ValueError:  # a quote around one of the separators
                words = part.split()
            if "FileCheck" not in words:
                continue
            words = words[words.index("FileCheck") + 1 :]
            prefixes, options, path = [], [], ""
            while words:
                word = words.pop(0)
                name, _, value = word.lstrip("-").partition("=")
                if not word.startswith("-"):
                    path = path or word
                elif name in ("check-prefix", "check-prefixes"):
                    prefixes += (value or words.pop(0)).split(",")
                else:
                    options.append(name)
                    if name == "input-file" and not value:
                        words.pop(0)
            yield Call(number, path, prefixes or ["CHECK"], options)


def check_file(path: str, folder: str) -> Iterator[Violation]:
    with open(os.path.join(folder, path), encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    found = list(calls(lines))
    if not found:
        return
    named = {prefix for call in found for prefix in call.prefixes}
    positive: set[str] = set()
    for number, line in enumerate(lines, 1):
        if RUN.match(line):
            continue
        # FileCheck takes a prefix anywhere; one that no call names counts at the beginning of a comment or a line of text.
        for match in LINE.finditer(line):
            prefix, kind = match[1], match[2] or ""
            if prefix in named:
                if kind != "-NOT":
                    positive.add(prefix)
                break
            before = line[: match.start()].strip()
            first = before in ("//", "#", ";") or not before and path.endswith(".test")
            if first and prefix not in WORDS:
                yield Violation(path, number, f"no call of FileCheck names the prefix '{prefix}'")
                break
    for call in found:
        for option in ALLOW:
            if option in call.options:
                yield Violation(path, call.line, f"FileCheck is called with --{option}")
        known = positive
        if call.path.startswith("%S/"):
            with open(os.path.join(folder, os.path.dirname(path), call.path[3:])) as file:
                text = file.read()
            known = {m[1] for m in LINE.finditer(text) if m[2] != "-NOT"}
        if not known & set(call.prefixes):
            names = ", ".join(f"'{prefix}'" for prefix in call.prefixes)
            yield Violation(
                path, call.line, f"{names}: no line is positive, so no output at all is accepted"
            )


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    paths = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "Inputs"]  # as lit does
        files = [os.path.join(root, name) for name in names if name.endswith(SUFFIXES)]
        paths += [os.path.relpath(path, folder) for path in files]
    violations = [v for path in sorted(paths) for v in check_file(path, folder)]
    for violation in violations:
        print(violation, flush=True)
    print(f"{len(violations)} violations in {len(paths)} files", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
