// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-decouple-epilogue -o /dev/null --remarks-filter-missed="tile-decouple-epilogue" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 64]>

// The result is stored by columns, which several warps hold.
// CHECK: [Missed] AccumulatorLayout{{.*}}Function=columns
// CHECK-SAME: a warp does not hold whole rows of 64 elements of the stored tile
tile.kernel @columns(%x: !a, %w: !a, %y: !a, %n: index, %tiles: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %cta = tile.program_id 0
  scf.for %p = %cta to %tiles step %c4 {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
      %b = tile.load %w[%k, %p] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x128xbf16>
      %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %out = tile.cast %sum : tensor<128x128xf32> -> tensor<128x128xbf16>
    tile.store %out, %y[%p, %c0] dims [1, 0] bounded : tensor<128x128xbf16>, !a
  }
  tile.return
}
