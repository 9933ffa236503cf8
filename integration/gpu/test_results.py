"""Results come home: parts of one commit become one file, and a page is made of what there is."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "benchmarks/gpu")]

import merge  # noqa: E402
from tessera.bench import page  # noqa: E402

DEVICE = "NVIDIA H200"


def run(time: str, commit: str = "abc", **steps) -> dict:
    return {"device": DEVICE, "commit": commit, "time": time, "target": "sm_90", "steps": steps}


def row(burst: float, sustained: float = 0.9) -> dict:
    ours = {"burst_ms": 1.0, "burst_rate": 700.0, "sustained_ms": 1.2, "sustained_rate": 600.0}
    goal = {"against": "cublas", "goal": 0.97, "burst": burst, "sustained": sustained}
    return {"good": True, "error": 0.5, "unit": "TFLOP/s", "times": {"tessera": ours}, "goals": [goal]}


TUNED = {
    "good": True,
    "first": "m=128",
    "best": "m=64",
    "first_of_best": 0.9,
    "ms": {"m=128": 1.0, "m=64": 0.9},
}
SMALL = {
    "tessera": {"plain_us": 7.5, "plain_ratio": 1.0, "graph_us": 1.6, "graph_ratio": 1.0},
    "eager": {"plain_us": 9.0, "plain_ratio": 1.2, "graph_us": 1.5, "graph_ratio": 0.94},
}
FILES = [
    run("1", suite={"a": {"good": False, "wrong": "x"}, "b": {"good": True, "compared": 5}}),
    run("2", suite={"a": {"good": True, "compared": 7}}, bench={"matmul_x": row(0.98)}),
    run("3", suite={"b": {"good": False, "wrong": "late"}}, tune={"matmul_x": TUNED}),
    run(
        "4",
        "def",
        bench={"matmul_x": {"good": False, "failure": "it <failed>\nmore"}},
        memory={"sum_x": row(0.96)},
        small={"sum_y": {"good": True, "small": SMALL}},
    ),
]


def test_parts_of_a_commit_are_one(tmp_path, capsys):
    paths = []
    for number, data in enumerate(FILES):
        paths.append(tmp_path / f"part{number}")
        paths[-1].write_text(json.dumps(data))
    script = TOP / "benchmarks/gpu/merge.py"
    command = [sys.executable, script, "--into", tmp_path, *paths]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "0 of 1 first choices are within 5% of the best candidate; median 0.900" in told
    assert " first/best tried  first choice\n" in told
    assert f"{'matmul_x':44}      0.900     2  m=128  best: m=64\n" in told
    whole = json.loads((tmp_path / "h200-abc.json").read_text())
    assert whole["steps"]["suite"] == {"calls": 2, "right": 2, "elements": 12, "others": {}}
    assert whole["steps"]["bench"]["matmul_x"]["goals"][0]["burst"] == 0.98
    tuned = json.loads((tmp_path / "h200-abc-candidates.json").read_text())
    assert tuned["rows"]["matmul_x"]["best"] == "m=64"
    assert set(json.loads((tmp_path / "h200-def.json").read_text())["steps"]) == {"bench", "memory", "small"}


class Balance(HTMLParser):
    """Every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_page(tmp_path):
    joined = list(merge.join(FILES).values())
    tuned = {**run("3"), "rows": joined[0]["steps"].pop("tune")}
    tuned.pop("steps")
    for one in joined:
        one["steps"] = {
            s: merge.condense(v) if s in merge.CALLS else v for s, v in one["steps"].items()
        }
    parser = Balance()
    parser.feed(page.page([*joined, tuned]))
    assert not parser.open
    words = " ".join(parser.words)
    assert "NVIDIA H200, commit def" in words and "it <failed>" in words
    assert "0.900, m=128; best m=64" in words and "0.98" in words
    assert "sum_x" in words and "7.50 µs plain, 1.60 µs graph" in words and "graph: 0.94 of eager, goal 1" in words


def test_page_of_committed_results():
    """What is committed can be read; machines of all kinds are on the page."""
    files = [json.loads(p.read_text()) for p in (TOP / "benchmarks/results").glob("*.json")]
    parser = Balance()
    parser.feed(page.page([one for one in files if "time" in one]))
    assert not parser.open
