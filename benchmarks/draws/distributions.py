"""The distributions from which programs and sizes are drawn.

A seed, by default the hash of the commit, determines everything: draw number n depends on the seed
and on n alone, so that more draws continue fewer. Of every 20 draws, each family has its share.
Sizes are log-uniform. What exceeds the limits of the target is drawn again.
"""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import attention, blocks, elementwise, gemm, movement, reductions, rows
from .program import Program

HERE = Path(__file__).resolve().parent
COUNT = 300  # draws of a run on each target
#: Of 20 draws in a row.
SHARES: dict[str, int] = {
    "gemm": 7,
    "reduction": 3,
    "rows": 3,
    "elementwise": 2,
    "movement": 1,
    "attention": 2,
    "block": 2,
}
FAMILIES: dict[str, Callable[[Sizes], Program]] = {}


@dataclass(frozen=True)
class Limits:
    """What one draw may take on a target."""

    flops: float
    bytes: float  # of arguments and result
    elements: float  # of the largest array, unless it is an operand of a contraction
    sequence: int  # of attention


LIMITS = {
    "cpu": Limits(20e9, 256 << 20, 1 << 25, 4096),
    "gpu": Limits(4e12, 8 << 30, 1 << 30, 16384),
}


class Sizes(random.Random):
    """A generator of sizes and choices; the methods are the distributions."""

    def __init__(self, seed: str, limits: Limits):
        super().__init__(seed)
        self.limits = limits

    def log_uniform(self, low: int, high: float) -> int:
        """An integer between both, its logarithm uniform."""
        value = math.exp(self.uniform(math.log(low), math.log(max(low, high) + 1)))
        return min(max(low, int(value)), max(low, int(high)))

    def alignment(self) -> int:
        """Half of the draws have multiples of 8, and half of those multiples of 128."""
        return self.choices((1, 8, 128), (2, 1, 1))[0]

    def aligned(self, low: int, high: float, alignment: int) -> int:
        """The same as a multiple; what is smaller than one stays."""
        value = self.log_uniform(low, high)
        return value // alignment * alignment if value >= alignment else value

    def multiple(self, low: int, high: float, alignment: int) -> int:
        """The same, rounded up to a multiple."""
        return math.ceil(self.log_uniform(low, high) / alignment) * alignment

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def float_type(self) -> str:
        return self.choices(("fp32", "bf16", "fp16", "fp64"), (4, 3, 2, 1))[0]


FAMILIES |= {
    "gemm": gemm.draw,
    "reduction": reductions.draw,
    "rows": rows.draw,
    "elementwise": elementwise.draw,
    "movement": movement.draw,
    "attention": attention.draw,
    "block": blocks.draw,
}


@dataclass(frozen=True)
class Draw:
    number: int
    seed: int
    program: Program

    @property
    def name(self) -> str:
        return f"{self.number:03}_{self.program.family}_{self.program.title}"


def family(seed: int, number: int) -> str:
    """Every 20 draws are a permutation of the shares."""
    dealt = [name for name, share in SHARES.items() for _ in range(share)]
    turn, place = divmod(number, len(dealt))
    random.Random(f"{seed}/{turn}").shuffle(dealt)
    return dealt[place]


def fits(program: Program, limits: Limits) -> bool:
    large = not program.spaces and program.elements > limits.elements
    return program.flops <= limits.flops and program.bytes <= limits.bytes and not large


def draw(seed: int, number: int, target: str = "cpu") -> Draw:
    sizes = Sizes(f"{seed}/{number}", LIMITS[target])
    one = FAMILIES[family(seed, number)]
    while not fits(program := one(sizes), sizes.limits):
        pass
    return Draw(number, seed, program)


def draws(seed: int, count: int = COUNT, target: str = "cpu") -> Sequence[Draw]:
    return [draw(seed, number, target) for number in range(count)]


def commit(folder: Path = HERE) -> str:
    """The hash of the tree's commit, or nothing."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def seed_of(text: str) -> int:
    """`commit`, a hash or a number."""
    if text != "commit":
        return int(text, 0)
    return int(commit()[:12] or "0", 16)
