"""Programs in pages: each block of Python is run as a file of its own and shown with its output."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
#: Pages whose programs are run; other pages show whole files, or parts of files.
RUN = ("index.md", "language.md", "interoperation.md", "tutorial/")


class Programs:
    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def output(self, page: str, text: str) -> str | None:
        """The output of a page's program; None if the programs of the page are not run."""
        if not page.startswith(RUN):
            return None
        if text not in self.known:
            self.known[text] = self._run(page, text)
        return self.known[text]

    @staticmethod
    def _run(page: str, text: str) -> str:
        environment = dict(os.environ, PYTHONPATH=str(TOP / "build" / "python"))
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "program.py").write_text(text)
            done = subprocess.run(
                [sys.executable, "program.py"],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
        if done.returncode:
            raise RuntimeError(f"{page}: a program failed\n{text}\n{done.stderr}")
        return done.stdout
