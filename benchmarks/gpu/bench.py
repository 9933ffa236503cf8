"""One row of the GPU benchmark on the machine with the GPU: numerics first, then times beside the
peers."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Iterable

import exact
import peers
import timing
from rows import FIXED_GOAL, Argument, Goal, Row

OURS = "tessera"


def fill(argument: Argument, device: str = "cuda"):
    """Random values, or the meaning of the argument's name."""
    import torch

    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    sizes = argument.sizes
    if argument.fill.startswith("below:"):
        return torch.randint(int(argument.fill.partition(":")[2]), sizes, device=device)
    if argument.fill == "slopes":
        heads = torch.arange(1, sizes[0] + 1, device=device, dtype=torch.float32)
        return torch.exp2(-8.0 * heads / sizes[0]).to(kinds[argument.dtype])
    if argument.fill == "documents":  # a dozen of uneven lengths
        ends = torch.rand(12, device=device).mul(sizes[0]).long()
        starts = torch.zeros(sizes[0], dtype=torch.int32, device=device)
        return starts.index_fill_(0, ends, 1).cumsum(0).to(torch.int32)
    if argument.fill == "angles":
        base = torch.exp2(torch.linspace(0, -13, sizes[1], device=device))
        angles = torch.arange(sizes[0], device=device, dtype=torch.float32)[:, None] * base
        values = angles.cos() if argument.name == "cos" else angles.sin()
        return values.to(kinds[argument.dtype])
    values = torch.randn(sizes, device=device)
    if argument.fill in ("weights", "words"):  # what is contracted comes first, or last
        values /= math.sqrt(sizes[0] if argument.fill == "weights" else sizes[-1])
    elif argument.fill == "scales":
        values = 1 + values / 8
    return values.to(kinds[argument.dtype])


def run(row: Row, bundle: Path, sustained: float = timing.SUSTAINED) -> dict:
    """Numerics and times of a row, with this many seconds of load; raises the errors of our
    code."""
    import torch

    import tessera as tsr

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    arguments = [fill(one) for one in row.arguments]
    start = time.perf_counter()
    function = getattr(tsr.load(bundle), row.function)
    result = function(*arguments)
    torch.cuda.synchronize()
    first = time.perf_counter() - start

    poison = math.nan if result.is_floating_point() else -1
    out = torch.full_like(result, poison)
    assert function(*arguments, out=out) is out
    worst = exact.error(row.function, arguments, out)
    same = torch.equal(result, out)
    del result
    torch.cuda.empty_cache()

    calls = {OURS: lambda: function(*arguments, out=out)}
    calls |= peers.contenders(row.function, arguments, out)
    if (fixed := bundle.with_name(row.fixed_bundle)).exists():
        for_sizes = getattr(tsr.load(fixed), row.function)
        calls["fixed"] = lambda: for_sizes(*arguments, out=out)
    if (other := bundle.with_name(row.other_bundle)).exists():
        by_other = getattr(tsr.load(other), row.function)
        calls["other"] = lambda: by_other(*arguments, out=out)
    arrays = peers.moved(row.function, arguments, out)
    moved = sum(one.numel() * one.element_size() for one in arrays)
    plan = timing.plan(bool(row.flops), sustained)
    groups = [_names(goal) for goal in (*row.goals, FIXED_GOAL)]
    times = timing.measure(calls, plan, OURS, groups, timing.cache_flush(moved))
    for one in times.values():
        for kind in ("burst", "sustained"):
            if ms := one.get(f"{kind}_ms"):
                one[f"{kind}_rate"] = row.flops / ms / 1e9 if row.flops else moved / ms / 1e6
    result = {
        "good": worst <= 1 and same,
        "error": worst,
        "deterministic": same,
        "first_call_ms": first * 1e3,
        "unit": "TFLOP/s" if row.flops else "GB/s",
        "times": times,
    }
    judge(row, result, fastest_copies([result]))
    return result


def launch(row: Row, bundle: Path) -> dict:
    """Microseconds of the calling thread for one call, and for PyTorch's addition of two
    tensors."""
    import torch

    import tessera as tsr

    arguments = [fill(one) for one in row.arguments]
    function = getattr(tsr.load(bundle), row.function)
    out = function(*arguments)
    good = torch.allclose(out, sum(arguments))
    ours = timing.host_microseconds(lambda: function(*arguments, out=out))
    theirs = timing.host_microseconds(lambda: torch.add(arguments[0], arguments[1], out=out))
    return {"good": good, "call_us": ours, "torch_add_us": theirs}


