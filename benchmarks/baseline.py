#!/usr/bin/env python3
"""`make bench-gate`: what the compiler makes of a fixed list of programs, against a baseline.

    benchmarks/baseline.py            exit status 1 if something got worse
    benchmarks/baseline.py --write    renew the baseline, benchmarks/baseline.json

For each program and target there are two figures: the predicted time of its kernels (of
`tessera profile`), and the number of instructions of its code. Nothing runs, and both are functions
of the tree alone: the CPU's schedules are for two cores wherever this is called. A figure is worse
if it is above the baseline by more than its tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.json"
TARGETS = ("sm_90", "x86-64-v3")
TOLERANCES = {"us": 0.005, "instructions": 0.02}  # of the baseline
_FEW = 4  # instructions that a short kernel may have more

sys.path.append(str(HERE.parent / "build" / "python"))

PROGRAM = """
import tessera as tsr
from tessera import Tensor

@tsr.function
def product(a, b):
    return a @ b

@tsr.function
def linear_gelu(x, w, b):
    return tsr.gelu(x @ w + b)

@tsr.function
def swiglu(x, w, u):
    return tsr.silu(x @ w) * (x @ u)

@tsr.function
def attention(q, k, v):
    s = q @ k.mT * 0.125
    i = tsr.iota(s.shape, dim=-2)
    j = tsr.iota(s.shape, dim=-1)
    return tsr.softmax(tsr.where(j <= i, s, -tsr.inf), dim=-1) @ v

@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)

@tsr.function
def layer_norm(x, g, b):
    return tsr.layer_norm(x, (x.shape[-1],), g, b)

@tsr.function
def norm_product(x, g, w):
    return (x * tsr.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6) * g) @ w

@tsr.function
def cross_entropy(x, t):
    return tsr.cross_entropy(x, t)

@tsr.function
def column_sum(x):
    return x.sum(dim=0)

@tsr.function
def transposed_sum(x, y):
    return x.mT + y

@tsr.function
def cumulative(x):
    return tsr.cumsum(x, dim=-1)
"""

#: Arguments on GPUs; CPUs compute in fp32.
ROWS: dict[str, tuple[str, list[str]]] = {
    "product_4096": ("product", ["bf16[4096,4096]", "bf16[4096,4096]"]),
    "product_decode": ("product", ["bf16[16,8192]", "bf16[8192,1024]"]),
    "product_odd": ("product", ["bf16[1000,1001]", "bf16[1001,1003]"]),
    "linear_gelu": ("linear_gelu", ["bf16[4096,1024]", "bf16[1024,4096]", "bf16[4096]"]),
    "swiglu": ("swiglu", ["bf16[2048,1024]", "bf16[1024,2816]", "bf16[1024,2816]"]),
    "attention_64": ("attention", ["bf16[16,2048,64]"] * 3),
    "attention_128": ("attention", ["bf16[16,2048,128]"] * 3),
    "softmax": ("softmax", ["bf16[8192,4096]"]),
    "layer_norm": ("layer_norm", ["bf16[8192,4096]", "bf16[4096]", "bf16[4096]"]),
    "norm_product": ("norm_product", ["bf16[4096,1024]", "bf16[1024]", "bf16[1024,4096]"]),
    "cross_entropy": ("cross_entropy", ["bf16[8192,32768]", "int64[8192]"]),
    "column_sum": ("column_sum", ["bf16[16384,8192]"]),
    "transposed_sum": ("transposed_sum", ["bf16[4096,4096]", "bf16[4096,4096]"]),
    "cumulative": ("cumulative", ["bf16[8192,4096]"]),
}
_INSTRUCTION = {
    "ptx": re.compile(r"^\t(?:@%p\d+\s+|@!%p\d+\s+)?[a-z][a-z0-9_.:]*.*;", re.MULTILINE),
    "asm": re.compile(r"^\t[a-z][a-z0-9]*(?:\t|$)", re.MULTILINE),
}

Figures = dict[str, dict[str, float]]  # by "PROGRAM TARGET"


def _types(texts: list[str], target: str) -> list:
    import tessera as tsr
    from tessera.types import BY_NAME

    found = []
    for text in texts:
        name, _, sizes = text.rstrip("]").partition("[")
        dims = [int(size) for size in sizes.split(",")]
        if not target.startswith("sm_"):
            name = "fp32" if name == "bf16" else name
        found.append(tsr.Tensor[(*dims, BY_NAME[name])])
    return found


def _row(function, texts: list[str], target: str) -> dict[str, float]:
    from tessera.profile.case import Case

    on_gpu = target.startswith("sm_")
    via = {"via": "ptx"} if on_gpu else {}
    bound = function._bind_types(tuple(_types(texts, target)), {})
    case = Case(function, bound, target, {"tuning": "false", **via})
    stage = "ptx" if on_gpu else "asm"
    code = case.unit().compile([stage], no_code=True, quiet=True)["ir"][stage]
    count = len(_INSTRUCTION[stage].findall(code))
    return {"us": float(f"{case.figures().us:.5g}"), "instructions": count}


def figures() -> Iterator[tuple[str, dict[str, float]]]:
    """The figures of each row."""
    os.environ["TESSERA_CORES"] = "2"
    from tessera.bench.functions import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gated.py"
        path.write_text(PROGRAM)
        for row, (name, texts) in ROWS.items():
            function = load(f"{path}::{name}")
            for target in TARGETS:
                yield f"{row} {target}", _row(function, texts, target)


def worse(baseline: Figures, now: Figures) -> list[str]:
    """Rows that got worse, in words; a row that the baseline lacks is one, too."""
    found = []
    for row, values in now.items():
        known = baseline.get(row)
        if known is None:
            found.append(f"{row}: the baseline has no such row")
            continue
        for name, value in values.items():
            most = known[name] * (1 + TOLERANCES[name])
            if value > most + (_FEW if name == "instructions" else 1e-9):
                found.append(
                    f"{row}: {name} {known[name]:g} -> {value:g} "
                    f"({(value / known[name] - 1) * 100:+.1f} %)"
                )
    return found


def better(baseline: Figures, now: Figures) -> int:
    """The number of figures that got better by more than their tolerance."""
    return sum(
        value < baseline[row][name] * (1 - TOLERANCES[name])
        for row, values in now.items()
        if row in baseline
        for name, value in values.items()
    )


def text(now: Figures) -> str:
    rows = ",\n ".join(f"{json.dumps(row)}: {json.dumps(values)}" for row, values in now.items())
    return f"{{\n {rows}\n}}\n"


def main(words: list[str] | None = None) -> int:
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--write", action="store_true", help="renew the baseline")
    options = made.parse_args(words)
    now = dict(figures())
    if options.write:
        BASELINE.write_text(text(now))
        print(f"{BASELINE}: {len(now)} rows")
        return 0
    baseline = json.loads(BASELINE.read_text())
    found = worse(baseline, now)
    found += [f"{row}: the row is gone" for row in baseline if row not in now]
    print(*found, sep="\n", end="\n" if found else "")
    gained = better(baseline, now)
    print(f"{len(now)} rows, {len(found)} worse, {gained} better"
          + ("; renew the baseline with 'make bench-gate BASELINE_ARGS=--write'" if found or gained else ""))  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
