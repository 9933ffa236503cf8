# Loops unroll, branches on static values are taken, sizes that decide become guards.
# RUN: %tessera compile %s::loop --arg x=fp32[8,4] --emit graph | FileCheck %s --check-prefix=LOOP
# RUN: %tessera compile %s::branch --arg x=fp32[8,4] --emit graph | FileCheck %s --check-prefix=BRANCH
# RUN: %tessera compile %s::branch --arg x=fp32[9,4] --emit graph | FileCheck %s --check-prefix=ODD
# RUN: %tessera compile %s::flag --arg x=fp32[8] --arg on=true --emit graph | FileCheck %s --check-prefix=FLAG
# RUN: %tessera compile %s::by_int --arg x=fp32[8] --arg n=3 --emit graph | FileCheck %s --check-prefix=INT
# RUN: %tessera compile %s::breaks --arg x=fp32[8] --emit graph | FileCheck %s --check-prefix=BREAK
# RUN: %tessera compile %s::no_guard --arg x=fp32[8] --emit graph | FileCheck %s --check-prefix=NOGUARD
import tessera as tsr
from tessera import Tensor

@tsr.function
def loop(x: Tensor["N", "D"]):
    total = tsr.zeros((D,))
    for i in range(N):
        total += x[i]
    return total

# LOOP: func.func @loop(%{{.*}}: !gir.tensor<8, D, f32>
# LOOP-SAME: gir.guards = ["N == 8"]
# LOOP-COUNT-8: gir.map add
# LOOP-NOT: gir.map add

@tsr.function
def branch(x: Tensor["N", "D"]):
    if N % 2 == 0:
        return x + 1
    elif N > 100:
        return x
    else:
        return x - 1 if D == 4 else x

# BRANCH: gir.guards = ["N == 8"]
# BRANCH: gir.map add
# ODD: gir.guards = ["N == 9", "D == 4"]
# ODD: gir.map sub

@tsr.function
def flag(x: Tensor["N"], on: bool):
    y = x * on
    if not on:
        return y
    return y + 1

# FLAG: %{{.*}}: !gir.tensor<i1> {gir.name = "on", gir.scalar = "bool"}
# FLAG-SAME: gir.guards = ["on == 1"]
# FLAG: gir.map add

@tsr.function
def by_int(x: Tensor["N"], n: int):
    return x * n + n // 2

# INT: %{{.*}}: !gir.tensor<i64> {gir.name = "n", gir.scalar = "int"}
# INT-SAME: gir.guards = []
# INT: gir.size "n"
# INT: gir.size "floordiv(n, 2)"

@tsr.function
def breaks(x):
    for i in range(10):
        if i == 1:
            continue
        if i == 3:
            break
        x = x * 2
    else:
        x = x - 1
    for j in (1, 2):
        x = x / (j + 1)
    return x

# BREAK-COUNT-2: gir.map mul
# BREAK-NOT: gir.map sub
# BREAK-COUNT-2: gir.map div

@tsr.function
def no_guard(x: Tensor["N"]):
    assert N > 1
    assert N + 1 != N, "never"
    if N >= 0 and 2 <= N:
        return x
    return -x

# NOGUARD: func.func @no_guard(%{{.*}}: !gir.tensor<N, f32>
# NOGUARD-SAME: gir.guards = []
# NOGUARD-NEXT: return
