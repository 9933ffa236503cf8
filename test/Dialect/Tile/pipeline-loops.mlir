// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops=stages=3 | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops="stages=3 shared-bytes=1024" | FileCheck %s --check-prefix=SMALL

// Two iterations are copied before the loop; each iteration waits for its copies and starts those of the iteration
// after the next, into the stage that was read before. A stage has a swizzle that keeps 16 bytes together.
// CHECK-DAG: #[[A:.*]] = #tile.layout<"offset[d1:1, d1:2, d1:4, {{.*}}d0:2+d1:8{{.*}} -> d0:64 d1:32">
// CHECK-LABEL: tile.kernel @product
// CHECK: %[[BA:.*]] = tile.alloc : <3, tensor<64x32xbf16, #[[A]]>>
// CHECK: %[[BB:.*]] = tile.alloc : <3, tensor<32x64xbf16, #{{.*}}>>
// CHECK-COUNT-2: tile.cp_async_commit
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args({{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}) ->
// CHECK-NEXT: tile.cp_async_wait 1
// CHECK: scf.if
// CHECK: tile.cp_async %x{{.*}} into %[[BA]][%[[FREE]]]
// CHECK: tile.cp_async %w{{.*}} into %[[BB]][%[[FREE]]]
// CHECK: tile.cp_async_commit
// CHECK: %[[X:.*]] = tile.shared_load %[[BA]][%[[SLOT]]]
// CHECK-NEXT: %[[W:.*]] = tile.shared_load %[[BB]][%[[SLOT]]]
// CHECK-NEXT: tile.mma %[[X]], %[[W]]
// CHECK: tile.cp_async_wait 0
// SMALL-LABEL: tile.kernel @product
// SMALL-NOT: tile.cp_async
// SMALL: tile.load %x
// SMALL-NEXT: tile.load %w
// SMALL-NOT: tile.cp_async
// SMALL: tile.mma
// SMALL-NOT: tile.cp_async
!a = !tile.view<64x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!b = !tile.view<?x64xbf16, strides = [64, 1]>
!c = !tile.view<64x64xf32, strides = [64, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 {
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
