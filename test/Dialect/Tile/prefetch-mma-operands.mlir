// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops=stages=3 -tile-lower-layout-conversions -tile-prefetch-mma-operands -tile-allocate-shared -tile-place-barriers | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-prefetch-mma-operands | FileCheck %s --check-prefix=PLAIN
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=3 -tile-lower-layout-conversions -tile-prefetch-mma-operands -tile-allocate-shared -tile-place-barriers | FileCheck %s --check-prefix=BOXES

// The loop carries the fragments of its first k-step. Those of the second are read before the first MMA; those of the
// next iteration after the wait and the one barrier of an iteration, before the last MMA. Copies have conditions, so
// that every stage that is read is filled.
// CHECK-LABEL: tile.kernel @product
// CHECK: %[[A:.*]] = tile.alloc offset {{.*}} : <3, tensor<64x32xbf16
// CHECK: %[[B:.*]] = tile.alloc offset {{.*}} : <3, tensor<32x64xbf16
// CHECK-NOT: scf.if
// CHECK: tile.cp_async_wait 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %[[A0:.*]] = tile.shared_load %[[A]][%{{.*}}] at [0, 0] {{.*}} -> tensor<64x16xbf16
// CHECK-NEXT: %[[B0:.*]] = tile.shared_load %[[B]][%{{.*}}] at [0, 0] {{.*}} -> tensor<16x64xbf16
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[A1:.*]] = %[[A0]], %[[B1:.*]] = %[[B0]])
// CHECK-NOT: tile.barrier
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt
// CHECK: %[[A2:.*]] = tile.shared_load %[[A]][%[[SLOT]]] at [0, 16]
// CHECK-NEXT: %[[B2:.*]] = tile.shared_load %[[B]][%[[SLOT]]] at [16, 0]
// CHECK-NEXT: tile.cp_async %x{{.*}} bounded if %[[EXISTS]] into %[[A]][%[[FREE]]]
// CHECK-NEXT: tile.cp_async %w{{.*}} bounded if %[[EXISTS]] into %[[B]][%[[FREE]]]
// CHECK-NEXT: tile.cp_async_commit
// CHECK-NEXT: %[[SUM:.*]] = tile.mma %[[A1]], %[[B1]], %[[ACC]]
// CHECK: %[[NEXT:.*]] = arith.select
// CHECK-NEXT: tile.cp_async_wait 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %[[A3:.*]] = tile.shared_load %[[A]][%[[NEXT]]] at [0, 0]
// CHECK-NEXT: %[[B3:.*]] = tile.shared_load %[[B]][%[[NEXT]]] at [0, 0]
// CHECK-NEXT: %[[LAST:.*]] = tile.mma %[[A2]], %[[B2]], %[[SUM]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield %[[LAST]], %[[NEXT]], %{{.*}}, %[[A3]], %[[B3]]
// CHECK: tile.cp_async_wait 0

// With TMA, one more iteration is loaded than the loop has, if it has any, so that the last iteration can read ahead.
// An iteration has one barrier.
// BOXES-LABEL: tile.kernel @product
// BOXES: %[[ANY:.*]] = arith.cmpi slt, %c0{{.*}}, %[[N:.*]] : index
// BOXES-NEXT: %[[MORE:.*]] = arith.addi %[[N]], %c1{{.*}} : index
// BOXES-NEXT: %[[END:.*]] = arith.select %[[ANY]], %[[MORE]], %[[N]] : index
// BOXES: %[[FIRST:.*]] = arith.cmpi slt, %c0{{.*}}, %[[END]] : index
// BOXES: tile.barrier
// BOXES-NEXT: scf.if %[[FIRST]]
// BOXES: %[[INIT:.*]]:2 = scf.if %[[ANY]]
// BOXES: tile.mbarrier_wait
// BOXES-COUNT-2: tile.shared_load {{.*}} at [0, 0]
// BOXES: } else {
// BOXES-COUNT-2: tile.constant 0.000000e+00
// BOXES: scf.for {{.*}} %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[TURN:.*]] = %{{.*}}, %[[A1:.*]] = %[[INIT]]#0, %[[B1:.*]] = %[[INIT]]#1)
// BOXES-NOT: tile.barrier
// BOXES: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[END]]
// BOXES-NEXT: scf.if %[[EXISTS]]
// BOXES-NEXT: tile.tma_load %x{{.*}} bounded into %{{.*}}[%[[FREE]]]
// BOXES: tile.mma %[[A1]], %[[B1]]
// BOXES: tile.mbarrier_wait
// BOXES-NEXT: tile.barrier
// BOXES-COUNT-2: tile.shared_load {{.*}} at [0, 0]
// BOXES-NEXT: tile.mma
// BOXES-NOT: tile.barrier
// BOXES: scf.yield

// Without copies the steps stay within an iteration.
// PLAIN: tile.shared_store
// PLAIN: tile.shared_store
// PLAIN-COUNT-4: tile.shared_load {{.*}} at
// PLAIN: tile.mma
// PLAIN-NEXT: tile.mma
// PLAIN-NEXT: scf.yield
!a = !tile.view<64x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!b = !tile.view<?x64xbf16, strides = [64, 1]>
!c = !tile.view<64x64xf32, strides = [64, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<32x64xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !c
  tile.return
}
