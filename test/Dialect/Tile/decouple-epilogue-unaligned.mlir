// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-decouple-epilogue | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!y = !tile.view<?x825xbf16, strides = [825, 1]>

// Rows of 1,650 bytes are stored by elements: a thread has one register of a row, and lanes are adjacent.
// CHECK: #[[WIDE:.*]] = #tile.layout<"register[d1:1, d0:1, d0:2, d0:4, d0:8] lane[d1:2, d1:4, d1:8, d1:16, d1:32] warp[d0:16, d0:32, d0:64] -> d0:128 d1:64">
// CHECK-LABEL: tile.kernel @unaligned
// CHECK: tile.shared_load {{.*}} -> tensor<128x64xbf16, #[[WIDE]]>
// CHECK: tile.store {{.*}} bounded : tensor<128x64xbf16, #[[WIDE]]>
tile.kernel @unaligned(%x: !a, %w: !a, %y: !y, %n: index, %programs: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %block = tile.program_id 0
  scf.for %p = %block to %programs step %c4 {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
      %b = tile.load %w[%k, %p] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x128xbf16>
      %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %out = tile.cast %sum : tensor<128x128xf32> -> tensor<128x128xbf16>
    tile.store %out, %y[%c0, %p] dims [0, 1] bounded : tensor<128x128xbf16>, !y
  }
  tile.return
}
