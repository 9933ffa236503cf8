// RUN: %tessera_opt %s -tile-assign-layouts | FileCheck %s

// What a loop carries along a row that is turned has the vectors of the row.
// CHECK: #[[V:.*]] = #tile.layout<"register[d0:1, d0:2, d0:4, d0:256, d0:512] lane[d0:8, d0:16, d0:32, d0:64, d0:128] -> d0:1024">
// CHECK: scf.for {{.*}} -> (tensor<1024xf32, #[[V]]>)
// CHECK: tile.load {{.*}} turned %{{.*}} aligned 8 : {{.*}} -> tensor<1024xbf16, #[[V]]>
// CHECK-NOT: tile.convert
!v = !tile.view<8x9999xbf16, strides = [9999, 1]>
tile.kernel @largest(%x: !v, %y: !tile.view<8xf32, strides = [1]>, %n: index) grid 1 hints {warps = 1} {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.shift %x[%i, %c0] by 8 : !v
  %low = tile.constant 0xFF800000 : f32 : tensor<1024xf32>
  %m = scf.for %k = %c0 to %n step %c1 iter_args(%a = %low) -> (tensor<1024xf32>) {
    %t = tile.load %x[%i, %k] dims [1] turned %s aligned 8 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %b = tile.map maximum(%a, %f) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %b : tensor<1024xf32>
  }
  %r = tile.reduce max %m dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %r, %y[%i] dims [] : tensor<f32>, !tile.view<8xf32, strides = [1]>
  tile.return
}
