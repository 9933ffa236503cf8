"""The progress of a tuning: one line on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tuner import KernelTuning


class Progress:
    """Shows the best time so far, the candidates that are left and the time that is left."""

    def __init__(self, name: str, wanted: bool | None):
        self.name = name
        self.is_shown = sys.stderr.isatty() if wanted is None else wanted
        self.width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        self._write("")

    def show(self, found: KernelTuning, best: float | None, left: int, end: float) -> None:
        if not self.is_shown:
            return
        measured = found.candidates - left
        part = measured / max(1, found.candidates)
        bar = "#" * int(20 * part) + "-" * (20 - int(20 * part))
        text = f"{self.name} {found.name} [{bar}] {measured}/{found.candidates}"
        if best is not None:
            text += f", best {best * 1e6:.1f} us ({found.first_seconds / best:.2f}x of the first)"
        self._write(f"{text}, {max(0.0, end - time.monotonic()):.0f} s left")

    def _write(self, text: str) -> None:
        if self.is_shown and (text or self.width):
            sys.stderr.write("\r" + text.ljust(self.width) + ("\r" if not text else ""))
            sys.stderr.flush()
        self.width = len(text)
