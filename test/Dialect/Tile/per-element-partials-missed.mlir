// RUN: %tessera_opt %s -tile-per-element-partials=max-elements=1 -o /dev/null --remarks-filter-missed="tile-per-element-partials" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

// CHECK: [Missed] TooManyElements{{.*}}Function=columns
// CHECK-SAME: a tile of 4096 elements takes more than the 128 registers that the loop may still carry
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
