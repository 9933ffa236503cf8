"""Tables on the terminal, and the progress bar below them."""

from __future__ import annotations

import os
import shutil
import sys

_COLOURS = {"green": "32", "red": "31", "dim": "2", "bold": "1"}
_BALANCE = 6.0  # operations per byte; benchmarks with more are compute bound
MARKS = {True: "ok", False: "short", None: ""}
COLUMNS = [
    ("benchmark", -46),
    ("ms", 9),
    ("rate", 11),
    ("roof", 5),
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
            texts[6], texts[10] = paint(texts[6], colour), paint(texts[10], colour)
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
    """Operations per second, or bytes if there are few operations per byte."""
    if flops and (not count or flops / count > _BALANCE):
        return f"{flops / seconds / 1e9:.1f} GF/s"
    return f"{count / seconds / 1e9:.1f} GB/s" if count else ""


def aligned(rows: list[list[str]], colours: list[str | None] | None = None) -> list[str]:
    """Lines of a complete table, the first is the head; numbers are right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = [i > 0 and all(_number(row[i]) for row in rows[1:]) for i in range(len(widths))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            text.rjust(width) if at_right else text.ljust(width)
            for text, width, at_right in zip(row, widths, right)
        ]
        line = "  ".join(cells).rstrip()
        colour = "dim" if number == 0 else colours[number - 1] if colours else None
        lines.append(paint(line, colour) if colour else line)
        if number == 0:
            lines.append(paint("  ".join("-" * width for width in widths), "dim"))
    return lines


def _number(text: str) -> bool:
    return not text or text[0] in "+-0123456789"


def case_rows(result: dict) -> list[tuple[list[str], bool | None]]:
    """A result as rows of the table, one for each comparison, and whether its target is met."""
    head = [
        result["title"],
        seconds_text(result["seconds"]),
        rate_text(result["flops"], result["bytes"], result["seconds"]),
        f"{100 * result['roof']:.0f} %" if result.get("roof") else "",
    ]
    if not result["targets"]:
        low, high = result.get("interval", (result["seconds"],) * 2)
        interval = f"{seconds_text(low)} .. {seconds_text(high)}"
        return [([*head, "no peer", "", "", interval, "", "", ""], None)]
    rows: list[tuple[list[str], bool | None]] = []
    for one in result["targets"]:
        goal = one["target"]
        good = one["ratio"] >= goal if goal else None
        cells = [
            one["against"],
            seconds_text(one["seconds"]),
            f"{one['ratio']:.2f}",
            f"{one['low']:.2f} .. {one['high']:.2f}",
            f"{one['best_ratio']:.2f}",
            f">= {goal:g}" if goal else "",
            MARKS[good],
        ]
        rows.append(([*head, *cells], good))
        head = [""] * len(head)
    return rows


def figure_row(result: dict) -> tuple[list[str], bool | None]:
    good = None if result["limit"] is None else result["value"] <= result["limit"]
    digits = 1 if result["unit"] else 0
    limit = "" if result["limit"] is None else f"<= {result['limit']:g}"
    interval = f"{result['low']:.{digits}f} .. {result['high']:.{digits}f}"
    value = f"{result['value']:.{digits}f}"
    cells = [result["title"], "", "", "", result["unit"], "", value, interval, "", limit]
    return [*cells, MARKS[good]], good
