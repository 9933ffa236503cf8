#!/usr/bin/env python3
"""Merges results of the GPU check: parts of one commit become one file.

    merge.py [--into benchmarks/results] FILE…

Writes DEVICE-COMMIT.json, DEVICE-COMMIT-candidates.json if candidates were measured, and
draws/DEVICE-COMMIT.json with its table if programs were drawn. For correct calls only their number is stored. If files overlap, the later run counts, whatever its
result: a result that was correct and is not any more is reported, and keeps the time of the run in
which it was correct (`was_right`). Prints how far the cost model's first choices are from the best
candidates.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
RESULTS = TOP / "benchmarks/results"
CALLS = ("suite", "random")  # steps of very many items
NEAR = 0.95  # of the best candidate's speed: what the first choice should reach


def join(files: list[dict]) -> dict[tuple[str, str], dict]:
    """Results by (device, commit), later ones over earlier ones; for the same time, the later
    argument."""
    joined: dict[tuple[str, str], dict] = {}
    for one in sorted(files, key=lambda one: one["time"]):
        key = (one["device"], one["commit"])
        whole = joined.setdefault(key, {**one, "steps": {}})
        whole["time"] = one["time"]
        for step, items in one["steps"].items():
            known = whole["steps"].setdefault(step, {})
            for name, result in items.items():
                right = one["time"] if result["good"] else known.get(name, {}).get("was_right")
                known[name] = {**result, **({"was_right": right} if right else {})}
    for whole in joined.values():
        for items in whole["steps"].values():
            for result in items.values():
                if result["good"]:
                    del result["was_right"]
    return joined


def contradictions(whole: dict) -> list[str]:
    """Results that were correct in one run of a commit and wrong in a later one."""
    return [
        f"{step}: {name} was right at {result['was_right']} and is not at {whole['time']} or before"
        for step, items in whole["steps"].items()
        for name, result in items.items()
        if "was_right" in result
    ]


def condense(items: dict[str, dict]) -> dict:
    """A summary of many calls: how many were correct, and the details of those that were not, or
    that could not be judged."""
    right = [result for result in items.values() if result["good"] and "unsupported" not in result]
    return {
        "calls": len(items),
        "right": len(right),
        "elements": sum(result.get("compared", 0) for result in right),
        "others": {
            name: result
            for name, result in items.items()
            if not result["good"] or "unsupported" in result
        },
    }


def first_choices(tuned: dict[str, dict]) -> str:
    """The speed of the first choice over the best candidate's, row by row, worst first."""
    rows = {name: one for name, one in tuned.items() if "first_of_best" in one}
    if not rows:
        return "no candidates were measured"
    ordered = sorted(rows.items(), key=lambda row: row[1]["first_of_best"])
    lines = [f"{'row':44} {'first/best':>10} {'tried':>5}  first choice"]
    lines += [
        f"{name:44} {one['first_of_best']:10.3f} {len(one['ms']):5}  {one['first']}"
        + (f"  best: {one['best']}" if one["best"] != one["first"] else "")
        for name, one in ordered
    ]
    ratios = [one["first_of_best"] for one in rows.values()]
    near = sum(ratio >= NEAR for ratio in ratios)
    lines.append(
        f"{near} of {len(ratios)} first choices are within {1 - NEAR:.0%} of the best candidate; "
        f"median {statistics.median(ratios):.3f}"
    )
    return "\n".join(lines)


def write(path: Path, data: dict) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")
    print(path)


def write_draws(path: Path, whole: dict, items: dict[str, dict]) -> None:
    """The results of drawn programs, their table and their plot."""
    sys.path[:0] = [str(TOP / "benchmarks"), str(TOP / "build/python")]
    from draws import gpu, report
    from tessera.bench import plots

    run = gpu.as_run(whole, items)
    path.parent.mkdir(exist_ok=True)
    write(path, run)
    text = report.whole(run)
    path.with_suffix(".txt").write_text(text)
    path.with_suffix(".svg").write_text(plots.ratios(run))
    print(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    files = [json.loads(path.read_text()) for path in options.files]
    for (device, commit), whole in join(files).items():
        name = f"{re.sub('[^a-z0-9]+', '', device.lower().removeprefix('nvidia'))}-{commit}"
        for text in contradictions(whole):
            print(text)
        tuned = whole["steps"].pop("tune", {})
        drawn = whole["steps"].pop("draws", {})
        steps = whole["steps"]
        whole["steps"] = {s: condense(v) if s in CALLS else v for s, v in steps.items()}
        if steps:
            write(options.into / f"{name}.json", whole)
        if drawn:
            write_draws(options.into / "draws" / f"{name}.json", whole, drawn)
        if tuned:
            about = {key: value for key, value in whole.items() if key != "steps"}
            write(options.into / f"{name}-candidates.json", {**about, "rows": tuned})
            print(first_choices(tuned))
    return 0


if __name__ == "__main__":
    sys.exit(main())
