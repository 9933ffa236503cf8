"""Random programs as GPU kernels, through PTX, on the simulator; `run.py --simulate sm_90` runs
more of them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run  # noqa: E402
import seeds  # noqa: E402
from budget import judge  # noqa: E402

COUNT = 400


def test_programs_of_the_commit(tmp_path):
    judge(tmp_path, seeds.first(), COUNT, mode=("simulate", "sm_90"), options="--simulate sm_90")


@pytest.mark.parametrize(
    ("first", "end"),
    [
        (120, 123),
        (13310306615321, 13310306615322),  # equal rows that CTAs store by bulk copies in flight
        (15220329152587, 15220329152588),  # statistics that were computed again for every element
        (476, 477),  # a tile with three sides that were too long for shared memory
    ],
)
def test_programs_that_failed(first, end, tmp_path):
    results = run.run(
        first, end, tmp_path / "report.jsonl", 1, float("inf"), calls=1, mode=("simulate", "sm_90")
    )
    assert not run.failures(results), "\n".join(run.failures(results))
    assert sum(line["status"] == "ok" for line in results.values()) == len(results) == end - first