def tune(row: Row, bundles: dict[str, Path], rounds: int = 3) -> dict:
    """Interleaved burst times of candidates; the first is the cost model's choice."""
    import torch

    import tessera as tsr

    torch.manual_seed(0)
    arguments = [fill(one) for one in row.arguments]
    first = next(iter(bundles))
    outs, calls = {}, {}
    for label, bundle in bundles.items():
        function = getattr(tsr.load(bundle), row.function)
        outs[label] = function(*arguments)
        calls[label] = lambda f=function, out=outs[label]: f(*arguments, out=out)
    torch.cuda.synchronize()
    worst = exact.error(row.function, arguments, outs[first])
    plan = timing.Plan(rounds, 0.1 if row.flops else 0.01, 0.0)
    arrays = peers.moved(row.function, arguments, outs[first])
    flush = timing.cache_flush(sum(one.numel() * one.element_size() for one in arrays))
    times = timing.measure(calls, plan, first, flush=flush)
    unit = exact.ROUNDING[str(outs[first].dtype).removeprefix("torch.")]
    scale = outs[first].abs().max().item()
    found = {}
    for label, one in times.items():
        off = (outs[label].float() - outs[first].float()).abs().max().item()
        near = off <= 8 * unit * scale  # the orders of sums differ
        found[label] = one.get("burst_ms") if near else None
    best = min((label for label in found if found[label]), key=found.get)
    ratio = found[best] / found[first]
    return {"good": worst <= 1, "first": first, "best": best, "first_of_best": ratio, "ms": found}


def _names(goal: Goal) -> list[str]:
    """The contenders of a goal; a copy is the fastest of all kinds."""
    return [name for one in goal.against for name in (peers.COPIES if one == "copy" else (one,))]


def fastest_copies(results: Iterable[dict]) -> dict[str, float]:
    """The speed of the fastest copy of a run, in bursts and under load. A row's own copy may be
    slow."""
    rates: dict[str, float] = {}
    for result in results:
        for name in peers.COPIES:
            one = result.get("times", {}).get(name, {})
            for kind in ("burst", "sustained"):
                if f"{kind}_rate" in one and not one.get("cold"):
                    rates[kind] = max(rates.get(kind, 0.0), one[f"{kind}_rate"])
    return rates


def judge(row: Row, result: dict, copies: dict[str, float]) -> None:
    """Compares a row's times with its goals, using the fastest copies of the run so far."""
    goals = row.goals + ((FIXED_GOAL,) if "fixed" in result["times"] else ())
    result["goals"] = [found for goal in goals if (found := verdict(result["times"], goal, copies))]


def verdict(
    times: dict[str, dict], goal: Goal, copies: dict[str, float] | None = None
) -> dict | None:
    """The ratio to the fastest of a goal's contenders, in bursts and under load."""
    ours = times[OURS]

    def ratio(name: str, kind: str) -> float:
        """Our speed over a contender's; a copy counts as the fastest of the run, unless the row
        fits into the cache."""
        found = times.get(name, {}).get("ratio" if kind == "burst" else f"{kind}_ratio", math.inf)
        own, best = ours.get(f"{kind}_rate"), (copies or {}).get(kind)
        if name in peers.COPIES and own and best and not ours.get("cold"):
            found = min(found, own / best)
        return found

    present = [name for name in _names(goal) if "ratio" in times.get(name, {})]
    if not present:
        return None
    fastest = min(present, key=lambda name: ratio(name, "burst"))
    burst, aim = ratio(fastest, "burst"), goal.ratio
    copy = min(ratio(name, "burst") for name in peers.COPIES)
    if goal.of_copy and copy < math.inf:
        aim = min(aim, goal.of_copy * burst / copy)
    found = {"against": fastest, "goal": aim, "burst": burst}
    loaded = min(ratio(name, "sustained") for name in present)
    if loaded < math.inf:
        found["sustained"] = loaded
    return found


def warm(row: Row) -> None:
    """Compiles the row's peers, so that their code is in PyTorch's cache on disk."""
    import torch

    torch.manual_seed(0)
    arguments = [fill(one) for one in row.arguments]
    result = arguments[0] if row.group == "memory" else torch.empty(1, device="cuda")
    for name, call in peers.contenders(row.function, arguments, result).items():
        if name in ("compile", "joined", "flex", "triton"):
            call()
    torch.cuda.synchronize()


def _loaded(goal: dict) -> str:
    return f"/{goal['sustained']:.2f}" if "sustained" in goal else ""


def line(name: str, result: dict) -> str:
    """A row of the table."""
    if "failure" in result:
        return f"{name:44} FAILED: {result['failure'].splitlines()[0][:120]}"
    ours = result["times"][OURS]
    ratios = "  ".join(
        f"{one['burst']:.2f}{_loaded(one)} of {one['against']}"
        f"{'' if one['burst'] >= one['goal'] else ' (!)'}"
        for one in result["goals"]
    )
    mark = "" if result["good"] else "  WRONG"
    loaded = f"/{ours['sustained_rate']:.0f}" if "sustained_rate" in ours else ""
    cold = "  (cold)" if ours.get("cold") else ""
    return (
        f"{name:44} {result['error']:6.2f} {ours['burst_ms']:8.4f} ms "
        f"{ours['burst_rate']:6.0f}{loaded:6} {result['unit']:7} {ratios}{cold}{mark}"
    )
