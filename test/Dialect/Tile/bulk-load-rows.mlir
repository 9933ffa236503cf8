// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows=shared-bytes=4096 | FileCheck %s --check-prefix=SMALL
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows | FileCheck %s --check-prefix=PARTS
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows=shared-bytes=5120 | FileCheck %s --check-prefix=FEWER

// PARTS-DAG: "block[d0:1024] offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256, d0:512] -> d0:2048"

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!even = !tile.view<?x?xbf16, strides = [4096, 1]>
!s = !tile.view<?xf32, strides = [1]>

// The copy of a row starts as soon as its coordinates are known; the row is read at its first use.
// CHECK-LABEL: tile.kernel @held
// CHECK: %[[ROOM:.*]] = tile.alloc : <1, tensor<1024xbf16, #[[MEMORY:.*]]>, slack 8>
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <1>
// CHECK: %[[S:.*]] = tile.misalignment %x[%pid0, %{{.*}}] mod 8
// CHECK: tile.bulk_load %x[%pid0, %{{.*}}] dims [1] bounded into %[[ROOM]][%{{.*}}] full %[[G]]
// CHECK: tile.mbarrier_wait %[[G]]
// CHECK: %[[SIZE:.*]] = tile.dim %x, 1
// CHECK: %[[N:.*]] = arith.subi %[[SIZE]], %{{.*}} : index
// CHECK-NEXT: %[[T:.*]] = tile.shared_load %[[ROOM]][%{{.*}}] shift %[[S]] below %[[N]] pad 0.000000e+00 : bf16
// CHECK-NEXT: tile.cast %[[T]]
// SMALL-LABEL: tile.kernel @held
// SMALL: tile.bulk_load
tile.kernel @held(%x: !v, %y: !s) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
  %m = tile.reduce max %f dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  tile.return
}

// Three iterations ahead, in four stages with an mbarrier each; the loop carries the phase.
// CHECK-LABEL: tile.kernel @stream
// CHECK: %[[ROOM:.*]] = tile.alloc : <4, tensor<1024xbf16, #[[MEMORY]]>, slack 8>
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <4>
// CHECK-COUNT-3: tile.bulk_load %x[%pid0, %{{.*}}] dims [1] into %[[ROOM]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}})
// CHECK: tile.mbarrier_wait %[[G]][%[[SLOT]]] phase %[[PHASE]] : <4>
// CHECK: scf.if
// CHECK-NEXT: tile.bulk_load %x[%pid0, %{{.*}}] dims [1] into %[[ROOM]][%[[FREE]]] full %[[G]][%[[FREE]]]
// CHECK: tile.shared_load %[[ROOM]][%[[SLOT]]] shift %{{.*}} : <4,
// SMALL-LABEL: tile.kernel @stream
// SMALL-NOT: tile.bulk_load
tile.kernel @stream(%x: !v, %y: !s, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0
  %z = tile.constant 0.0 : f32 : tensor<1024xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%a = %z) -> (tensor<1024xf32>) {
    %t = tile.load %x[%i, %k] dims [1] : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %b = tile.map add(%a, %f) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %b : tensor<1024xf32>
  }
  %m = tile.reduce sum %sum dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  tile.return
}

func.func @host(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, f32>
    attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 1 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, f32>
  tile.launch @rest grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M"], strides ["1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, f32>
  return %0 : !gir.tensor<M, f32>
}

// The rest after the whole tiles is loaded into the next stage, before these are processed. `num_stages` says how far
// copies run ahead; the kernel says where shared memory has room for fewer stages.
// FEWER: tile.kernel @rest({{.*}}) grid 1 tuning <num_stages = 3>
// FEWER-SAME: attributes {tile.changed = ["num_stages 3 -> 2: shared memory for bulk copies of rows"]} {
// CHECK-LABEL: tile.kernel @rest
// CHECK: %[[ROOM:.*]] = tile.alloc : <3, tensor<1024xbf16, #[[MEMORY]]>, slack 8>
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <3>
// CHECK: arith.cmpi slt, %{{.*}}, %all : index
// CHECK-COUNT-2: tile.bulk_load %x[%pid0, %{{.*}}] dims [1] bounded into %[[ROOM]]
// CHECK: %[[WHOLE:.*]]:4 = scf.for {{.*}} to %whole
// CHECK: tile.mbarrier_wait %[[G]]
// CHECK: arith.cmpi slt, %{{.*}}, %all : index
// CHECK: tile.bulk_load %x[%pid0, %{{.*}}] dims [1] bounded into %[[ROOM]]
// CHECK: tile.shared_load %[[ROOM]][%{{.*}}] shift %{{.*}} : <3,
// CHECK: scf.for {{.*}} = %whole to %all {{.*}} = %[[WHOLE]]#0, %[[SLOT:.*]] = %[[WHOLE]]#1, %{{.*}} = %[[WHOLE]]#2, %[[PHASE:.*]] = %[[WHOLE]]#3)
// CHECK-NEXT: tile.mbarrier_wait %[[G]][%[[SLOT]]] phase %[[PHASE]]
// CHECK-NOT: tile.bulk_load
// CHECK: tile.shared_load %[[ROOM]][%[[SLOT]]] shift %{{.*}} below %{{.*}} pad 0.000000e+00 : bf16
// CHECK-NOT: tile.bulk_load
// CHECK: tile.return
// SMALL-LABEL: tile.kernel @rest
tile.kernel @rest(%x: !v, %y: !s, %whole: index, %all: index) grid 1 tuning <num_stages = 3> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0
  %z = tile.constant 0.0 : f32 : tensor<1024xf32>
  %most = scf.for %k = %c0 to %whole step %c1 iter_args(%a = %z) -> (tensor<1024xf32>) {
    %t = tile.load %x[%i, %k] dims [1] : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %b = tile.map add(%a, %f) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %b : tensor<1024xf32>
  }
  %sum = scf.for %k = %whole to %all step %c1 iter_args(%a = %most) -> (tensor<1024xf32>) {
    %t = tile.load %x[%i, %k] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %b = tile.map add(%a, %f) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %b : tensor<1024xf32>
  }
  %m = tile.reduce sum %sum dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  tile.return
}

