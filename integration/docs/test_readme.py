"""Documentation that runs: programs, commands and IR excerpts of README.md and docs/.

A `python` block is run as a separate file; after `<!-- file: NAME -->` it, or an `mlir` block, is
only saved under that name, for the commands of its page. In a `console` block, a line after `$` is
a command and the following lines are its output. An `mlir` block after `<!-- stage: NAME -->` is an
excerpt of inspect_ir's output for the README's function. utils/docsite/excerpts.py defines `…` in
them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "utils"))

from docsite.excerpts import Excerpt  # noqa: E402

PAGES = [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
MISTAKES = '''"""What the README shows mistakes of."""

import tessera as tsr

@tsr.function
def scale(x, limit):
    if x.sum() > limit:
        return x / x.sum()
    return tsr.sofmax(x)
'''
_BLOCK = re.compile(
    r"(?:<!-- (?:stage|file): ([\w.]+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """(stage or file, text) of the page's blocks in a language."""
    return [
        (stage, text)
        for stage, found, text in _BLOCK.findall(page.read_text())
        if found == language
    ]


def all_blocks(language: str) -> list:
    return [
        pytest.param(stage, text, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, (stage, text) in enumerate(blocks(page, language))
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of the README's reader: its program is saved as attention.py."""
    path = tmp_path_factory.mktemp("reader")
    (path / "attention.py").write_text(blocks(PAGES[0], "python")[0][1])
    (path / "mistakes.py").write_text(MISTAKES)
    for page in PAGES:
        for name, text in blocks(page, "python") + blocks(page, "mlir"):
            if "." in name:
                (path / name).write_text(text)
    return path


@pytest.fixture(scope="module")
def attention(folder):
    spec = importlib.util.spec_from_file_location("attention", folder / "attention.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.attention


def environment() -> dict[str, str]:
    programs = os.pathsep.join([str(TOP / "build" / "bin"), str(Path(sys.executable).parent)])
    return dict(os.environ, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}", NO_COLOR="1")


@pytest.mark.parametrize("stage, text", [one for one in all_blocks("python") if not one.values[0]])
def test_program(stage, text, folder):
    path = folder / "program.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, path], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stage, text", all_blocks("console"))
def test_commands(stage, text, folder):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment(), capture_output=True, text=True
        )
        found = done.stdout + done.stderr
        missing = Excerpt(expected, found).missing
        assert missing is None, f"$ {command}\nexpected: {missing}\nfound:\n{found}"
        assert done.returncode == ("rror:" in expected), found


EXCERPTS = [block for block in all_blocks("mlir") if block.values[0] and "." not in block.values[0]]


@pytest.mark.parametrize("stage, text", EXCERPTS)
def test_excerpt(stage, text, attention):
    arrays = [np.zeros((8, 1024, 64), np.float32)] * 3
    found = attention.inspect_ir(stage, *arrays)
    missing = Excerpt(text, found).missing
    assert missing is None, f"expected: {missing}\nfound:\n{found[:4000]}"


def test_make_targets_and_files_exist():
    targets = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        text = page.read_text()
        for target in re.findall(r"`make ([a-z-]+)", text):
            assert target in targets, f"{page.name}: make {target}"
        for link in re.findall(r"\]\(([^)#]+)\)", _BLOCK.sub("", text)):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_named_files_exist():
    """Paths in backticks that begin with a folder of the tree."""
    for page in PAGES:
        for path in re.findall(
            r"`((?:lib|include|runtime|python|tools|test|unittests|integration|utils)/[\w/.-]*)",
            page.read_text(),
        ):
            assert (TOP / path.rstrip(".")).exists(), f"{page.name}: {path}"


def test_glossary_is_linked_from_the_start_pages():
    assert "](docs/glossary.md)" in (TOP / "README.md").read_text()
    assert "](glossary.md)" in (TOP / "docs" / "index.md").read_text()


def test_guide_to_gpus_stays_short():
    """Descriptions of passes belong on the page of pipelines."""
    assert len((TOP / "docs" / "gpu.md").read_text().split()) <= 2000
