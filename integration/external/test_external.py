"""The judge itself: samples become programs, exclusions have names, the committed table is
consistent."""

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
    """The database, or a case; a synonym of a judged operation has its meaning. Printing has no
    result, and gradients have judges of their own (integration/gradients)."""
    judged = {entries.spelling(name) for name in entries.NAMES}
    judged |= {name for case in CASES for name in re.findall(r"tsr\.(\w+)\(", case.text)}
    meanings = {meaning for name, (_, meaning) in ENTRIES.items() if name in judged}
    others = {name for name, (_, meaning) in ENTRIES.items() if meaning not in meanings}
    assert others == {
        "print", "grad", "value_and_grad", "vjp", "jvp", "stop_gradient", "checkpoint",
        "checkpoint_name",
    }  # fmt: skip


def samples_of(name, least, share):
    """The text of a table in which nothing failed and few samples are excluded."""
    text = (HERE / name).read_text()
    counts = re.search(r"(\d+) samples: (\d+) passed, (\d+) failed, (\d+) excluded", text)
    samples, passed, failed, excluded = map(int, counts.groups())
    assert samples == passed + failed + excluded
    assert failed == 0 and passed > least
    assert excluded < share * samples
    rows = text.split("## Exclusions")[1]
    names = set(re.findall(r"^\| ([a-z][^|]*?) \|", rows, re.M)) - {"behaviour"}
    assert names <= EXCLUSIONS.keys()
    return text


def test_table():
    text = samples_of("results.md", least=50000, share=0.02)
    assert "**" not in text.split("| entry |")[1], "a cell with failures"
    beside = re.findall(r"^- `(\w+)\.py`: .*?(\d+) (?:functions )?failed$", text, re.M)
    assert beside == [("special", "0"), ("cases", "0"), ("accuracy", "0")]


def test_table_of_gradients():
    samples_of("gradients.md", least=8000, share=0.01)


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

    call = calls.write(
        Entry, [torch.ones(2), None, float("inf")], {"dtype": torch.float16}, "function", "clamp"
    )
    assert call.text.endswith("return tsr.clamp(t0, None, tsr.inf, dtype=tsr.fp16)\n")
    assert calls.write(
        Entry, [torch.ones(2)], {"out": torch.ones(2)}, "function", "clamp"
    ).results.keys() == {"out"}
    with pytest.raises(calls.NotInLanguage, match="complex"):
        calls.write(Entry, [torch.ones(2), 1j], {}, "function", "clamp")


@pytest.fixture
def judge():
    pytest.importorskip("torch")
    import judge

    return judge


def test_fates_of_dropped_elements(judge):
    import torch

    torch.manual_seed(1)
    x = torch.ones(40, 50)
    for p in (0.1, 0.5, 0.9):
        right = torch.nn.functional.dropout(x, p)
        assert judge._check_dropped(right, x, p) == ""
        assert "are dropped at" in judge._check_dropped(torch.zeros_like(x), x, p)
        assert "are dropped at" in judge._check_dropped(x / (1 - p), x, p)
        assert "are dropped at" in judge._check_dropped(
            torch.nn.functional.dropout(x, p / 2) * (1 - p / 2) / (1 - p), x, p
        )
        assert "neither" in judge._check_dropped(right * 1.5, x, p)
    # A few elements may all be dropped, and zeros always are.
    assert judge._check_dropped(torch.zeros(3), torch.ones(3), 0.5) == ""
    assert judge._check_dropped(torch.zeros(3000), torch.zeros(3000), 0.5) == ""


def test_moments_of_random_numbers(judge):
    import torch

    torch.manual_seed(1)
    uniform, normal = (1 / 2, 1 / 12, 1 / 80), (0, 1, 3)
    assert judge._check_moments(torch.rand(judge.MANY), *uniform) == ""
    assert judge._check_moments(torch.randn(judge.MANY), *normal) == ""
    for wrong in (
        torch.zeros(judge.MANY),
        torch.full((judge.MANY,), 0.5),
        torch.rand(judge.MANY) * 0.9,
    ):
        assert "of 16384 draws" in judge._check_moments(wrong, *uniform)
    for wrong in (
        torch.zeros(judge.MANY),
        torch.randn(judge.MANY) * 1.2,
        torch.randn(judge.MANY) + 0.1,
    ):
        assert "of 16384 draws" in judge._check_moments(wrong, *normal)
