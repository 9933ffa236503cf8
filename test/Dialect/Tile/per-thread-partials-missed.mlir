// RUN: %tessera_opt %s -tile-per-thread-partials -o /dev/null --remarks-filter-missed="tile-per-thread-partials" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!y = !tile.view<?xf32, strides = [1]>

// CHECK: [Missed] UsedInLoop{{.*}}Function=running
// CHECK-SAME: the iteration uses the carried value for more than its update
tile.kernel @running(%x: !v, %y: !y, %n: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %r = tile.reduce sum %f dims [0] : tensor<1024xf32> -> tensor<f32>
    %b = tile.map add(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    tile.store %b, %y[%i] dims [] : tensor<f32>, !y
    scf.yield %b : tensor<f32>
  }
  tile.store %s, %y[%c0] dims [] : tensor<f32>, !y
  tile.return
}

// CHECK: [Missed] FewElements{{.*}}Function=short
// CHECK-SAME: the tile has 64 elements, and partials need 1 for each of 128 threads
tile.kernel @short(%x: !v, %y: !y, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<f32>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<64xbf16>
    %f = tile.cast %t : tensor<64xbf16> -> tensor<64xf32>
    %r = tile.reduce sum %f dims [0] : tensor<64xf32> -> tensor<f32>
    %b = tile.map add(%a, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %b : tensor<f32>
  }
  tile.store %s, %y[%c0] dims [] : tensor<f32>, !y
  tile.return
}
