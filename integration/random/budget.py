"""Runs a range of random programs within a test's time, and judges the results."""

from __future__ import annotations

import os
from pathlib import Path

import run
import seeds

SECONDS = float(os.environ.get("TESSERA_FUZZ_SECONDS", "1200"))
SHARE = float(os.environ.get("TESSERA_FUZZ_SHARE", "1"))
LEAST = (
    0.9  # of the programs must be correct; the others may be rejected, or not be reached in time
)
UNJUDGED = 0.02  # of the programs may have no element that can be compared


def judge(
    folder: Path,
    first: int,
    count: int,
    calls: int = 1,
    mode: tuple[str, ...] = (),
    options: str = "",
    unjudged: float = UNJUDGED,
) -> None:
    """`options` are those of run.py that repeat it."""
    count = max(1, round(count * SHARE))
    results = run.run(
        first, first + count, folder / "report.jsonl", os.cpu_count() or 1, SECONDS, calls, mode
    )
    print(f"seeds {first}:{first + count}; one again: {seeds.repeat(options=options)}")
    print(run.summarise(results))
    failed = sorted(
        seed for seed, line in results.items() if line["status"] not in ("ok", "skipped")
    )
    reported = [*run.failures(results)[:20], *(seeds.repeat(seed, options) for seed in failed[:1])]
    assert not failed, "\n".join(reported)
    right = sum(line["status"] == "ok" for line in results.values())
    reasons = sorted(
        {line["message"][:120] for line in results.values() if line["status"] == "skipped"}
    )[:5]
    assert right >= LEAST * count, (
        f"only {right} of {count} programs are right, {len(results)} were reached in {SECONDS:.0f} s; {reasons}"
    )
    nothing = run.unjudged(results)
    assert len(nothing) <= unjudged * count, (
        f"{len(nothing)} of {count} programs compare nothing, as {nothing[:5]}"
    )
