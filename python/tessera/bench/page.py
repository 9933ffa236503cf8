"""The report: a folder of results as one HTML file without scripts, for any screen.

A bar is our speed relative to a contender's: filled for short bursts, outlined for sustained load;
the mark is the goal. For GPUs it shows the newest results of each device row by row and how far the
cost model's first choice is from the best candidate; for CPUs the newest results of each machine,
their position under its roofline, and their history run by run; for both, earlier commits in one
line each (past.py).
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Callable

from . import past, plots

WIDEST = 2.0  # the ratio at the right edge of a bar
GROUPS = {
    "product": "Matrix products",
    "attention": "Attention, forward",
    "model": "Parts of models",
    "memory": "Bound by memory",
}

STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a8f5b; --short: #c9662a; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin-bottom: .3rem }
.row { border-top: 1px solid var(--line); padding: .35rem 0 }
.row > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem }
.name { font-weight: 600; overflow-wrap: anywhere } .reported { opacity: .75; font-variant-numeric: tabular-nums }
svg { display: block; width: 100%; height: 14px; margin: .15rem 0 }
svg.plot { height: auto; font-size: 11px; fill: currentColor } .grid { stroke: var(--line); stroke-width: .5 }
.roof { fill: none; stroke: currentColor; stroke-width: 1.5 } .plot polyline { fill: none }
.legend span { margin-right: 1rem; white-space: nowrap }
.legend i { display: inline-block; width: .7em; height: .7em; margin-right: .3em }
.good { fill: var(--good); stroke: var(--good) } .short { fill: var(--short); stroke: var(--short) }
.loaded { fill: none } .goal { stroke: currentColor; stroke-width: 2 }
table { border-collapse: collapse; width: 100% } td, th { text-align: right; padding: .15rem .4rem }
td:first-child, th:first-child { text-align: left } tr { border-top: 1px solid var(--line) }
"""


def text(value: object) -> str:
    return html.escape(str(value))


def bar(ratio: float, goal: float | None, loaded: float | None = None) -> str:
    """A ratio as a bar from 0 to WIDEST, in percent of the available width."""

    def at(value: float) -> str:
        return f"{100 * min(max(value, 0), WIDEST) / WIDEST:.2f}%"

    kind = "good" if not goal or ratio >= goal else "short"
    parts = [
        f'<rect class="{kind}" x="0" y="2" height="{5 if loaded else 10}" width="{at(ratio)}"/>'
    ]
    if loaded:
        parts.append(f'<rect class="{kind} loaded" x="0" y="8" height="4" width="{at(loaded)}"/>')
    if goal:
        parts.append(f'<line class="goal" x1="{at(goal)}" x2="{at(goal)}" y1="0" y2="14"/>')
    return f'<svg role="img" aria-label="{ratio:.2f}">{"".join(parts)}</svg>'


def entry(name: str, speed: str, comparisons: list[tuple[str, str]]) -> str:
    """A row: its name and speed, then a sentence and a bar for each comparison."""
    head = f'<div><span class="name">{text(name)}</span><span class="reported">{text(speed)}</span></div>'
    body = "".join(
        f'<div class="reported">{text(reported)}</div>{shape}' for reported, shape in comparisons
    )
    return f'<div class="row">{head}{body}</div>'


# -- GPUs -----------------------------------------------------------------------------------------


def gpu_row(name: str, result: dict) -> str:
    if "times" not in result:
        why = next((result[k] for k in ("failure", "refused", "wrong") if k in result), "no result")
        return entry(name, why.splitlines()[0][:100], [])
    ours = result["times"]["tessera"]
    unit = result["unit"]
    speed = f"{ours['burst_ms']:.4g} ms, {ours['burst_rate']:.0f} {unit}"
    if "sustained_rate" in ours:
        speed += f" ({ours['sustained_rate']:.0f} under load)"
    comparisons = []
    for goal in result["goals"]:
        loaded = goal.get("sustained")
        aim = f", goal {goal['goal']:.3g}" if goal["goal"] else ""
        under = f" ({loaded:.2f} under load)" if loaded else ""
        reported = f"{goal['burst']:.2f}{under} of {goal['against']}{aim}"
        comparisons.append((reported, bar(goal["burst"], goal["goal"], loaded)))
    return entry(name, speed + ("" if result["good"] else ", WRONG"), comparisons)


def small_row(name: str, result: dict) -> str:
    """Work of a few microseconds: one call among many, and a replay of a graph."""
    comparisons, reported = [], []
    times = result.get("small", {})
    for kind in ("plain", "graph"):
        others = {peer: one[f"{kind}_ratio"] for peer, one in times.items() if peer != "tessera"}
        if not others:
            continue
        reported.append(f"{times['tessera'][f'{kind}_us']:.2f} µs {kind}")
        peer = min(others, key=others.__getitem__)
        comparisons.append(
            (f"{kind}: {others[peer]:.2f} of {peer}, goal 1", bar(others[peer], 1.0))
        )
    return entry(name, ", ".join(reported) + ("" if result["good"] else ", WRONG"), comparisons)


