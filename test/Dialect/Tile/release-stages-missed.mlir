// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-lower-wgmma -tile-release-stages -o /dev/null --remarks-filter-missed="tile-release-stages" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
!u = !tile.view<?x?xbf16, strides = [?, 1]>

// 64 rows are too few for the wgmma of 8 warps: mma.sync reads the stages.
// CHECK: [Missed] ReadByThreads{{.*}}Function=rows
// CHECK-SAME: threads read the stage: a CTA barrier precedes its refill
// CHECK-NOT: Function=released
tile.kernel @rows(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x128xf32>, !c
  tile.return
}

tile.kernel @released(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}
