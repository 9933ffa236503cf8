#!/usr/bin/env python3
"""Checks a corpus of wrong programs against the messages that they are given.

    utils/check_errors.py FILE… [--tessera PROGRAM] [--update] [--only NAME]

A corpus file holds programs one after the other, each with the whole text that the command line
prints for it, as comments at its end:

    #--- NAME[::FUNCTION] [ARG=TYPE…] [--OPTION…]
    the program
    #| NAME.tsr:3:12: error: …
    #|     3 |     return x + y
    #|       |            ^~~~~

The text is compared exactly, so carets, ranges, notes and suggestions are checked as a user sees
them. Suggestions are also applied: the corrected program must not give the same message again. A
program whose head ends with `--fixed` must then compile. --update writes what is printed now into
the file; read the difference.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
HEAD = "#--- "
EXPECTED = "#|"


class Case(NamedTuple):
    name: str
    function: str
    arguments: list[str]
    options: list[str]
    fixed: bool
    lines: list[str]
    expected: list[str]

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)


def read(path: Path) -> tuple[list[str], list[Case]]:
    """The lines before the first program, and the programs."""
    preamble: list[str] = []
    cases: list[Case] = []
    for line in path.read_text().splitlines():
        if line.startswith(HEAD):
            name, *words = line[len(HEAD) :].split()
            name, _, function = name.partition("::")
            options = [word for word in words if word.startswith("--")]
            arguments = [word for word in words if not word.startswith("--")]
            fixed = "--fixed" in options
            options = [word for word in options if word != "--fixed"]
            cases.append(Case(name, function, arguments, options, fixed, [], []))
        elif not cases:
            preamble.append(line)
        elif line.startswith(EXPECTED):
            cases[-1].expected.append(line[len(EXPECTED) :].removeprefix(" "))
        else:
            cases[-1].lines.append(line)
    for case in cases:
        while case.lines and not case.lines[-1].strip():
            case.lines.pop()
    return preamble, cases


def write(path: Path, preamble: list[str], cases: list[Case], found: list[list[str]]) -> None:
    lines = list(preamble)
    for case, text in zip(cases, found):
        function = f"::{case.function}" if case.function else ""
        words = [case.name + function, *case.arguments, *case.options]
        lines += [HEAD + " ".join(words + ["--fixed"] * case.fixed), *case.lines]
        lines += [f"{EXPECTED} {line}".rstrip() for line in text] + [""]
    path.write_text("\n".join(lines).rstrip("\n") + "\n")


class Compiler:
    def __init__(self, program: str, folder: str):
        self.program = program
        self.folder = folder

    def run(self, case: Case, text: str, style: str) -> tuple[int, str]:
        name = f"{case.name}.tsr"
        Path(self.folder, name).write_bytes(text.encode("utf-8", "surrogateescape"))
        command = [self.program, "compile", name + (f"::{case.function}" if case.function else "")]
        for argument in case.arguments:
            command += ["--arg", argument]
        command += [*case.options, "--emit", "graph", "--diagnostics", style]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=120,
        )
        return done.returncode, done.stderr.decode("utf-8", "replace")


def apply(text: str, diagnostics: list[dict]) -> str:
    """The text with all suggestions of the diagnostics applied."""
    lines = text.split("\n")
    edits = {
        (fix["line"], fix["column"], fix["end_line"], fix["end_column"], fix["replacement"])
        for diagnostic in diagnostics
        for one in [diagnostic, *diagnostic["notes"]]
        for fix in one["fixits"]
    }
    for line, column, end_line, end_column, replacement in sorted(edits, reverse=True):
        head, tail = lines[line - 1][: column - 1], lines[end_line - 1][end_column - 1 :]
        lines[line - 1 : end_line] = (head + replacement + tail).split("\n")
    return "\n".join(lines)


def check_suggestions(compiler: Compiler, case: Case) -> str:
    """The error in the suggestions for a program; empty if there is none."""
    diagnostics = json.loads(compiler.run(case, case.text, "json")[1] or "[]")
    corrected = apply(case.text, diagnostics)
    if corrected == case.text:
        return "a suggestion is expected" if case.fixed else ""
    status, text = compiler.run(case, corrected, "json")
    again = {one["message"] for one in json.loads(text or "[]")}
    suggested = [one for one in diagnostics if one["fixits"]]
    for diagnostic in suggested:
        if diagnostic["message"] in again:
            return f"the suggestion does not cure '{diagnostic['message']}':\n{corrected}"
    if case.fixed and status != 0:
        return f"the corrected program does not compile:\n{corrected}\n{text}"
    return ""


def check(path: Path, options: argparse.Namespace) -> tuple[int, int]:
    """The number of programs, and of those that failed."""
    preamble, cases = read(path)
    names = [case.name for case in cases]
    for name in sorted({name for name in names if names.count(name) > 1}):
        sys.exit(f"{path}: two programs are called '{name}'")
    failed = 0
    found: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options.tessera, folder)
        for case in cases:
            if options.only and options.only not in case.name:
                found.append(case.expected)
                continue
            status, text = compiler.run(case, case.text, "text")
            lines = [line.rstrip() for line in text.splitlines()]
            found.append(lines)
            expected = [line.rstrip() for line in case.expected]
            problem = "" if status == 1 else f"expected exit status 1, found {status}"
            if lines != expected and not options.update:
                problem = "\n".join(
                    difflib.unified_diff(expected, lines, "expected", "found", lineterm="")
                )
            problem = problem or check_suggestions(compiler, case)
            if problem:
                failed += 1
                print(f"{path.name}: {case.name}: {problem}\n")
    if options.update:
        write(path, preamble, cases, found)
    return len(cases), failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tessera", default=str(TOP / "build" / "bin" / "tessera"))
    parser.add_argument("--update", action="store_true", help="write what is printed now")
    parser.add_argument("--only", help="programs whose name contains this")
    options = parser.parse_args()
    results = [check(path, options) for path in options.files]
    count, failed = (sum(part) for part in zip(*results))
    print(f"{count} wrong programs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
