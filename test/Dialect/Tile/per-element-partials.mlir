// RUN: %tessera_opt %s -tile-per-element-partials -canonicalize | FileCheck %s

// A loop that sums rows adds tiles elementwise, and one reduction follows.
// CHECK-LABEL: tile.kernel @columns
// CHECK: %[[ZERO:.*]] = tile.constant 0.000000e+00 : f32 : tensor<16x256xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[ZERO]]) -> (tensor<16x256xf32>) {
// CHECK-NEXT: %[[X:.*]] = tile.load
// CHECK-NEXT: %[[NEXT:.*]] = tile.map add(%[[CARRIED]], %[[X]])
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: %[[JOINED:.*]] = tile.reduce sum %[[SUM]] dims [0]
// CHECK: tile.map add(%{{.*}}, %[[JOINED]])
tile.kernel @columns(%x: !tile.view<?x256xf32, strides = [256, 1]>, %out: !tile.view<256xf32, strides = [1]>, %n: index) grid 1 {
  %zero = tile.constant 0.0 : f32 : tensor<256xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<256xf32>) {
    %t = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : <?x256xf32, strides = [256, 1]> -> tensor<16x256xf32>
    %r = tile.reduce sum %t dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %b = tile.map add(%a, %r) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    scf.yield %b : tensor<256xf32>
  }
  tile.store %s, %out[%c0] dims [0] bounded : tensor<256xf32>, <256xf32, strides = [1]>
  tile.return
}

// Not if an iteration uses the running sum, or the tile would fill the registers.
// CHECK-LABEL: tile.kernel @kept
// CHECK: scf.for {{.*}} -> (tensor<256xf32>, tensor<64xf32>) {
// CHECK: tile.reduce max
// CHECK: tile.reduce sum
tile.kernel @kept(%x: !tile.view<?x256xf32, strides = [256, 1]>, %out: !tile.view<256xf32, strides = [1]>,
                  %y: !tile.view<?x64xf32, strides = [64, 1]>, %all: !tile.view<64xf32, strides = [1]>, %n: index) grid 1 {
  %zero = tile.constant 0.0 : f32 : tensor<256xf32>
  %none = tile.constant 0.0 : f32 : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %d = %none) -> (tensor<256xf32>, tensor<64xf32>) {
    %t = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : <?x256xf32, strides = [256, 1]> -> tensor<16x256xf32>
    %r = tile.reduce max %t dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %m = tile.map maximum(%a, %r) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %b = tile.map add(%m, %a) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    %u = tile.load %y[%i, %c0] dims [0, 1] pad 0.0 : f32 : <?x64xf32, strides = [64, 1]> -> tensor<128x64xf32>
    %v = tile.reduce sum %u dims [0] : tensor<128x64xf32> -> tensor<64xf32>
    %e = tile.map add(%d, %v) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %b, %e : tensor<256xf32>, tensor<64xf32>
  }
  tile.store %s#0, %out[%c0] dims [0] bounded : tensor<256xf32>, <256xf32, strides = [1]>
  tile.store %s#1, %all[%c0] dims [0] bounded : tensor<64xf32>, <64xf32, strides = [1]>
  tile.return
}

// Selections of one element are left to a later pass: the loop carries no tile for them.
// CHECK-LABEL: tile.kernel @selected
// CHECK: scf.for {{.*}} -> (tensor<256xf32>) {
// CHECK: tile.map where
// CHECK: tile.reduce sum
// CHECK: scf.yield
tile.kernel @selected(%x: !tile.view<?x256xf32, strides = [256, 1]>, %out: !tile.view<256xf32, strides = [1]>, %n: index) grid 1 {
  %zero = tile.constant 0.0 : f32 : tensor<256xf32>
  %zeros = tile.constant 0.0 : f32 : tensor<16x256xf32>
  %three = tile.constant 3.0 : f32 : tensor<16x256xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<256xf32>) {
    %t = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : <?x256xf32, strides = [256, 1]> -> tensor<16x256xf32>
    %is = tile.map eq(%t, %three) : (tensor<16x256xf32>, tensor<16x256xf32>) -> tensor<16x256xi1>
    %w = tile.map where(%is, %t, %zeros) : (tensor<16x256xi1>, tensor<16x256xf32>, tensor<16x256xf32>) -> tensor<16x256xf32>
    %r = tile.reduce sum %w dims [0] : tensor<16x256xf32> -> tensor<256xf32>
    %b = tile.map add(%a, %r) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    scf.yield %b : tensor<256xf32>
  }
  tile.store %s, %out[%c0] dims [0] bounded : tensor<256xf32>, <256xf32, strides = [1]>
  tile.return
}
