#!/usr/bin/env python3
"""Brings results of the GPU check home: parts of one commit become one file.

    merge.py [--into benchmarks/results] FILE…

Writes DEVICE-COMMIT.json, and DEVICE-COMMIT-candidates.json where candidates were measured. Of calls that
were right only the number is kept. Where files overlap, the later run counts, except that what was right
stays. Prints how far the cost model's first choices are from the best candidates.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"
CALLS = ("suite", "random")  # steps of very many items
NEAR = 0.95  # of the best candidate's speed: what the first choice should reach


def join(files: list[dict]) -> dict[tuple[str, str], dict]:
    """Results by (device, commit), later ones over earlier ones."""
    joined: dict[tuple[str, str], dict] = {}
    for one in sorted(files, key=lambda one: one["time"]):
        key = (one["device"], one["commit"])
        whole = joined.setdefault(key, {**one, "steps": {}})
        whole["time"] = one["time"]
        for step, items in one["steps"].items():
            known = whole["steps"].setdefault(step, {})
            for name, result in items.items():
                if result["good"] or not known.get(name, {}).get("good"):
                    known[name] = result
    return joined


def condense(items: dict[str, dict]) -> dict:
    """Many calls in few words: how many were right, and all about those that were not."""
    right = [result for result in items.values() if result["good"]]
    return {
        "calls": len(items),
        "right": len(right),
        "elements": sum(result.get("compared", 0) for result in right),
        "others": {name: result for name, result in items.items() if not result["good"]},
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    files = [json.loads(path.read_text()) for path in options.files]
    for (device, commit), whole in join(files).items():
        name = f"{re.sub('[^a-z0-9]+', '', device.lower().removeprefix('nvidia'))}-{commit}"
        tuned = whole["steps"].pop("tune", {})
        steps = whole["steps"]
        whole["steps"] = {s: condense(v) if s in CALLS else v for s, v in steps.items()}
        if steps:
            write(options.into / f"{name}.json", whole)
        if tuned:
            about = {key: value for key, value in whole.items() if key != "steps"}
            write(options.into / f"{name}-candidates.json", {**about, "rows": tuned})
            print(first_choices(tuned))
    return 0


if __name__ == "__main__":
    sys.exit(main())
