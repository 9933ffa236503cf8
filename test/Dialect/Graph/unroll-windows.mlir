// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-unroll-windows))' | FileCheck %s

// CHECK-LABEL: func.func @pool
// CHECK: %[[WINDOWS:.*]] = gir.window %arg0
// CHECK: %[[A:.*]] = gir.slice %[[WINDOWS]] starts ["0", "0"]
// CHECK: %[[X:.*]] = gir.reshape %[[A]]
// CHECK: %[[B:.*]] = gir.slice %[[WINDOWS]] starts ["0", "1"]
// CHECK: %[[Y:.*]] = gir.reshape %[[B]]
// CHECK: gir.map maximum(%[[X]], %[[Y]])
func.func @pool(%x: !gir.tensor<56, f32>) -> !gir.tensor<28, f32> {
  %0 = gir.window %x dims [0] sizes [2] steps [2] dilations [1] : !gir.tensor<56, f32> -> !gir.tensor<28, 2, f32>
  %1 = gir.reduce max %0 dims [1] : !gir.tensor<28, 2, f32> -> !gir.tensor<28, f32>
  return %1 : !gir.tensor<28, f32>
}

// Sums of 16-bit elements are in f32, and rounded once.
// CHECK-LABEL: func.func @depthwise
// CHECK-COUNT-3: gir.map mul({{.*}}f32>
// CHECK: gir.map add
// CHECK: gir.cast %{{.*}} : !gir.tensor<64, 32, 56, f32> -> !gir.tensor<64, 32, 56, bf16>
// CHECK-NOT: gir.contract
// CHECK: return
func.func @depthwise(%x: !gir.tensor<32, 64, 58, bf16>, %w: !gir.tensor<64, 3, bf16>) -> !gir.tensor<64, 32, 56, bf16> {
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<32, 64, 58, bf16> -> !gir.tensor<32, 64, 56, 3, bf16>
  %1 = gir.contract %0, %w batch [1] x [0] over [3] x [1] : (!gir.tensor<32, 64, 56, 3, bf16>, !gir.tensor<64, 3, bf16>) -> !gir.tensor<64, 32, 56, bf16>
  return %1 : !gir.tensor<64, 32, 56, bf16>
}

// Many terms stay a reduction.
// CHECK-LABEL: func.func @global
// CHECK: gir.reduce sum
func.func @global(%x: !gir.tensor<4, 200, f32>) -> !gir.tensor<4, 1, f32> {
  %0 = gir.window %x dims [1] sizes [200] steps [1] dilations [1] : !gir.tensor<4, 200, f32> -> !gir.tensor<4, 1, 200, f32>
  %1 = gir.reduce sum %0 dims [2] : !gir.tensor<4, 1, 200, f32> -> !gir.tensor<4, 1, f32>
  return %1 : !gir.tensor<4, 1, f32>
}

// A sum of many terms that is read twice, by a mean and by what is centered, is stored with what follows it.
// CHECK-LABEL: func.func @read_twice
// CHECK: %[[SCALED:.*]] = gir.map mul(%{{.*}}, %arg1)
// CHECK: gir.materialize %[[SCALED]] because "each of its elements is computed from many, several times"
// CHECK: gir.reduce sum
func.func @read_twice(%x: !gir.tensor<64, 60, f32>, %scale: !gir.tensor<64, 41, f32>) -> !gir.tensor<64, 41, f32> {
  %0 = gir.window %x dims [1] sizes [20] steps [1] dilations [1] : !gir.tensor<64, 60, f32> -> !gir.tensor<64, 41, 20, f32>
  %1 = gir.reduce sum %0 dims [2] : !gir.tensor<64, 41, 20, f32> -> !gir.tensor<64, 41, f32>
  %2 = gir.map mul(%1, %scale) : (!gir.tensor<64, 41, f32>, !gir.tensor<64, 41, f32>) -> !gir.tensor<64, 41, f32>
  %3 = gir.reduce sum %2 dims [1] : !gir.tensor<64, 41, f32> -> !gir.tensor<64, f32>
  %4 = gir.broadcast %3 dims [0] : !gir.tensor<64, f32> -> !gir.tensor<64, 41, f32>
  %5 = gir.map sub(%2, %4) : (!gir.tensor<64, 41, f32>, !gir.tensor<64, 41, f32>) -> !gir.tensor<64, 41, f32>
  return %5 : !gir.tensor<64, 41, f32>
}

// CHECK-LABEL: func.func @read_once
// CHECK-NOT: gir.materialize
// CHECK: return
func.func @read_once(%x: !gir.tensor<64, 60, f32>) -> !gir.tensor<64, f32> {
  %0 = gir.window %x dims [1] sizes [20] steps [1] dilations [1] : !gir.tensor<64, 60, f32> -> !gir.tensor<64, 41, 20, f32>
  %1 = gir.reduce sum %0 dims [2] : !gir.tensor<64, 41, 20, f32> -> !gir.tensor<64, 41, f32>
  %2 = gir.map sigmoid(%1) : (!gir.tensor<64, 41, f32>) -> !gir.tensor<64, 41, f32>
  %3 = gir.map mul(%1, %2) : (!gir.tensor<64, 41, f32>, !gir.tensor<64, 41, f32>) -> !gir.tensor<64, 41, f32>
  %4 = gir.reduce sum %3 dims [1] : !gir.tensor<64, 41, f32> -> !gir.tensor<64, f32>
  return %4 : !gir.tensor<64, f32>
}
