// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=6 -tile-lower-layout-conversions -tile-lower-wgmma -tile-release-stages -tile-tma-multicast -tile-allocate-shared -tile-place-barriers | FileCheck %s

// Two CTAs have different columns. Each loads half of the left operand for both, and its own columns of the right one.
// Warps arrive at the empty barriers of both CTAs if the stage of the previous iteration is refilled.
// CHECK-DAG: #[[A:.*]] = #tile.layout<"offset[{{[^]]*}}] -> d0:128 d1:64">
// CHECK-DAG: #[[B:.*]] = #tile.layout<"block[d1:64] offset[{{[^]]*}}] -> d0:64 d1:128">
// CHECK-LABEL: tile.kernel @columns
// CHECK: %[[G:.*]] = tile.mbarrier_alloc arrivals 2 {{.*}} : <6>
// CHECK-NEXT: %[[LEFT:.*]] = tile.mbarrier_alloc arrivals 16 {{.*}} : <6>
// CHECK-NEXT: tile.cluster_arrive{{$}}
// CHECK: tile.cluster_wait
// CHECK-NEXT: scf.if
// CHECK: tile.tma_load %x{{.*}} dims [0, 1] bounded multicast into %[[ROOM:.*]][%{{.*}}] full %[[G]][{{.*}} <6, tensor<128x64xbf16, #[[A]]>>
// CHECK: tile.tma_load %w{{.*}} dims [0, 1] bounded into %{{.*}} full %[[G]][{{.*}} warp 1 : {{.*}} <6, tensor<64x128xbf16, #[[B]]>>
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[TURN:.*]] = %{{.*}})
// CHECK-NOT: tile.barrier
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[AHEAD:.*]], %[[END:.*]] :
// CHECK: tile.wgmma_wait 1{{$}}
// CHECK-NEXT: scf.if %[[EXISTS]] {
// CHECK-NEXT: tile.mbarrier_arrive cluster %[[LEFT]][%[[FREE]]] : <6>
// CHECK-NEXT: tile.tma_load %x{{.*}} multicast into %[[ROOM]][%[[FREE]]] full %[[G]][%[[FREE]]] empty %[[LEFT]][%[[FREE]]] phase %[[TURN]]
// CHECK-NEXT: tile.tma_load %w{{.*}} bounded into %{{.*}}[%[[FREE]]] full %[[G]][%[[FREE]]] warp 1 empty %[[LEFT]][%[[FREE]]] phase %[[TURN]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
tile.kernel @columns(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2, cluster_axis = 1> tuning <use_tma = 1, wgmma = 1> {
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

// CTAs that have different rows multicast the right operand.
// CHECK-LABEL: tile.kernel @rows
// CHECK: scf.for
// CHECK: tile.tma_load %x{{.*}} bounded into
// CHECK-NEXT: tile.tma_load %w{{.*}} bounded multicast into
tile.kernel @rows(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2, cluster_axis = 0> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<256x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<256x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<256x64xbf16>, tensor<64x128xbf16>, tensor<256x128xf32>) -> tensor<256x128xf32>
    scf.yield %next : tensor<256x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<256x128xf32>, !c
  tile.return
}

// Stages that a CTA barrier releases are not multicast, and the CTAs do not synchronize.
// CHECK-LABEL: tile.kernel @one_group
// CHECK-NOT: multicast
// CHECK-NOT: tile.cluster_arrive
// CHECK: tile.return
tile.kernel @one_group(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 4, cluster_size = 2, cluster_axis = 1> tuning <use_tma = 1, wgmma = 1> {
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

// A reduction of the accumulator's rows would cross CTAs: the kernel has no cluster.
// CHECK-LABEL: tile.kernel @statistic
// CHECK-SAME: launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1>
!r = !tile.view<?xf32, strides = [1]>
tile.kernel @statistic(%x: !a, %w: !b, %y: !r, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2, cluster_axis = 1> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %rows = tile.reduce sum %sum dims [1] : tensor<128x128xf32> -> tensor<128xf32>
  tile.store %rows, %y[%c0] dims [0] bounded : tensor<128xf32>, !r
  tile.return
}
