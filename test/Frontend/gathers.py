# Reads at computed places: indices are broadcast to the result's shape; their dimensions stand where they stood.
# RUN: %tessera compile %s::rows --arg w=fp32[10,8] --arg i=int64[5] --emit graph | FileCheck %s --check-prefix=ROWS
# RUN: %tessera compile %s::apart --arg x=fp32[4,5,6] --arg i=int64[3] --emit graph | FileCheck %s --check-prefix=APART
# RUN: %tessera compile %s::elements --arg x=fp32[4,6] --arg i=int32[3,7] --emit graph | FileCheck %s --check-prefix=ELEMENTS
# RUN: not %tessera compile %s::wrong --arg x=fp32[4,6] --arg i=int64[3] --arg m=bool[4] --emit graph 2>&1 | FileCheck %s --check-prefix=WRONG
import tessera as tsr
from tessera import Tensor

@tsr.function
def rows(w: Tensor["V", "D"], i: Tensor["N"]):
    return tsr.embedding(i, w)

# ROWS: gir.broadcast %arg1 dims [0] : !gir.tensor<N, i64> -> !gir.tensor<N, D, i64>
# ROWS: gir.gather %arg0({{.*}}) dims [0] rest [1] : {{.*}} -> !gir.tensor<N, D, f32>

@tsr.function
def apart(x: Tensor["A", "B", "C"], i: Tensor["N"]):
    return x[i, :, i], x[:, i]

# APART: gir.map where
# APART: gir.gather %arg0({{.*}}) dims [0, 2] rest [1] : {{.*}} -> !gir.tensor<N, B, f32>
# APART: gir.gather %arg0({{.*}}) dims [1] rest [0, 2] : {{.*}} -> !gir.tensor<A, N, C, f32>

@tsr.function
def elements(x: Tensor["A", "B"], i: Tensor["M", "N"]):
    return tsr.gather(x, 1, i)

# ELEMENTS: gir.slice %arg0 {{.*}} -> !gir.tensor<M, B, f32>
# ELEMENTS: gir.gather {{.*}}(%arg1) dims [1] rest [0] : {{.*}} -> !gir.tensor<M, N, f32>

@tsr.function
def wrong(x: Tensor["A", "B"], i: Tensor["N"], m):
    a = x[m]
    b = x[x]
    c = x[i, i, i]
    d = tsr.gather(x, 0, i)
    e = tsr.gather(x, 0, x)
    f = tsr.embedding(x, x)
    g = tsr.embedding(i, i)
    h = tsr.index_select(x, 0, i[None])
    k = tsr.scatter_add(x, 0, i, x)
    l = tsr.scatter_add(x, 0, i[:, None], i[:, None])
    n = tsr.take(x, i, dim=2)
    o = x[:, [0, B]]
    p = x[:0][i]

# WRONG: error: indexing by a tensor of bool[4] is not supported by this compiler; how many elements it takes depends on data
# WRONG: error: expected integers for the index, found a tensor of fp32[A, B]
# WRONG: error: too many indices: expected at most 2 for a tensor of fp32[A, B], found 3
# WRONG: error: expected as many dimensions as a tensor of fp32[A, B] has for 'gather', found a tensor of int64[N]
# WRONG: error: expected integers for the index of 'gather', found a tensor of fp32[A, B]
# WRONG: error: expected integers for the index of 'embedding', found a tensor of fp32[A, B]
# WRONG: error: expected a matrix of weights for 'embedding', found a tensor of int64[N]
# WRONG: error: expected an index of one dimension, found a tensor of int64[1, N]
# WRONG: error: expected as many dimensions as a tensor of fp32[A, B] has for 'scatter_add', found a tensor of int64[N]
# WRONG: error: expected elements of the type of a tensor of fp32[A, B], found a tensor of int64[N, 1]
# WRONG: error: dimension 2 is out of range
# WRONG: error: indexing by {{.*}} is not supported by this compiler; use integers, slices and tensors of integers
# WRONG: error: there is no element to read: dimension 0 of a tensor of fp32[0, B] has size 0
