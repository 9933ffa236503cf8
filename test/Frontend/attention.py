# The language's own example, with run-time sizes: nothing is assumed of them.
# RUN: %tessera compile %s --arg q=fp16[2,5,1024,72] --arg k=fp16[2,5,1024,72] --arg v=fp16[2,5,1024,72] --emit graph | FileCheck %s
import math
import tessera as tsr
from tessera import Tensor, fp16, bf16, fp32

@tsr.function
def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"],
              v: Tensor["B", "H", "T", "D"]) -> Tensor["B", "H", "S", "D"]:
    """Plain mathematics."""
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)

out = attention(q, k, v)  # not run

# CHECK: func.func @attention(%[[Q:.*]]: !gir.tensor<B, H, S, D, f16> {{.*}}gir.name = "q"
# CHECK-SAME: gir.guards = []
# CHECK: %[[D:.*]] = gir.size "D" : !gir.tensor<i64>
# CHECK: gir.map sqrt
# CHECK: %[[KT:.*]] = gir.transpose %{{.*}} perm [0, 1, 3, 2]
# CHECK: gir.contract %[[Q]], %[[KT]] batch [0, 1] x [0, 1] over [3] x [2]
# CHECK: gir.iota 2 : !gir.tensor<B, H, S, T, i64>
# CHECK: gir.iota 3
# CHECK: gir.map le
# CHECK: gir.map where
# CHECK: gir.softmax %{{.*}} dim 3
# CHECK: gir.contract %{{.*}}, %{{.*}} batch [0, 1] x [0, 1] over [3] x [2]
# CHECK: return %{{.*}} : !gir.tensor<B, H, S, D, f16>
