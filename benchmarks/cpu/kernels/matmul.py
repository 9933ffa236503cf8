"""Matrix products in fp32 against OpenBLAS."""

from __future__ import annotations

import numpy as np
import tessera as tsr
from ..harness import OURS, Case, Prepared, Target, compare, gamma
from ..peers import openblas
from tessera import Tensor

CUBES = [256, 512, 1024, 2048]
ODD = [
    (1000, 1000, 1000),
    (333, 777, 555),
    (4096, 64, 4096),
    (1, 4096, 4096),
    (64, 64, 8192),
    (127, 4096, 129),
]  # m, n, k


@tsr.function
def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]) -> Tensor["M", "N"]:
    return a @ b


def operands(m: int, n: int, k: int, dtype=np.float32) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


def check(a: np.ndarray, b: np.ndarray) -> str | None:
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    bound = gamma(a.shape[1]) * (np.abs(wide_a) @ np.abs(wide_b))
    return compare(matmul(a, b), wide_a @ wide_b, bound)


def _prepare(m: int, n: int, k: int) -> Prepared:
    a, b = operands(m, n, k)
    calls = {OURS: lambda: matmul(a, b)}
    if openblas.available():
        calls["openblas"] = openblas.matmul(a, b)
    return Prepared(calls, lambda: check(a, b))


def cases() -> list[Case]:
    target = (Target("OpenBLAS", ("openblas",), 0.95),)
    found = []
    for m, n, k in [(s, s, s) for s in CUBES] + ODD:
        found.append(
            Case(
                "matmul",
                f"{m}x{n}x{k}",
                lambda s=(m, n, k): _prepare(*s),
                target,
                flops=2.0 * m * n * k,
                bytes=4.0 * (m * k + k * n + m * n),
                quick=(m, n, k) != (2048,) * 3,
            )
        )
    return found
