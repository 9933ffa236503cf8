"""Random programs on the CPU: some that are always the same, and others for each commit (seeds.py).

TESSERA_FUZZ_SHARE=0.1 runs a tenth of them, TESSERA_FUZZ_SECONDS ends the run earlier. `make fuzz
SEEDS=0:20000` runs a given range to its end. The tests of the simulator and of the assemblers are
in other files.
"""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run  # noqa: E402
import seeds  # noqa: E402
from budget import judge  # noqa: E402

ALWAYS, OTHERS = 200, 1200


def test_the_same_programs(tmp_path):
    """With two sets of sizes each."""
    judge(tmp_path, 0, ALWAYS, calls=2)


def test_programs_of_the_commit(tmp_path):
    judge(tmp_path, seeds.first(), OTHERS)


def test_programs_that_failed(tmp_path):
    """294071632201 has a running product that underflows: its last digit is not known."""
    results = run.run(294071632201, 294071632202, tmp_path / "report.jsonl", 1, float("inf"), 1)
    assert [line["status"] for line in results.values()] == ["ok"]


def test_goes_on_where_it_stopped(tmp_path):
    """Correct seeds are not run again, unless more calls are requested."""
    report = tmp_path / "report.jsonl"
    for calls, lines in ((1, 2), (1, 2), (2, 4), (1, 4)):
        results = run.run(0, 2, report, 1, float("inf"), calls)
        assert {line["status"] for line in results.values()} == {"ok"}
        assert len(report.read_text().splitlines()) == lines
    assert "2 programs: 2 ok" in run.summarise(results) and "; 4 calls" in run.summarise(results)


def test_seeds():
    """The same for a commit, different ranges for two commits."""
    one, two = seeds.first("0123456789abcdef"), seeds.first("0123457000000000")
    assert one == 0x0123456 << 16 and two - one >= max(ALWAYS, OTHERS)
    assert seeds.first("") == 0
    assert seeds.range_of("3:7") == (3, 7)
    first, end = seeds.range_of("commit:50")
    assert first == seeds.first() and end == first + 50
    if commit := seeds.commit():
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
    assert (
        seeds.repeat(12, "--simulate sm_90") == 'make fuzz SEEDS=12:13 FUZZ_ARGS="--simulate sm_90"'
    )


def test_programs_that_compare_nothing_are_reported(tmp_path):
    line = {"seed": 1, "status": "ok", "calls": 1, "checked": 0, "excluded": 5}
    other = {"seed": 2, "status": "ok", "calls": 1, "checked": 3, "excluded": 0}
    assert run.unjudged({1: line, 2: other}) == [1]
    assert "1 of them compare nothing" in run.summarise({1: line, 2: other})


def test_the_judge_needs_most_programs(tmp_path, monkeypatch):
    """Programs that were not reached in time, skipped or not compared do not count as correct."""
    import budget

    monkeypatch.setattr(budget, "SHARE", 1)
    right = {"status": "ok", "calls": 1, "checked": 1, "excluded": 0}
    for status, others, wrong in (
        ("ok", {"checked": 0, "excluded": 1}, "compare nothing"),
        ("skipped", {"message": "no"}, "only 60 of 100"),
        ("error", {"message": "broken"}, "make fuzz SEEDS=60:61"),
        (None, {}, "only 60 of 100"),
        ("ok", {}, None),
    ):
        results = {seed: {"seed": seed, **right} for seed in range(60)}
        if status:
            results |= {
                seed: {"seed": seed, **right, "status": status, **others} for seed in range(60, 100)
            }
        monkeypatch.setattr(run, "run", lambda *_, results=results, **__: results)
        if wrong is None:
            budget.judge(tmp_path, 0, 100)
        else:
            with pytest.raises(AssertionError, match=wrong):
                budget.judge(tmp_path, 0, 100)


def test_half_have_two_reductions():
    programs = [run.generate(seed) for seed in range(500)]
    assert sum(p.heavy >= 2 for p in programs) >= 250
    assert all(5 <= len(p.operations) <= 45 for p in programs)
    assert any(len(p.source.rsplit("return", 1)[1].split(",")) > 2 for p in programs)


# : Operations that are spelled as operators, and synonyms of others.
SPELLED_OTHERWISE = frozenset(
    """
add sub mul div floor_divide remainder neg eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_not
bitwise_left_shift bitwise_right_shift cat ger vector_norm
""".split()
)


def test_every_operation_is_generated():
    entries = pytest.importorskip("tessera.entries").ENTRIES
    text = "".join(run.generate(seed).source for seed in range(1500))
    names = set(re.findall(r"(?:\.|\b)(\w+)\(", text)) | SPELLED_OTHERWISE
    meanings = {meaning for name, (_, meaning) in entries.items() if name in names}
    missing = [name for name, (_, meaning) in entries.items() if meaning not in meanings]
    # Functions of functions have tests of their own, and `print` has no result.
    assert missing == [
        "checkpoint", "checkpoint_name", "grad", "jvp", "print", "stop_gradient", "value_and_grad",
        "vjp",
    ]  # fmt: skip


def test_some_sizes_are_long_and_some_zero():
    sizes = [list(run.generate(seed).sizes(0).values()) for seed in range(500)]
    assert sum(max(s) > 126 for s in sizes) >= 50
    assert sum(max(s) > 510 for s in sizes) >= 5
    assert sum(0 in s for s in sizes) >= 5
