// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_100a -tile-assign-layouts -tile-lower-tma-loads=stages=3 | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_100a -tile-assign-layouts -tile-lower-tma-loads="stages=3 shared-bytes=1024" | FileCheck %s --check-prefix=SMALL
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_100a -tile-assign-layouts -tile-lower-tma-loads -tile-pipeline-loops | FileCheck %s --check-prefix=REST
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads="stages=3 shared-bytes=98367" | FileCheck %s --check-prefix=FULL
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads="stages=3 shared-bytes=98368" | FileCheck %s --check-prefix=ROOM

// Two iterations are loaded before the loop; each iteration waits for its full barrier and loads the tiles of the
// iteration after the next into the stage that was read before. Rows of 128 bytes are swizzled as a whole, rows of 256
// bytes are two boxes.
// CHECK-DAG: #[[A:.*]] = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
// CHECK-DAG: #[[B:.*]] = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d1:64] -> d0:64 d1:128">
// CHECK-LABEL: tile.kernel @product
// CHECK: %[[BA:.*]] = tile.alloc : <3, tensor<64x64xbf16, #[[A]]>>
// CHECK-NEXT: %[[BB:.*]] = tile.alloc : <3, tensor<64x128xbf16, #[[B]]>>
// CHECK-NEXT: %[[G:.*]] = tile.mbarrier_alloc arrivals 2 : <3>
// CHECK-COUNT-4: tile.tma_load
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args({{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[TURN:.*]] = %{{.*}}) ->
// CHECK-NEXT: tile.mbarrier_wait %[[G]][%[[SLOT]]] phase %[[TURN]]
// CHECK: scf.if
// CHECK-NEXT: tile.tma_load %x{{.*}} dims [0, 1] bounded into %[[BA]][%[[FREE]]] full %[[G]][%[[FREE]]] : 
// CHECK-NEXT: tile.tma_load %w{{.*}} dims [0, 1] bounded into %[[BB]][%[[FREE]]] full %[[G]][%[[FREE]]] warp 1
// CHECK: %[[X:.*]] = tile.shared_load %[[BA]][%[[SLOT]]]
// CHECK-NEXT: %[[W:.*]] = tile.shared_load %[[BB]][%[[SLOT]]]
// CHECK-NEXT: tile.mma %[[X]], %[[W]]
// SMALL-NOT: tile.tma_load
// SMALL-LABEL: tile.kernel @product
// SMALL-NOT: tile.tma_load
// SMALL: tile.load %x
// SMALL-NEXT: tile.load %w
// SMALL-NOT: tile.tma_load
!a = !tile.view<64x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!b = !tile.view<?x128xbf16, strides = [128, 1]>
!c = !tile.view<64x128xf32, strides = [128, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}

// Not with `use_tma = 0`, for unaligned rows, or if the padding is not zero.
// CHECK-LABEL: tile.kernel @by_threads
// CHECK-NOT: tile.tma_load
// REST-LABEL: tile.kernel @by_threads
// REST-NOT: tile.tma_load
// REST: tile.cp_async %x
// REST-LABEL: tile.kernel @loose
tile.kernel @by_threads(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 0> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}

// CHECK-LABEL: tile.kernel @loose
// CHECK-NOT: tile.tma_load
!odd = !tile.view<64x?xbf16, strides = [4097, 1]>
tile.kernel @loose(%x: !odd, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !odd -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 1.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}

// Without `use_tma`, a loop of MMAs only uses cp.async; a loop with other work uses TMA.
// CHECK-LABEL: tile.kernel @alone
// CHECK-NOT: tile.tma_load
// CHECK-LABEL: tile.kernel @beside
// CHECK: tile.tma_load %x
tile.kernel @alone(%x: !a, %w: !b, %y: !c, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}
tile.kernel @beside(%x: !a, %w: !b, %y: !c, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %more = tile.map add(%next, %next) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %more : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}

// With wgmma, a loop that continues with the same tiles reads them from the same stages, which the first loop fills for
// it.
// CHECK-LABEL: tile.kernel @rest
// CHECK-COUNT-1: tile.mbarrier_alloc
// CHECK: %[[END:.*]] = arith.maxsi %n, %m
// CHECK: arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK: %[[FIRST:.*]]:4 = scf.for %{{.*}} = %{{.*}} to %n
// CHECK: arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK: tile.tma_load %x{{.*}} bounded
// CHECK: scf.for %{{.*}} = %n to %m {{.*}} iter_args(%{{.*}} = %[[FIRST]]#0, %[[SLOT:[^ ]*]] = %[[FIRST]]#1, %[[FREE:[^ ]*]] = %[[FIRST]]#2, %[[TURN:[^ ]*]] = %[[FIRST]]#3)
// CHECK: tile.mbarrier_wait %{{.*}}[%[[SLOT]]] phase %[[TURN]]
// CHECK: arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK: tile.tma_load %x{{.*}} into %{{.*}}[%[[FREE]]]
// CHECK-NOT: tile.load
tile.kernel @rest(%x: !a, %w: !b, %y: !c, %n: index, %m: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %first = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  %sum = scf.for %k = %n to %m step %c1 iter_args(%acc = %first) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %twice = tile.map add(%next, %next) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %twice : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}

// If the first loop may have a negative length, the second one starts at another iteration: it has its own stages.
// CHECK-LABEL: tile.kernel @other_way
// CHECK: tile.mbarrier_alloc
// CHECK: scf.for %{{.*}} = %l to %n
// CHECK: tile.mbarrier_alloc
// CHECK: scf.for %{{.*}} = %n to %m
// CHECK-NOT: tile.load
// The empty barriers that several warpgroups need must fit, too; otherwise there is one stage less.
// FULL-LABEL: tile.kernel @other_way
// FULL: tile.mbarrier_alloc {{.*}}: <2>
// ROOM-LABEL: tile.kernel @other_way
// ROOM: tile.mbarrier_alloc {{.*}}: <3>
!more = !tile.view<128x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!wide = !tile.view<128x128xf32, strides = [128, 1]>
tile.kernel @other_way(%x: !more, %w: !b, %y: !wide, %l: index, %n: index, %m: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %first = scf.for %k = %l to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] : !more -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %sum = scf.for %k = %n to %m step %c1 iter_args(%acc = %first) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !more -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %twice = tile.map add(%next, %next) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %twice : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<128x128xf32>, !wide
  tile.return
}

