"""`tessera bench`: a user's function, stored runs, the comparison of two runs, and the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tessera as tsr
from tessera.bench import command, history, page, table
from test_judge import ROWS, run

PROGRAM = """
import math
import numpy as np
import tessera as tsr
from tessera import Tensor, fp32

FACTOR = 0.5

@tsr.function
def halve(x: Tensor["*any"]):
    return x * FACTOR

@tsr.function
def scores(q: Tensor["S", "D"], k: Tensor["T", "D"], scale: float = 1.0) -> Tensor["S", "T"]:
    p = tsr.matmul(q, k.mT).to(fp32) * (scale / math.sqrt(D))
    j = tsr.iota((S, T), dim=1)
    return tsr.softmax(tsr.where(j <= tsr.iota((S, T), dim=0), halve(p), -tsr.inf), dim=-1)

def plain(q, k, scale):
    return q @ k.T
"""


@pytest.fixture
def program(tmp_path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def bench(*words: object, status: int = 0) -> str:
    package = os.path.dirname(os.path.dirname(tsr.__file__))
    environment = os.environ | {"PYTHONPATH": package, "NO_COLOR": "1"}
    call = [sys.executable, "-m", "tessera", "bench", *map(str, words)]
    done = subprocess.run(call, capture_output=True, text=True, env=environment)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_function_of_ones_own(program, tmp_path):
    arguments = ["--arg", "q=fp32[32,16]", "--arg", "k=fp32[48,16]", "--arg", "scale=2.0"]
    words = [f"{program}::scores", *arguments, "--peer", f"numpy={program}::plain"]
    words += [
        "--threads",
        "1",
        "--seconds",
        "0.1",
        "--json",
        tmp_path / "runs",
        "--html",
        tmp_path / "r.html",
    ]
    reported = bench(*words)
    assert (
        "roofline here: memory" in reported
        and "scores 32x16 48x16" in reported
        and "  numpy  " in reported
    )
    found = history.read(tmp_path / "runs")
    (row,) = found["rows"]
    assert (
        row["kind"] == "case"
        and len(row["samples"]["tessera"]) >= 7
        and row["flops"] > 32 * 48 * 16
    )
    assert row["bytes"] == 4 * (32 * 16 + 48 * 16 + 32 * 48)
    assert row["interval"][0] <= row["seconds"] <= row["interval"][1]
    assert found["machine"]["cores"] >= 1 and found["commit"] and found["roofline"][0]["copy"] > 1e8
    assert "scores" in (tmp_path / "r.html").read_text()


def test_pytorch_runs_the_same_text(program):
    torch = pytest.importorskip("torch")
    from tessera.bench import functions
    from tessera.bench.peers.translated import translate

    ours = functions.load(f"{program}::scores")
    q, k, _ = functions.arguments_of(ours, ["q=fp32[8,16]", "k=fp32[12,16]", "scale=2.0"])
    theirs = translate(ours)(torch.from_numpy(q), torch.from_numpy(k), 2.0)
    assert abs(theirs.numpy() - ours(q, k, 2.0)).max() < 1e-5


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["none.py::f"], "none.py: no such file"),
        (["PROGRAM::nothing"], "has no function 'nothing'"),
        (["PROGRAM"], "has 2 functions: name one"),
        (["PROGRAM::plain"], "is not decorated with @tsr.function"),
        (["PROGRAM::scores"], "--arg q=… is missing: the arguments are q, k, scale"),
        (["PROGRAM::scores", "--arg", "z=3"], "has no argument 'z'"),
        (["PROGRAM::scores", "--arg", "q=fp12[3]"], "there is no type 'fp12'"),
        (["PROGRAM::scores", "--arg", "q=what"], "expected TYPE[SIZES], a number, true or false"),
        (["PROGRAM::scores", "--arg", "q=fp32[2,3]", "--arg", "k=fp32[2,4]"], "error:"),
    ],
)
def test_wrong_words(words, expected, program, tmp_path):
    words = [word.replace("PROGRAM", str(program)) for word in words]
    assert expected in bench(*words, "--threads", "1", "--json", tmp_path, status=1)
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--threads", "none"], "expected numbers, found 'none'"),
        (["--clock", "cpu"], "--clock cpu sees one thread only"),
        (["--compare", "one.json"], "expected OLD NEW, or two of the backends tileir,ptx"),
        (["--compare", "one.json", "two.json"], "one.json: No such file or directory"),
        (["--target", "sm_90"], "expected cpu or cuda, found 'sm_90'"),
    ],
)
def test_wrong_usage(words, expected):
    assert expected in bench(*words, status=2)


def test_names_are_listed():
    reported = bench("--list", "transformer", "loss").split("\n")
    assert any(line.startswith("transformer block 1x") for line in reported)
    assert any(line.startswith("vocabulary loss") for line in reported)


def write(path: Path, data: dict) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_compare(tmp_path, capsys):
    old, new = write(tmp_path / "a.json", run(1, ROWS)), write(tmp_path / "b.json", run(2, ROWS))
    assert command.main(["--compare", str(old), str(new)]) == 0
    assert "0 slower, 0 faster, 20 same, 0 unknown" in capsys.readouterr().out
    write(new, run(2, ROWS | {"row 3": 1.1}))
    assert command.main(["--compare", str(old), str(new)]) == 1
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("row 3"))
    assert line.endswith("slower") and "+" in line and "1 slower" in out
    assert command.main(["--compare", str(old), str(new), "--least", "20"]) == 0


def test_files_are_read_back(tmp_path):
    data = history.start("wall")
    data["rows"] = [{"kind": "case", "title": "t", "samples": {"tessera": [0.123456789, 1.0]}}]
    path = history.save(data, tmp_path / "deep" / "folder")
    found = history.read(path.parent)
    assert found["rows"][0]["samples"]["tessera"] == [0.12346, 1.0]
    assert found["commit"] == data["commit"] and found["format"] == history.VERSION
    with pytest.raises(ValueError, match="expected JSON"):
        bad = tmp_path / "bad.json"
        bad.write_text("{")
        history.read(bad)


def test_tables_are_aligned():
    lines = table.aligned([["name", "ms"], ["a", "1.0"], ["long name", "10.25"]])
    assert lines == ["name          ms", "---------  -----", "a            1.0", "long name  10.25"]


class Plots(HTMLParser):
    """Every opened element is closed; counts the drawn elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.drawings: list[dict] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag == "svg" and dict(attributes).get("class") == "plot":
            self.drawings.append(dict(attributes))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def drawn(*runs: dict) -> Plots:
    parser = Plots()
    parser.feed(page.page(list(runs)))
    assert not parser.open
    return parser


def measured(seed: int) -> dict:
    """A run with everything that a report draws."""
    data = run(seed, {"matmul <1>": 1.0, "softmax 2": 0.5})
    data["machine"]["system"] = "Linux"
    data["roofline"] = [{"threads": 1, "copy": 2e10, "fp32": 3e11, "by": "tessera"}]
    for row, flops in zip(data["rows"], (2e9, 1e7)):
        goal = {"against": "torch", "seconds": 1.5, "ratio": 1.5, "low": 1.4, "high": 1.6}
        goal |= {"best_ratio": 1.5, "target": 1.2}
        row |= {
            "flops": flops,
            "bytes": 1e7,
            "roof": 0.5,
            "targets": [goal],
            "group": row["title"][:4],
        }
    return data


def test_report():
    found = drawn(measured(1), measured(2))
    labels = [one["aria-label"] for one in found.drawings]
    assert labels == ["roofline, 1 threads", "matm, 1 thread", "soft, 1 thread"]
    assert found.count["circle"] >= 4 + 4 and found.count["polyline"] == 1 + 2
    alone = drawn(measured(1))
    assert [one["aria-label"] for one in alone.drawings] == ["roofline, 1 threads"]
