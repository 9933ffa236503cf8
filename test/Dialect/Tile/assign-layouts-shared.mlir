// Operands of an MMA whose K dimension a cluster splits are computed where they are needed.
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts | FileCheck %s

!x = !tile.view<16x8x128xbf16, strides = [1024, 128, 1]>
!w = !tile.view<128x32xbf16, strides = [32, 1]>
!y = !tile.view<16x32xf32, strides = [32, 1]>
!z = !tile.view<32x16xf32, strides = [16, 1]>

// CHECK-DAG: #[[PARTS:.*]] = #tile.layout<"register[d1:1, d1:2, d1:4, d0:8] lane[{{.*}}] warp[{{.*}}] block[d1:64] -> d0:16 d1:128">
// CHECK-DAG: #[[WHOLE:.*]] = #tile.layout<"register[d1:1, d1:2, d1:4, d0:4, d0:8] lane[{{.*}}] warp[{{.*}}] block[0] -> d0:16 d1:128">
// CHECK-DAG: #[[COLUMNS:.*]] = #tile.layout<"{{.*}} block[d1:8] -> d0:32 d1:16">

// A loop computes the operand elementwise: each CTA has its part of the K dimension.
// CHECK-LABEL: tile.kernel @loop
// CHECK: tile.load %x{{.*}} -> tensor<16x128xbf16, #[[PARTS]]>
// CHECK: tile.mma
tile.kernel @loop(%x: !x, %w: !w, %y: !y) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %none = tile.constant 0.0 : bf16 : tensor<16x128xbf16>
  %zero = tile.constant 0.0 : f32 : tensor<2x16x32xf32>
  %l = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %none) -> (tensor<16x128xbf16>) {
    %t = tile.load %x[%c0, %i, %c0] dims [0, 2] : !x -> tensor<16x128xbf16>
    %next = tile.map add(%sum, %t) : (tensor<16x128xbf16>, tensor<16x128xbf16>) -> tensor<16x128xbf16>
    scf.yield %next : tensor<16x128xbf16>
  }
  %r = tile.load %w[%c0, %c0] dims [0, 1] : !w -> tensor<128x32xbf16>
  %p = tile.mma %l, %r, %zero : (tensor<16x128xbf16>, tensor<128x32xbf16>, tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %s = tile.reduce sum %p dims [0] : tensor<2x16x32xf32> -> tensor<16x32xf32>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<16x32xf32>, !y
  tile.return
}

// The operand depends on all rows of a tile: all CTAs hold them.
// CHECK-LABEL: tile.kernel @maxima
// CHECK: tile.load %x{{.*}} -> tensor<16x128xbf16, #[[WHOLE]]>
// CHECK: tile.mma
tile.kernel @maxima(%x: !x, %w: !w, %y: !y) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<2x16x32xf32>
  %t = tile.load %x[%c0, %c0, %c0] dims [0, 2] : !x -> tensor<16x128xbf16>
  %m = tile.reduce max %t dims [1] : tensor<16x128xbf16> -> tensor<16xbf16>
  %l = tile.broadcast %m dims [0] : tensor<16xbf16> -> tensor<16x128xbf16>
  %r = tile.load %w[%c0, %c0] dims [0, 1] : !w -> tensor<128x32xbf16>
  %p = tile.mma %l, %r, %zero : (tensor<16x128xbf16>, tensor<128x32xbf16>, tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %s = tile.reduce sum %p dims [0] : tensor<2x16x32xf32> -> tensor<16x32xf32>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<16x32xf32>, !y
  tile.return
}

// An addend of the accumulator is distributed like the accumulator, by rows, also if it is transposed.
// CHECK-LABEL: tile.kernel @residual
// CHECK: tile.load %z{{.*}} -> tensor<32x16xf32, #[[COLUMNS]]>
tile.kernel @residual(%x: !x, %w: !w, %z: !z, %y: !y) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<2x16x32xf32>
  %l = tile.load %x[%c0, %c0, %c0] dims [0, 2] : !x -> tensor<16x128xbf16>
  %r = tile.load %w[%c0, %c0] dims [0, 1] : !w -> tensor<128x32xbf16>
  %p = tile.mma %l, %r, %zero : (tensor<16x128xbf16>, tensor<128x32xbf16>, tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %s = tile.reduce sum %p dims [0] : tensor<2x16x32xf32> -> tensor<16x32xf32>
  %t = tile.load %z[%c0, %c0] dims [0, 1] : !z -> tensor<32x16xf32>
  %u = tile.transpose %t perm [1, 0] : tensor<32x16xf32> -> tensor<16x32xf32>
  %v = tile.map add(%s, %u) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  tile.store %v, %y[%c0, %c0] dims [0, 1] : tensor<16x32xf32>, !y
  tile.return
}
