"""Sizes, inputs and the limits of a drawn module.

Sizes are log-uniform. In half of the cases all sizes above 16 are multiples of 8 or 16; in the
others they are odd, and half of those prime. The estimated time of a case is log-uniform, too:
modules are drawn until one is near the time that was drawn first and within the limits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    flops: float  # of matrix products and convolutions
    bytes: float  # of inputs, parameters and all results
    seconds: tuple[float, float]  # as estimated from the rates
    flop_rate: float
    byte_rate: float
    operations: int = 1000
    reach: float = 1.0  # exponent of the upper ends of ranges

    def estimate(self, flops: float, size: float) -> float:
        return flops / self.flop_rate + size / self.byte_rate


#: Rates of an H200 in fp32, and of two cores of a server.
LIMITS = {
    "cuda": Limits(8e11, 4e9, (5e-6, 12e-3), 40e12, 2e12),
    "cpu": Limits(2e9, 2e8, (50e-6, 80e-3), 50e9, 5e9, reach=0.85),
}


@dataclass(frozen=True)
class Input:
    """A tensor argument: `normal`, `uniform` in [low, high), or `index` below high."""

    shape: tuple[int, ...]
    kind: str = "normal"
    low: float = 0.0
    high: float = 1.0

    def make(self) -> torch.Tensor:
        if self.kind == "index":
            return torch.randint(int(self.high), self.shape)
        if self.kind == "uniform":
            return torch.rand(self.shape) * (self.high - self.low) + self.low
        return torch.randn(self.shape)

    def __str__(self) -> str:
        return f"{self.kind}[{','.join(map(str, self.shape))}]"


def normal(*shape: int) -> Input:
    return Input(shape)


@dataclass(frozen=True)
class Program:
    """What a family draws: a function that makes the module, and its arguments."""

    make: Callable[[], nn.Module]
    inputs: Sequence[Input]
    label: str = ""  # follows the name of the family
    text: str = ""  # what repr(module) does not show


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def call(function: Callable, *inputs: Input, label: str = "", text: str = "") -> Program:
    return Program(lambda: Call(function), inputs, label, text)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % one for one in range(2, math.isqrt(number) + 1))


class Sizes:
    """The source of random choices of one case."""

    def __init__(self, seed: str, limits: Limits):
        self.random = random.Random(seed)
        self.limits = limits
        self.regular = self.random.random() < 0.5
        self.prime = self.random.random() < 0.5

    def seconds(self) -> float:
        return math.exp(self.random.uniform(*map(math.log, self.limits.seconds)))

    def size(self, low: int, high: int) -> int:
        high = max(low, round(high**self.limits.reach))
        found = round(math.exp(self.random.uniform(math.log(low), math.log(high))))
        if found < 16:
            return found
        if self.regular:
            step = 16 if found >= 64 and self.chance(0.7) else 8
            return max(step, round(found / step) * step)
        found |= 1
        while self.prime and not _is_prime(found):
            found += 2
        return found

    def sizes(self, count: int, low: int, high: int) -> tuple[int, ...]:
        return tuple(self.size(low, high) for _ in range(count))

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def number(self, low: float, high: float) -> float:
        return round(self.random.uniform(low, high), 3)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def choice(self, those: Sequence[T]) -> T:
        return self.random.choice(those)

    def multiple(self, of: int, low: int, high: int) -> int:
        """A size that is divisible by a number of groups or heads."""
        return max(1, self.size(max(1, low // of), max(1, high // of))) * of


class _Work(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.flops = self.bytes = self.operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        count = flop_registry.get(func._overloadpacket)
        if count is not None:
            self.flops += count(*args, **kwargs, out_val=result)
        if not any(one.alias_info for one in func._schema.returns):
            self.operations += 1
            self.bytes += sum(one.nbytes for one in tensors(result))
        return result


def tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in tensors(part)]
    return []


def work(program: Program) -> tuple[float, float, int]:
    """FLOP, bytes and operations of a program, which runs without data."""
    counter = _Work()
    with torch.no_grad(), torch.device("meta"):
        module = program.make().eval()
        given = [one.make() for one in program.inputs]
        fixed = sum(one.nbytes for one in [*given, *module.parameters()])
        with counter:
            module(*given)
    return counter.flops, counter.bytes + fixed, counter.operations


def fits(found: tuple[float, float, int], limits: Limits, target: float, factor: float) -> bool:
    """Within the limits, and within a factor of the time that is aimed at."""
    flops, size, operations = found
    small = flops <= limits.flops and size <= limits.bytes and operations <= limits.operations
    seconds = limits.estimate(flops, size)
    in_range = limits.seconds[0] <= seconds <= limits.seconds[1]
    return small and in_range and target / factor <= seconds <= target * factor
