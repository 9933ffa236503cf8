// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads | FileCheck %s

!a = !tile.view<64x4096xbf16, strides = [4096, 1]>
!b = !tile.view<4096x128xbf16, strides = [128, 1]>
!c = !tile.view<64x128xf32, strides = [128, 1]>

// Two loops over a list of blocks, the second of which also has a mask, share the stages: each iteration issues the
// loads of a later one, whose block is an element of the list. Each warp has all elements.
// CHECK-DAG: #[[$LIST:.*]] = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[0, 0] -> d0:64">
// CHECK-LABEL: tile.kernel @listed
// CHECK: tile.alloc : <[[STAGES:[0-9]+]], tensor<64x64xbf16
// CHECK: tile.alloc : <[[STAGES]], tensor<64x128xbf16
// CHECK-NOT: tile.alloc
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[NEXT:.*]] = tile.element %[[BLOCKS:.*]][%{{.*}}] : tensor<64xi32, #[[$LIST]]>
// CHECK: tile.tma_load %x[%c0{{.*}}, %[[NEXT]]]
// CHECK: tile.mma
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tile.element %[[BLOCKS]]
// CHECK: tile.tma_load %x
// CHECK: tile.map mul
// CHECK-NOT: tile.load %x
tile.kernel @listed(%x: !a, %w: !b, %y: !c, %n: index, %end: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %half = tile.constant 0.5 : f32 : tensor<64x128xf32>
  %i = tile.iota %c0 : tensor<64xi32>
  %sorted = tile.sort %i dim 0 : tensor<64xi32>
  %last = tile.constant 63 : i32 : tensor<64xi32>
  %blocks = tile.map bitwise_and(%sorted, %last) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  %full = arith.maxsi %n, %c0 : index
  %sum = scf.for %k = %c0 to %full step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %block = tile.element %blocks[%k] : tensor<64xi32>
    %a = tile.load %x[%c0, %block] dims [0, 1] : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%block, %c0] dims [0, 1] : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  %all = scf.for %k = %full to %end step %c1 iter_args(%acc = %sum) -> (tensor<64x128xf32>) {
    %block = tile.element %blocks[%k] : tensor<64xi32>
    %a = tile.load %x[%c0, %block] dims [0, 1] : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%block, %c0] dims [0, 1] : !b -> tensor<64x128xbf16>
    %part = tile.mma %a, %b, %zero : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %scaled = tile.map mul(%part, %half) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %next = tile.map add(%acc, %scaled) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %all, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x128xf32>, !c
  tile.return
}
