"""A program for type checkers with the package's stubs alone: annotations without sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tessera as tsr
from tessera import Tensor, fp16


@tsr.function
def attention(q: Tensor, k: Tensor, v: Tensor, scale: float | None = None) -> Tensor:
    """Causal attention."""
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = tsr.matmul(q, k.transpose(-2, -1)) * factor
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return tsr.softmax(scores, dim=-1) @ v


@tsr.function(numerics=tsr.numerics(matmul="tf32"), deterministic=True)
def norm(x: Tensor, weight: Tensor) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = tsr.mean(centred.square(), axis=-1, keepdims=True)
    halves = tsr.split((centred * tsr.rsqrt(variance + 1e-5) * weight).to(fp16), 4, dim=-1)
    return tsr.concat([halves[1], halves[0]], dim=-1)


def main() -> None:
    q = np.ones((2, 16, 8), np.float32)
    out = attention(q, q, q)
    attention(q, q, q, out=out)
    compiled = attention.compile(q, q, q)
    compiled.save("attention.tsb")
    text: str = attention.inspect_ir("graph", q, q, q)
    kernels: Any = compiled.report()["kernels"]
    try:
        norm(q, np.ones(8, np.float32))
    except tsr.CompileError as error:
        print([diagnostic.line for diagnostic in error.diagnostics])
    print(len(text), kernels, tsr.get_num_threads(), attention.specializations())


if __name__ == "__main__":
    main()
