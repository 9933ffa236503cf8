# Branches on the values of tensors.
# RUN: not %tessera compile %s --arg x=fp32[2,8] --arg s=0.5 --emit graph 2>&1 | FileCheck %s
import tessera as tsr

@tsr.function
def truth(x, s: float):
    if x.sum() > 0:
        w = -x
    y = x if s > 0 else -x
    z = x and x
    assert x.any()
    return not x

# CHECK: [[#@LINE-7]]:8: error: a branch needs a value that is known when the function is compiled, found a tensor of bool[]; use tsr.where(condition, a, b)
# CHECK-NEXT: if x.sum() > 0:
# CHECK-NEXT: {{\^~~~~~~~~~~$}}
# CHECK: error: a branch needs a value that is known when the function is compiled, found a run-time bool
# CHECK: error: 'and' needs a value that is known when the function is compiled, found a tensor of fp32[x.0, x.1]; use '&' for tensors
# CHECK: error: a branch needs a value that is known when the function is compiled, found a tensor of bool[]
# CHECK: error: 'not' needs a value that is known when the function is compiled
