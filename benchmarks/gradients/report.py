"""The table of gradients: times beside the fastest peer."""

from __future__ import annotations

import math
import statistics

from draws.distributions import commit

from .programs import Row

OURS = "tessera"


def fastest(ms: dict[str, float], both: bool) -> tuple[str, float] | None:
    """The fastest peer, backward or forward and backward."""
    found = {
        name.removesuffix(" both"): time
        for name, time in ms.items()
        if not name.startswith(OURS) and name != "copy" and name.endswith(" both") == both
    }
    return min(found.items(), key=lambda one: one[1]) if found else None


def _pair(ms: dict[str, float], ours: str, both: bool) -> tuple[str, float | None]:
    peer = fastest(ms, both)
    if peer is None:
        return f"{ms[ours]:.3f} | | ", None
    ratio = peer[1] / ms[ours]
    return f"{ms[ours]:.3f} | {peer[1]:.3f} {peer[0]} | {ratio:.2f}", ratio


def line(row: Row, result: dict) -> str:
    if "ms" not in result:
        return f"{row.name}: {result.get('failed', 'not measured')}"
    return f"{row.name}: " + " ".join(f"{name} {time:.3f}" for name, time in result["ms"].items())


def _mean(ratios: list[float]) -> str:
    if not ratios:
        return "none"
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return f"geometric mean {mean:.2f}, least {min(ratios):.2f}, of {len(ratios)}"


def about(seed: int) -> str:
    """The machine, the versions of the peers, and the commit."""
    import torch
    import triton

    device, peer = torch.cuda.get_device_name(), f"PyTorch {torch.__version__}"
    cudnn = f"cuDNN {torch.backends.cudnn.version()}, Triton {triton.__version__}"
    return f"{device}, {peer}, {cudnn}, commit {commit()[:7] or 'unknown'}, seed {seed}"


def table(rows: list[Row], results: dict[str, dict], head: str) -> str:
    lines = ["# Gradients", "", f"{head}."]
    lines += ["Times in milliseconds; `benchmarks/gradients/run.py` made this table.", ""]
    for group in ("attention", "drawn", "memory"):
        those = [row for row in rows if row.group == group and "ms" in results.get(row.name, {})]
        if not those:
            continue
        if group == "memory":
            lines += [
                "| forward and backward | ms | torch.compile | ratio | of a copy |",
                "| --- | --- | --- | --- | --- |",
            ]
        else:
            lines += [
                "| attention | backward | peer | ratio | TFLOP/s | forward, backward | peer | ratio |",
                "| --- | --- | --- | --- | --- | --- | --- | --- |",
            ]
        alone, both, copied = [], [], []
        for row in those:
            ms = results[row.name]["ms"]
            wide, ratio = _pair(ms, f"{OURS} both", True)
            both += [ratio] if ratio else []
            if group == "memory":
                copied.append(ms["copy"] / ms[f"{OURS} both"])
                lines.append(f"| {row.name} | {wide} | {copied[-1]:.2f} |")
                continue
            text, ratio = _pair(ms, OURS, False)
            alone += [ratio] if ratio else []
            rate = row.flops / ms[OURS] / 1e9
            lines.append(f"| {row.name} | {text} | {rate:.0f} | {wide} |")
        lines += ["", f"Forward and backward: {_mean(both)}."]
        if alone:
            lines += [f"Backward alone: {_mean(alone)}."]
        if copied:
            lines += [f"Of a copy's rate: {_mean(copied)}."]
        lines += [""]
    failed = {name: one["failed"] for name, one in results.items() if "failed" in one}
    lines += [f"{len(failed)} of {len(results)} are wrong or failed."]
    lines += [f"- {name}: {text}" for name, text in failed.items()]
    return "\n".join(lines) + "\n"
