"""gelu(x @ w + b): a matrix product with its epilogue in one kernel."""

from __future__ import annotations

import math

import numpy as np
import tessera as tsr
from ..harness import OURS, Case, Prepared, Target, compare, gamma
from ..peers import pytorch
from tessera import Tensor

SHAPES = [(512, 1024, 1024), (128, 3072, 768), (1000, 1000, 500)]  # rows, columns, depth


@tsr.function
def gelu_linear(x: Tensor["N", "K"], w: Tensor["K", "M"], b: Tensor["M"]) -> Tensor["N", "M"]:
    return tsr.gelu(x @ w + b)


def _torch(torch, f, x, w, b):
    return f.gelu(torch.addmm(b, x, w))


def _numpy(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    # NumPy has no erf: the polynomial 7.1.26 of Abramowitz and Stegun, as one writes it there.
    t = x @ w
    t += b
    z = np.abs(t) * np.float32(math.sqrt(0.5))
    u = 1 / (1 + np.float32(0.3275911) * z)
    poly = u * (
        0.254829592 + u * (-0.284496736 + u * (1.421413741 + u * (-1.453152027 + u * 1.061405429)))
    )
    erf = np.copysign(1 - poly * np.exp(-z * z), t)
    return t * (1 + erf) * np.float32(0.5)


def _check(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> str | None:
    wide = [a.astype(np.float64) for a in (x, w, b)]
    t = wide[0] @ wide[1] + wide[2]
    erf = np.vectorize(math.erf, otypes=[np.float64])
    value = 0.5 * t * (1 + erf(t * math.sqrt(0.5)))
    product = gamma(x.shape[1] + 2) * (np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(wide[2]))
    return compare(gelu_linear(x, w, b), value, 1.13 * product + gamma(16) * np.abs(t))


def _prepare(n: int, m: int, k: int) -> Prepared:
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s, dtype=np.float32) for s in ((n, k), (k, m), (m,)))
    w /= np.float32(math.sqrt(k))
    calls = {OURS: lambda: gelu_linear(x, w, b), "numpy": lambda: _numpy(x, w, b)}
    calls |= pytorch.contenders(_torch, (x, w, b))
    return Prepared(calls, lambda: _check(x, w, b))


def cases() -> list[Case]:
    targets = (
        Target("eager", ("numpy", "torch"), 1.2),
        Target("torch.compile", ("torch.compile",), 1.0),
    )
    return [
        Case(
            "gelu(x@w+b)",
            f"{n}x{m}x{k}",
            lambda s=(n, m, k): _prepare(*s),
            targets,
            flops=2.0 * n * m * k,
            bytes=4.0 * (n * k + k * m + m + n * m),
            quick=n == 512,
        )
        for n, m, k in SHAPES
    ]
