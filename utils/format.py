#!/usr/bin/env python3
"""Checks that C++ and Python of the tree are formatted, or formats them.

    utils/format.py                   checks all tracked files; exit status 1 with those that differ
    utils/format.py --write           formats them (`make format`)
    utils/format.py [--write] FILE…   the same for some files

clang-format (.clang-format) formats *.cpp and *.h; ruff (ruff.toml) formats and lints *.py and
*.pyi. utils/requirements.txt pins both, since other versions format differently.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CPP = (".cpp", ".h")
PYTHON = (".py", ".pyi")
MANY = 40  # files for one process of clang-format


class Missing(Exception):
    """A tool is missing, or has another version."""


def tool(name: str) -> str:
    """The path of a tool in the version that utils/requirements.txt pins."""
    pinned = re.search(
        rf"^{name}==(\S+)", (TOP / "utils/requirements.txt").read_text(), re.MULTILINE
    )
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not pinned or not found:
        raise Missing(f"{name} is not installed; utils/setup.sh installs it")
    version = subprocess.run(
        [found, "--version"], capture_output=True, text=True, check=True
    ).stdout
    if not re.search(rf"\b{re.escape(pinned[1])}\b", version):
        raise Missing(
            f"expected {name} {pinned[1]}, found: {version.strip()}; utils/setup.sh installs it"
        )
    return found


def tracked() -> list[str]:
    """The tracked files of the tree that exist."""
    command = ["git", "-C", str(TOP), "ls-files", "-z", *(f"*{end}" for end in CPP + PYTHON)]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and (TOP / name).exists()]


def run(command: list[str], files: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run([*command, *files], cwd=TOP, capture_output=True, text=True)


def clang_format(files: list[str], write: bool) -> set[str]:
    """The C++ files that clang-format would change."""
    command = [tool("clang-format"), *(["-i"] if write else ["--dry-run", "--ferror-limit=1"])]
    parts = [files[i : i + MANY] for i in range(0, len(files), MANY)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        done = list(pool.map(lambda part: run(command, part), parts))
    if failed := next((one for one in done if one.returncode), None):
        raise Missing(failed.stderr.strip())
    # FILE:LINE:COLUMN: warning: code should be clang-formatted
    shown = re.findall(
        r"^(\S.*?):\d+:\d+: warning:", "".join(one.stderr for one in done), re.MULTILINE
    )
    return set(shown)


def ruff_format(files: list[str], write: bool) -> set[str]:
    """The Python files that ruff would change."""
    done = run(
        [tool("ruff"), "format", *([] if write else ["--check", "--output-format", "concise"])],
        files,
    )
    if done.returncode > (0 if write else 1):
        raise Missing(done.stderr.strip())
    # FILE:LINE:COLUMN: unformatted: File would be reformatted
    return set(re.findall(r"^(\S.*?):\d+:\d+: unformatted:", done.stdout, re.MULTILINE))


def ruff_check(files: list[str]) -> str:
    """The errors that ruff finds in Python files."""
    done = run([tool("ruff"), "check", "--quiet", "--output-format", "concise"], files)
    if done.returncode > 1:
        raise Missing(done.stderr.strip())
    return done.stdout


def write(cpp: list[str], python: list[str]) -> None:
    """Formats files. clang-format may need a second run on comments that it has wrapped."""
    if python:
        ruff_format(python, True)
    for _ in range(3):
        if not cpp:
            break
        clang_format(cpp, True)
        cpp = sorted(clang_format(cpp, False))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="format the files")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    files = [str(path.resolve()) for path in options.files] or tracked()
    cpp = [name for name in files if name.endswith(CPP)]
    python = [name for name in files if name.endswith(PYTHON)]
    try:
        if options.write:
            write(cpp, python)
        differ = clang_format(cpp, False) if cpp else set()
        differ |= ruff_format(python, False) if python else set()
        mistakes = ruff_check(python) if python else ""
    except Missing as error:
        print(f"format: error: {error}", file=sys.stderr)
        return 2
    if differ:
        where = "" if not options.files else " or utils/format.py --write FILE…"
        print(*sorted(differ), sep="\n")
        print(
            f"{len(differ)} of {len(cpp) + len(python)} files are not formatted; make format{where} formats them"
        )
    print(mistakes, end="")
    return 1 if differ or mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