// Each CTA of a cluster has a part of the row, and a buffer for it.
// CHECK-LABEL: tile.kernel @shared
// SMALL-LABEL: tile.kernel @shared
// CHECK: tile.alloc : <1, tensor<2048xbf16, #[[PART:.*]]>, slack 8>
// CHECK: tile.bulk_load %x[%pid0, %{{.*}}] dims [1] bounded into
// CHECK: tile.shared_load {{.*}} shift {{.*}} below {{.*}} : <1, tensor<2048xbf16, #[[PART]]>, slack 8> -> tensor<2048xbf16
tile.kernel @shared(%x: !v, %y: !s) grid 1 launch <num_warps = 4, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<2048xbf16>
  %f = tile.cast %t : tensor<2048xbf16> -> tensor<2048xf32>
  %m = tile.reduce max %f dims [0] : tensor<2048xf32> -> tensor<f32>
  tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  tile.return
}

// Not for aligned rows, rows that are also written, and short ones.
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT: tile.bulk_load
// CHECK: tile.return
tile.kernel @others(%x: !even, %y: !v, %z: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %a = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !even -> tensor<1024xbf16>
  %b = tile.load %y[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %c = tile.load %z[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<256xbf16>
  %s = tile.map add(%a, %b) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  tile.store %s, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.store %c, %x[%i, %c0] dims [1] bounded : tensor<256xbf16>, !even
  tile.return
}

// In a loop from row to row, the next rows are in flight; each has another misalignment.
// CHECK-LABEL: tile.kernel @walk
// CHECK: %[[ROOM:.*]] = tile.alloc : <3, tensor<1024xbf16, #[[MEMORY]]>, slack 8>
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <3>
// CHECK-COUNT-2: tile.bulk_load %x[%{{.*}}, %{{.*}}] dims [1] bounded into %[[ROOM]]
// CHECK: scf.for %[[ROW:.*]] = {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}})
// CHECK: tile.mbarrier_wait %[[G]][%[[SLOT]]] phase %[[PHASE]] : <3>
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %c1
// CHECK: %[[LATER:.*]] = arith.addi %[[NEXT]], %c1
// CHECK: scf.if
// CHECK-NEXT: tile.bulk_load %x[%[[LATER]], %c0] dims [1] bounded into %[[ROOM]][%[[FREE]]] full %[[G]][%[[FREE]]]
// CHECK: %[[S:.*]] = tile.misalignment %x[%[[ROW]], %{{.*}}] mod 8
// CHECK: tile.shared_load %[[ROOM]][%[[SLOT]]] shift %[[S]] below
// SMALL-LABEL: tile.kernel @walk
tile.kernel @walk(%x: !v, %y: !s, %first: index, %end: index) grid 1 tuning <num_stages = 3> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %first to %end step %c1 {
    %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %m = tile.reduce max %f dims [0] : tensor<1024xf32> -> tensor<f32>
    tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  }
  tile.return
}

// Coordinates that are computed in the loop are not known ahead.
// CHECK-LABEL: tile.kernel @found
// CHECK-NOT: tile.bulk_load
// CHECK: tile.return
// SMALL-LABEL: tile.kernel @found
tile.kernel @found(%x: !v, %y: !s, %first: index, %end: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %first to %end step %c1 {
    %j = arith.muli %i, %c2 : index
    %t = tile.load %x[%j, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    %m = tile.reduce max %f dims [0] : tensor<1024xf32> -> tensor<f32>
    tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  }
  tile.return
}
