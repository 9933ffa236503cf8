"""A chain of ten elementwise operations: one pass over memory where libraries need ten."""

from __future__ import annotations

import numpy as np
import tessera as tsr
from ..harness import OURS, Case, Prepared, Target, compare, gamma
from ..peers import pytorch
from tessera import Tensor

SHAPES = [(256, 256), (1024, 1024), (4096, 2048)]


@tsr.function
def chain(x: Tensor["N", "D"], y: Tensor["N", "D"]) -> Tensor["N", "D"]:
    t = x * 1.5
    t = t + y
    t = tsr.sigmoid(t)
    t = t * x
    t = t - y
    t = tsr.abs(t)
    t = t + 1.0
    t = tsr.sqrt(t)
    t = tsr.minimum(t, 3.0)
    return t * 0.25


def _torch(torch, f, x, y):
    t = torch.sigmoid(x * 1.5 + y) * x - y
    return torch.clamp(torch.sqrt(torch.abs(t) + 1.0), max=3.0) * 0.25


def _numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    real = x.dtype.type
    t = x * real(1.5)
    t += y
    t = 1 / (1 + np.exp(-t))
    t *= x
    t -= y
    np.abs(t, out=t)
    t += real(1)
    np.sqrt(t, out=t)
    np.minimum(t, real(3), out=t)
    t *= real(0.25)
    return t


def operands(shape: tuple[int, int], dtype=np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for _ in range(2)]


def check(x: np.ndarray, y: np.ndarray) -> str | None:
    wide = x.astype(np.float64), y.astype(np.float64)
    size = 1 + np.abs(wide[0]) * (1 + 2 * np.abs(wide[0]) + np.abs(wide[1])) + np.abs(wide[1])
    return compare(chain(x, y), _numpy(*wide), gamma(16) * size)


def _prepare(shape: tuple[int, int]) -> Prepared:
    x, y = operands(shape)
    calls = {OURS: lambda: chain(x, y), "numpy": lambda: _numpy(x, y)}
    calls |= pytorch.contenders(_torch, (x, y))
    return Prepared(calls, lambda: check(x, y))


def cases() -> list[Case]:
    targets = (
        Target("eager", ("numpy", "torch"), 1.2),
        Target("torch.compile", ("torch.compile",), 1.0),
    )
    return [
        Case(
            "chain",
            "x".join(map(str, shape)),
            lambda s=shape: _prepare(s),
            targets,
            flops=10.0 * shape[0] * shape[1],
            bytes=12.0 * shape[0] * shape[1],
            quick=shape == SHAPES[1],
        )
        for shape in SHAPES
    ]
