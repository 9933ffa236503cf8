// RUN: tessera-opt %s --tile-assign-layouts | FileCheck %s

// A shifted tensor that is stored transposed: the lanes of the gather are along the dimension of the input's rows, and
// the tile is converted to the layout of the store.
// CHECK-DAG: #[[$ROWS:.*]] = #tile.layout<"register[{{.*}}] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[{{.*}}] -> d0:32 d1:64">
// CHECK-LABEL: tile.kernel @shifted
// CHECK: %[[X:.*]] = tile.gather {{.*}} -> tensor<32x64xf32, #[[$ROWS]]>
// CHECK: %[[C:.*]] = tile.convert %[[X]] : tensor<32x64xf32, #[[$ROWS]]> ->
// CHECK: tile.store %[[C]]
module attributes {tessera.target = "sm_90a"} {
tile.kernel @shifted(%x: !tile.view<?x?xf32, strides = [?, 1]>, %y: !tile.view<?x?xf32, strides = [?, 1]>) grid 2 launch <num_warps = 4> {
  %p = tile.program_id 0
  %q = tile.program_id 1
  %c32 = arith.constant 32 : index
  %first = arith.muli %p, %c32 : index
  %two = tile.constant 2 : i64 : tensor<32x64xi64>
  %iota = tile.iota %first : tensor<32xi64>
  %places = tile.broadcast %iota dims [0] : tensor<32xi64> -> tensor<32x64xi64>
  %shifted = tile.map sub(%places, %two) : (tensor<32x64xi64>, tensor<32x64xi64>) -> tensor<32x64xi64>
  %t = tile.gather %x[%q] at(%shifted) dims [-1, 0] pad 0.0 : f32 : !tile.view<?x?xf32, strides = [?, 1]>, tensor<32x64xi64> -> tensor<32x64xf32>
  tile.store %t, %y[%p, %q] dims [0, 1] bounded : tensor<32x64xf32>, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}
}
