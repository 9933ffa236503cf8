"""Lines, tables and summaries of results."""

from __future__ import annotations

import math
from typing import Any

FAILED = 0.1  # the ratio of a case that is wrong or failed
COLUMNS = ("error", "bound", "eager µs", "inductor µs", "tessera µs", "ratio", "compile s")


def ratio(one: dict[str, Any]) -> float | None:
    """The time of the best peer over Tessera's; None for what eager mode cannot run."""
    if "skipped" in one:
        return None
    if "failed" in one or "us" not in one:
        return FAILED
    peers = [time for name, time in one["us"].items() if name != "tessera"]
    return min(peers) / one["us"]["tessera"]


def remarks(one: dict[str, Any]) -> str:
    found = []
    for key, text in (("skipped", "skipped: "), ("failed", "FAILED: ")):
        if key in one:
            found.append(text + one[key])
    if foreign := one.get("foreign"):
        total = one["compiled"] + sum(foreign.values())
        names = ", ".join(sorted({name.split(":")[0] for name in foreign}))
        found.append(f"{one['compiled']}/{total} compiled, not {names}")
    elif one.get("compiled") == 0 and "failed" not in one:
        found.append("no graph")
    if "inductor_failed" in one:
        found.append("inductor failed")
    if "uncaptured" in one:
        found.append(f"not in a CUDA graph: {', '.join(one['uncaptured'])}")
    if "no_float64" in one:
        found.append("no float64")
    return "; ".join(found)


def cells(one: dict[str, Any]) -> list[str]:
    times = one.get("us", {})

    def show(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        show(one.get("error"), ".1e"),
        show(one.get("bound"), ".1e"),
        *(show(times.get(name), ".1f") for name in ("eager", "inductor", "tessera")),
        show(ratio(one), ".2f"),
        show(one.get("compile_s"), ".1f"),
    ]


def line(one: dict[str, Any], width: int = 44) -> str:
    widths = (7, 7, 10, 11, 10, 6, 9)
    text = " ".join(cell.rjust(size) for cell, size in zip(cells(one), widths))
    return f"{one['name'][:width]:{width}} {text}  {remarks(one)}"


def head(width: int = 44) -> str:
    widths = (7, 7, 10, 11, 10, 6, 9)
    return f"{'':{width}} " + " ".join(name.rjust(size) for name, size in zip(COLUMNS, widths))


def summary(results: list[dict[str, Any]]) -> list[str]:
    """The geometric mean, the tenth percentile and the worst, by kind."""
    lines = []
    for kind in ("operator", "block", "network", "all"):
        those = [one for one in results if kind in (one["kind"], "all")]
        found = sorted((ratio(one), one["name"]) for one in those if ratio(one) is not None)
        if not found:
            continue
        mean = math.exp(sum(math.log(one) for one, _ in found) / len(found))
        failed = sum("failed" in one or "us" not in one for one in those if "skipped" not in one)
        partly = sum(bool(one.get("foreign")) for one in those)
        lines.append(
            f"{kind}: {len(found)} cases, {failed} failed or wrong, {partly} compiled in part; "
            f"geometric mean {mean:.2f}, tenth percentile {found[len(found) // 10][0]:.2f}"
        )
        if kind != "all":
            worst = [f"{name} {one:.2f}" for one, name in found[:10]]
            lines.append(f"  worst: {', '.join(worst)}")
    return lines


def ordered(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = ("operator", "block", "network")
    return sorted(results, key=lambda one: (kinds.index(one["kind"]), one["name"]))


def whole(results: list[dict[str, Any]]) -> str:
    lines, kind = [], ""
    for one in ordered(results):
        if one["kind"] != kind:
            kind = one["kind"]
            lines += ["", kind, head()]
        lines.append(line(one))
    return "\n".join([*lines, "", *summary(results)])


def markdown(about: dict[str, Any], results: list[dict[str, Any]]) -> str:
    lines = [
        "# Modules drawn at random",
        "",
        f"{about['machine']}, PyTorch {about['torch']}, {about['dtype']}, "
        f"commit {about['commit']}, seed {about['seed']}. `benchmarks/operators/run.py` made this table.",
        "",
        *(text if text.startswith("  ") else f"- {text}" for text in summary(results)),
        "",
        f"| case | {' | '.join(COLUMNS)} | remarks |",
        f"| --- |{' --- |' * (len(COLUMNS) + 1)}",
    ]
    for one in ordered(results):
        text = remarks(one).replace("|", "\\|")
        lines.append(f"| {one['name']} | {' | '.join(cells(one))} | {text} |")
    return "\n".join(lines) + "\n"
