"""docs/pipelines.md agrees with the compiler: every pass has a section, tables have the real order,
and the excerpts of loops are those of placed Tile IR."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "utils"))

from docsite.excerpts import Excerpt  # noqa: E402
from docsite.pipelines import PAGE, Pipelines, merge  # noqa: E402

from tessera.targets import chips  # noqa: E402

TARGETS = ["x86-64-v3", "x86-64-v4", "aarch64"]
TARGETS += [f"{chip}:ptx" for chip in chips()]
TARGETS += [f"{chip}:tileir" for chip, one in chips().items() if "tileir" in one["features"]]
PROGRAMS = """\
@tsr.function
def gemm(a, b):
    return a @ b

@tsr.function
def attention(q, k, v):
    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v
"""
ARGUMENTS = {
    "gemm": ["a=bf16[8192,8192]", "b=bf16[8192,8192]"],
    "attention": [f"{name}=bf16[16,8192,128]" for name in "qkv"],
}


@pytest.fixture(scope="module")
def pipelines() -> Pipelines:
    return Pipelines()


@pytest.fixture(scope="module")
def page(pipelines) -> str:
    return pipelines.fill(PAGE, (TOP / "docs" / PAGE).read_text())


@pytest.mark.parametrize("target", TARGETS)
def test_every_pass_has_a_section(target, pipelines, page):
    sections = re.findall(r"^### `([\w-]+)`$", page, re.MULTILINE)
    ran = [name for stage in ("graph", "sched", "tile") for name in pipelines.names(target, stage)]
    assert len(ran) == len(pipelines.steps[target]) > 15
    assert not set(ran) - set(sections)
    assert len(sections) == len(set(sections))


def test_every_description_has_its_parts(pipelines):
    for name, one in pipelines.definitions.items():
        parts = re.findall(r"^\*\*([\w ]+)\.\*\* \S", one.description, re.MULTILINE)
        assert one.summary and not one.description.startswith("**"), name
        assert parts == ["Why", "Input form", "Output form", "Declines"], name


@pytest.mark.parametrize("target", ["sm_70:ptx", "sm_80:ptx", "sm_90:ptx"])
def test_tables_have_the_order_of_the_compiler(target, pipelines, page):
    start = page.index("## From Tile IR to PTX")
    table = re.search(r"(^\| \d+ \|.*\n)+", page[start:], re.MULTILINE)[0]
    rows = [
        re.match(r"\| \d+ \| \[`([\w-]+)`\]\(#([\w-]+)\) \| (.*) \| (.*) \|$", line)
        for line in table.splitlines()
    ]
    assert all(row[1] == row[2] for row in rows)
    own = [row[1] for row in rows if not row[4] or f"`{target}`" in row[4]]
    assert own == pipelines.names(target, "tile")


def test_merge_keeps_every_order():
    assert merge([["a", "b", "d"], ["a", "c", "d", "e"]]) == ["a", "b", "c", "d", "e"]
    assert merge([["a"], ["b", "a", "b"]]) == ["b", "a", "b"]


@pytest.mark.parametrize("function", ARGUMENTS)
def test_excerpts_of_loops(function, page, tmp_path):
    block = re.search(rf"<!-- placed: {function} -->\n```mlir\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "programs.tsr").write_text(PROGRAMS)
    command = [TOP / "build" / "bin" / "tessera", "compile", f"programs.tsr::{function}"]
    command += [word for one in ARGUMENTS[function] for word in ("--arg", one)]
    command += ["--target", "sm_90", "--emit", "placed", "--option", "tuning=false"]
    done = subprocess.run(
        command, cwd=tmp_path, env=dict(os.environ), check=True, capture_output=True, text=True
    )
    assert Excerpt(block[1], done.stdout).missing is None
