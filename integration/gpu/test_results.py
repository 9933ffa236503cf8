"""Merging of results: parts of one commit become one file, and a page is generated from the
existing ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "benchmarks/gpu")]

import merge  # noqa: E402
from tessera import targets  # noqa: E402
from tessera.bench import command, page, past  # noqa: E402

DEVICE = "NVIDIA H200"


def run(time: str, commit: str = "abc", **steps) -> dict:
    return {"device": DEVICE, "commit": commit, "time": time, "target": "sm_90", "steps": steps}


def row(burst: float, sustained: float = 0.9) -> dict:
    ours = {"burst_ms": 1.0, "burst_rate": 700.0, "sustained_ms": 1.2, "sustained_rate": 600.0}
    goal = {"against": "cublas", "goal": 0.97, "burst": burst, "sustained": sustained}
    return {
        "good": True,
        "error": 0.5,
        "unit": "TFLOP/s",
        "times": {"tessera": ours},
        "goals": [goal],
    }


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
    reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "0 of 1 first choices are within 5% of the best candidate; median 0.900" in reported
    assert " first/best tried  first choice\n" in reported
    assert f"{'matmul_x':44}      0.900     2  m=128  best: m=64\n" in reported
    whole = json.loads((tmp_path / "h200-abc.json").read_text())
    late = {"good": False, "wrong": "late", "was_right": "1"}
    assert whole["steps"]["suite"] == {"calls": 2, "right": 1, "elements": 7, "others": {"b": late}}
    assert (
        "suite: b was right at 1 and is not at 3 or before\n" in reported
        and "suite: a" not in reported
    )
    assert whole["steps"]["bench"]["matmul_x"]["goals"][0]["burst"] == 0.98
    tuned = json.loads((tmp_path / "h200-abc-candidates.json").read_text())
    assert tuned["rows"]["matmul_x"]["best"] == "m=64"
    assert set(json.loads((tmp_path / "h200-def.json").read_text())["steps"]) == {
        "bench",
        "memory",
        "small",
    }


def test_what_nobody_can_tell_is_not_right():
    reported = {"good": True, "unsupported": "no bound", "compared": 0}
    found = merge.condense(
        {"a": {"good": True, "compared": 3}, "b": reported, "c": {"good": False, "wrong": "x"}}
    )
    assert found == {
        "calls": 3,
        "right": 1,
        "elements": 3,
        "others": {"b": reported, "c": {"good": False, "wrong": "x"}},
    }


def test_the_later_result_counts():
    good, bad = {"good": True, "compared": 1}, {"good": False, "wrong": "x"}
    for first, second in ((good, bad), (bad, good), (good, good), (bad, bad)):
        for files in (
            [run("1", suite={"a": first}), run("2", suite={"a": second})],
            [run("2", suite={"a": second}), run("1", suite={"a": first})],
            [run("2", suite={"a": first}), run("2", suite={"a": second})],
        ):
            ((key, whole),) = merge.join(files).items()
            found = whole["steps"]["suite"]["a"]
            expected = (
                {**second, "was_right": files[-1]["time"]}
                if first is good and second is bad
                else second
            )
            assert found["good"] == second["good"] and found.keys() == expected.keys()
            assert len(merge.contradictions(whole)) == (first is good and second is bad)
    # A result that was correct twice and wrong in between is correct.
    (whole,) = merge.join(
        [run(str(i), suite={"a": one}) for i, one in enumerate((good, bad, good))]
    ).values()
    assert whole["steps"]["suite"]["a"] == good and good == {"good": True, "compared": 1}


class Balance(HTMLParser):
    """Every opened element is closed."""

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
    assert (
        "sum_x" in words
        and "7.50 µs plain, 1.60 µs graph" in words
        and "graph: 0.94 of eager, goal 1" in words
    )


RESULTS = TOP / "benchmarks/results"


def test_page_of_committed_results(tmp_path):
    """Committed results can be read; machines of all kinds and earlier commits are on the page."""
    page.write(RESULTS, tmp_path / "index.html")
    parser = Balance()
    parser.feed((tmp_path / "index.html").read_text())
    assert not parser.open
    words = " ".join(parser.words)
    assert "NVIDIA H200, commit" in words and "Neoverse" in words and "Xeon" in words
    assert all(one["commit"] in words for one in past.read(RESULTS))


def test_one_current_result_for_each_target():
    """Older ones are lines of the history, and each JSON file has a table beside it."""
    current = [path for path in RESULTS.glob("[a-z]*.json") if path.name != past.FILE]
    lines = [past.line(json.loads(path.read_text())) for path in current]
    targets = [one["target"] for one in lines]
    assert sorted(targets) == sorted(set(targets)) == ["NVIDIA H200", "aarch64", "x86_64"]
    assert {path.stem for path in current} == {path.stem for path in RESULTS.glob("*.txt")}
    for path, one in zip(current, lines):
        assert one["commit"] in path.name
    earlier = {(one["target"], one["commit"]) for one in past.read(RESULTS)}
    assert len(earlier) == len(past.read(RESULTS))
    assert not earlier & {(one["target"], one["commit"]) for one in lines}


def test_measured_numbers_of_the_table_of_chips():
    """They are those of the current results, and the files that the tables name exist."""
    (path,) = RESULTS.glob("h200-*.json")
    steps = json.loads(path.read_text())["steps"]
    copies = [one["times"]["copy"]["burst_rate"] for one in steps["memory"].values()]
    gemm = steps["bench"]["matmul_nt_bf16_8192x8192x8192"]["times"]["tessera"]["burst_rate"]
    kernel = min(one["small"]["tessera"]["graph_us"] for one in steps["small"].values())
    reached = targets.chips()["sm_90"]["reached"]
    assert reached["copy_terabytes_per_second"] == pytest.approx(max(copies) / 1e3, rel=0.01)
    assert reached["tflops_mma16"] == pytest.approx(gemm, rel=0.01)
    assert reached["graph_kernel_seconds"] == pytest.approx(kernel / 1e6, rel=0.01)
    for source in (TOP / "lib/Target/Chips.cpp", TOP / "lib/Target/Cpus.cpp"):
        for name in re.findall(r"\b[\w-]+\.(?:json|txt)\b", source.read_text()):
            assert (RESULTS / name).exists(), f"{source.name} names {name}"


def test_results_are_retired(tmp_path):
    old, new = tmp_path / "h200-abc.json", tmp_path / "h200-def.json"
    slow = {"attention_x": row(0.5), "matmul_x": row(0.9), "matmul_y": row(0.4)}
    old.write_text(json.dumps(run("2026-11-15T10:00:00Z", bench=slow)))
    old.with_suffix(".txt").write_text("a table")
    new.write_text(json.dumps(run("2026-11-16T10:00:00Z", "def", bench={"matmul_x": row(1.1)})))
    assert command.main(["--retire", str(old)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h200-def.json", past.FILE]
    kept = {
        "commit": "abc",
        "date": "2026-11-15",
        "target": DEVICE,
        "attention": 0.5,
        "product": 0.6,
    }
    assert past.read(tmp_path) == [kept]
    page.write(tmp_path, tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    assert text.index("def 2026-11-16</td><td>1.10") < text.index("abc 2026-11-15</td><td>0.60")
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    assert command.main(["--retire", str(new), str(wrong)]) == 2 and new.exists()
