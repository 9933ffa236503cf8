// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows=ahead=2 | FileCheck %s --check-prefix=AHEAD
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows=shared-bytes=8192 | FileCheck %s --check-prefix=SMALL
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_75 -tile-assign-layouts -tile-cache-rows | FileCheck %s --check-prefix=OLD

!v = !tile.view<?x?xbf16, strides = [?, 1], divisors = [1, 8]>
!even = !tile.view<?x?xbf16, strides = [6144, 1], divisors = [1, 8]>

func.func @host(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, bf16>
    attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 8 : i64, max = 6144 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @center grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}

// At most six tiles, all in flight before the first loop: each of its iterations waits for one of them, and the loop
// over the rest for the last. The second loop reads them.
// CHECK-LABEL: tile.kernel @center
// CHECK: %[[ROOM:.*]] = tile.alloc : <6, tensor<1024xbf16, #{{.*}}>>
// CHECK: scf.for %[[I:[a-z0-9]*]] = %{{.*}} to %c6
// CHECK: arith.cmpi slt, %[[I]], %[[WHOLE:.*]] : index
// CHECK: tile.cp_async %x[%{{.*}}, %[[I]]] dims [1] into %[[ROOM]][%[[I]]]
// CHECK: tile.cp_async_commit
// CHECK: tile.cp_async %x[%{{.*}}, %[[WHOLE]]] dims [1] bounded into %[[ROOM]][%[[WHOLE]]]
// CHECK: tile.cp_async_commit
// CHECK: scf.for %[[J:[a-z0-9]*]] = %c0{{.*}} to %[[WHOLE]]
// CHECK-NEXT: tile.cp_async_wait 6
// CHECK-NEXT: tile.cp_async_commit
// CHECK-NEXT: tile.shared_load %[[ROOM]][%[[J]]]
// CHECK: scf.for %[[J:[a-z0-9]*]] = %[[WHOLE]] to
// CHECK-NEXT: tile.cp_async_wait 0
// CHECK-NEXT: tile.cp_async_commit
// CHECK-NEXT: tile.shared_load %[[ROOM]][%[[J]]]
// CHECK: tile.cp_async_wait 0
// CHECK-COUNT-2: tile.shared_load %[[ROOM]]
// CHECK-NOT: tile.load

// Two copies at a time: an iteration starts the copy of the tile after the next.
// AHEAD-LABEL: tile.kernel @center
// AHEAD: scf.for %{{.*}} to %c2
// AHEAD: scf.for %[[J:[a-z0-9]*]] = %c0{{.*}} to
// AHEAD-NEXT: tile.cp_async_wait 1
// AHEAD: %[[NEXT:.*]] = arith.addi %[[J]], %c2
// AHEAD: tile.cp_async %x[%{{.*}}, %[[NEXT]]] dims [1] into %{{.*}}[%[[NEXT]]]

// SMALL-NOT: tile.cp_async
// SMALL-LABEL: tile.kernel @center
// SMALL-NOT: tile.cp_async
// SMALL-COUNT-4: tile.load %x
// SMALL-NOT: tile.cp_async

// OLD: tile.alloc : <6,
// OLD: scf.for %[[J:[a-z0-9]*]] =
// OLD-NEXT: %[[T:.*]] = tile.load
// OLD-NEXT: tile.shared_store %[[T]], %{{.*}}[%[[J]]]
tile.kernel @center(%x: !v, %y: !v, %whole: index, %all: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %zero = tile.constant 0.0 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %zero) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %c = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %c) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %c) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// Not if the padding differs in the second loop, or if the number of tiles is unknown.
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT: tile.alloc
tile.kernel @others(%x: !even, %y: !even, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %t = tile.load %x[%c0, %i] dims [1] pad 0.0 : bf16 : !even -> tensor<1024xbf16>
    tile.store %t, %y[%c0, %i] dims [1] bounded : tensor<1024xbf16>, !even
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %t = tile.load %x[%c0, %i] dims [1] pad 1.0 : bf16 : !even -> tensor<1024xbf16>
    tile.store %t, %y[%c1, %i] dims [1] bounded : tensor<1024xbf16>, !even
  }
  scf.for %i = %c0 to %n step %c1 {
    %t = tile.load %x[%c1, %i] dims [1] pad 0.0 : bf16 : !even -> tensor<1024xbf16>
    tile.store %t, %y[%c0, %i] dims [1] bounded : tensor<1024xbf16>, !even
  }
  scf.for %i = %c0 to %n step %c1 {
    %t = tile.load %x[%c1, %i] dims [1] pad 0.0 : bf16 : !even -> tensor<1024xbf16>
    tile.store %t, %y[%c1, %i] dims [1] bounded : tensor<1024xbf16>, !even
  }
  tile.return
}

