// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -o /dev/null --remarks-filter-missed="tile-assign-layouts" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
!u = !tile.view<?x?xbf16, strides = [?, 1]>

// CHECK: [Missed] AccumulatorShape{{.*}}Function=rows
// CHECK-SAME: wgmma is not used: an accumulator of 64 x 128 is not divided among 8 warps
tile.kernel @rows(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
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

// CHECK: [Missed] UnalignedRows{{.*}}Function=unaligned
// CHECK-SAME: rows are known to be 2-byte aligned, and TMA needs 16
// CHECK: [Missed] OperandWithoutTma{{.*}}Function=unaligned
// CHECK-SAME: wgmma is not used: TMA cannot load lhs
tile.kernel @unaligned(%x: !u, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !u -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK: [Missed] OperandNotStreamed{{.*}}Function=invariant
// CHECK-SAME: rhs is not loaded by a loop whose tiles are known ahead
tile.kernel @invariant(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK: [Missed] ClusterOperation{{.*}}Function=cluster
// CHECK-SAME: the 2 CTAs of a cluster do not divide 'tile.mma': they divide wgmma with operands that are loaded for it
tile.kernel @cluster(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2, cluster_axis = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x256xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x256xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x256xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x256xf32>, !c
  tile.return
}