def gpu_summary(steps: dict) -> list[str]:
    """A sentence for each step that passes or fails as a whole."""
    lines = []
    for step, title in (("suite", "the CPU's suite"), ("random", "random programs")):
        if one := steps.get(step):
            lines.append(
                f"{title}: {one['right']} of {one['calls']} calls right, "
                f"{one['elements']:,} elements compared with the reference"
            )
    if calls := steps.get("calls"):
        right = sum(one["good"] for one in calls.values())
        lines.append(f"calls with PyTorch's tensors: {right} of {len(calls)} parts right")
    for name, one in steps.get("cts", {}).items():
        failed = len(one.get("failed", []))
        lines.append(f"{name}: {one.get('tests', 0)} tests, {failed} failed")
    for name, one in steps.get("sanitizer", {}).items():
        verdict = "unsupported" if "unsupported" in one else "clean" if one["good"] else "errors"
        lines.append(f"compute-sanitizer {name}: {verdict}, {one.get('calls', 0)} calls")
    if launch := steps.get("bench", {}).get("launch_five_tensors", {}):
        if "call_us" in launch:
            lines.append(
                f"a call from Python with five tensors: {launch['call_us']:.1f} µs "
                f"(torch.add: {launch['torch_add_us']:.1f} µs)"
            )
    return lines


def gpu_section(device: str, runs: list[dict], tuned: list[dict], earlier: list[dict]) -> str:
    """The newest results of a device; missing rows come from earlier ones, with their commit."""
    newest = runs[-1]
    parts = [f"<h2>{text(device)}, commit {text(newest['commit'])}</h2>"]
    parts += [f"<p>{text(line)}</p>" for line in gpu_summary(newest["steps"])]
    rows: dict[str, dict[str, dict]] = {}
    for run in runs:
        for step, results in run["steps"].items():
            if step in ("bench", "memory", "small"):
                known = rows.setdefault(step, {})
                known |= {
                    name: {**result, "commit": run["commit"]} for name, result in results.items()
                }

    def show(title: str, chosen: dict[str, dict], one: Callable[[str, dict], str]) -> None:
        if chosen:
            parts.append(f"<h3>{title}</h3>")
        for name, result in chosen.items():
            is_old = result["commit"] != newest["commit"]
            parts.append(one(f"{name} ({result['commit']})" if is_old else name, result))

    bench = {name: one for name, one in rows.get("bench", {}).items() if "call_us" not in one}
    for group, title in GROUPS.items():
        show(
            title,
            {name: one for name, one in bench.items() if past.group_of(name) == group},
            gpu_row,
        )
    show("Bound by memory, our own PTX; other is CUDA Tile IR", rows.get("memory", {}), gpu_row)
    show("A few microseconds", rows.get("small", {}), small_row)
    if tuned:
        parts.append(candidates(tuned[-1]))
    parts.append(history(runs, earlier))
    return "".join(parts)


def candidates(data: dict) -> str:
    parts = ["<h3>The cost model's first choice over the best candidate</h3>"]
    for name, one in sorted(data["rows"].items()):
        if "first_of_best" not in one:
            continue
        best = "" if one["best"] == one["first"] else f"; best {one['best']}"
        count = f"{len(one['ms'])} candidates"
        reported = f"{one['first_of_best']:.3f}, {one['first']}{best}"
        parts.append(entry(name, count, [(reported, bar(one["first_of_best"], 0.95))]))
    return "".join(parts)


def history(runs: list[dict], earlier: list[dict]) -> str:
    """A line for each commit, the newest first; those of the folder's history may have a note."""
    known = sorted((past.line(run) for run in runs), key=lambda one: one["date"])
    lines = []
    for one in reversed([*earlier, *known]):
        if "note" not in one and not any(group in one for group in GROUPS):
            continue
        cells = "".join(
            f"<td>{one[group]:.2f}</td>" if group in one else "<td>–</td>" for group in GROUPS
        )
        note = (
            f"<tr><td colspan={len(GROUPS) + 1}>{text(one['note'])}</td></tr>"
            if "note" in one
            else ""
        )
        lines.append(f"<tr><td>{text(one['commit'])} {text(one['date'])}</td>{cells}</tr>{note}")
    if not lines:
        return ""
    heads = "".join(f"<th>{title}</th>" for title in GROUPS.values())
    title = "<h3>Geometric means of the ratios, by commit</h3>"
    return f"{title}<table><tr><th>commit</th>{heads}</tr>{''.join(lines)}</table>"


# -- CPUs -----------------------------------------------------------------------------------------


def threads_text(threads: int) -> str:
    return f"{threads} thread" + ("s" if threads > 1 else "")


