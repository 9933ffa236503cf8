// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-pipeline-mma -tile-lower-wgmma -tile-release-stages -tile-allocate-shared -tile-place-barriers | FileCheck %s

// An iteration that waits for the MMA of the previous iteration arrives at the empty barrier of that iteration's stage,
// which is refilled next; the load waits there. There is no CTA barrier in the loop.
// CHECK-LABEL: tile.kernel @product
// CHECK: %[[G:.*]] = tile.mbarrier_alloc arrivals 2 {{.*}} : <4>
// CHECK: %[[LEFT:.*]] = tile.mbarrier_alloc arrivals 8 {{.*}} : <4>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[TURN:.*]] = %{{.*}})
// CHECK-NOT: tile.barrier
// CHECK: tile.wgmma_wait 1{{$}}
// CHECK-NEXT: tile.mbarrier_arrive %[[LEFT]][%[[FREE]]]
// CHECK: tile.tma_load %x{{.*}} full %[[G]][%[[FREE]]] empty %[[LEFT]][%[[FREE]]] phase %[[TURN]]
// CHECK: tile.tma_load %w{{.*}} full %[[G]][%[[FREE]]] warp 1 empty %[[LEFT]][%[[FREE]]] phase %[[TURN]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
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

// Not for a single warpgroup.
// CHECK-LABEL: tile.kernel @one_group
// CHECK-NOT: tile.mbarrier_arrive
tile.kernel @one_group(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
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

// MMAs that are waited for in their iteration release their own stage; those of the previous iteration that of the
// previous iteration.
// CHECK-LABEL: tile.kernel @stream
// CHECK: %[[K:.*]] = tile.mbarrier_alloc arrivals 8
// CHECK: %[[V:.*]] = tile.mbarrier_alloc arrivals 8
// CHECK: scf.if
// CHECK: tile.wgmma_wait 0
// CHECK-NEXT: tile.mbarrier_arrive %[[K]]
// CHECK: scf.for {{.*}} iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %[[SLOT:[^ ]*]] = %{{[^ ]*}}, %[[FREE:[^ ]*]] = %{{[^ ]*}}, %[[TURN:[^ ]*]] = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %[[BEFORE:[^ ]*]] = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}})
// CHECK-NOT: tile.barrier
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[SLOT]], %
// CHECK: %[[LESS:.*]] = arith.addi %[[TURN]], %
// CHECK: %[[PHASE:.*]] = arith.select %[[FIRST]], %[[LESS]], %[[TURN]]
// CHECK: tile.tma_load %k{{.*}} empty %[[K]][%[[FREE]]] phase %[[PHASE]]
// CHECK-NOT: tile.barrier
// CHECK: tile.wgmma_wait 1
// CHECK-NEXT: tile.mbarrier_arrive %[[K]][%[[SLOT]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.wgmma_wait 0
// CHECK-NEXT: tile.mbarrier_arrive %[[V]][%[[BEFORE]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.tma_load %v{{.*}} empty %[[V]][%[[FREE]]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
// CHECK: tile.wgmma_wait 0
// CHECK-NEXT: tile.mbarrier_arrive %[[V]]
!q = !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>
!o = !tile.view<?x64xf32, strides = [64, 1]>
tile.kernel @stream(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<128x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %e = tile.map exp2(%s) : (tensor<128x64xf32>) -> tensor<128x64xf32>
    %half = tile.map mul(%acc, %acc) : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %p = tile.cast %e : tensor<128x64xf32> -> tensor<128x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x64xf32>, !o
  tile.return
}
