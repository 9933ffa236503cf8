"""Measurements fill a table, and the compiler uses its entries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "benchmarks/gpu")]

import tuning  # noqa: E402

TILEIRAS = Path(os.environ.get("TESSERA_TILEIRAS") or TOP / ".venv/bin/tileiras")
PROGRAM = """
import tessera as tsr
from tessera import Tensor

@tsr.function
def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b

@tsr.function
def renamed(left: Tensor["rows", "depth"], right: Tensor["depth", "columns"]):
    return tsr.matmul(left, right)
"""
ARGUMENTS = ("--arg", "a=bf16[8192,8192]", "--arg", "b=bf16[8192,8192]")
FIRST = "m=128,k=64,n=256;raster_group=16,persistent_ctas=132,num_warps=8"


class Compiler:
    def __init__(self, folder: Path):
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM)
        self.cache = folder / "cache"
        self.table = self.cache / "tuning-sm_90.txt"
        self.reported = ""

    def __call__(
        self, command: str, *more: str, function: str = "product", **environment: str
    ) -> str:
        whole = [TOP / "build/bin/tessera", command, f"{self.program}::{function}", *more]
        env = {**os.environ, "TESSERA_CACHE": str(self.cache), **environment}
        done = subprocess.run(
            [*whole, "--target", "sm_90", "--via", "tileir"],
            capture_output=True,
            text=True,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        self.reported = done.stderr
        return done.stdout

    def signature(self, *arguments: str, function: str = "product") -> str:
        text = self("explain", *(arguments or ARGUMENTS), function=function)
        return re.search(r"^  table   (\w+)", text, re.MULTILINE)[1]

    def choice(self, *more: str) -> str:
        text = self("compile", *ARGUMENTS, *more, "--emit", "sched", "-o", "-")
        return re.search(r"dims (\[.*) {", text)[1]

    def fill(self, *files: dict) -> subprocess.CompletedProcess:
        paths = []
        for number, data in enumerate(files):
            paths.append(self.program.with_name(f"{number}.json"))
            paths[-1].write_text(json.dumps(data))
        env = {**os.environ, "TESSERA_CACHE": str(self.cache)}
        command = [sys.executable, TOP / "benchmarks/gpu/tuning.py", *paths]
        return subprocess.run(command, capture_output=True, text=True, env=env)


@pytest.fixture
def compiler(tmp_path) -> Compiler:
    return Compiler(tmp_path)


def measured(time: str = "1", **rows: dict) -> dict:
    about = {
        "device": "NVIDIA H200",
        "commit": "abc",
        "target": "sm_90:tileir,x86_64",
        "time": time,
    }
    return {**about, "steps": {"tune": rows}}


def row(signature: str, **times: float | None) -> dict:
    """The result of bench.tune for a row."""
    ms = {CHOICES[name]: one for name, one in times.items()}
    best = min((one for one in ms if ms[one]), key=ms.get)
    found = {"first": FIRST, "best": best, "first_of_best": ms[best] / ms[FIRST], "ms": ms}
    return {"good": True, **found, "signature": signature}


CHOICES = {
    "first": FIRST,
    "wide": "m=256,k=64,n=128;num_warps=8",
    "deep": "m=128,k=128,n=128;num_warps=4",
}


def test_measurements_become_the_choice(compiler):
    before = compiler.choice()
    assert "m = M tile 128" in before and "tuned" not in before
    done = compiler.fill(measured(matmul=row(compiler.signature(), first=1.5, wide=1.0, deep=1.2)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("1 kernels, 1 of them other than the cost model's choice")
    after = compiler.choice()
    assert "m = M tile 256, stream k = K tile 64, parallel n = N tile 128" in after
    assert "launch <num_warps = 8>" in after and compiler.reported == ""
    reported = "measured tiles, launch and tuning, 1.50 times as fast as the cost model's choice"
    assert f"{reported} (matmul, NVIDIA H200, abc)" in compiler("explain", *ARGUMENTS)
    assert compiler.choice("--option", "tuning=false") == before


@pytest.mark.parametrize(
    "text, reason",
    [
        ("{", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[1]", "expected results of `check.py --only tune`"),
        ('{"time": "1"}', "expected results of `check.py --only tune`"),
        (
            '{"time": "1", "target": "sm_90", "steps": {"tune": {"matmul": 3}}}',
            "expected results of `check.py --only tune`",
        ),
    ],
)
def test_malformed_results_are_reported(compiler, text, reason):
    path = compiler.program.with_name("0.json")
    path.write_text(text)
    command = [sys.executable, TOP / "benchmarks/gpu/tuning.py", path]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "TESSERA_CACHE": str(compiler.cache)},
    )
    assert done.returncode == 1 and done.stderr.startswith(f"{path}: {reason}"), done.stderr
    assert len(done.stderr.splitlines()) == 1 and not compiler.table.exists()


def test_what_is_not_faster_changes_nothing(compiler):
    before = compiler.choice()
    compiler.fill(measured(matmul=row(compiler.signature(), first=1.0, wide=0.995, deep=None)))
    assert compiler.choice().startswith(before.split(" attributes")[0])
    assert "none was faster than the cost model's choice" in compiler("explain", *ARGUMENTS)


def test_rows_that_share_code_share_a_line(compiler):
    """Each row has another best; the best compromise is chosen."""
    name = compiler.signature()
    small = row(name, first=1.0, wide=0.5, deep=0.6)
    large = row(name, first=10.0, wide=12.0, deep=6.0)
    compiler.fill(measured(small=small, large=large))
    (line,) = (one for one in compiler.table.read_text().splitlines() if one.startswith(name))
    assert line.split()[2:6] == ["128x128x128", "num_warps=4", "6.00000", "10.00000"]
    assert line.endswith("small and large, NVIDIA H200, abc")


def test_tables_grow(compiler):
    """Later measurements replace those of the same kernel; others are kept; unusable ones are
    ignored."""
    name, other = compiler.signature(), "0123456789abcdef"
    compiler.fill(measured(a=row(name, first=2, wide=1), b=row(other, first=2, deep=1)))
    wrong = {**row("f" * 16, first=2, wide=1), "good": False}
    old = {key: value for key, value in row(name, first=2, deep=1).items() if key != "signature"}
    newer = measured("3", a=row(name, first=2, deep=1), wrong=wrong)
    compiler.fill(newer, measured("2", a=row(name, first=2, wide=1), old=old))
    lines = compiler.table.read_text().splitlines()
    assert lines[0] == "tessera tuning 2 sm_90" and lines[1].startswith("# kernel")
    kernels = {one.split()[0]: one.split()[2] for one in lines[2:]}
    assert kernels == {name: "128x128x128", other: "128x128x128"} and len(lines) == 4
    assert "n = N tile 128" in compiler.choice()
    assert compiler.fill(measured(old=old)).returncode == 1


def test_files_that_were_brought_home(compiler):
    """merge.py's files of candidates hold the same rows."""
    rows = measured(a=row(compiler.signature(), first=2, deep=1))["steps"]["tune"]
    about = {key: value for key, value in measured().items() if key != "steps"}
    assert tuning.collect([{**about, "rows": rows}]) == tuning.collect([measured(**rows)])


