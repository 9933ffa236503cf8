# Helpers are inlined; defaults, keywords, constants of the module, aliases, methods of classes.
# RUN: %tessera compile %s::outer --arg x=fp32[8,4] --emit graph | FileCheck %s --check-prefix=OUTER
# RUN: %tessera compile %s::Model.forward --arg x=fp32[8] --emit graph | FileCheck %s --check-prefix=METHOD
# RUN: %tessera compile %s::options --arg x=fp32[8] --emit graph | FileCheck %s --check-prefix=OPTIONS
# RUN: %tessera compile %s::batch --arg x=fp32[2,3,8,4] --arg y=fp32[2,3,4,5] --emit graph | FileCheck %s --check-prefix=BATCH
# RUN: %tessera compile %s::lists --arg x=fp32[6,4] --emit graph | FileCheck %s --check-prefix=LISTS
from __future__ import annotations
import sys
import math as m
import numpy as np
import tessera
import tessera as tsr
from tessera import Tensor, fp32 as single, softmax as soft
from tessera import function

HALF, TWICE = 0.5, 2
SCALE: float = HALF * m.sqrt(4.0) + TWICE
EPS = {"a": 1}                       # not a constant, and not reached
TABLE = [1, 2, 3][::-1]
DEFAULT = np.float32(3)              # not reached

if len(sys.argv) > 1:
    raise SystemExit(2)

class Config:
    def __init__(self):
        self.x = [i for i in range(3)]

def plain(x):
    print(f"{x}")

@function
def scaled(x: Tensor["N", "D"], by=SCALE, *, shift: float = 0.0) -> Tensor["N", "D"]:
    return x * by + shift

@tsr.function
def outer(x: Tensor["A", "B"]) -> Tensor["A", "B", single]:
    y = scaled(x, shift=TABLE[0])
    z = scaled(by=2, x=y.T)
    return soft(z.T, axis=1).to(tsr.float32)

# OUTER: func.func @outer(
# OUTER-DAG: %[[SCALE:.*]] = gir.constant 3.000000e+00 : f32 : !gir.tensor<A, B, f32>
# OUTER-DAG: %[[TWO:.*]] = gir.constant 2.000000e+00 : f32 : !gir.tensor<B, A, f32>
# OUTER: gir.map mul(%{{.*}}, %[[SCALE]])
# OUTER: gir.map add(%{{.*}}, %[[SCALE]])
# OUTER: gir.transpose %{{.*}} perm [1, 0]
# OUTER: gir.map mul(%{{.*}}, %[[TWO]])
# OUTER: gir.softmax %{{.*}} dim 1

class Model:
    @tessera.function
    def forward(x):
        return -x

# METHOD: func.func @Model.forward(%{{.*}}: !gir.tensor<"x.0", f32>

@tessera.function(numerics="strict", target="cpu")
def options(x):
    return x

# OPTIONS: gir.numerics = {numerics = "strict"}

@tsr.function
def batch(x: Tensor["*batch", "M", "K"], y: Tensor["*batch", "K", "N"]):
    return (x @ y).reshape(batch + (M * N,))

# BATCH: func.func @batch(%{{.*}}: !gir.tensor<"batch.0", "batch.1", M, K, f32>
# BATCH: gir.contract
# BATCH: gir.reshape %{{.*}} -> !gir.tensor<"batch.0", "batch.1", "M*N", f32>

@tsr.function
def lists(x):
    parts = []
    for i, j in ((0, 3), (3, 6)):
        parts.append(x[i:j].sum(dim=0))
    a, (b, c) = parts[0], (parts[-1], len(parts))
    return tsr.stack([a, b] * 1 + [a / c])

# LISTS-COUNT-2: gir.reduce sum
# LISTS: gir.map div
# LISTS: gir.concat 0
