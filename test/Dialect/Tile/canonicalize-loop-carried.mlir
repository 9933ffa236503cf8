// Loops carry tiles in the shape that they use.
// RUN: %tessera_opt %s --tile-canonicalize-loop-carried --canonicalize | FileCheck %s

!v = !tile.view<?x?xf32, strides = [?, 1]>

// CHECK-LABEL: tile.kernel @turned
// CHECK: %[[ZERO:.*]] = tile.constant 0.000000e+00 : f32 : tensor<64x32xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (tensor<64x32xf32>)
// CHECK-NOT: tile.transpose
// CHECK-NOT: tile.reshape
// CHECK: %[[NEXT:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK: scf.yield %[[NEXT]] : tensor<64x32xf32>
// CHECK: }
// CHECK: %[[SPLIT:.*]] = tile.reshape %[[SUM]] : tensor<64x32xf32> -> tensor<64x4x8xf32>
// CHECK: tile.transpose %[[SPLIT]] perm [1, 0, 2] : tensor<64x4x8xf32> -> tensor<4x64x8xf32>
tile.kernel @turned(%x: !v, %w: !v, %o: !tile.view<?x?x8xf32, strides = [?, 8, 1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<4x64x8xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<4x64x8xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : f32 : !v -> tensor<64x16xf32>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : f32 : !v -> tensor<16x32xf32>
    %front = tile.transpose %acc perm [1, 0, 2] : tensor<4x64x8xf32> -> tensor<64x4x8xf32>
    %flat = tile.reshape %front : tensor<64x4x8xf32> -> tensor<64x32xf32>
    %next = tile.mma %a, %b, %flat : (tensor<64x16xf32>, tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %split = tile.reshape %next : tensor<64x32xf32> -> tensor<64x4x8xf32>
    %back = tile.transpose %split perm [1, 0, 2] : tensor<64x4x8xf32> -> tensor<4x64x8xf32>
    scf.yield %back : tensor<4x64x8xf32>
  }
  tile.store %sum, %o[%c0, %c0, %c0] dims [0, 1, 2] bounded : tensor<4x64x8xf32>, !tile.view<?x?x8xf32, strides = [?, 8, 1]>
  tile.return
}

// Not if the loop uses both shapes, or yields another permutation.
// CHECK-LABEL: tile.kernel @kept
// CHECK: scf.for {{.*}} -> (tensor<8x4xf32>, tensor<4x4xf32>)
// CHECK: tile.transpose
// CHECK: tile.transpose
tile.kernel @kept(%x: !v, %o: !v, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<8x4xf32>
  %square = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : f32 : !v -> tensor<4x4xf32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %iteration = %square) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
    %t = tile.transpose %acc perm [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
    %u = tile.map exp(%t) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %back = tile.transpose %u perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    %both = tile.map add(%back, %acc) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %s = tile.transpose %iteration perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %v = tile.map exp(%s) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %both, %v : tensor<8x4xf32>, tensor<4x4xf32>
  }
  tile.store %r#0, %o[%c0, %c0] dims [0, 1] bounded : tensor<8x4xf32>, !v
  tile.store %r#1, %o[%c1, %c1] dims [0, 1] bounded : tensor<4x4xf32>, !v
  tile.return
}
