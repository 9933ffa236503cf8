"""A fixed range of random programs, within a budget of time: TESSERA_FUZZ_SECONDS, by default five minutes.

`make fuzz SEEDS=0:20000` runs a given range to its end.
"""

import os
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run  # noqa: E402

SECONDS = float(os.environ.get("TESSERA_FUZZ_SECONDS", "300"))
END = int(os.environ.get("TESSERA_FUZZ_END", "1200"))
LEAST = 60  # also on a machine with other work


def test_random_programs(tmp_path):
    results = run.run(0, END, tmp_path / "report.jsonl", os.cpu_count() or 1, SECONDS)
    print(run.summarise(results))
    assert not run.failures(results), "\n".join(run.failures(results)[:20])
    assert len(results) >= LEAST, f"only {len(results)} programs within {SECONDS:.0f} s"


def test_goes_on_where_it_stopped(tmp_path):
    """What was right is not run again, unless more calls are wanted of it."""
    report = tmp_path / "report.jsonl"
    for calls, lines in ((1, 2), (1, 2), (2, 4), (1, 4)):
        results = run.run(0, 2, report, 1, float("inf"), calls)
        assert {line["status"] for line in results.values()} == {"ok"}
        assert len(report.read_text().splitlines()) == lines
    assert "2 programs: 2 ok" in run.summarise(results) and "; 4 calls" in run.summarise(results)


@pytest.mark.parametrize(
    ("first", "end"),
    [
        (120, 123),
        (476, 477),  # a tile with three sides that were too long for shared memory
    ],
)
def test_simulated_programs(first, end, tmp_path):
    """As kernels for a GPU, by way of PTX; `run.py --simulate sm_90` runs more of them."""
    results = run.run(first, end, tmp_path / "report.jsonl", 1, float("inf"), calls=1, chip="sm_90")
    assert not run.failures(results), "\n".join(run.failures(results))
    assert sum(line["status"] == "ok" for line in results.values()) == len(results) == end - first


def test_half_have_two_reductions():
    programs = [run.generate(seed) for seed in range(500)]
    assert sum(p.heavy >= 2 for p in programs) >= 250
    assert all(5 <= len(p.operations) <= 45 for p in programs)
    assert any(len(p.source.rsplit("return", 1)[1].split(",")) > 2 for p in programs)


#: Operations that are spelled as operators, and other names of what programs have.
SPELLED_OTHERWISE = frozenset("""
add sub mul div floor_divide remainder neg eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_not
bitwise_left_shift bitwise_right_shift cat ger vector_norm
""".split())


def test_every_operation_is_generated():
    entries = pytest.importorskip("tessera.entries").ENTRIES
    text = "".join(run.generate(seed).source for seed in range(1500))
    names = set(re.findall(r"(?:\.|\b)(\w+)\(", text)) | SPELLED_OTHERWISE
    meanings = {meaning for name, (_, meaning) in entries.items() if name in names}
    missing = [name for name, (_, meaning) in entries.items() if meaning not in meanings]
    assert missing == ["print"]  # it has no result


def test_some_sizes_are_long_and_some_zero():
    sizes = [list(run.generate(seed).sizes(0).values()) for seed in range(500)]
    assert sum(max(s) > 126 for s in sizes) >= 50
    assert sum(max(s) > 510 for s in sizes) >= 5
    assert sum(0 in s for s in sizes) >= 5
