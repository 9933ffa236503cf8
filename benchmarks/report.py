"""The table on the terminal, the progress bar, and what the JSON file says of machine and build."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
_COLOURS = {"green": "32", "red": "31", "dim": "2", "bold": "1"}
COLUMNS = [
    ("benchmark", -46),
    ("ms", 9),
    ("rate", 11),
    ("against", -14),
    ("ms", 9),
    ("ratio", 6),
    ("95 % interval", -13),
    ("best", 6),
    ("target", 7),
    ("", -5),
]


def coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(text: str, colour: str) -> str:
    return f"\033[{_COLOURS[colour]}m{text}\033[0m" if coloured() else text


def _cell(text: str, width: int) -> str:
    return text.ljust(-width) if width < 0 else text.rjust(width)


class Table:
    """Prints rows as they come, above a progress bar that stays on the last line."""

    def __init__(self, total: int):
        self.total = total
        self.done = 0
        self.bar = sys.stderr.isatty()

    def header(self, title: str) -> None:
        self._clear()
        print("\n" + paint(title, "bold"))
        print(paint("  ".join(_cell(*column) for column in COLUMNS).rstrip(), "dim"))
        print(paint("  ".join("-" * abs(width) for _, width in COLUMNS), "dim"), flush=True)

    def row(self, cells: list[str], good: bool | None) -> None:
        self._clear()
        texts = [_cell(text, width) for text, (_, width) in zip(cells, COLUMNS)]
        if good is not None:
            colour = "green" if good else "red"
            texts[5], texts[9] = paint(texts[5], colour), paint(texts[9], colour)
        print("  ".join(texts).rstrip(), flush=True)

    def line(self, text: str, colour: str = "dim") -> None:
        self._clear()
        print(paint(text, colour), flush=True)

    def progress(self, running: str) -> None:
        if not self.bar:
            return
        width = 24
        filled = width * self.done // max(self.total, 1)
        room = shutil.get_terminal_size().columns - width - 14
        bar = "#" * filled + "." * (width - filled)
        print(
            f"\r\033[K[{bar}] {self.done}/{self.total}  {running[:room]}",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def _clear(self) -> None:
        if self.bar:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def seconds_text(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}" if seconds < 0.1 else f"{seconds * 1e3:.1f}"


def rate_text(flops: float, count: float, seconds: float) -> str:
    if flops:
        return f"{flops / seconds / 1e9:.1f} GF/s"
    return f"{count / seconds / 1e9:.1f} GB/s" if count else ""


def _processor() -> str:
    try:
        fields = dict(
            line.split(":", 1)
            for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
            if ":" in line
        )
    except OSError:
        return platform.processor()
    named = {key.strip(): value.strip() for key, value in fields.items()}
    text = named.get("model name", platform.machine())
    if "cpu family" in named:
        text += f", family {named['cpu family']} model {named['model']}"
    return text


def machine() -> dict:
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
    }


def commit() -> str:
    done = subprocess.run(
        ["git", "-C", str(TOP), "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or "unknown"
