"""A profile as text."""

from __future__ import annotations

from .model import Kernel
from .profiler import Profile

_WIDEST = 60  # of a line of the source


def _us(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def _bytes(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return ""


def _flops(value: float) -> str:
    for unit in ("", "K", "M", "G", "T"):
        if value < 1000 or unit == "T":
            return f"{value:.0f}{unit}" if not unit else f"{value:.1f} {unit}"
        value /= 1000
    return ""


def table(rows: list[list[str]], left: tuple[int, ...] = (0,)) -> list[str]:
    """Aligned columns; numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def render(profile: Profile) -> str:
    via = f" via {profile.backend}" if profile.backend else ""
    count = len(profile.kernels)
    sources = {kernel.source for kernel in profile.kernels}
    lines = [
        f"{profile.function} for {profile.target}{via}: {count} kernel{'s' if count > 1 else ''}, "
        f"{_us(profile.us)} us ({', '.join(sorted(sources))}), roofline "
        f"{_us(profile.roofline_us)} us",
        "",
        *_kernels(profile),
        "",
        *_gap(profile),
        "",
        *_lines(profile),
    ]
    if profile.accesses:
        lines += ["", *_accesses(profile)]
    lines += ["", *_advice(profile)]
    lines += [f"note: {one}" for one in profile.notes]
    return "\n".join(lines)


def _kernels(profile: Profile) -> list[str]:
    head = ["kernel", "us", "source", "roofline", "bound by", "tensor cores", "occupancy",
            "registers", "shared", "spills", "memory", "L2", "CTAs", "waves"]  # fmt: skip
    rows = [_kernel(one) for one in profile.kernels]
    kept = [i for i in range(len(head)) if any(row[i] not in ("", "-") for row in rows)]
    cells = [[row[i] for i in kept] for row in [head, *rows]]
    left = tuple(kept.index(i) for i in (0, 2, 4, 5) if i in kept)
    found = table(cells, left)
    if any(one.counters for one in profile.kernels):
        found += ["", *_counters(profile)]
    return found


def _kernel(one: Kernel) -> list[str]:
    figures = one.figures
    has = figures.get
    percent = f"{one.roofline_us / one.us:.0%}" if one.us else "-"
    return [
        one.name,
        _us(one.us),
        one.source,
        percent,
        one.bound,
        one.tensor_cores or "-",
        f"{has('occupancy'):.0%}" if "occupancy" in figures else "-",
        str(has("registers", "-")),
        _bytes(has("shared_bytes")) if "shared_bytes" in figures else "-",
        _bytes(has("spill_bytes")) if "spill_bytes" in figures else "-",
        _bytes(one.bytes),
        _bytes(one.l2_bytes),
        f"{one.ctas:.0f}",
        f"{one.waves:.2f}",
    ]


def _counters(profile: Profile) -> list[str]:
    head = ["counted", "us", "memory read", "memory written", "occupancy", "registers"]
    rows = []
    for kernel in profile.kernels:
        has = kernel.counters.get
        if kernel.counters:
            rows.append([
                kernel.name,
                _us(has("ns", 0) / 1e3),
                _bytes(has("read", 0)),
                _bytes(has("written", 0)),
                f"{has('occupancy', 0):.0f}%",
                f"{has('registers', 0):.0f}",
            ])  # fmt: skip
    return table([head, *rows])


def _gap(profile: Profile) -> list[str]:
    gap = profile.us - profile.roofline_us
    if gap <= 0:
        return ["no gap to the roofline"]
    from .model import CAUSES

    rows = [["gap", _us(gap), "us", ""]]
    for name, us in profile.causes.items():
        operands = sorted(
            {one.of for kernel in profile.kernels for one in kernel.causes if one.name == name}
            - {""}
        )
        about = f" ({', '.join(operands)})" if operands else ""
        rows.append([f"  {name}", _us(us), f"{us / gap:.0%}", CAUSES.get(name, "") + about])
    return table(rows, (0, 3))


def _lines(profile: Profile) -> list[str]:
    rows = [["line", "us", "lost", "FLOP", "memory", "mostly", ""]]
    for one in profile.lines:
        most = max(one.causes.items(), key=lambda cause: cause[1], default=("", 0.0))
        mostly = most[0] if most[1] >= 0.05 * max(one.us, 1e-9) else ""
        text = profile.text_of(one.number).strip()
        rows.append([
            str(one.number),
            _us(one.us),
            _us(one.lost_us),
            _flops(one.flops),
            _bytes(one.bytes),
            mostly,
            text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…",
        ])  # fmt: skip
    whole = sum(one.us for one in profile.lines), sum(one.lost_us for one in profile.lines)
    rows.append(["all", _us(whole[0]), _us(whole[1]), "", "", "", ""])
    return table(rows, (5, 6))


def _accesses(profile: Profile) -> list[str]:
    costly = sorted((one for one in profile.accesses if one.ratio > 1), key=lambda one: -one.ratio)
    cheap = len(profile.accesses) - len(costly)
    summary = f"simulated at small sizes: {cheap} of {len(profile.accesses)} accesses take the fewest transactions"
    if not costly:
        return [summary]
    rows = [["access", "line", "memory", "transactions", "fewest", "ratio", ""]]
    for one in costly:
        what = "bank conflict" if one.memory == "shared" else "uncoalesced"
        counts = [str(one.units), str(one.fewest), f"{one.ratio:.2f}"]
        rows.append([one.op, str(one.line or ""), one.memory, *counts, what])
    return [summary, *table(rows, (0, 2, 6))]


def _advice(profile: Profile) -> list[str]:
    if not profile.advice:
        return ["advice: none"]
    found = ["advice, the largest predicted gain first"]
    for one in profile.advice:
        found += [
            f"  line {one.line}: {one.cause}, -{_us(one.gain_us)} us predicted",
            f"    {one.text}",
            f"    {one.change}",
        ]
        if one.verified:
            found.append(f"    verified: {one.verified}")
    return found
