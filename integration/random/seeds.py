"""The random programs that test a commit: different for each commit, the same whenever it is
tested.

The commit's hash determines the start of a range of seeds. In a tree without commits, such as an
unpacked archive, it starts at 0. TESSERA_FUZZ_FIRST names another first seed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
LARGEST = 1 << 16  # programs of a range; ranges of two commits do not overlap


def commit(folder: Path = HERE) -> str:
    """The commit of the tree that the folder is in, or nothing."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first(text: str | None = None) -> int:
    """The first seed for a commit, by default the tree's."""
    if text is None:
        if named := os.environ.get("TESSERA_FUZZ_FIRST"):
            return int(named)
        text = commit()
    return int(text[:7], 16) * LARGEST if text else 0


def range_of(text: str) -> tuple[int, int]:
    """FIRST:END, or commit:COUNT from the commit's first seed."""
    start, end = text.split(":")
    if start == "commit":
        return first(), first() + int(end)
    return int(start), int(end)


def repeat(seed: int | str = "SEED", options: str = "") -> str:
    """The command that runs one program again."""
    end = seed + 1 if isinstance(seed, int) else f"{seed}+1"
    return f"make fuzz SEEDS={seed}:{end}" + (f' FUZZ_ARGS="{options}"' if options else "")
