"""Tuning candidates: the choice in a schedule is read, changed and compiled again."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "benchmarks/gpu"))

import candidates  # noqa: E402
import fixed  # noqa: E402
from rows import ROWS  # noqa: E402

SCHEDULE = ("--target", "sm_90", "--emit", "sched", "-o", "-")
FIRST = {row.group: row for row in reversed(ROWS)}


def tessera(*arguments: str, text: str | None = None) -> str:
    command = [TOP / "build/bin/tessera", "compile", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def schedule(row, *more: str) -> str:
    program = f"{TOP / 'benchmarks/gpu/programs.py'}::{row.function}"
    return tessera(program, *row.flags(), *more, *SCHEDULE)


@pytest.mark.parametrize("group", FIRST)
def test_choices_are_read_back(group):
    text = schedule(FIRST[group])
    first, *others = candidates.variants(text, group, 6)
    assert candidates.write(text, first) == text and len(others) == 6
    for choice in others:
        changed = candidates.write(text, choice)
        assert str(candidates.read(changed)[0]) == str(choice) != str(first)
        if choice.tiles != first.tiles:
            again = tessera("-", *SCHEDULE, text=changed)
            assert str(candidates.read(again)[0]) == str(choice)


def test_a_field_that_the_model_never_gives():
    """The number of pipeline stages of an edited schedule reaches the code as the latency of loads."""
    row = FIRST["product"]
    text = schedule(row, "--via", "tileir")
    first, _ = candidates.read(text)
    assert "num_stages" not in first.fields
    staged = candidates.Choice(first.tiles, {**first.fields, "num_stages": 4})
    code = ("--target", "sm_90", "--emit", "tileir", "-o", "-")
    assert "latency" not in tessera("-", *code, text=text)
    loads = tessera("-", *code, text=candidates.write(text, staged)).count("latency = 3 : i32")
    assert loads >= 2  # of both operands, some of them in more than one loop


def test_only_single_kernels():
    assert candidates.variants("", "memory", 6) == []
    kernel = "sched.kernel @f dims [parallel m = M tile 4] order [m] {\n}\n"
    assert candidates.variants(kernel * 2, "memory", 6) == []


def test_fields_are_text():
    text = 'dims [parallel m = "M + 1" tile 4, stream n = 7 tile 8] order [m] launch <num_warps = 8> tuning <raster_group = 2> {'
    first, _ = candidates.read(text)
    assert (
        str(first) == "m=4,n=8;num_warps=8,raster_group=2" and candidates.write(text, first) == text
    )
    bare = candidates.write(text, candidates.Choice({"m": 2, "n": 8}))
    assert bare == 'dims [parallel m = "M + 1" tile 2, stream n = 7 tile 8] order [m] {'


def test_launch_is_that_of_the_table():
    table = (TOP / "include/tessera/Dialect/Common/LaunchFields.def").read_text()
    names = re.findall(r'^TESSERA_LAUNCH_FIELD\(\w+, "(\w+)"', table, re.MULTILINE)
    assert candidates.LAUNCH == tuple(names)


def test_sizes_in_the_program():
    """The same function for its row's sizes alone has no run-time size."""
    for row in (FIRST["memory"], FIRST["attention"], next(r for r in ROWS if r.function == "rope")):
        text = fixed.with_sizes((TOP / "benchmarks/gpu/programs.py").read_text(), row)
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "programs.py"
            program.write_text(text)
            found = tessera(f"{program}::{row.function}", *row.flags(), *SCHEDULE)
        assert "gir.symbols = {}" in found or "gir.symbols" not in found
