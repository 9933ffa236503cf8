"""Draws on the machine with the GPU: checked against what bundle.py recorded, and timed beside
PyTorch's forms.

Peers are torch.matmul (cuBLAS), SDPA (cuDNN), FlexAttention, torch.compile, and its max-autotune
mode for the first draws. Work of less than 50 us is timed in CUDA graphs for all contenders, and
what fits into the L2 cache after a flush (benchmarks/gpu/timing.py).
"""

from __future__ import annotations

import json
import math
import types
from pathlib import Path
from typing import Any

import numpy as np

from . import numerics, peers, report, values
from .distributions import Draw, draw, draws
from .program import FUNCTION

OURS = "tessera"
AUTOTUNED = 40  # draws for which max-autotune is asked
COPIED = 100e6  # bytes from which on a copy is timed beside the program
SHORT_MS = 0.05
HEATING = 1e11  # operations from which on the card rests between contenders
MANIFEST = "draws.json"


def manifest(folder: Path) -> dict:
    path = folder / MANIFEST
    return json.loads(path.read_text()) if path.exists() else {"seed": 0, "count": 0, "draws": {}}


def _draw(folder: Path, name: str) -> tuple[Draw, dict]:
    known = manifest(folder)
    return draw(known["seed"], int(name.split("_")[0]), "gpu"), known["draws"][name]


def arguments(one: Draw, device: str = "cuda") -> list:
    """The same values as values.whole, repeated on the device."""
    found = []
    for argument in one.program.arguments:
        table = peers.tensor(values.table(one.program, argument, one.seed), device)
        sizes = values.sizes_of(one.program, argument)
        count = math.prod(sizes)
        found.append(table.repeat(math.ceil(count / table.numel()))[:count].reshape(sizes))
    return found


def check(one: Draw, folder: Path, tensors: list, out: Any) -> str | None:
    """The error of a result, or None."""
    reference = None
    if (path := folder / f"{one.number:03}.npz").exists():
        stored = np.load(path)
        reference = types.SimpleNamespace(**{name: stored[name] for name in stored.files})
        # Bounds were rounded to fp32.
        reference.bound = reference.bound.astype(np.float64) * (1 + 2.0**-20)
    chosen = numerics.sample(one)
    wide = out.double() if out.is_floating_point() else out
    indices = [chosen.get(dim, np.arange(one.program.sizes[dim])) for dim in one.program.result]
    for at, index in enumerate(indices):
        wide = wide.index_select(at, peers.tensor(index, str(out.device)))
    if wrong := numerics.compare(wide.cpu().numpy(), reference):
        return wrong
    return numerics.rough(one.program, tensors, out, numerics.allowance(one.program, reference))


def contenders(one: Draw, tensors: list, autotuned: bool) -> peers.Calls:
    import torch

    torch._dynamo.reset()
    kinds = ("compile", "flex") + (("max-autotune",) if autotuned else ())
    forms = peers.contenders(one.program, tensors, "cuda", kinds)
    return {name: lambda form=form: form(*tensors) for name, form in forms.items()}


def warm(folder: Path, name: str) -> None:
    """Compiles the peers, so that their code is in PyTorch's cache on disk. What max-autotune has
    compiled is marked: it takes too long to be tried beside a measurement."""
    import torch

    one, _ = _draw(folder, name)
    for kind, call in contenders(one, arguments(one), one.number < AUTOTUNED).items():
        if kind in peers.COMPILED:
            try:
                call()
                torch.cuda.synchronize()
            except Exception:  # the measurement tells
                continue
            if kind == "max-autotune":
                _autotuned(folder, one).touch()


def _autotuned(folder: Path, one: Draw) -> Path:
    return folder / f"{one.number:03}.autotuned"


