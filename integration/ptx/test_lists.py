"""lists.py finds what a list lacks and what it has in vain, and mends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_a_list_is_mended(tmp_path):
    text = (HERE / "equivalents.txt").read_text()
    lines = text.splitlines(keepends=True)
    lacking = next(line for line in lines if line.startswith("test_views.py"))
    vain = "test_views.py::test_that_was | f_0 orders | barrier 0 removed\n"
    file = tmp_path / "equivalents.txt"
    file.write_text("".join(line for line in lines if line != lacking) + vain)
    (tmp_path / "spills.txt").write_text((HERE / "spills.txt").read_text())
    command = [sys.executable, HERE / "lists.py", "equivalents", "--files", "views", "--write", "-j", "1"]
    done = subprocess.run(command, env={**os.environ, "TESSERA_LISTS": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"+ {lacking}" in done.stdout and f"- {vain}" in done.stdout
    assert file.read_text() == text
