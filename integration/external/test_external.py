"""The judge itself: samples become programs, exclusions have names, the committed table keeps its promise."""

import re
from pathlib import Path

import pytest
from cases import CASES, check
from exclusions import EXCLUSIONS, behaviour

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text[:40])
def test_numpy(case):
    assert check(case) == ""


def test_table():
    text = (HERE / "results.md").read_text()
    counts = re.search(r"(\d+) samples: (\d+) passed, (\d+) failed, (\d+) excluded", text)
    samples, passed, failed, excluded = map(int, counts.groups())
    assert samples == passed + failed + excluded
    assert excluded < 0.02 * samples
    rows = text.split("## Exclusions")[1]
    assert all(name in EXCLUSIONS for name in re.findall(r"^\| ([a-z][^|]*?) \|", rows, re.M) if name != "behaviour")


def test_exclusions():
    assert behaviour("norm", [None, "nuc"], {}, is_error=False) == "nuclear norm"
    assert behaviour("norm", [None, 2], {}, is_error=False) is None
    assert behaviour("add", [2, 3], {}, is_error=True) == "numbers as operands"
    assert behaviour("add", [2, 3], {}, is_error=False) is None


def test_programs():
    torch = pytest.importorskip("torch")
    import calls

    class Entry:
        name = "clamp"

    call = calls.write(Entry, [torch.ones(2), None, float("inf")], {"dtype": torch.float16}, "function", "clamp")
    assert call.text.endswith("return tsr.clamp(t0, None, tsr.inf, dtype=tsr.fp16)\n")
    with pytest.raises(calls.NotInLanguage, match="complex"):
        calls.write(Entry, [torch.ones(2), 1j], {}, "function", "clamp")
