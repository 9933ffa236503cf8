// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-sum-operands))' | FileCheck %s

// The sum of a biased layer, scaled: the bias is summed alone, and the factor stays outside.
// CHECK-LABEL: @layer
// CHECK: %[[WEIGHTS:.*]] = gir.transpose %arg1
// CHECK: %[[BIAS:.*]] = gir.reduce sum %arg2 dims [0] : !gir.tensor<96, f32> -> !gir.tensor<f32>
// CHECK: %[[B:.*]] = gir.broadcast %[[BIAS]] dims [] : {{.*}} -> !gir.tensor<64, f32>
// CHECK: %[[SUM:.*]] = gir.reduce sum %[[WEIGHTS]] dims [1] : !gir.tensor<32, 96, f32> -> !gir.tensor<32, f32>
// CHECK: %[[P:.*]] = gir.contract %arg0, %[[SUM]] batch [] x [] over [1] x [0]
// CHECK: %[[ADDED:.*]] = gir.map add(%[[B]], %[[P]])
// CHECK: gir.map div(%[[ADDED]], %{{.*}})
// CHECK-NOT: gir.reduce
func.func @layer(%x: !gir.tensor<64, 32, f32>, %w: !gir.tensor<96, 32, f32>, %b: !gir.tensor<96, f32>) -> !gir.tensor<64, f32> {
  %0 = gir.transpose %w perm [1, 0] : !gir.tensor<96, 32, f32> -> !gir.tensor<32, 96, f32>
  %1 = gir.contract %x, %0 batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %2 = gir.broadcast %b dims [1] : !gir.tensor<96, f32> -> !gir.tensor<64, 96, f32>
  %3 = gir.map add(%2, %1) : (!gir.tensor<64, 96, f32>, !gir.tensor<64, 96, f32>) -> !gir.tensor<64, 96, f32>
  %4 = gir.constant 2.0 : f32 : !gir.tensor<64, 96, f32>
  %5 = gir.map div(%3, %4) : (!gir.tensor<64, 96, f32>, !gir.tensor<64, 96, f32>) -> !gir.tensor<64, 96, f32>
  %6 = gir.reduce sum %5 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
  return %6 : !gir.tensor<64, f32>
}

// Positions of windows are summed before channels are, along one dimension after the other. A bias of each channel counts
// once for each position.
// CHECK-LABEL: @positions
// CHECK: %[[COLUMNS:.*]] = gir.window %arg0 dims [3] sizes [3] steps [1] dilations [1]
// CHECK: %[[WIDE:.*]] = gir.cast %[[COLUMNS]]
// CHECK: %[[ROWSUM:.*]] = gir.reduce sum %[[WIDE]] dims [3] : {{.*}} -> !gir.tensor<N, 8, "H + 2", 3, f32>
// CHECK: %[[ROWS:.*]] = gir.window %[[ROWSUM]] dims [2] sizes [3] steps [1] dilations [1]
// CHECK: %[[BOTH:.*]] = gir.reduce sum %[[ROWS]] dims [2] : {{.*}} -> !gir.tensor<N, 8, 3, 3, f32>
// CHECK: %[[TURNED:.*]] = gir.transpose %[[BOTH]] perm [0, 1, 3, 2]
// CHECK: %[[SUM:.*]] = gir.materialize %[[TURNED]] because "a contraction reads these sums of windows many times"
// CHECK: %[[PRODUCT:.*]] = gir.contract %[[SUM]], %{{.*}} batch [] x [] over [1, 2, 3] x [1, 2, 3] : {{.*}} -> !gir.tensor<N, 16, f32>
// CHECK: %[[COUNT:.*]] = gir.size "14*H"
// CHECK: gir.cast %{{.*}} : !gir.tensor<N, 16, f32> -> !gir.tensor<N, 16, bf16>
func.func @positions(%x: !gir.tensor<N, 8, "H + 2", 16, bf16>, %w: !gir.tensor<16, 8, 3, 3, bf16>, %b: !gir.tensor<16, bf16>) -> !gir.tensor<N, 16, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<N, 8, "H + 2", 16, bf16> -> !gir.tensor<N, 8, H, 14, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<N, 8, H, 14, 3, 3, bf16>, !gir.tensor<16, 8, 3, 3, bf16>) -> !gir.tensor<N, H, 14, 16, bf16>
  %2 = gir.transpose %1 perm [0, 3, 1, 2] : !gir.tensor<N, H, 14, 16, bf16> -> !gir.tensor<N, 16, H, 14, bf16>
  %3 = gir.broadcast %b dims [1] : !gir.tensor<16, bf16> -> !gir.tensor<N, 16, H, 14, bf16>
  %4 = gir.map add(%2, %3) : (!gir.tensor<N, 16, H, 14, bf16>, !gir.tensor<N, 16, H, 14, bf16>) -> !gir.tensor<N, 16, H, 14, bf16>
  %5 = gir.reduce sum %4 dims [2, 3] : !gir.tensor<N, 16, H, 14, bf16> -> !gir.tensor<N, 16, bf16>
  return %5 : !gir.tensor<N, 16, bf16>
}