def test_what_a_signature_depends_on(compiler):
    """Independent of names and of sizes of one class; dependent on types, layouts, classes and
    policies."""
    renamed = ("--arg", "left=bf16[8192,8192]", "--arg", "right=bf16[8192,8192]")
    like = ("--arg", "a=bf16[8128,8192]", "--arg", "b=bf16[8192,4160]")
    same = {
        compiler.signature(),
        compiler.signature(*renamed, function="renamed"),
        compiler.signature(*like),
    }
    assert len(same) == 1
    others = [
        ("--arg", "a=fp16[8192,8192]", "--arg", "b=fp16[8192,8192]"),
        ("--arg", "a=bf16[1000,8192]", "--arg", "b=bf16[8192,8192]"),
        ("--arg", "a=bf16[8192,8192:2]", "--arg", "b=bf16[8192,8192]"),
        (*ARGUMENTS, "--option", "alignment=element"),
    ]
    assert len(same | {compiler.signature(*one) for one in others}) == 5


def test_damaged_tables(compiler):
    before, name = compiler.choice(), compiler.signature()
    compiler.cache.mkdir(exist_ok=True)
    compiler.table.write_text(f"tessera tuning 2 sm_90\n{name} tileir 128x64\n")
    assert compiler.choice() == before
    assert (
        compiler.reported
        == f"tessera: warning: {compiler.table}: line 2: expected fields such as raster_group=8,num_warps=4 or -, got ''\n"
    )
    compiler.table.write_text(f"tessera tuning 2 sm_90\n{name} tileir 128x64 - 1 1 -\n")
    assert compiler.choice() == before
    assert (
        compiler.reported
        == f"tessera: warning: {compiler.table}: line 2: expected 3 tiles, got 2\n"
    )
    compiler.table.write_bytes(b"\xff\x00" * 1000)
    assert compiler.choice() == before and compiler.reported.count("warning") == 1


@pytest.mark.skipif(not TILEIRAS.exists(), reason="tileiras is not installed")
def test_choices_that_cannot_be_assembled(compiler, tmp_path):
    """Code uses the cost model's choice, and a line says so."""
    compiler.fill(measured(matmul=row(compiler.signature(), first=1.5, wide=1.0)))
    script = tmp_path / "tileiras"
    fails = (
        f'[ -e {tmp_path}/tried ] || {{ touch {tmp_path}/tried; echo "too large" >&2; exit 1; }}'
    )
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) ;; *) {fails};; esac\nexec {TILEIRAS} "$@"\n'
    )
    script.chmod(0o755)
    bundle = tmp_path / "product.tsb"
    compiler("compile", *ARGUMENTS, "-o", str(bundle), TESSERA_TILEIRAS=str(script))
    assert "no code could be made with measured tiles, launch and tuning" in compiler.reported
    assert compiler.reported.count("\n") == 1 and bundle.stat().st_size > 0