def run(folder: Path, name: str) -> dict:
    import peers as gpu_peers  # of benchmarks/gpu
    import timing
    import torch

    import tessera as tsr

    one, known = _draw(folder, name)
    about = {"seed": one.seed, "explained": known.get("explained", "")}
    if not known["good"]:
        return {**known, **about}
    torch.backends.cuda.matmul.allow_tf32 = False
    tensors = arguments(one)
    function = getattr(tsr.load(folder / f"{one.number:03}.tsb"), FUNCTION)
    result = function(*tensors)
    out = torch.full_like(result, math.nan if result.is_floating_point() else -1)
    function(*tensors, out=out)
    same = torch.equal(result.nan_to_num(), out.nan_to_num())
    wrong = check(one, folder, tensors, out) or (None if same else "two runs differ")
    if wrong:
        return {"good": False, "wrong": wrong, **about}
    calls = {OURS: lambda: function(*tensors, out=out)}
    calls |= contenders(one, tensors, _autotuned(folder, one).exists())
    copies = gpu_peers._copies([*tensors, out]) if one.program.bytes > COPIED else {}
    plan = timing.Plan(5, 0.1 if one.program.flops > HEATING else 0.01, 0.0)
    flush = timing.cache_flush(one.program.bytes)
    times = timing.measure({**calls, **copies}, plan, OURS, flush=flush, cold_graph_ms=SHORT_MS)
    return {"good": True, **about, **judge(times), **_host(times, calls)}


def _host(times: dict[str, dict], calls: peers.Calls) -> dict:
    """The overhead of a call, where the work is short: microseconds of the calling thread."""
    import timing

    if times[OURS]["burst_ms"] > SHORT_MS:
        return {}
    named = [name for name in (OURS, "eager") if name in calls]
    return {"overhead_us": {name: timing.host_microseconds(calls[name], 200) for name in named}}


def judge(times: dict[str, dict]) -> dict:
    """The ratio to the best peer, and that to the fastest copy."""
    ratios = {name: one["ratio"] for name, one in times.items() if "ratio" in one}
    copies = [ratios.pop(name) for name in ("copy", "copy_kernel") if name in ratios]
    del ratios[OURS]
    result = {
        "medians": {name: one["burst_ms"] / 1e3 for name, one in times.items() if "ratio" in one},
        "failed": {name: one["failure"] for name, one in times.items() if "failure" in one},
        "graph": times[OURS]["graph"],
        "cold": times[OURS]["cold"],
    }
    if ratios:
        against = min(ratios, key=ratios.__getitem__)
        result |= {"against": against, "ratio": ratios[against]}
    return result | ({"of_copy": min(copies)} if copies else {})


def line(name: str, result: dict) -> str:
    ours = f"{result['medians'][OURS] * 1e6:9.1f} us"
    if "ratio" not in result:
        return f"{name:60} {'':5}  {ours}, no peer"
    theirs = result["medians"][result["against"]]
    beside = f"{ours}, {result['against']} {theirs * 1e6:.1f} us"
    copied = f", {result['of_copy']:.2f} of a copy" if "of_copy" in result else ""
    return f"{name:60} {result['ratio']:5.2f}  {beside}{copied}"


def as_run(whole: dict, items: dict[str, dict]) -> dict:
    """The results of the step `draws` in the form of those of a CPU (run.py)."""
    seed = next(one["seed"] for one in items.values() if "seed" in one)
    count = 1 + max(int(name.split("_")[0]) for name in items)
    drawn = [report.describe(one) for one in draws(seed, count, "gpu") if one.name in items]
    explained = {name: one.pop("explained", "") for name, one in items.items()}
    found: dict[str, dict] = dict(items)
    spent = [one["overhead_us"] for one in items.values() if "overhead_us" in one]
    if spent:
        sides = {name for one in spent for name in one}
        medians = {
            s: float(np.median([one[s] for one in spent if s in one])) for s in sorted(sides)
        }
        found["overhead"] = {"good": True, "overhead_us": medians}
    about = {key: whole[key] for key in ("target", "device", "commit", "time")}
    return {
        **about,
        "seed": seed,
        "draws": drawn,
        "results": {"GPU": found},
        "explained": explained,
    }
