"""Code for many sizes against code for exactly one: a table, and how much was compiled.

    python benchmarks/cpu/sizes.py [--quick] [--json FILE]

Each function is called with many lengths, like in a server; then some of them, including odd ones,
are timed alternately with code in which every size is a constant, on one thread. A ratio is the
time of the exact code by that of the shared one: 1 means no loss. The result is the loop over all
lengths: the time of a pass over a tenth of them, evenly spread, and the median of their ratios;
single lengths are shown as well.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tessera as tsr

GOAL = 0.9
KERNELS = 8  # at most, of a loop over 200 lengths

#: Name: the function's text with room for annotations, the annotations of its arguments, shapes for a
#: length, lengths that are called, lengths that are timed.
CASES = {
    "attention": (
        "def attention(q{0}, k{0}, v{0}):\n    return tsr.softmax(q @ k.mT * 0.125, dim=-1) @ v\n",
        lambda s: [(1, 4, s, 64)] * 3,
        range(17, 3401, 17),
        (17, 100, 257, 333, 512, 1003),
    ),
    "causal attention": (
        "def causal(q{0}, k{0}, v{0}):\n"
        "    scores = q @ k.mT * 0.125\n"
        "    i, j = tsr.iota(scores.shape, dim=-2), tsr.iota(scores.shape, dim=-1)\n"
        "    return tsr.softmax(tsr.where(j <= i, scores, -tsr.inf), dim=-1) @ v\n",
        lambda s: [(1, 4, s, 64)] * 3,
        range(1, 201),
        (5, 31, 64, 127, 200),
    ),
    "layer norm, rows": (
        "def norm(x{0}):\n    return tsr.layer_norm(x, (x.shape[-1],))\n",
        lambda s: [(s, 768)],
        range(17, 3401, 17),
        (17, 333, 1003, 2048),
    ),
    "layer norm, width": (
        "def norm(x{0}):\n    return tsr.layer_norm(x, (x.shape[-1],))\n",
        lambda s: [(256, s)],
        range(17, 3401, 17),
        (17, 100, 333, 1003, 2048, 3331),
    ),
    "product, rows": (
        "def product(x{0}, w{1}):\n    return x @ w\n",
        lambda s: [(s, 512), (512, 512)],
        range(1, 201),
        (3, 17, 64, 100, 199),
    ),
    "product, all": (
        "def product(x{0}, w{1}):\n    return x @ w\n",
        lambda s: [(s, s), (s, s)],
        range(17, 3401, 17),
        (51, 100, 257, 333, 512, 1003),
    ),
}


def define(text: str, annotations: list[str], folder: Path):
    """The function, its parameters annotated."""
    path = folder / f"f{len(list(folder.iterdir()))}.py"
    path.write_text(
        "import tessera as tsr\nfrom tessera import Tensor\n\n@tsr.function\n"
        + text.format(*annotations)
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(value for value in vars(module).values() if isinstance(value, tsr.Function))


def arrays(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def exact(text: str, shapes: list[tuple[int, ...]], folder: Path):
    annotations = [f": Tensor[{', '.join(map(str, shape))}]" for shape in dict.fromkeys(shapes)]
    return define(text, annotations * 2, folder)


def seconds_each(contenders: list, arguments: list, rounds: int) -> list[list[float]]:
    """Interleaved times of the contenders; each is called for a few milliseconds per round."""
    times: list[list[float]] = [[] for _ in contenders]
    out = [contender(*arguments) for contender in contenders]
    start = time.thread_time()
    contenders[0](*arguments, out=out[0])
    calls = max(1, int(4e-3 / max(time.thread_time() - start, 1e-7)))
    for turn in range(rounds):
        for which in range(len(contenders)) if turn % 2 else reversed(range(len(contenders))):
            start = time.thread_time()
            for _ in range(calls):
                contenders[which](*arguments, out=out[which])
            times[which].append((time.thread_time() - start) / calls)
    return times


def measure(name: str, quick: bool, folder: Path) -> dict:
    text, shapes_of, lengths, timed = CASES[name]
    shared = define(text, ["", ""], folder)
    step = 10 if quick else 1
    for length in list(lengths)[::step]:
        shared(*arrays(shapes_of(length)))
    row: dict = {"name": name, "lengths": len(lengths), "ratios": {}}
    spread = list(lengths)[5 :: 40 if quick else 10]
    best: dict[int, tuple[float, float]] = {}
    for length in dict.fromkeys([*(timed[::2] if quick else timed), *spread]):
        arguments = arrays(shapes_of(length))
        alone = exact(text, shapes_of(length), folder)
        np.testing.assert_allclose(shared(*arguments), alone(*arguments), rtol=1e-4, atol=1e-4)
        ours, others = seconds_each([shared, alone], arguments, 7 if quick else 25)
        row["ratios"][length] = statistics.median(b / a for a, b in zip(ours, others))
        best[length] = min(ours), min(others)
    row["median"] = statistics.median(row["ratios"][length] for length in spread)
    row["total"] = sum(best[length][1] for length in spread) / sum(
        best[length][0] for length in spread
    )
    row["shown"] = timed[::2] if quick else timed
    row["kernels"] = len(shared.specializations())
    row["why"] = [f"{one.arguments[0]}: {one.reason}" for one in shared.specializations()]
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="some of: " + ", ".join(CASES))
    parser.add_argument("--quick", action="store_true", help="fewer lengths, shorter")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tsr.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or CASES:
            row = measure(name, options.quick, Path(folder))
            rows.append(row)
            ratios = "  ".join(f"{length}: {row['ratios'][length]:.2f}" for length in row["shown"])
            loop = f"{row['lengths']} lengths, {row['kernels']} kernels: {row['total']:.2f}, median {row['median']:.2f}"
            print(f"{name:18} {loop}   ({ratios})", flush=True)
            for why in row["why"]:
                print("    " + why)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    short = [
        row["name"]
        for row in rows
        if min(row["total"], row["median"]) < GOAL or row["kernels"] > KERNELS
    ]
    print("all at the goal" if not short else f"short of the goal: {', '.join(short)}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