// A factor of each row is outside of the sum along rows, and a reshape takes apart another dimension.
// CHECK-LABEL: @scaled
// CHECK: gir.contract {{.*}} -> !gir.tensor<48, f32>
// CHECK: gir.reshape {{.*}} : !gir.tensor<48, f32> -> !gir.tensor<4, 12, f32>
// CHECK: gir.map mul(%{{.*}}, %{{.*}}) : {{.*}} -> !gir.tensor<4, 12, f32>
func.func @scaled(%x: !gir.tensor<48, 32, f32>, %w: !gir.tensor<32, 96, f32>, %s: !gir.tensor<4, 12, 1, f32>) -> !gir.tensor<4, 12, f32> {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<48, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<48, 96, f32>
  %1 = gir.reshape %0 : !gir.tensor<48, 96, f32> -> !gir.tensor<4, 12, 96, f32>
  %2 = gir.broadcast %s dims [0, 1, 2] : !gir.tensor<4, 12, 1, f32> -> !gir.tensor<4, 12, 96, f32>
  %3 = gir.map mul(%1, %2) : (!gir.tensor<4, 12, 96, f32>, !gir.tensor<4, 12, 96, f32>) -> !gir.tensor<4, 12, 96, f32>
  %4 = gir.reduce sum %3 dims [2] : !gir.tensor<4, 12, 96, f32> -> !gir.tensor<4, 12, f32>
  return %4 : !gir.tensor<4, 12, f32>
}

// Other operations, factors that vary, other uses, other kinds of reductions, batches, and reshapes that join a summed
// dimension.
// CHECK-LABEL: @declined
// CHECK-COUNT-6: gir.contract {{.*}} -> !gir.tensor<{{64, 96|4, 16, 96}}, f32>
// CHECK-NOT: gir.contract
func.func @declined(%x: !gir.tensor<64, 32, f32>, %w: !gir.tensor<32, 96, f32>, %s: !gir.tensor<96, f32>, %b: !gir.tensor<4, 16, 32, f32>, %c: !gir.tensor<4, 32, 96, f32>)
    -> (!gir.tensor<64, f32>, !gir.tensor<64, f32>, !gir.tensor<64, f32>, !gir.tensor<64, 96, f32>, !gir.tensor<64, f32>, !gir.tensor<16, 96, f32>, !gir.tensor<96, f32>) {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %1 = gir.map exp(%0) : (!gir.tensor<64, 96, f32>) -> !gir.tensor<64, 96, f32>
  %2 = gir.reduce sum %1 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
  %3 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %4 = gir.broadcast %s dims [1] : !gir.tensor<96, f32> -> !gir.tensor<64, 96, f32>
  %5 = gir.map mul(%3, %4) : (!gir.tensor<64, 96, f32>, !gir.tensor<64, 96, f32>) -> !gir.tensor<64, 96, f32>
  %6 = gir.reduce sum %5 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
  %7 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %8 = gir.reduce sum %7 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
  %9 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %10 = gir.reduce max %9 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
  %11 = gir.contract %b, %c batch [0] x [0] over [2] x [1] : (!gir.tensor<4, 16, 32, f32>, !gir.tensor<4, 32, 96, f32>) -> !gir.tensor<4, 16, 96, f32>
  %12 = gir.reduce sum %11 dims [0] : !gir.tensor<4, 16, 96, f32> -> !gir.tensor<16, 96, f32>
  %13 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %14 = gir.reshape %13 : !gir.tensor<64, 96, f32> -> !gir.tensor<32, 2, 96, f32>
  %15 = gir.reduce sum %14 dims [0, 1] : !gir.tensor<32, 2, 96, f32> -> !gir.tensor<96, f32>
  return %2, %6, %8, %7, %10, %12, %15 : !gir.tensor<64, f32>, !gir.tensor<64, f32>, !gir.tensor<64, f32>, !gir.tensor<64, 96, f32>, !gir.tensor<64, f32>, !gir.tensor<16, 96, f32>, !gir.tensor<96, f32>
}

// CHECK-LABEL: @strict
// CHECK: gir.reduce sum %0 dims [1]
func.func @strict(%x: !gir.tensor<64, 32, f32>, %w: !gir.tensor<32, 96, f32>) -> !gir.tensor<64, f32> attributes {gir.numerics = {numerics = "strict"}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, 32, f32>, !gir.tensor<32, 96, f32>) -> !gir.tensor<64, 96, f32>
  %1 = gir.reduce sum %0 dims [1] : !gir.tensor<64, 96, f32> -> !gir.tensor<64, f32>
  return %1 : !gir.tensor<64, f32>
}
