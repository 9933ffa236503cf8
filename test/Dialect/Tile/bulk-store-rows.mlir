// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows -tile-bulk-store-rows | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows -tile-bulk-store-rows -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers | FileCheck %s --check-prefix=PLACED
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-store-rows=shared-bytes=1024 | FileCheck %s --check-prefix=SMALL

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!f = !tile.view<?x?xf32, strides = [?, 1]>

func.func @host(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, bf16> attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 1 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @back grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  %1 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @twice grid ["M"] (%x, %0, %1) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}

// The result is stored through the stage that its row was loaded into: both have the same misalignment.
// CHECK-LABEL: tile.kernel @back
// CHECK: %[[ROOM:.*]] = tile.alloc
// CHECK-NOT: tile.alloc
// CHECK: %[[S:.*]] = tile.misalignment
// CHECK: tile.shared_load %[[ROOM]][%[[SLOT:.*]]] shift %[[S]]
// CHECK: tile.shared_store %{{.*}}, %[[ROOM]][%[[SLOT]]] shift %[[S]]
// CHECK-NEXT: tile.bulk_store %[[ROOM]][%[[SLOT]]] to %y[%pid0, %{{.*}}] dims [1] bounded
// CHECK-NEXT: tile.bulk_wait %[[ROOM]], 0
// CHECK-NEXT: tile.return
// PLACED-LABEL: tile.kernel @back
// PLACED: tile.mbarrier_alloc offset
// PLACED: tile.bulk_load
// PLACED: tile.barrier
// PLACED-NEXT: tile.mbarrier_wait
// PLACED: tile.shared_store
// PLACED-NEXT: tile.fence_proxy_async
// PLACED-NEXT: tile.barrier{{$}}
// PLACED-NEXT: tile.bulk_store
// PLACED-NEXT: tile.bulk_wait
tile.kernel @back(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %d = tile.map add(%t, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}

// A stage in use by a bulk store is not written again: the second result has its own.
// CHECK-LABEL: tile.kernel @twice
// CHECK: %[[ROOM:.*]] = tile.alloc
// CHECK: tile.shared_store %{{.*}}, %[[ROOM]][
// CHECK-NEXT: tile.bulk_store %[[ROOM]][%{{.*}}] to %y[
// CHECK: %[[OTHER:.*]] = tile.alloc
// CHECK-NOT: %[[ROOM]]
// CHECK: tile.shared_store %{{.*}}, %[[OTHER]][
// CHECK-NEXT: tile.bulk_store %[[OTHER]][%{{.*}}] to %z[
tile.kernel @twice(%x: !v, %y: !v, %z: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %d = tile.map add(%t, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  %e = tile.map mul(%t, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.store %e, %z[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}

// The CTAs of a cluster store the parts that they hold; what all of them hold, one stores.
// CHECK-LABEL: tile.kernel @shared
// CHECK: tile.bulk_store {{.*}} to %y[
// CHECK-NOT: tile.bulk_store
// CHECK: tile.store {{.*}}, %z[
tile.kernel @shared(%x: !v, %y: !v, %z: !v) grid 1 launch <num_warps = 4, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<2048xbf16>
  %u = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  tile.store %t, %y[%i, %c0] dims [1] bounded : tensor<2048xbf16>, !v
  tile.store %u, %z[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}

// A row of another type has a stage of its own; in a loop it has three, so that one barrier per iteration is enough.
// CHECK-LABEL: tile.kernel @apart
// CHECK: %[[ROOM:.*]] = tile.alloc : <3, tensor<1024xf32, #{{.*}}>, slack 4>
// CHECK: %[[S:.*]] = tile.misalignment %y
// CHECK: scf.for {{.*}}, %[[SLOT:[a-z0-9]*]] = %{{[a-z0-9_]*}}) -> (index, index, index, index)
// CHECK: tile.shared_store %{{.*}}, %[[ROOM]][%[[SLOT]]] shift %[[S]]
// CHECK-NEXT: tile.bulk_wait %[[ROOM]], 1
// CHECK-NEXT: tile.bulk_store %[[ROOM]][%[[SLOT]]] to %y
// CHECK: }
// CHECK-NEXT: tile.bulk_wait %[[ROOM]], 0
// PLACED-LABEL: tile.kernel @apart
// PLACED: tile.barrier
// PLACED: scf.for
// PLACED: tile.shared_store
// PLACED-NEXT: tile.bulk_wait
// PLACED-NEXT: tile.fence_proxy_async
// PLACED-NEXT: tile.barrier{{$}}
// PLACED-NEXT: tile.bulk_store
// SMALL-LABEL: tile.kernel @apart
// SMALL: tile.store
tile.kernel @apart(%x: !v, %y: !f, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0
  scf.for %k = %c0 to %n step %c1 {
    %t = tile.load %x[%i, %k] dims [1] : !v -> tensor<1024xbf16>
    %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
    tile.store %f, %y[%i, %k] dims [1] : tensor<1024xf32>, !f
  }
  tile.return
}

// In a loop from row to row, each result has another misalignment, in one of three stages of the store.
// CHECK-LABEL: tile.kernel @walk
// CHECK: tile.alloc : <4, tensor<1024xbf16
// CHECK: %[[OWN:.*]] = tile.alloc : <3, tensor<1024xbf16
// CHECK: scf.for %[[ROW:[a-z0-9]*]] = {{.*}} %[[SLOT:[a-z0-9]*]] = %{{[a-z0-9_]*}}) ->
// CHECK: %[[S:.*]] = tile.misalignment %y[%[[ROW]], %{{.*}}] mod 8
// CHECK-NEXT: tile.shared_store %{{.*}}, %[[OWN]][%[[SLOT]]] shift %[[S]]
// CHECK-NEXT: tile.bulk_wait %[[OWN]], 1
// CHECK-NEXT: tile.bulk_store %[[OWN]][%[[SLOT]]] to %y[%[[ROW]], %c0] dims [1] bounded
// CHECK: }
// CHECK-NEXT: tile.bulk_wait %[[OWN]], 0
// CHECK-NEXT: tile.return
// SMALL-LABEL: tile.kernel @walk
// SMALL-NOT: tile.bulk_store
tile.kernel @walk(%x: !v, %y: !v, %first: index, %end: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %first to %end step %c1 {
    %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map add(%t, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}
