"""What a run of draws prints and keeps: tables, the worst five with their reasons, a plot."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from . import results
from .distributions import Draw
from .program import FUNCTION

COLUMNS = ["draws", "failed", "mean", "10 %", "worst"]
_KEPT = re.compile(r"^\s*(kernel |grid|streams|launch|tuning|predicted|calls)")
_MISSED = re.compile(r"^    [\w-]+: ")


def describe(one: Draw) -> dict:
    """What the results keep of a drawn program."""
    program = one.program
    return {
        "name": one.name,
        "family": program.family,
        "dtype": program.arguments[0].dtype,
        "regimes": program.regimes,
        "flops": program.flops,
        "bytes": program.bytes,
    }


def table(title: str, rows: dict[str, results.Figures | None]) -> str:
    cells = [[title, *COLUMNS]]
    cells += [[name, *one.cells()] for name, one in rows.items() if one]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if at == 0 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in cells
    )


def tables(draws: dict[str, dict], found: dict[str, dict]) -> str:
    """By family and by regime; `draws` describes the programs by their names."""
    known = {name: one for name, one in found.items() if name in draws}

    def those(keep) -> results.Figures | None:
        return results.figures(one for name, one in known.items() if keep(draws[name]))

    families = dict.fromkeys(results.group(draws[name]) for name in draws)
    rows = {name: those(lambda one: results.group(one) == name) for name in sorted(families)}
    rows["all"] = those(lambda one: True)
    by_regime = {name: those(lambda one: name in one["regimes"]) for name in results.REGIMES}
    return table("family", rows) + "\n\n" + table("regime", by_regime)


def reasons(explained: str, most: int = 14) -> list[str]:
    """Of `tessera explain --missed`: tiles, launch, prediction, and passes that did not apply."""
    lines = [line.rstrip() for line in explained.splitlines()]
    kept = [line for line in lines if _KEPT.match(line) or _MISSED.match(line)]
    return kept[:most] + (["  …"] if len(kept) > most else [])


def explain(one: Draw, tessera: Path, folder: Path, target: str = "cpu") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{one.program.digest}.py"
    path.write_text(one.program.source())
    program = [f"{path}::{FUNCTION}", *one.program.flags(), "--target", target, "--missed"]
    done = subprocess.run([tessera, "explain", *program], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def listed(found: dict[str, dict], explained: dict[str, str]) -> str:
    """The failures, then the worst five with their reasons."""
    lines = []
    failed = results.failures(found)
    if failed:
        lines.append(f"{len(failed)} failed, each counts {results.FAILED}:")
        for name, error in failed.items():
            lines.append(f"  {name}")
            lines += [f"    {line}" for line in error.strip().splitlines()[:3]]
        lines.append("")
    lines.append("the worst:")
    for name in results.worst(found):
        one = found[name]
        ours, theirs = (one["medians"][who] * 1e3 for who in ("tessera", one["against"]))
        times = f"{ours:.4g} ms, {one['against']} {theirs:.4g} ms"
        lines.append(f"  {one['ratio']:.2f}  {name}  ({times})")
        lines += [f"    {line}" for line in reasons(explained.get(name, ""))]
    return "\n".join(lines)


def missing(found: dict[str, dict]) -> str:
    none = [name for name, one in found.items() if results.score(one) is None]
    return f"without a peer that runs them: {', '.join(none)}\n" if none else ""


def whole(run: dict) -> str:
    """The text of a run, for every number of threads."""
    draws = {one["name"]: one for one in run["draws"]}
    head = f"{run['target']}, {run['device']}; commit {run['commit']}, seed {run['seed']}\n"
    parts = [head + "ratios of the best peer's time to ours; a failure counts 0.1"]
    for label, found in run["results"].items():
        measured = {name: one for name, one in found.items() if name in draws}
        parts.append(f"{label}: {len(measured)} of {len(draws)} draws")
        if not measured:
            continue
        parts.append(tables(draws, measured))
        explained = run.get("explained", {})
        parts.append(missing(measured) + listed(measured, explained))
        if times := found.get("overhead", {}).get("overhead_us"):
            shown = ", ".join(f"{name} {us:.2f} us" for name, us in times.items())
            parts.append(f"overhead of a call: {shown}")
    return "\n\n".join(parts) + "\n"
