"""Noise is not reported as a change, and a change is not taken for noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tessera.bench import history, judge

NOISE = 0.02


def times(seed: int, rounds: int, level: float = 1.0, noise: float = NOISE) -> list[float]:
    """Times of a typical machine: most rounds near the median, some much slower."""
    rng = np.random.default_rng(seed)
    busy = np.where(rng.random(rounds) < 0.05, rng.exponential(0.3, rounds), 0.0)
    return list(level * np.exp(noise * rng.standard_normal(rounds) + busy))


def reported(old: list[float], new: list[float]) -> str:
    change = judge.shift(old, new)
    assert change is not None
    return judge.verdict(change, change.p, judge.floor([]))


@pytest.mark.parametrize("rounds", [20, 50])
def test_a_regression_of_five_percent_is_reported(rounds):
    found = [reported(times(s, rounds), times(1000 + s, rounds, 1.05)) for s in range(200)]
    assert found.count("slower") >= 180 and "faster" not in found


@pytest.mark.parametrize("rounds", [20, 50])
def test_noise_is_not(rounds):
    found = [reported(times(s, rounds), times(1000 + s, rounds)) for s in range(400)]
    assert found.count("same") >= 396


def test_what_became_faster():
    assert reported(times(1, 30), times(2, 30, 0.9)) == "faster"


def test_intervals_hold_the_truth():
    inside = 0
    for seed in range(300):
        change = judge.shift(times(seed, 25), times(1000 + seed, 25, 1.1))
        inside += change.low <= 1.1 <= change.high
    assert inside >= 270


def test_rounds_that_follow_each_other_count_for_less():
    """A machine that is slow for the second half of a run does not have two hundred independent
    rounds."""
    rng = np.random.default_rng(0)
    steady = list(np.exp(0.01 * rng.standard_normal(200)))
    slow = [one * (1.06 if i >= 100 else 1.0) for i, one in enumerate(steady)]
    independent = list(rng.permutation(slow))
    assert judge.shift(steady, slow).p > judge.shift(steady, independent).p


def test_few_samples_tell_nothing():
    assert judge.shift([1.0, 1.1], [2.0, 2.1]) is None


def test_many_rows_are_corrected():
    assert judge.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert judge.holm([]) == []


def test_median_interval_is_of_95_percent():
    for count in (7, 20, 50):
        low, high = judge.median_interval(count)
        outside = 2 * sum(math.comb(count, k) for k in range(low)) / 2**count
        assert outside <= 0.05 and low < count // 2 <= high


# -- two runs -------------------------------------------------------------------------------------


def run(seed: int, levels: dict[str, float], machine: float = 1.0, torch: str = "2.15") -> dict:
    """A run in which everything is `machine` times slower, and each row's own code by its level."""
    rows = []
    for number, (title, level) in enumerate(levels.items()):
        base = seed * 1000 + 10 * number
        samples = {
            "tessera": times(base, 20, level * machine),
            "torch": times(base + 1, 20, 1.5 * machine),
            "numpy": times(base + 2, 20, 2.0 * machine),
        }
        medians = {name: float(np.median(one)) for name, one in samples.items()}
        row = {"kind": "case", "group": "g", "title": title, "threads": 1, "samples": samples}
        rows.append(row | {"medians": medians, "seconds": medians["tessera"]})
    about = {"processor": "one", "cores": 2}
    versions = {"tessera": "1", "torch": torch, "numpy": "2"}
    return {
        "commit": f"c{seed}",
        "time": str(seed),
        "machine": about,
        "versions": versions,
        "rows": rows,
    }


def verdicts(old: dict, new: dict) -> dict[str, str]:
    return {one.title: one.verdict for one in history.compare(old, new).changes}


ROWS = {f"row {i}": 1.0 for i in range(20)}


def test_one_row_of_twenty_became_slower():
    found = verdicts(run(1, ROWS), run(2, ROWS | {"row 7": 1.08}))
    assert [name for name, reported in found.items() if reported == "slower"] == ["row 7"]


def test_a_slower_machine_is_no_regression():
    """Peers became slower as well: the machine did."""
    assert set(verdicts(run(1, ROWS), run(2, ROWS, machine=1.3)).values()) == {"same"}


def test_a_peer_of_another_version_is_no_measure():
    found = history.compare(run(1, ROWS), run(2, ROWS, torch="2.16"))
    assert {one.against for one in found.changes} == {"numpy"}


def test_rows_of_one_run_alone():
    found = history.compare(run(1, {"a": 1.0, "b": 1.0}), run(2, {"b": 1.0, "c": 1.0}))
    assert (found.only_old, found.only_new) == (["a"], ["c"])
    assert [one.title for one in found.changes] == ["b"]


def test_runs_without_samples_are_not_judged():
    old = run(1, {"a": 1.0})
    del old["rows"][0]["samples"]
    assert verdicts(old, run(2, {"a": 2.0})) == {"a": "unknown"}


def run_of(seed: int, rows: int, rounds: int, slower: dict[int, float] | None = None) -> dict:
    """A run with the noise of a shared machine in each row."""
    cases = []
    for row in range(rows):
        samples = times(7919 * seed + row, rounds, (slower or {}).get(row, 1.0))
        cases.append({
            "kind": "case", "title": f"row {row}", "threads": 1, "samples": {"tessera": samples},
            "medians": {}, "seconds": float(np.median(samples)),
        })  # fmt: skip
    return {"rows": cases, "versions": {}, "machine": {"processor": "p"}}


RUNS = 200


@pytest.mark.parametrize("rows", [1, 20])
def test_five_comparisons_in_a_hundred_are_false_alarms(rows):
    """The stated rate is that of whole comparisons, however many rows they have, and holds without
    the floor of changes that are too small to matter."""
    alarms = 0
    for seed in range(RUNS):
        old, new = run_of(2 * seed, rows, 20), run_of(2 * seed + 1, rows, 20)
        found = history.compare(old, new, least=0.0)
        assert len(found.changes) == rows
        alarms += any(one.verdict != "same" for one in found.changes)
    expected = judge.LEVEL * RUNS
    assert alarms <= expected + 2 * math.sqrt(expected * (1 - judge.LEVEL))


def test_a_regression_among_many_rows_is_found():
    found = 0
    for seed in range(40):
        old, new = run_of(2 * seed, 20, 20), run_of(2 * seed + 1, 20, 20, {3: 1.08})
        found += [one.title for one in history.compare(old, new).slower] == ["row 3"]
    assert found >= 36
