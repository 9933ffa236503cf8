#!/usr/bin/env python3
"""Measures schedules of contractions on this CPU, for the test of the cost model.

    measure.py [--shapes 80] [--candidates 26] [--seed 1] [--minutes 30] -o FILE

Shapes are drawn log-uniformly (sides from 4 to 4096, at most half a GFLOP), candidates uniformly
from those that the compiler lists, and its own choice is among them. All candidates of a shape are
timed alternately on one thread; the fastest of several bursts counts. The file has, for each shape,
the kernel's signature and rows of [rows, columns, depth] of the tile with microseconds, and the time
of PyTorch where it is installed. A run that is interrupted keeps what it has.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from pathlib import Path

import numpy as np

import tessera as tsr
from tessera import Tensor, _tessera
from tessera.bench import history
from tessera.tune.clock import CpuClock
from tessera.tune.tuner import Tuner, parse_schedule

MOST_FLOP = 5e8
ROUNDS = 7


@tsr.function
def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


def draw(rng: random.Random) -> tuple[int, int, int]:
    """M, N and K: half of them multiples of 8."""
    while True:
        sides = [int(2 ** rng.uniform(2, 12)) for _ in range(3)]
        if rng.random() < 0.5:
            sides = [max(8, side // 8 * 8) for side in sides]
        if 2 * sides[0] * sides[1] * sides[2] <= MOST_FLOP:
            return sides[0], sides[1], sides[2]


def peers(a: np.ndarray, b: np.ndarray) -> dict:
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    left, right = torch.from_numpy(a), torch.from_numpy(b)
    return {"torch": lambda: torch.matmul(left, right)}


def measure(shape: tuple[int, int, int], count: int, rng: random.Random) -> dict | None:
    rows, columns, depth = shape
    make = np.random.default_rng(rng.randrange(2**31))
    a = make.standard_normal((rows, depth), np.float32)
    b = make.standard_normal((depth, columns), np.float32)
    tuner = Tuner(product, (a, b), {}, {})
    (kernel, *others) = tuner.kernels()
    candidates = kernel["candidates"]
    if others or len(candidates) < count:
        return None
    tuner.start()
    chosen = next(one for one in candidates if one["chosen"])
    drawn = [chosen, *rng.sample([one for one in candidates if one is not chosen], count - 1)]
    calls = {}
    for one in drawn:
        calls[one["schedule"]] = tuner.call(tuner.compiled({0: one["schedule"]}))
        calls[one["schedule"]]()
        if problem := tuner.check():
            raise SystemExit(f"{shape} {one['schedule']}: {problem}")
    theirs = peers(a, b)
    times = CpuClock([]).times({**calls, **theirs}, ROUNDS)
    tiles = []
    for one in drawn:
        values = [value for name, value in parse_schedule(one["schedule"]).items() if "." in name]
        tile_rows, tile_depth, tile_columns = values
        microseconds = round(times[one["schedule"]] * 1e6, 2)
        tiles.append([tile_rows, tile_columns, tile_depth, microseconds])
    row = {"shape": list(shape), "kernel": kernel["signature"], "tiles": tiles}
    return row | {name: round(times[name] * 1e6, 2) for name in theirs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=int, default=80)
    parser.add_argument("--candidates", type=int, default=26, help="of each shape")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    tsr.set_num_threads(1)
    rng = random.Random(options.seed)
    rows: list[dict] = []
    end = time.monotonic() + 60 * options.minutes
    try:
        while len(rows) < options.shapes and time.monotonic() < end:
            if (row := measure(draw(rng), options.candidates, rng)) is not None:
                rows.append(row)
                print(f"\r{len(rows)} of {options.shapes} shapes", end="", file=sys.stderr)
    except KeyboardInterrupt:
        pass
    about = {
        "target": _tessera.host_target(),
        "processor": platform.processor() or platform.machine(),
        "commit": history.commit(Path(__file__)),
        "seed": options.seed,
        "threads": 1,
    }
    lines = ",\n  ".join(json.dumps(one) for one in rows)
    head = json.dumps(about)[:-1]
    options.output.write_text(f'{head}, "rows": [\n  {lines}\n]}}\n')
    print(f"\n{options.output}: {sum(len(one['tiles']) for one in rows)} measurements")
    return 0


if __name__ == "__main__":
    sys.exit(main())
