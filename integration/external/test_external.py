"""The judge itself: samples become programs, exclusions have names, the committed table keeps its promise."""

import re
from pathlib import Path

import accuracy
import entries
import pytest
from cases import CASES, check
from exclusions import EXCLUSIONS, MESSAGES, behaviour, refusal

from tessera.entries import ENTRIES

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text[:40])
def test_numpy(case):
    assert check(case) == ""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", accuracy.functions())
def test_validation_sets(name, dtype):
    assert accuracy.check(name, dtype)[1] == ""


def test_special_values():
    pytest.importorskip("torch")
    import special

    assert special.main() == 0


def test_every_operation_has_a_judge():
    """The database, or a case; another name of a judged operation has its meaning. Printing has no result."""
    judged = {entries.spelling(name) for name in entries.NAMES}
    judged |= {name for case in CASES for name in re.findall(r"tsr\.(\w+)\(", case.text)}
    meanings = {meaning for name, (_, meaning) in ENTRIES.items() if name in judged}
    assert [name for name, (_, meaning) in ENTRIES.items() if meaning not in meanings] == ["print"]


def test_table():
    text = (HERE / "results.md").read_text()
    counts = re.search(r"(\d+) samples: (\d+) passed, (\d+) failed, (\d+) excluded", text)
    samples, passed, failed, excluded = map(int, counts.groups())
    assert samples == passed + failed + excluded
    assert excluded < 0.02 * samples
    rows = text.split("## Exclusions")[1]
    assert all(name in EXCLUSIONS for name in re.findall(r"^\| ([a-z][^|]*?) \|", rows, re.M) if name != "behaviour")


def test_exclusions():
    assert MESSAGES.keys() <= EXCLUSIONS.keys()
    assert behaviour("norm", [None, "nuc"], {}, is_error=False) == "nuclear norm"
    assert behaviour("norm", [None, 2], {}, is_error=False) is None
    assert behaviour("add", [2, 3], {}, is_error=True) == "numbers as operands"
    assert behaviour("add", [2, 3], {}, is_error=False) is None
    assert behaviour("add", [2, 3, 7], {}, is_error=True) is None
    assert refusal("index 7 is out of bounds for dimension 0 with size 3") is None
    assert refusal("Dimension out of range") is None


def test_exclusions_of_errors():
    torch = pytest.importorskip("torch")
    x, index = torch.ones(2, 3), torch.full((2, 3), 7)
    assert behaviour("scatter_add", [x, 0, index, x], {}, is_error=True) is None
    assert behaviour("cat", [(x[:0], x)], {"out": x}, is_error=True) == "results in place"
    assert behaviour("cat", [[x, x]], {"out": x}, is_error=True) is None
    assert behaviour("cat", [[None]], {}, is_error=True) is None


def test_wrong_calls():
    torch = pytest.importorskip("torch")
    import wrong

    found = list(wrong.calls([torch.ones(2, 3), 1], {"mode": "sum", "device": "cpu"}))
    assert ([None, 1], {"mode": "sum"}) in found[-3:]
    assert any(args[1] == 1 + wrong.FAR for args, _ in found)
    assert any(kwargs["mode"] == "wrong" for _, kwargs in found)
    assert not any("device" in kwargs for _, kwargs in found)


def test_programs():
    torch = pytest.importorskip("torch")
    import calls

    class Entry:
        name = "clamp"

    call = calls.write(Entry, [torch.ones(2), None, float("inf")], {"dtype": torch.float16}, "function", "clamp")
    assert call.text.endswith("return tsr.clamp(t0, None, tsr.inf, dtype=tsr.fp16)\n")
    assert calls.write(Entry, [torch.ones(2)], {"out": torch.ones(2)}, "function", "clamp").results.keys() == {"out"}
    with pytest.raises(calls.NotInLanguage, match="complex"):
        calls.write(Entry, [torch.ones(2), 1j], {}, "function", "clamp")
