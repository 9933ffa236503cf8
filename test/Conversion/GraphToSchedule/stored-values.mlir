// RUN: %tessera_opt %s --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s --check-prefix=CPU
// RUN: %tessera_opt %s --convert-graph-to-sched=target=sm_90:ptx | FileCheck %s --check-prefix=GPU

// Windows of a product would repeat its sums: it is stored, after what is computed from it.
// CPU-LABEL: func.func @pooled
// CPU: %[[Y:.*]] = sched.kernel @pooled_0{{.*}} -> (%{{.*}} : !gir.tensor<64, 64, f32>)
// CPU: sched.map relu
// CPU: sched.kernel @pooled_1(%{{.*}} = %[[Y]]
func.func @pooled(%x: !gir.tensor<64, 32, f32>, %w: !gir.tensor<32, 64, f32>) -> !gir.tensor<64, 32, f32> {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 64, f32>) -> !gir.tensor<64, 64, f32>
  %1 = gir.map relu(%0) : (!gir.tensor<64, 64, f32>) -> !gir.tensor<64, 64, f32>
  %2 = gir.window %1 dims [1] sizes [2] steps [2] dilations [1] : !gir.tensor<64, 64, f32> -> !gir.tensor<64, 32, 2, f32>
  %3 = gir.reduce max %2 dims [2] : !gir.tensor<64, 32, 2, f32> -> !gir.tensor<64, 32, f32>
  return %3 : !gir.tensor<64, 32, f32>
}

// One CTA would compute all norms of rows for their sum.
// GPU-LABEL: func.func @sum_of_norms
// GPU: sched.kernel @sum_of_norms_0{{.*}} -> (%{{.*}} : !gir.tensor<2000, f32>)
// GPU: sched.kernel @sum_of_norms_1{{.*}} -> (%{{.*}} : !gir.tensor<f32>)
func.func @sum_of_norms(%x: !gir.tensor<2000, 512, f32>) -> !gir.tensor<f32> {
  %0 = gir.map mul(%x, %x) : (!gir.tensor<2000, 512, f32>, !gir.tensor<2000, 512, f32>) -> !gir.tensor<2000, 512, f32>
  %1 = gir.reduce sum %0 dims [1] : !gir.tensor<2000, 512, f32> -> !gir.tensor<2000, f32>
  %2 = gir.map sqrt(%1) : (!gir.tensor<2000, f32>) -> !gir.tensor<2000, f32>
  %3 = gir.reduce sum %2 dims [0] : !gir.tensor<2000, f32> -> !gir.tensor<f32>
  return %3 : !gir.tensor<f32>
}

// 64 rows of 4096 elements do not fit into shared memory: the product is stored before its minimum.
// GPU-LABEL: func.func @least
// GPU: sched.kernel @least_0{{.*}} -> (%{{.*}} : !gir.tensor<2048, 4096, f32>)
// GPU: sched.kernel @least_1{{.*}} -> (%{{.*}} : !gir.tensor<2048, f32>)
func.func @least(%x: !gir.tensor<2048, 4096, f32>, %w: !gir.tensor<4096, 4096, f32>) -> !gir.tensor<2048, f32> {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<2048, 4096, f32>, !gir.tensor<4096, 4096, f32>) -> !gir.tensor<2048, 4096, f32>
  %1 = gir.reduce min %0 dims [1] : !gir.tensor<2048, 4096, f32> -> !gir.tensor<2048, f32>
  return %1 : !gir.tensor<2048, f32>
}

// A CTA that reduces rows along two dimensions has one of each: the minima would be computed again
// for every row of the other operand.
// GPU-LABEL: func.func @two_kinds_of_rows
// GPU: %[[MIN:.*]] = sched.kernel @two_kinds_of_rows_0{{.*}} -> (%{{.*}} : !gir.tensor<300, f64>)
// GPU: sched.kernel @two_kinds_of_rows_1({{.*}}= %[[MIN]]
func.func @two_kinds_of_rows(%x: !gir.tensor<300, 56, i1>, %y: !gir.tensor<300, 150, f64>) -> !gir.tensor<300, 300, f64> {
  %zero = gir.constant 0.0 : f64 : !gir.tensor<300, 300, f64>
  %0 = gir.reduce all %x dims [1] : !gir.tensor<300, 56, i1> -> !gir.tensor<300, i1>
  %1 = gir.reduce min %y dims [1] : !gir.tensor<300, 150, f64> -> !gir.tensor<300, f64>
  %2 = gir.broadcast %0 dims [0] : !gir.tensor<300, i1> -> !gir.tensor<300, 300, i1>
  %3 = gir.broadcast %1 dims [1] : !gir.tensor<300, f64> -> !gir.tensor<300, 300, f64>
  %4 = gir.map where(%2, %zero, %3) : (!gir.tensor<300, 300, i1>, !gir.tensor<300, 300, f64>, !gir.tensor<300, 300, f64>) -> !gir.tensor<300, 300, f64>
  return %4 : !gir.tensor<300, 300, f64>
}