// Unaligned rows are loaded by bulk copies with one mbarrier per tile, and every load has its own padding. An older
// chip goes through registers, and keeps only tiles with the same padding.
// CHECK-LABEL: tile.kernel @loose
// CHECK: %[[ROOM:.*]] = tile.alloc : <4, tensor<1024xbf16, #{{.*}}>, slack 8>
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <4>
// CHECK: %[[S:.*]] = tile.misalignment %x[%pid0, %{{.*}}] mod 8
// CHECK: scf.for %[[I:[a-z0-9]*]] =
// CHECK-NEXT: tile.bulk_load %x[%pid0, %[[I]]] dims [1] bounded into %[[ROOM]][%[[I]]] full %[[G]][%[[I]]]
// CHECK-NEXT: } {tile.one_thread}
// CHECK: scf.for %[[J:[a-z0-9]*]] =
// CHECK: tile.mbarrier_wait %[[G]][%[[J]]] phase %c0
// CHECK: tile.shared_load %[[ROOM]][%[[J]]] shift %[[S]] below %{{.*}} pad 0xFF80 : bf16
// CHECK-COUNT-2: tile.shared_load %[[ROOM]][%{{.*}}] shift %[[S]] below %{{.*}} pad 0.000000e+00 : bf16
// CHECK-NOT: tile.load
// OLD-LABEL: tile.kernel @loose
// OLD: tile.load {{.*}} pad 0xFF80
// OLD: tile.load {{.*}} pad 0.000000e+00
// OLD: tile.load {{.*}} pad 0.000000e+00
tile.kernel @loose(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %row = tile.program_id 0
  %low = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %low) -> (tensor<bf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0xFF80 : bf16 : !v -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %n = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %n : tensor<bf16>
  }
  %b = tile.broadcast %a dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %c4 step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %u = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %b) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    %e = tile.map add(%d, %u) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %e, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}

// Rows of aligned tiles need no slack. Padding overwrites what precedes the first element; reads of whole tiles then
// need none.
// CHECK-LABEL: tile.kernel @aligned
// CHECK: %[[ROW:.*]] = tile.aligned_row %x
// CHECK: %[[ROOM:.*]] = tile.alloc : <5, tensor<1024xbf16, #{{[a-z0-9]*}}>>
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <5>
// CHECK: tile.bulk_load %[[ROW]][%{{.*}}] dims [0] into %[[ROOM]]
// CHECK: tile.bulk_load %[[ROW]][%{{.*}}] dims [0] bounded into %[[ROOM]]
// CHECK: %[[S:.*]] = tile.misalignment %x[%pid0, %{{.*}}] mod 8
// CHECK: scf.if
// CHECK-NEXT: tile.mbarrier_wait %[[G]][%[[FIRST:.*]]] phase
// CHECK-NEXT: %[[N:.*]] = tile.dim %[[ROW]], 0
// CHECK-NEXT: %[[T:.*]] = tile.shared_load %[[ROOM]][%[[FIRST]]] from %[[S]] below %[[N]] pad 0xFF80 : bf16
// CHECK-NEXT: tile.shared_store %[[T]], %[[ROOM]][%[[FIRST]]]
// CHECK: scf.for
// CHECK: tile.shared_load %[[ROOM]][%{{[a-z0-9]*}}] :
// CHECK: scf.for
// CHECK: tile.shared_load %[[ROOM]][%{{[a-z0-9]*}}] below %{{.*}} pad 0xFF80 : bf16
// CHECK: scf.for
// CHECK: tile.shared_load %[[ROOM]][%{{[a-z0-9]*}}] :
// CHECK: scf.for
// CHECK: tile.shared_load %[[ROOM]][%{{[a-z0-9]*}}] below %{{.*}} pad 0xFF80 : bf16
// CHECK-NOT: tile.load
// OLD-LABEL: tile.kernel @aligned
// OLD: %[[T:.*]] = tile.load %{{.*}} dims [0] pad 0xFF80
// OLD-NEXT: tile.shared_store %[[T]]
!wide = !tile.view<?x4095xbf16, strides = [4095, 1]>
!row = !tile.view<?xbf16, strides = [1]>
tile.kernel @aligned(%x: !wide, %y: !wide) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %pid0 = tile.program_id 0
  %rx = tile.aligned_row %x[%pid0] dim 1 : !wide -> !row
  %ry = tile.aligned_row %y[%pid0] dim 1 : !wide -> !row
  %n = tile.dim %rx, 0 : !row
  %whole = arith.divui %n, %c1024 : index
  %all = arith.ceildivsi %n, %c1024 : index
  %lowest = tile.constant 0xFF80 : bf16 : tensor<bf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %lowest) -> (tensor<bf16>) {
    %t = tile.load %rx[%i] dims [0] pad 0xFF80 : bf16 : !row -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %m = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %m : tensor<bf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<bf16>) {
    %t = tile.load %rx[%i] dims [0] pad 0xFF80 : bf16 : !row -> tensor<1024xbf16>
    %r = tile.reduce max %t dims [0] : tensor<1024xbf16> -> tensor<bf16>
    %m = tile.map maximum(%s, %r) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    scf.yield %m : tensor<bf16>
  }
  %m = tile.broadcast %b dims [] : tensor<bf16> -> tensor<1024xbf16>
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %rx[%i] dims [0] pad 0xFF80 : bf16 : !row -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %ry[%i] dims [0] bounded : tensor<1024xbf16>, !row
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %rx[%i] dims [0] pad 0xFF80 : bf16 : !row -> tensor<1024xbf16>
    %d = tile.map sub(%t, %m) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %ry[%i] dims [0] bounded : tensor<1024xbf16>, !row
  }
  tile.return
}