// With wgmma, a copy rounds to tf32 if that is the only use of a tile. With another use, threads round.
// CHECK-LABEL: tile.kernel @rounded
// CHECK-DAG: %[[BA:.*]] = tile.alloc : <3, tensor<64x32xtf32
// CHECK-DAG: %[[BB:.*]] = tile.alloc : <3, tensor<32x64xf32
// CHECK: scf.for
// CHECK: tile.shared_load %[[BB]]{{.*}} -> tensor<32x64xf32
// CHECK: %[[B:.*]] = tile.cast {{.*}} -> tensor<32x64xtf32
// CHECK: %[[A:.*]] = tile.shared_load %[[BA]]{{.*}} -> tensor<64x32xtf32
// CHECK: tile.mma %[[A]], %[[B]],
!words = !tile.view<64x?xf32, strides = [4096, 1], divisors = [64, 32]>
tile.kernel @rounded(%x: !words, %w: !words, %y: !c, %z: !c, %n: index) grid 1 tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %none = tile.constant 0.0 : f32 : tensor<32x64xf32>
  %sum:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %all = %none) -> (tensor<64x64xf32>, tensor<32x64xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : f32 : !words -> tensor<64x32xf32>
    %b = tile.load %w[%c0, %k] dims [1, 0] pad 0.0 : f32 : !words -> tensor<32x64xf32>
    %ra = tile.cast %a : tensor<64x32xf32> -> tensor<64x32xtf32>
    %rb = tile.cast %b : tensor<32x64xf32> -> tensor<32x64xtf32>
    %next = tile.mma %ra, %rb, %acc : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %more = tile.map add(%all, %b) : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    scf.yield %next, %more : tensor<64x64xf32>, tensor<32x64xf32>
  }
  tile.store %sum#0, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !c
  tile.store %sum#1, %z[%c0, %c0] dims [0, 1] bounded : tensor<32x64xf32>, !c
  tile.return
}