def cpu_row(one: dict) -> str:
    threads = threads_text(one["threads"])
    if one["kind"] == "figure":
        limit = f" (at most {one['limit']:g})" if one["limit"] is not None else ""
        return entry(one["title"], f"{one['value']:.4g} {one['unit']}{limit}", [])
    if one["kind"] == "error":
        return entry(one["title"], f"failed: {one['text'].splitlines()[0][:100]}, {threads}", [])
    speed = f"{one['seconds'] * 1e3:.4g} ms, {threads}"
    speed += f", {100 * one['roof']:.0f} % of the roof" if one.get("roof") else ""
    comparisons = []
    for goal in one["targets"]:
        aim = f", goal {goal['target']:g}" if goal["target"] else ""
        reported = f"{goal['ratio']:.2f} ({goal['low']:.2f} .. {goal['high']:.2f}) of {goal['against']}{aim}"
        comparisons.append((reported, bar(goal["ratio"], goal["target"])))
    return entry(one["title"], speed, comparisons)


def cpu_history(runs: list[dict]) -> str:
    """For each group of rows, their ratios to the first peer from run to run."""
    groups: dict[tuple[str, int], dict[str, list]] = {}
    for number, run in enumerate(runs):
        label = f"{run['commit']} {run['time'][:10]}"
        for row in run["rows"]:
            if row["kind"] != "case" or not row["targets"]:
                continue
            first = row["targets"][0]
            lines = groups.setdefault((row["group"], row["threads"]), {})
            line = lines.setdefault(row["title"], [None] * len(runs))
            line[number] = plots.Point(label, first["ratio"], first["low"], first["high"])
    parts = []
    for (group, threads), lines in groups.items():
        title = f"{group}, {threads_text(threads)}"
        reported = {
            name: line
            for name, line in lines.items()
            if sum(point is not None for point in line) > 1
        }
        if drawn := plots.history(title, reported, "our speed over the peer's"):
            parts.append(f"<details open><summary>{text(title)}</summary>{drawn}</details>")
    return f"<h3>Run by run</h3>{''.join(parts)}" if parts else ""


def cpu_section(runs: list[dict], earlier: list[dict]) -> str:
    """The newest results of a machine, and their history."""
    run = runs[-1]
    machine = run["machine"]
    about = f"{machine['processor']}, {machine['cores']} cores, commit {run['commit']}"
    parts = [f"<h2>{text(about)}</h2>", f"<p>{text(run['time'])}, {text(machine['system'])}</p>"]
    for ceiling in run.get("roofline", ()):
        if drawn := plots.roofline(run, ceiling["threads"]):
            title = f"Roofline, {threads_text(ceiling['threads'])}"
            parts.append(f"<h3>{title}</h3>{drawn}")
    parts.append("<h3>Row by row</h3>")
    parts += [cpu_row(one) for one in run["rows"]]
    parts.append(cpu_history(runs))
    parts.append(history(runs, earlier))
    return "".join(parts)


def draws_section(run: dict, reported: str) -> str:
    """Programs drawn at random (benchmarks/draws): ratios over size, and the tables."""
    about = f"{run['target']}, {run['device']}, commit {run['commit']}"
    title = f"<h2>Drawn programs: {text(about)}</h2>"
    return f"{title}{plots.ratios(run)}<pre>{text(reported)}</pre>"


def page(
    files: list[dict],
    earlier: list[dict] | None = None,
    drawn: list[tuple[dict, str]] | None = None,
) -> str:
    def before(target: str) -> list[dict]:
        return [one for one in earlier or [] if one["target"] == target]

    ordered = sorted(files, key=lambda one: one["time"])
    gpus: dict[str, tuple[list, list]] = {}
    cpus: dict[str, list[dict]] = {}
    for one in ordered:
        if "machine" in one:
            cpus.setdefault(one["machine"]["processor"], []).append(one)
        elif "rows" in one:
            gpus.setdefault(one["device"], ([], []))[1].append(one)
        elif "steps" in one:
            gpus.setdefault(one["device"], ([], []))[0].append(one)
    sections = [
        gpu_section(device, *both, before(device)) for device, both in gpus.items() if both[0]
    ]
    sections += [cpu_section(runs, before(past.target_of(runs[-1]))) for runs in cpus.values()]
    newest = {run["target"]: (run, reported) for run, reported in drawn or []}
    sections += [draws_section(*pair) for pair in newest.values()]
    intro = (
        "A bar is our speed over a contender's in the same run, 1 in the middle: filled in short bursts after a "
        "rest, outlined under load; the mark is the goal. For what is bound by memory, copy is the speed of a "
        "copy of as many bytes, every argument counted once. Under a roofline a disc is ours, a ring the fastest peer."
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    title = "Tessera: benchmarks"
    return (
        f"<!doctype html><html lang=en><head>{head}<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><h1>{title}</h1><p>{intro}</p>{''.join(sections)}</body></html>\n"
    )


def write(results: Path, output: Path) -> int:
    """Writes the page of a folder's results; returns its length."""
    files = [json.loads(path.read_text()) for path in sorted(results.glob("*.json"))]
    drawn = [(json.loads(path.read_text()), path) for path in (results / "draws").glob("*.json")]
    drawn.sort(key=lambda pair: pair[0]["time"])
    written = page(
        [one for one in files if isinstance(one, dict) and "time" in one],
        past.read(results),
        [(run, path.with_suffix(".txt").read_text()) for run, path in drawn],
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(written)
    return len(written)
