"""The rows and the table of benchmarks/gradients."""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "benchmarks"))

from gradients import programs, report  # noqa: E402


def test_rows():
    rows = programs.rows(7, 5)
    assert len({row.name for row in rows}) == len(rows)
    assert [row.name for row in rows] == [row.name for row in programs.rows(7, 5)]
    assert sum(row.group == "drawn" for row in rows) == 5
    by_name = {row.name: row for row in rows}
    full, causal = by_name["full_64_8k"], by_name["causal_64_8k"]
    assert abs(causal.flops / full.flops - 0.5) < 0.01
    # x, its cotangent, the result and the gradient in bf16
    softmax = by_name["softmax_2048"]
    assert softmax.bytes == 4 * 2 * softmax.program.count(("A", "L"))


def test_table():
    rows = [row for row in programs.rows(7, 0) if row.name in ("full_64_8k", "softmax_2048")]
    results = {
        "full_64_8k": {
            "ms": {
                "tessera": 2.0,
                "tessera both": 4.0,
                "sdpa": 1.0,
                "sdpa both": 5.0,
                "flex": 3.0,
                "flex both": 2.0,
            }
        },
        "softmax_2048": {"ms": {"tessera": 1.0, "tessera both": 2.0, "compile both": 3.0, "copy": 1.0}},
        "lost": {"failed": "wrong: dq errs"},
    }  # fmt: skip
    lines = report.table(rows, results, "a GPU, PyTorch 9, commit 1234567, seed 7").splitlines()
    assert lines[2] == "a GPU, PyTorch 9, commit 1234567, seed 7."
    (attention,) = [line for line in lines if line.startswith("| full_64_8k")]
    assert attention.startswith("| full_64_8k | 2.000 | 1.000 sdpa | 0.50 | ")
    assert attention.endswith(" | 4.000 | 2.000 flex | 0.50 |")
    assert "| softmax_2048 | 2.000 | 3.000 compile | 1.50 | 0.50 |" in lines
    assert lines[-2:] == ["1 of 3 are wrong or failed.", "- lost: wrong: dq errs"]


def test_results_name_commits():
    """A committed table names the commit that its file is named after."""
    for kind in ("gradients", "operators"):
        files = sorted((TOP / "benchmarks/results" / kind).glob("*.md"))
        assert files
        for path in files:
            assert f"commit {path.stem.split('-')[1]}," in path.read_text()[:400], path.name
