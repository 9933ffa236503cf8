# Values that must be known, unknown names, and calls that do not fit.
# RUN: not %tessera compile %s::branch --arg x=fp32[2,8] --arg s=0.5 --emit graph 2>&1 | FileCheck %s --check-prefix=BRANCH
# RUN: not %tessera compile %s::unknown --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: not %tessera compile %s::calls --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=CALLS
# RUN: not %tessera compile %s::recursive --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=RECURSIVE
# RUN: not %tessera compile %s::loops --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=LOOPS
# RUN: not %tessera compile %s::arithmetic --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=ARITH
# RUN: not %tessera compile %s::captured --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=CAPTURED
# RUN: not %tessera compile %s::missing --emit graph 2>&1 | FileCheck %s --check-prefix=MISSING
# RUN: not %tessera compile %s::no_such --emit graph 2>&1 | FileCheck %s --check-prefix=NOSUCH
# RUN: not %tessera compile %s --emit graph 2>&1 | FileCheck %s --check-prefix=SEVERAL
# RUN: not %tessera compile %s::asserts --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=ASSERTS
import math
import os
import numpy as np
import tessera as tsr
from tessera import Tensor, fp32

WEIGHTS = np.zeros(3)
LOOP_A = LOOP_B
LOOP_B = LOOP_A

def plain(x):
    return x

@tsr.function
def branch(x, s: float):
    if x.sum() > 0:
        x = -x
    y = x if s > 0 else -x
    while x:
        pass
    z = x and y
    return not x

# BRANCH: [[#@LINE-5]]:5: error: a 'while' loop is not supported in a @tsr.function; write 'for i in range(...)' over static bounds

@tsr.function
def unknown(x):
    a = tsr.sofmax(x, dim=1)
    b = x.reshpae(3)
    c = undefined_name
    d = tsr.conv2d(x, x)
    e = x.cumsum(0)
    f = math.sqrrt(2)
    g = softmax(x)
    h = print(x)
    i = os.path
    j = x.to(tsr.fp6_e2m3)
    return xx

# UNKNOWN: [[#@LINE-12]]:13: error: module 'tessera' has no attribute 'sofmax'; did you mean 'softmax'?
# UNKNOWN-NEXT: a = tsr.sofmax(x, dim=1)
# UNKNOWN-NEXT: {{\^~~~~~$}}
# UNKNOWN-NEXT: softmax
# UNKNOWN: error: a tensor has no attribute 'reshpae'; did you mean 'reshape'?
# UNKNOWN: error: unknown name 'undefined_name'
# UNKNOWN: error: operation 'conv2d' is not supported by this compiler
# UNKNOWN: error: operation 'cumsum' is not supported by this compiler
# UNKNOWN: error: module 'math' has no attribute 'sqrrt'; did you mean 'sqrt'?
# UNKNOWN: error: unknown name 'softmax'; write tsr.softmax
# UNKNOWN: error: Python's 'print' is not available in a @tsr.function
# UNKNOWN: error: 'os.path' is not known without running the file
# UNKNOWN: error: type 'fp6_e2m3' is not supported by this compiler
# UNKNOWN: error: unknown name 'xx'; did you mean 'x'?

@tsr.function
def helper(x, factor, *, shift=0):
    return x * factor + shift

@tsr.function
def calls(x):
    a = helper(x)
    b = helper(x, 1, 2)
    c = helper(x, fcator=2)
    d = helper(x, 1, factor=2)
    e = tsr.softmax(x)
    f = tsr.sum(x, dim=5)
    g = tsr.sum(x, dim=0, keep_dim=True)
    h = plain(x)
    i = tsr.exp("a")
    j = x(1)
    k = math.exp(x)
    l = tsr.relu(x, x, x)
    return x

# CALLS: [[#@LINE-14]]:17: error: missing argument 'factor' in the call of 'helper'
# CALLS: note: the parameter is here
# CALLS: error: too many arguments in the call of 'helper': expected 2, found 3
# CALLS: error: 'helper' has no parameter 'fcator'; did you mean 'factor'?
# CALLS: error: parameter 'factor' is given twice
# CALLS: error: missing argument 'dim' of 'softmax'; its signature is softmax(x, dim, safe=False, dtype=None)
# CALLS: error: dimension 5 is out of range for a tensor of 2 dimensions
# CALLS: error: 'sum' has no parameter 'keep_dim'; did you mean 'keepdim'?
# CALLS: error: 'plain' is not a @tsr.function
# CALLS: note: add @tsr.function to this definition
# CALLS: error: expected a tensor or a number for 'exp', found the string 'a'
# CALLS: error: expected a function to call, found a tensor of fp32[x.0, x.1]
# CALLS: error: expected a number for 'math.exp', found a tensor of fp32[x.0, x.1]; use tsr.exp
# CALLS: error: too many arguments for 'relu': expected 1, found 3

@tsr.function
def even(x, n):
    return x if n == 0 else odd(x, n - 1)

@tsr.function
def odd(x, n):
    return -x if n == 0 else even(x, n - 1)

@tsr.function
def recursive(x):
    return even(x, 3)

# RECURSIVE: error: recursion is not supported: 'even' is called while it runs; write a loop over a static range
# RECURSIVE: note: in the call of 'odd' here
# RECURSIVE: note: in the call of 'even' here

@tsr.function
def loops(x):
    for i in x:
        pass
    for i in range(x.sum()):
        pass
    for i in range(1000000000):
        pass
    return x

# LOOPS: error: expected a range, a tuple or a list to loop over, found a tensor
# LOOPS: error: a range needs bounds that are known when the function is compiled
# LOOPS: error: loops are unrolled, and this function's have more than 100000 iterations

@tsr.function
def arithmetic(x):
    a = 1 // 0
    b = 2 ** 64
    c = "a" - 1
    d = (1, 2) @ x
    e = x << 1
    f = True - (x > 0)
    g = math.sqrt(-1)
    h = 99999999999999999999
    a, b = 1, 2, 3
    x[0] = 1
    return x

# ARITH: error: division by zero
# ARITH: error: the integer does not fit in 64 bits
# ARITH: error: operator '-' is not defined for the string 'a' and the int 1
# ARITH: error: operator '@' needs tensors or numbers, found a tuple of 2
# ARITH: error: expected integers or bools for 'bitwise_left_shift', found a tensor of fp32
# ARITH: error: 'sub' is not defined for bools; use '^'
# ARITH: error: the value is outside the domain of 'math.sqrt'
# ARITH: error: the integer does not fit in 64 bits
# ARITH: error: expected 2 values to unpack, found 3
# ARITH: error: tensors and tuples cannot be changed in place; build a new one with tsr.where, tsr.concat or slices

@tsr.function
def captured(x):
    a = x + WEIGHTS
    b = x + LOOP_A
    return a

# CAPTURED: error: 'numpy.zeros' is not known without running the file; assign a number to a module-level name, or pass it as an argument
# CAPTURED: note: the value of 'WEIGHTS' is needed here
# CAPTURED: error: the value of 'LOOP_A' depends on itself

@tsr.function
def missing(x, y=1):
    return x

# MISSING: [[#@LINE-3]]:13: error: missing argument 'x' of 'missing'
# NOSUCH: error: the file has no @tsr.function 'no_such'
# SEVERAL: error: the file has several functions; name one of them as FILE::FUNCTION

@tsr.function
def asserts(x: Tensor["N", "M"]):
    assert x.ndim == 2
    assert N == 3, "three rows are needed"
    return x

# ASSERTS: [[#@LINE-3]]:12: error: assertion failed: three rows are needed
