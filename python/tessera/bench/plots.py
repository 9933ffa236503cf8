"""Drawings for the report, as SVG in the page: the roofline of a run, and the history of a
benchmark."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from .harness import OURS

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 40
PALETTE = (
    "#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0",
    "#d45b90", "#7a8b2f", "#2a9d9d",
)  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """A range on an axis; logarithmic by default."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = True

    def at(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            return [self.low + i * (self.high - self.low) / 4 for i in range(5)]
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1)]


def _text(x: float, y: float, value: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(value)}</text>'


def _frame(x: Axis | None, y: Axis, titles: tuple[str, str]) -> list[str]:
    """Lines and numbers of the axes; without an x axis its positions have no numbers."""
    parts = []
    for tick in x.ticks() if x else ():
        at = x.at(tick)
        parts.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        )
        parts.append(_text(at, HEIGHT - BOTTOM + 16, f"{tick:g}"))
    for tick in y.ticks():
        at = y.at(tick)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        )
        parts.append(_text(LEFT - 6, at + 4, f"{tick:.3g}", "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, titles[0]))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(14, middle, titles[1], more=f' transform="rotate(-90 14 {middle:.0f})"'))
    return parts


def _disc(x: float, y: float, radius: int, colour: str, reported: str) -> str:
    title = f"<title>{html.escape(reported)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}">{title}</circle>'


def _svg(parts: list[str], label: str) -> str:
    head = f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(label)}">'
    return head + "".join(parts) + "</svg>"


def _legend(names: dict[str, str]) -> str:
    items = "".join(
        f'<span><i style="background:{colour}"></i>{html.escape(name)}</span>'
        for name, colour in names.items()
    )
    return f'<p class="legend">{items}</p>'


def roofline(run: dict, threads: int) -> str:
    """Operations per second over operations per byte: ours filled, the fastest peer hollow; ""
    without a roofline."""
    ceiling = next((one for one in run.get("roofline", ()) if one["threads"] == threads), None)
    rows = [
        row
        for row in run["rows"]
        if row["kind"] == "case" and row["threads"] == threads and row["flops"] and row["bytes"]
        and row.get("roof")
    ]  # fmt: skip
    if not ceiling or not rows:
        return ""
    peak, copied = ceiling["fp32"] / 1e9, ceiling["copy"] / 1e9
    speeds = [row["flops"] / row["seconds"] / 1e9 for row in rows]
    densities = [row["flops"] / row["bytes"] for row in rows]
    x = Axis(min(0.1, *densities) / 2, max(1000, *densities) * 2, LEFT, WIDTH - RIGHT)
    y = Axis(min(1, *speeds) / 2, max(peak, *speeds) * 2, HEIGHT - BOTTOM, TOP)
    parts = _frame(x, y, ("operations for a byte", "GFLOP/s"))
    corner = peak / copied
    bend = [(x.low, x.low * copied), (corner, peak), (x.high, peak)]
    points = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in bend)
    parts.append(f'<polyline class="roof" points="{points}"/>')
    parts.append(_text(WIDTH - RIGHT - 4, y.at(peak) - 6, f"{peak:.0f} GFLOP/s, products", "end"))
    parts.append(
        _text(x.at(x.low) + 6, y.at(x.low * copied) - 10, f"{copied:.1f} GB/s, copy", "start")
    )
    groups = {
        name: PALETTE[i % len(PALETTE)]
        for i, name in enumerate(dict.fromkeys(r["group"] for r in rows))
    }
    for row, speed, density in zip(rows, speeds, densities):
        colour = groups[row["group"]]
        peers = {name: time for name, time in row["medians"].items() if name != OURS}
        if peers:
            name = min(peers, key=peers.__getitem__)
            other = row["flops"] / peers[name] / 1e9
            reported = html.escape(f"{row['title']}, {name}: {other:.3g} GFLOP/s")
            parts.append(
                f'<circle cx="{x.at(density):.1f}" cy="{y.at(other):.1f}" r="4" fill="none" stroke="{colour}">'
                f"<title>{reported}</title></circle>"
            )
        reported = f"{row['title']}: {speed:.3g} GFLOP/s, {100 * row['roof']:.0f} % of the roof"
        parts.append(_disc(x.at(density), y.at(speed), 4, colour, reported))
    return _svg(parts, f"roofline, {threads} threads") + _legend(groups)


