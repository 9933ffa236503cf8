"""A profile as one page of HTML: the source with bars beside each line, the code that it became,
and the gap to the roofline as stacked bars. It has no scripts and refers to no other file."""

from __future__ import annotations

import html
from collections.abc import Iterable

from .model import CAUSES, Kernel, Line
from .profiler import Profile
from .text import _bytes, _flops, _us

_COLOURS = {
    "roofline": "#4c9f70",
    "clock": "#8da0cb",
    "overlap": "#e0a458",
    "instructions": "#c58b3b",
    "loops": "#b07aa1",
    "fallback": "#d1495b",
    "padding": "#edae49",
    "waves": "#6a4c93",
    "tail": "#9d79bc",
    "uncoalesced": "#c1121f",
    "latency": "#3d5a80",
    "reread": "#98c1d9",
    "packing": "#a3b18a",
    "fill": "#7f7f7f",
    "epilogue": "#bcbd22",
    "launch": "#444444",
    "unexplained": "#dddddd",
}

_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 1.5em; color: #222; background: #fff; }
table { border-collapse: collapse; } td, th { padding: 1px 8px; text-align: right; }
td.text, th.text { text-align: left; } pre, code, td.source { font: 12px ui-monospace, monospace; }
td.source { text-align: left; white-space: pre; } td.zero { color: #bbb; }
.both { display: flex; gap: 2em; align-items: flex-start; flex-wrap: wrap; }
.both > * { min-width: 0; } pre { overflow: auto; max-height: 30em; background: #f6f6f6; padding: 8px; }
.bar { display: flex; height: 16px; width: 36em; background: #eee; }
.bar span { display: block; height: 100%; }
.small { display: inline-block; height: 9px; vertical-align: middle; }
.key { display: inline-block; width: 10px; height: 10px; margin: 0 4px 0 12px; }
.advice { border-left: 4px solid #d1495b; padding-left: 10px; margin: 8px 0; }
.source-of { color: #777; }
"""


def _text(value: object) -> str:
    return html.escape(str(value))


def render(profile: Profile) -> str:
    parts = [
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{_text(profile.function)}: profile</title><style>{_STYLE}</style></head><body>",
        *_head(profile),
        "<h2>Kernels</h2>",
        *_kernels(profile),
        "<h2>Source</h2><div class='both'>",
        *_source(profile),
        *_code(profile),
        "</div>",
        *_advice(profile),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _head(profile: Profile) -> Iterable[str]:
    kinds = ", ".join(sorted({one.source for one in profile.kernels}))
    via = f" via {profile.backend}" if profile.backend else ""
    yield f"<h1>{_text(profile.function)} for {_text(profile.target + via)}</h1>"
    yield (
        f"<p>{_us(profile.us)} us <span class='source-of'>({kinds})</span>, roofline "
        f"{_us(profile.roofline_us)} us <span class='source-of'>(predicted)</span></p>"
    )
    yield from (f"<p class='source-of'>{_text(note)}</p>" for note in profile.notes)


def _stack(kernel: Kernel, longest: float) -> str:
    parts = [("roofline", kernel.roofline_us), *((one.name, one.us) for one in kernel.causes)]
    spans = "".join(
        f"<span style='width:{100 * us / longest:.3f}%;background:{_COLOURS.get(name, '#999')}' "
        f"title='{_text(name)}: {_us(us)} us'></span>"
        for name, us in parts
    )
    return f"<div class='bar'>{spans}</div>"


def _kernels(profile: Profile) -> Iterable[str]:
    longest = max(kernel.us for kernel in profile.kernels)
    yield (
        "<table><tr><th class='text'>kernel</th><th>us</th><th class='text'>source</th>"
        "<th class='text'>roofline and gap</th><th class='text'>bound by</th>"
        "<th class='text'>tensor cores</th><th>registers</th><th>spills</th><th>occupancy</th>"
        "<th>memory</th><th>L2</th><th>waves</th></tr>"
    )
    for one in profile.kernels:
        has = one.figures.get
        occupancy = f"{has('occupancy'):.0%}" if "occupancy" in one.figures else ""
        yield (
            f"<tr><td class='text'>{_text(one.name)}</td><td>{_us(one.us)}</td>"
            f"<td class='text'>{one.source}</td><td class='text'>{_stack(one, longest)}</td>"
            f"<td class='text'>{one.bound}</td><td class='text'>{one.tensor_cores}</td>"
            f"<td>{has('registers', '')}</td><td>{has('spill_bytes', '')}</td><td>{occupancy}</td>"
            f"<td>{_bytes(one.bytes)}</td><td>{_bytes(one.l2_bytes)}</td><td>{one.waves:.2f}</td>"
            "</tr>"
        )
    yield "</table><p>"
    used = ["roofline", *profile.causes]
    for name in used:
        meaning = CAUSES.get(name, "the slowest of tensor cores, vector units and memory")
        yield (
            f"<span class='key' style='background:{_COLOURS.get(name, '#999')}'></span>"
            f"<span title='{_text(meaning)}'>{name}</span>"
        )
    yield "</p>"


def _bar(value: float, most: float, colour: str) -> str:
    width = 90 * value / most if most else 0.0
    return f"<span class='small' style='width:{width:.1f}px;background:{colour}'></span>"


def _source(profile: Profile) -> Iterable[str]:
    known = {one.number: one for one in profile.lines}
    most = [
        max((getattr(one, name) for one in profile.lines), default=0.0)
        for name in ("us", "bytes", "flops")
    ]
    yield (
        "<table><tr><th>line</th><th class='text'></th><th>us</th><th>lost</th>"
        "<th class='text'>time</th><th class='text'>memory</th><th class='text'>FLOP</th></tr>"
    )
    last = profile.first_line + len(profile.source.splitlines())
    for number in sorted({*range(profile.first_line, last), *known}):
        one = known.get(number, Line(number))
        style = "" if one.us else " class='zero'"
        yield (
            f"<tr id='line-{number}'><td{style}>{number}</td>"
            f"<td class='source'>{_text(profile.text_of(number))}</td>"
            f"<td{style}>{_us(one.us) if one.us else ''}</td>"
            f"<td{style}>{_us(one.lost_us) if one.us else ''}</td>"
            f"<td class='text'>{_bar(one.us, most[0], '#d1495b')}</td>"
            f"<td class='text'>{_bar(one.bytes, most[1], '#3d5a80')} "
            f"{_bytes(one.bytes) if one.bytes else ''}</td>"
            f"<td class='text'>{_bar(one.flops, most[2], '#4c9f70')} "
            f"{_flops(one.flops) if one.flops else ''}</td></tr>"
        )
    yield "</table>"


def _code(profile: Profile) -> Iterable[str]:
    names = {"tile": "Tile IR", "ptx": "PTX", "sass": "SASS", "asm": "assembly"}
    yield "<div>"
    for stage, text in profile.ir.items():
        opened = " open" if stage == "tile" else ""
        yield f"<details{opened}><summary>{names[stage]}</summary><pre>{_text(text)}</pre></details>"
    yield "</div>"


def _advice(profile: Profile) -> Iterable[str]:
    yield "<h2>Advice</h2>"
    if not profile.advice:
        yield "<p>none</p>"
    for one in profile.advice:
        verified = f"<br>verified: {_text(one.verified)}" if one.verified else ""
        yield (
            f"<div class='advice'><a href='#line-{one.line}'>line {one.line}</a>: "
            f"<b>{_text(one.cause)}</b>, -{_us(one.gain_us)} us predicted<br>{_text(one.text)}<br>"
            f"{_text(one.change)}{verified}</div>"
        )
