"""Results of earlier commits in one line each: `history.json` of a folder of results.

The folder keeps the newest results of each target unchanged. Results that they replace are retired:
their commit, date and the geometric means of their ratios are kept, with an optional note.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

FILE = "history.json"
MODELS = ("mlp", "gated_mlp", "gated mlp", "transformer", "vocabulary")
PRODUCTS = ("matmul", "batched_matmul", "linear_gelu", "swiglu", "gelu(x")
NARROW = ("fp16", "bf16")  # rows of CPUs beside our own in fp32, not beside a peer


def group_of(name: str) -> str:
    """The group of a row of a GPU or a CPU: product, attention, model, or memory bound."""
    if "attention" in name:
        return "attention"
    if name.startswith(MODELS):
        return "model"
    return "product" if name.startswith(PRODUCTS) else "memory"


def mean(ratios: list[float]) -> float | None:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def _ratios(run: dict) -> list[tuple[str, float]]:
    """Rows and their ratios to the first contender of each."""
    if "machine" in run:
        rows = [row for row in run["rows"] if row["kind"] == "case" and row["targets"]]
        return [
            (row["title"], row["targets"][0]["ratio"])
            for row in rows
            if not row["title"].startswith(NARROW)
        ]
    steps = run["steps"]
    rows = steps.get("bench") or steps.get("memory") or {}
    return [(name, one["goals"][0]["burst"]) for name, one in rows.items() if one.get("goals")]


def target_of(run: dict) -> str:
    """A GPU's name, a CPU's architecture."""
    machine = run.get("machine")
    return machine.get("architecture", machine["processor"]) if machine else run["device"]


def line(run: dict) -> dict:
    """The summary of a run."""
    groups: dict[str, list[float]] = {}
    for name, ratio in _ratios(run):
        groups.setdefault(group_of(name), []).append(ratio)
    kept = {"commit": run["commit"][:7], "date": run["time"][:10], "target": target_of(run)}
    return kept | {group: round(mean(ratios), 2) for group, ratios in groups.items()}


def read(folder: Path) -> list[dict]:
    path = folder / FILE
    return json.loads(path.read_text())["earlier"] if path.exists() else []


def write(folder: Path, entries: list[dict]) -> None:
    ordered = sorted(entries, key=lambda one: (one["target"], one["date"]))
    lines = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in ordered)
    (folder / FILE).write_text(f'{{\n "earlier": [\n  {lines}\n ]\n}}\n')


def retire(path: Path) -> dict:
    """Adds a run to the history of its folder, and removes its files: the JSON and the table of
    that name."""
    run = json.loads(path.read_text())
    kept = line(run)
    write(path.parent, [*read(path.parent), kept])
    path.unlink()
    path.with_suffix(".txt").unlink(missing_ok=True)
    return kept
