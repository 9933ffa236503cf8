// RUN: tessera-opt %s -split-input-file --tile-assign-layouts | FileCheck %s

// Unaligned rows: each lane loads an element of one. For the scan, the lanes of a warp exchange the elements of 32 rows, so
// that each has a row.
// CHECK-DAG: #[[$MEMORY:.*]] = #tile.layout<"register[d0:4, d0:8, d0:16, d0:32, d0:64] lane[d1:1, d1:2, d1:4, d1:8, d1:16] warp[d0:1, d0:2] -> d0:128 d1:32">
// CHECK-DAG: #[[$ROWS:.*]] = #tile.layout<"register[d1:1, d1:2, d1:4, d1:8, d1:16] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:1, d0:2] -> d0:128 d1:32">
// CHECK-LABEL: tile.kernel @unaligned
// CHECK: %[[T:.*]] = tile.load {{.*}} -> tensor<128x32xf32, #[[$MEMORY]]>
// CHECK: %[[A:.*]] = tile.map abs(%[[T]]) : (tensor<128x32xf32, #[[$MEMORY]]>)
// CHECK: %[[C:.*]] = tile.convert %[[A]] : tensor<128x32xf32, #[[$MEMORY]]> -> tensor<128x32xf32, #[[$ROWS]]>
// CHECK: %[[S:.*]], %{{.*}} = tile.scan sum %[[C]]
// CHECK: %[[B:.*]] = tile.convert %[[S]] : tensor<128x32xf32, #[[$ROWS]]> -> tensor<128x32xf32, #[[$MEMORY]]>
// CHECK: tile.store %[[B]]
module attributes {tessera.target = "sm_90a"} {
tile.kernel @unaligned(%x: !tile.view<?x?xf32, strides = [?, 1]>, %y: !tile.view<?x?xf32, strides = [?, 1]>) grid 1 launch <num_warps = 4> {
  %p = tile.program_id 0
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %t = tile.load %x[%p, %c0] dims [0, 1] pad 0.0 : f32 : !tile.view<?x?xf32, strides = [?, 1]> -> tensor<128x32xf32>
  %a = tile.map abs(%t) : (tensor<128x32xf32>) -> tensor<128x32xf32>
  %s, %total = tile.scan sum %a from %zero dim 1 : tensor<128x32xf32>, tensor<128xf32>
  tile.store %s, %y[%p, %c0] dims [0, 1] bounded : tensor<128x32xf32>, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}
}

// -----

// Too few rows for that: lanes scan the row together.
// CHECK-LABEL: tile.kernel @few
// CHECK-NOT: tile.convert
// CHECK: tile.store
module attributes {tessera.target = "sm_90a"} {
tile.kernel @few(%x: !tile.view<?x?xf32, strides = [?, 1]>, %y: !tile.view<?x?xf32, strides = [?, 1]>) grid 1 launch <num_warps = 4> {
  %p = tile.program_id 0
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16xf32>
  %t = tile.load %x[%p, %c0] dims [0, 1] pad 0.0 : f32 : !tile.view<?x?xf32, strides = [?, 1]> -> tensor<16x32xf32>
  %s, %total = tile.scan sum %t from %zero dim 1 : tensor<16x32xf32>, tensor<16xf32>
  tile.store %s, %y[%p, %c0] dims [0, 1] bounded : tensor<16x32xf32>, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}
}