@dataclass(frozen=True)
class Point:
    label: str  # the commit and the day
    value: float
    low: float
    high: float


def history(title: str, lines: dict[str, list[Point | None]], unit: str) -> str:
    """Lines over runs, all of the same length, with their intervals; "" if there is only one
    run."""
    known = [point for line in lines.values() for point in line if point]
    count = max((len(line) for line in lines.values()), default=0)
    if count < 2 or not known:
        return ""
    largest = max(point.high for point in known) * 1.1
    x = Axis(0, count - 1, LEFT + 16, WIDTH - RIGHT - 16, logarithmic=False)
    y = Axis(0, largest, HEIGHT - BOTTOM, TOP, logarithmic=False)
    parts = _frame(None, y, ("runs, the newest on the right", unit))
    colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(lines)}
    for name, line in lines.items():
        colour = colours[name]
        present = [(x.at(i), point) for i, point in enumerate(line) if point]
        path = " ".join(f"{at:.1f},{y.at(point.value):.1f}" for at, point in present)
        parts.append(f'<polyline fill="none" stroke="{colour}" points="{path}"/>')
        for at, point in present:
            reported = (
                f"{name}, {point.label}: {point.value:.3g} ({point.low:.3g} .. {point.high:.3g})"
            )
            ends = f'y1="{y.at(point.low):.1f}" y2="{y.at(point.high):.1f}"'
            parts.append(f'<line stroke="{colour}" x1="{at:.1f}" x2="{at:.1f}" {ends}/>')
            parts.append(_disc(at, y.at(point.value), 3, colour, reported))
    return _svg(parts, title) + _legend(colours)


SCATTER_STYLE = "<style>text{font:11px sans-serif}.grid{stroke:#8886;stroke-width:.5}</style>"


def ratios(run: dict) -> str:
    """Of drawn programs (benchmarks/draws): the ratio to the best peer over the work, by family, as
    a file of its own. Circles are those of the last number of threads; failures are at 0.1."""
    draws = {one["name"]: one for one in run["draws"]}
    found = [
        (draws[name], result.get("ratio", 0.1))
        for results in list(run["results"].values())[-1:]
        for name, result in results.items()
        if name in draws and ("ratio" in result or not result["good"])
    ]
    work = {one["name"]: max(one["flops"], one["bytes"], 1) for one, _ in found}
    x = Axis(min(work.values(), default=1) / 2, max(work.values(), default=1) * 2 + 10,
             LEFT, WIDTH - RIGHT)  # fmt: skip
    values = [ratio for _, ratio in found]
    y = Axis(min([0.1, *values]) / 1.2, max([10.0, *values]) * 1.2, HEIGHT - BOTTOM, TOP)
    parts = [
        SCATTER_STYLE,
        *_frame(x, y, ("operations, or bytes if more", "ratio to the best peer")),
    ]
    parity = y.at(1.0)
    ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{parity:.1f}" y2="{parity:.1f}"'
    parts.append(f'<line stroke="#888" stroke-width="1.5" {ends}/>')
    families = list(dict.fromkeys(one["family"] for one in draws.values()))
    for at, name in enumerate(sorted(families)):
        colour = PALETTE[at % len(PALETTE)]
        parts.append(_disc(LEFT + 12, TOP + 10 + 14 * at, 3, colour, name))
        parts.append(_text(LEFT + 20, TOP + 14 + 14 * at, name, "start"))
        for one, ratio in found:
            if one["family"] == name:
                where = x.at(work[one["name"]]), y.at(ratio)
                parts.append(_disc(*where, 3, colour, f"{one['name']}: {ratio:.2f}"))
    svg = _svg(parts, "ratio to the best peer over the work")
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"
