// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>

// Stages and barriers are allocated before the loop over output tiles, which carries the stages, the phase, and the
// position of the loads: the iteration, the output tile, and its coordinates. The loop continues where the first loads
// ended.
// CHECK-LABEL: tile.kernel @stays
// CHECK: %[[BLOCK:.*]] = tile.program_id 0
// CHECK: %[[A:.*]] = tile.alloc : <2, tensor<128x64xbf16
// CHECK-NEXT: %[[B:.*]] = tile.alloc : <2, tensor<64x128xbf16
// CHECK-NEXT: %[[G:.*]] = tile.mbarrier_alloc arrivals 2 : <2>
// The coordinates of the first output tile, clamped to the last one.
// CHECK: %[[LAST:.*]] = arith.subi %programs, %c1
// CHECK: %[[P0:.*]] = arith.minsi %[[BLOCK]], %[[LAST]]
// CHECK: %[[COLUMN0:.*]] = arith.divui %[[P0]], %c8
// CHECK: %[[ROW0:.*]] = arith.remui %[[P0]], %c8
// CHECK: scf.if
// CHECK-DAG: tile.tma_load %x[%[[ROW0]], %c0{{.*}}] dims [0, 1] bounded into %[[A]]
// CHECK-DAG: tile.tma_load %w[%c0{{.*}}, %[[COLUMN0]]] dims [0, 1] bounded into %[[B]]
// The next position.
// CHECK: %[[NEXT:.*]]:4 = scf.if %{{.*}} -> (index, index, index, index) {
// CHECK: %[[P1:.*]] = arith.addi %[[BLOCK]], %c4
// CHECK: scf.yield %c0{{.*}}, %[[P1]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: } else {
// CHECK: scf.yield %{{.*}}, %[[BLOCK]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to %programs step %c4 iter_args(%[[READ:.*]] = %{{.*}}, %[[FILL:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[TURN:.*]] = %[[NEXT]]#0, %[[PROGRAM:.*]] = %[[NEXT]]#1, %[[X:[a-z0-9]+]] = %[[NEXT]]#2, %[[Y:[a-z0-9]+]] = %[[NEXT]]#3)
// CHECK: %[[INNER:.*]]:8 = scf.for %{{.*}} = %c0{{.*}} to %n step %c1{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[IREAD:.*]] = %[[READ]], %[[IFILL:.*]] = %[[FILL]], %[[IPHASE:.*]] = %[[PHASE]], %[[ITURN:.*]] = %[[TURN]], %[[IPROGRAM:.*]] = %[[PROGRAM]], %[[IX:[a-z0-9]+]] = %[[X]], %[[IY:[a-z0-9]+]] = %[[Y]])
// CHECK-NEXT: tile.mbarrier_wait %[[G]][%[[IREAD]]] phase %[[IPHASE]]
// CHECK-NEXT: %[[ISTURN:.*]] = arith.cmpi slt, %[[ITURN]], %n
// CHECK-NEXT: %[[ISPROGRAM:.*]] = arith.cmpi slt, %[[IPROGRAM]], %programs
// CHECK-NEXT: %[[EXISTS:.*]] = arith.andi %[[ISTURN]], %[[ISPROGRAM]]
// CHECK-NEXT: scf.if %[[EXISTS]] {
// CHECK-NEXT: tile.tma_load %x[%[[IX]], %[[ITURN]]] dims [0, 1] bounded into %[[A]][%[[IFILL]]] full %[[G]][%[[IFILL]]] :
// CHECK-NEXT: tile.tma_load %w[%[[ITURN]], %[[IY]]] dims [0, 1] bounded into %[[B]][%[[IFILL]]] full %[[G]][%[[IFILL]]] warp 1
// CHECK: tile.store
// CHECK: scf.yield %[[INNER]]#1, %[[INNER]]#2, %[[INNER]]#3, %[[INNER]]#4, %[[INNER]]#5, %[[INNER]]#6, %[[INNER]]#7
tile.kernel @stays(%x: !a, %w: !b, %y: !b, %n: index, %programs: index) grid 1 launch <num_warps = 8> tuning <num_stages = 2, use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %block = tile.program_id 0
  scf.for %p = %block to %programs step %c4 {
    %column = arith.divui %p, %c8 : index
    %row = arith.remui %p, %c8 : index
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%row, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
      %b = tile.load %w[%k, %column] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
      %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %narrow = tile.cast %sum : tensor<128x128xf32> -> tensor<128x128xbf16>
    tile.store %narrow, %y[%row, %column] dims [0, 1] bounded : tensor<128x128xbf16>, !b
  }
  tile.return
}

// Not if the number of iterations depends on the output tile.
// CHECK-LABEL: tile.kernel @shorter
// CHECK-NOT: tile.tma_load
tile.kernel @shorter(%x: !a, %w: !b, %y: !b, %programs: index) grid 1 launch <num_warps = 8> tuning <num_stages = 2, use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %block = tile.program_id 0
  scf.for %p = %block to %programs step %c4 {
    %sum = scf.for %k = %c0 to %p step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%p, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
      %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
      %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %narrow = tile.cast %sum : tensor<128x128xf32> -> tensor<128x128xbf16>
    tile.store %narrow, %y[%p, %c0] dims [0, 1] bounded : tensor<128x128xbf16>, !b
  }
  tile.return
}
