// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-lower-wgmma -tile-prefetch-mma-operands -tile-allocate-shared -tile-place-barriers | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_100a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-lower-wgmma -tile-prefetch-mma-operands | FileCheck %s --check-prefix=WARPS

// The CTAs that split the K dimension: see below.
// CHECK-DAG: #[[SHAREDLEFT:.*]] = #tile.layout<"block[d1:64] offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d0:64] -> d0:128 d1:128">
// CHECK-DAG: #[[SHAREDRIGHT:.*]] = #tile.layout<"block[d0:64] offset[{{.*}}] -> d0:128 d1:128">
// CHECK-DAG: #[[SHAREDSUMS:.*]] = #tile.layout<"register[{{.*}}] lane[{{.*}}] warp[{{.*}}] block[d0:1] -> d0:2 d1:128 d2:128">
// CHECK-DAG: #[[MAILBOX:.*]] = #tile.layout<"block[d1:64] offset[d1:1, d0:8, d1:2, d1:4, d0:1, d0:2, d0:4, d1:8, d1:16, d1:32, d0:16, d0:32, d0:64, d2:1] -> d0:128 d1:128 d2:2">
// CHECK-DAG: #[[OWNSUMS:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32, d0:64] block[d1:64] -> d0:128 d1:128">

// An iteration starts its MMA, waits for that of the previous iteration, and loads into that iteration's stage when all
// warps have waited. The accumulator is complete after the loop.
// CHECK-LABEL: tile.kernel @product
// CHECK: %[[A:.*]] = tile.alloc offset {{.*}} : <4, tensor<128x64xbf16
// CHECK: %[[B:.*]] = tile.alloc offset {{.*}} : <4, tensor<64x128xbf16
// CHECK: %[[SUM:.*]]:4 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: tile.mbarrier_wait %{{.*}}[%[[SLOT]]]
// CHECK-NOT: tile.shared_load
// CHECK-NOT: tile.barrier
// CHECK: tile.wgmma_fence
// CHECK-NEXT: %[[NEXT:.*]] = tile.wgmma %[[A]][%[[SLOT]]], %[[B]][%[[SLOT]]], %[[ACC]]
// CHECK-NEXT: tile.wgmma_commit
// CHECK-NEXT: tile.wgmma_wait 1{{$}}
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.tma_load %x{{.*}} into %[[A]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %w{{.*}} into %[[B]][%[[FREE]]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[DONE:.*]] = tile.wgmma_wait 0, %[[SUM]]#0
// CHECK: tile.shared_store %[[DONE]]
// WARPS-LABEL: tile.kernel @product
// WARPS-NOT: tile.wgmma %
// WARPS: tile.kernel @two
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

// Two MMAs with one left operand are waited for together.
// CHECK-LABEL: tile.kernel @two
// CHECK: tile.wgmma_fence
// CHECK-NEXT: tile.wgmma %[[A:[0-9]+]][%{{.*}}
// CHECK-NEXT: tile.wgmma %[[A]][%{{.*}}
// CHECK-NEXT: tile.wgmma_commit
// CHECK-NEXT: tile.wgmma_wait 1{{$}}
// CHECK: %{{.*}}:2 = tile.wgmma_wait 0, %{{.*}}#0, %{{.*}}#1
tile.kernel @two(%x: !a, %w: !b, %v: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %bcc = %zero) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %c = tile.load %v[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %other = tile.mma %a, %c, %bcc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next, %other : tensor<128x128xf32>, tensor<128x128xf32>
  }
  %both = tile.map mul(%sum#0, %sum#1) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  tile.store %both, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// A computed left operand stays in registers, and its MMA is waited for in its iteration, when the registers become
// free. So are accumulators with another use.
// CHECK-LABEL: tile.kernel @computed
// CHECK: %[[X:.*]] = tile.shared_load
// CHECK: %[[L:.*]] = tile.map
// CHECK: tile.wgmma_fence
// CHECK-NEXT: %[[NEXT:.*]] = tile.wgmma %[[L]], %{{.*}}[%{{.*}}]
// CHECK-NEXT: tile.wgmma_commit
// CHECK: %[[DONE:.*]] = tile.wgmma_wait 0, %[[NEXT]]
// CHECK-NEXT: scf.yield %[[DONE]]
tile.kernel @computed(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %l = tile.map neg(%a) : (tensor<128x64xbf16>) -> tensor<128x64xbf16>
    %next = tile.mma %l, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// Not without `wgmma`, if the right operand is computed or not loaded by TMA, or if there are too few rows for the
// warps: single warps multiply.
// CHECK-LABEL: tile.kernel @right
// CHECK-NOT: tile.wgmma %
tile.kernel @right(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %r = tile.map neg(%b) : (tensor<64x128xbf16>) -> tensor<64x128xbf16>
    %next = tile.mma %a, %r, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK-LABEL: tile.kernel @few_rows
// CHECK-NOT: tile.wgmma %
tile.kernel @few_rows(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
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

// A loop-invariant left operand is written in the layout that wgmma reads. The accumulator of the second MMA is carried
// to the next iteration, which reads it after starting its first MMA; the refill of that iteration's stages follows.
// CHECK-LABEL: tile.kernel @stream
// CHECK: tile.shared_store %{{.*}}, %[[Q:.*]][%{{.*}}]
// CHECK: tile.fence_proxy_async
// CHECK-NEXT: tile.barrier
// CHECK: %[[SUM:.*]]:4 = scf.for {{.*}} iter_args(%[[ACC:[^ ]*]] = %{{.*}}, %[[SLOT:[^ ]*]] = %{{.*}}, %[[FREE:[^ ]*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: tile.wgmma_fence
// CHECK-NEXT: %[[S:.*]] = tile.wgmma %[[Q]][%{{.*}}], %{{.*}}[%[[SLOT]]]
// CHECK-NEXT: tile.wgmma_commit
// CHECK-NEXT: %[[BEFORE:.*]] = tile.wgmma_wait 0, %[[ACC]]
// CHECK: tile.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.tma_load %v{{.*}}[%[[FREE]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.tma_load %k{{.*}}[%[[FREE]]]
// CHECK: tile.map mul(%[[BEFORE]], %[[BEFORE]])
// CHECK: %[[P:.*]] = tile.cast
// CHECK: tile.wgmma_fence
// CHECK-NEXT: %[[NEXT:.*]] = tile.wgmma %[[P]], %{{.*}}[%[[SLOT]]]
// CHECK-NEXT: tile.wgmma_commit
// CHECK-NOT: tile.wgmma_wait
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.wgmma_wait 0, %[[SUM]]#0
!q = !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>
!o = !tile.view<?x64xf32, strides = [64, 1]>
tile.kernel @stream(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %half = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}

// The CTAs of a cluster have a part of the K dimension each, loaded into their own stages. Each thread finishes half of
// the columns of its accumulator, and sends the rest in pieces of 16 bytes in the order of lanes.
// CHECK-LABEL: tile.kernel @shared
// CHECK: tile.alloc dsmem offset {{.*}} : <1, tensor<128x128x2xf32, #[[MAILBOX]]>>
// CHECK: %[[A:.*]] = tile.alloc offset {{.*}} : <4, tensor<128x128xbf16, #[[SHAREDLEFT]]>>
// CHECK: %[[B:.*]] = tile.alloc offset {{.*}} : <4, tensor<128x128xbf16, #[[SHAREDRIGHT]]>>
// CHECK: scf.for
// CHECK: tile.wgmma %[[A]][%{{.*}}], %[[B]][%{{.*}}], %{{.*}} tensor<2x128x128xf32, #[[SHAREDSUMS]]>
// CHECK: %[[DONE:.*]] = tile.wgmma_wait 0
// CHECK-NEXT: %[[PARTS:.*]] = tile.warp_reduce sum %[[DONE]]
// CHECK-NEXT: tile.cluster_wait
// CHECK-NEXT: tile.dsmem_store %[[PARTS]]
// CHECK-NEXT: tile.dsmem_wait
// CHECK-NEXT: %[[ALL:.*]] = tile.dsmem_load
// CHECK-NEXT: tile.reduce sum %[[ALL]] dims [2] : {{.*}} -> tensor<128x128xf32, #[[OWNSUMS]]>
// WARPS-LABEL: tile.kernel @shared
// WARPS-NOT: tile.wgmma %
tile.kernel @shared(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<2x128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<2x128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x128xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<128x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x128xbf16>, tensor<128x128xbf16>, tensor<2x128x128xf32>) -> tensor<2x128x128xf32>
    scf.yield %next : tensor<2x128x128xf32>
  }
  %all = tile.reduce sum %sum dims [0] : tensor<2x128x128xf32> -> tensor<128x128xf32>
  tile.store %all, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// Operands that are rounded to tf32: copies round into stages of tf32, which the instruction reads.
// CHECK-LABEL: tile.kernel @rounded
// CHECK: %[[A:.*]] = tile.alloc offset {{.*}} : <4, tensor<128x32xtf32
// CHECK: %[[B:.*]] = tile.alloc offset {{.*}} : <4, tensor<32x128xtf32
// CHECK-NOT: tile.cast
// CHECK: tile.tma_load %x{{.*}} into %[[A]]{{.*}} : <?x?xf32, {{.*}}tensor<128x32xtf32
// CHECK: scf.for
// CHECK: tile.wgmma %[[A]][{{.*}}], %[[B]][{{.*}}], %{{.*}} : !tile.buffer<4, tensor<128x32xtf32, {{.*}}, tensor<128x128xf32
// WARPS-LABEL: tile.kernel @rounded
// WARPS-NOT: tile.wgmma %
// WARPS: tile.kernel @rounded_across
!words = !tile.view<?x?xf32, strides = [4096, 1], divisors = [128, 32]>
tile.kernel @rounded(%x: !words, %w: !words, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : f32 : !words -> tensor<128x32xf32>
    %b = tile.load %w[%c0, %k] dims [1, 0] pad 0.0 : f32 : !words -> tensor<32x128xf32>
    %ra = tile.cast %a : tensor<128x32xf32> -> tensor<128x32xtf32>
    %rb = tile.cast %b : tensor<32x128xf32> -> tensor<32x128xtf32>
    %next = tile.mma %ra, %rb, %acc : (tensor<128x32xtf32>, tensor<32x128xtf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// Warps multiply if an operand of tf32 is not contiguous along K.
// CHECK-LABEL: tile.kernel @rounded_across
// CHECK-NOT: tile.wgmma
// CHECK: tile.mma {{.*}}tf32
// CHECK-NOT: tile.wgmma
tile.kernel @rounded_across(%x: !words, %w: !words, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : f32 : !words -> tensor<128x32xf32>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : f32 : !words -> tensor<32x128xf32>
    %ra = tile.cast %a : tensor<128x32xf32> -> tensor<128x32xtf32>
    %rb = tile.cast %b : tensor<32x128xf32> -> tensor<32x128xtf32>
    %next = tile.mma %ra, %rb, %acc : (tensor<128x32xtf32>, tensor<32x128xtf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}
