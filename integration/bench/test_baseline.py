"""`make bench-gate`: what counts as worse, and that figures do not depend on the run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

_spec = importlib.util.spec_from_file_location("baseline", TOP / "benchmarks" / "baseline.py")
baseline = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(baseline)

BASELINE = {"row sm_90": {"us": 100.0, "instructions": 1000}}


@pytest.mark.parametrize(
    "now, found",
    [
        ({"us": 100.0, "instructions": 1000}, []),
        ({"us": 100.4, "instructions": 1020}, []),
        ({"us": 90.0, "instructions": 900}, []),
        ({"us": 101.0, "instructions": 1000}, ["row sm_90: us 100 -> 101 (+1.0 %)"]),
        ({"us": 90.0, "instructions": 1030}, ["row sm_90: instructions 1000 -> 1030 (+3.0 %)"]),
    ],
)
def test_what_is_worse(now, found):
    assert baseline.worse(BASELINE, {"row sm_90": now}) == found


def test_a_new_row_needs_a_baseline():
    assert baseline.worse({}, BASELINE) == ["row sm_90: the baseline has no such row"]


def run(monkeypatch, tmp_path, now, words=()):
    monkeypatch.setattr(baseline, "BASELINE", tmp_path / "baseline.json")
    (tmp_path / "baseline.json").write_text(baseline.text(BASELINE))
    monkeypatch.setattr(baseline, "figures", lambda: iter(now.items()))
    return baseline.main(list(words))


def test_figures_as_before_pass(monkeypatch, tmp_path, capsys):
    assert run(monkeypatch, tmp_path, BASELINE) == 0
    assert capsys.readouterr().out == "1 rows, 0 worse, 0 better\n"


def test_the_command_fails(monkeypatch, tmp_path, capsys):
    now = {"row sm_90": {"us": 120.0, "instructions": 1000}}
    assert run(monkeypatch, tmp_path, now) == 1
    assert "us 100 -> 120 (+20.0 %)" in capsys.readouterr().out


def test_a_row_that_is_gone_fails(monkeypatch, tmp_path, capsys):
    assert run(monkeypatch, tmp_path, {}) == 1
    assert "the row is gone" in capsys.readouterr().out


def test_the_baseline_is_renewed(monkeypatch, tmp_path):
    now = {"row sm_90": {"us": 120.0, "instructions": 1000}}
    assert run(monkeypatch, tmp_path, now, ["--write"]) == 0
    assert json.loads((tmp_path / "baseline.json").read_text()) == now


def test_the_baseline_has_all_rows():
    known = json.loads((TOP / "benchmarks" / "baseline.json").read_text())
    assert list(known) == [
        f"{row} {target}" for row in baseline.ROWS for target in baseline.TARGETS
    ]


def test_figures_repeat(monkeypatch):
    """Also for another number of cores of this machine: the baseline says how many there are."""
    monkeypatch.setattr(baseline, "ROWS", {"softmax": baseline.ROWS["softmax"]})
    monkeypatch.setenv("TESSERA_CORES", "7")
    first = dict(baseline.figures())
    monkeypatch.setenv("TESSERA_CORES", "5")
    assert dict(baseline.figures()) == first
    assert all(one["instructions"] > 50 for one in first.values())
