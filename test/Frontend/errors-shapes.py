# Sizes that do not match, each with the places where they were bound.
# RUN: not %tessera compile %s::names --arg x=fp32[2,8] --arg y=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=NAMES
# RUN: not %tessera compile %s::contract --arg x=fp32[2,8] --arg y=fp32[9,4] --emit graph 2>&1 | FileCheck %s --check-prefix=CONTRACT
# RUN: not %tessera compile %s::result --arg x=fp32[2,8] --emit graph 2>&1 | FileCheck %s --check-prefix=RESULT
# RUN: not %tessera compile %s::dtype --arg x=fp32[2] --emit graph 2>&1 | FileCheck %s --check-prefix=DTYPE
# RUN: not %tessera compile %s::argument --arg x=fp32[2,3] --arg y=fp32[4] --emit graph 2>&1 | FileCheck %s --check-prefix=ARGUMENT
# RUN: not %tessera compile %s::same --arg x=fp32[2,3] --arg y=fp32[4,2] --emit graph 2>&1 | FileCheck %s --check-prefix=SAME
# RUN: not %tessera compile %s::nested --arg x=fp32[2,3] --emit graph 2>&1 | FileCheck %s --check-prefix=NESTED
# RUN: not %tessera compile %s::reshaped --arg x=fp32[2,3] --emit graph 2>&1 | FileCheck %s --check-prefix=RESHAPED
# RUN: not %tessera compile %s::indices --arg x=fp32[2,3] --emit graph 2>&1 | FileCheck %s --check-prefix=INDICES
import tessera as tsr
from tessera import Tensor, fp16

@tsr.function
def names(x: Tensor["B", "S"], y: Tensor["B", "T"]):
    return x + y

# NAMES: errors-shapes.py:[[#@LINE-2]]:12: error: sizes do not match in dimension -1: 'S' and 'T'; different names are never assumed equal
# NAMES-NEXT: {{^ *}}[[#@LINE-3]] |     return x + y
# NAMES-NEXT: {{^ *\|            \^~~~~}}
# NAMES: note: this is a tensor of fp32[B, S]
# NAMES: note: this is a tensor of fp32[B, T]
# NAMES: errors-shapes.py:[[#@LINE-8]]:26: note: 'S' (8 in this call) is bound here
# NAMES: errors-shapes.py:[[#@LINE-9]]:47: note: 'T' (8 in this call) is bound here

@tsr.function
def contract(x, y):
    return x @ y

# CONTRACT: [[#@LINE-2]]:12: error: the contracted sizes of 'matmul' do not match: 'x.1' and 'y.0'
# CONTRACT: [[#@LINE-4]]:14: note: dimension 1 of 'x' (8 in this call) is bound here

@tsr.function
def result(x: Tensor["A", "B"]) -> Tensor["B", "A"]:
    return x

# RESULT: [[#@LINE-2]]:12: error: expected size 'B' for dimension 0 of the result, found 'A'
# RESULT: [[#@LINE-4]]:43: note: promised here

@tsr.function
def dtype(x) -> Tensor["N", fp16]:
    return x

# DTYPE: [[#@LINE-2]]:12: error: expected element type fp16 for the result, found fp32; annotations check and never convert: use .to(fp16)

@tsr.function
def argument(x: Tensor["N"], y: Tensor[5]):
    return x

# ARGUMENT: [[#@LINE-3]]:17: error: expected 1 dimensions for argument 'x', found 2
# ARGUMENT: [[#@LINE-4]]:40: error: expected size 5 for dimension 0 of argument 'y', found 4

@tsr.function
def same(x: Tensor["N", "M"], y: Tensor["K", "M"]):
    return x

# SAME: [[#@LINE-3]]:46: error: size 'M' is 2 in dimension 1 of 'y', but 3 in dimension 1 of 'x'
# SAME: [[#@LINE-4]]:25: note: 'M' is bound here

@tsr.function
def inner(a: Tensor["N"]):
    return a.permute(0, 1)

@tsr.function
def nested(x: Tensor["A", "B"]):
    return inner(x[0]) + inner(x)

# NESTED: [[#@LINE-6]]:22: error: dimension 1 is out of range for a tensor of 1 dimensions
# NESTED: [[#@LINE-3]]:12: note: in the call of 'inner' here
# NESTED: [[#@LINE-4]]:32: error: expected 1 dimensions for argument 'a', found 2
# NESTED: note: promised here

@tsr.function
def reshaped(x: Tensor["A", "B"]):
    a = x.reshape(5, -1)
    b = x.reshape(7)
    return a

# RESHAPED: [[#@LINE-4]]:19: error: cannot reshape a tensor of fp32[A, B] to [5, -1]: 'A*B' is not a multiple of '5'
# RESHAPED: [[#@LINE-4]]:19: error: cannot reshape a tensor of fp32[A, B] to [7]: 'A*B' elements become '7'

@tsr.function
def indices(x: Tensor["A", 3]):
    a = x[0, 0, 0]
    b = x[:, 3]
    c = x[..., ...]
    d = x[x > 0]
    e = x[:, ::0]
    f = x[1.5]

# INDICES: [[#@LINE-7]]:17: error: too many indices: expected at most 2 for a tensor of fp32[A, 3], found 3
# INDICES: [[#@LINE-7]]:14: error: index 3 is out of range for size 3
# INDICES: error: an index can have only one '...'
# INDICES: error: indexing by a tensor of bool[A, 3] (a gather) is not supported by this compiler; use tsr.where
# INDICES: error: a slice's step must not be 0
# INDICES: error: expected an int for the index, found the float 1.5
