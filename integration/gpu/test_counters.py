"""The counters of a GPU are compared with a report as described in docs/gpu.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks/gpu"))
import counters  # noqa: E402

REPORTED = {"name": "rows", "registers": 48, "threads": 128, "shared_bytes": 32, "occupancy": 0.625, "spill_bytes": 0,
        "bytes": 500e6, "predicted_us": 114, "bound": "memory"}  # fmt: skip
SEEN = {
    "registers": 48,
    "threads": 128,
    "static": 32,
    "dynamic": 0,
    "occupancy": 62.5,
    "spills": 0,
    "ns": 128e3,
}


@pytest.mark.parametrize(
    ("bound", "moved", "good"),
    [
        ("memory", 500e6, True),
        ("memory", 460e6, True),  # the cache has the rest
        ("memory", 440e6, False),
        ("memory", 540e6, True),
        ("memory", 560e6, False),
        ("compute", 900e6, True),  # operands that are read again
        ("compute", 440e6, False),
    ],
)
def test_bytes(bound, moved, good, tmp_path, monkeypatch):
    row, bundle = counters.COUNTED_ROWS[0], tmp_path / "row.tsb"
    bundle.with_suffix(".json").write_text(json.dumps([{**REPORTED, "bound": bound}]))
    seen = {**SEEN, "read": moved - 200e6, "written": 200e6}
    monkeypatch.setattr(counters, "measured", lambda *_: ({"rows": seen}, 50_000_000))
    result = counters.run(row, bundle)
    assert result["good"] == good
    line = counters.line(row.name, result)
    assert f"{'' if bound == 'memory' else 'at least '}500.0/{moved / 1e6:.1f} MB" in line
    assert line.endswith("DIFFERENT") != good
