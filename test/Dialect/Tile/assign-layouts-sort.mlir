// RUN: %tessera_opt %s -tile-assign-layouts | FileCheck %s

// Neighbors of a row are in the registers of a thread, then in lanes, then in warps. Loads and stores keep layouts in
// which they are wide.
// CHECK-DAG: #[[$ROW:.*]] = #tile.layout<"register[d0:1, d0:2, d0:4] lane[d0:8, d0:16, d0:32, d0:64, d0:128] warp[d0:256, d0:512] -> d0:1024">
// CHECK-DAG: #[[$ROWS:.*]] = #tile.layout<"register[d1:1, d1:2, d1:4] lane[d1:8, d1:16, d0:1, d0:2, d0:4] warp[d0:8, d0:16] -> d0:32 d1:32">
// CHECK-LABEL: tile.kernel @long
// CHECK: tile.sort %{{.*}} dim 0 : tensor<1024xi64, #[[$ROW]]>
// CHECK-LABEL: tile.kernel @short
// CHECK: tile.sort %{{.*}} dim 1 : tensor<32x32xi32, #[[$ROWS]]>
module attributes {tessera.target = "sm_90a"} {
tile.kernel @long(%x: !tile.view<1024xi64, strides = [1]>, %y: !tile.view<1024xi64, strides = [1]>) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] dims [0] : !tile.view<1024xi64, strides = [1]> -> tensor<1024xi64>
  %s = tile.sort %t dim 0 : tensor<1024xi64>
  tile.store %s, %y[%c0] dims [0] : tensor<1024xi64>, !tile.view<1024xi64, strides = [1]>
  tile.return
}
tile.kernel @short(%x: !tile.view<32x32xi32, strides = [32, 1]>, %y: !tile.view<32x32xi32, strides = [32, 1]>) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<32x32xi32, strides = [32, 1]> -> tensor<32x32xi32>
  %s = tile.sort %t dim 1 : tensor<32x32xi32>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<32x32xi32>, !tile.view<32x32xi32, strides = [32, 1]>
  tile.return
}
}
