// A CTA keeps some tiles of a row, whole ones and a partial one after them. Each loop is split at the same tile; the
// tiles before it are loaded and kept, and the result is stored from there.
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows=shared-bytes=8400 | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows=shared-bytes=8400 -tile-bulk-store-rows | FileCheck %s --check-prefix=SENT

!v = !tile.view<?x?xbf16, strides = [?, 1]>

func.func @host(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, bf16>
    attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 1 : i64, max = 6144 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @double grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes ["floordiv(N, 1024)", "ceildiv(N, 1024)"]
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}

// CHECK-LABEL: tile.kernel @double
// CHECK: %[[WHOLE:.*]] = arith.minsi %whole, %{{.*}} : index
// CHECK: %[[ALL:.*]] = arith.minsi %all, %{{.*}} : index
// CHECK: %[[REST:.*]] = arith.maxsi %whole, %{{.*}} : index
// CHECK: %[[ROOM:.*]] = tile.alloc : <4, tensor<1024xbf16, #{{.*}}>, slack 8>
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]]
// CHECK-NEXT: tile.bulk_load {{.*}} into %[[ROOM]]
// CHECK: scf.for %{{.*}} = %whole to %[[ALL]]
// CHECK-NEXT: tile.bulk_load {{.*}} bounded into %[[ROOM]]
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]]
// CHECK: tile.shared_load %[[ROOM]]
// CHECK: scf.for
// CHECK: tile.load
// CHECK: scf.for %{{.*}} = %whole to %[[ALL]]
// CHECK: tile.shared_load %[[ROOM]]
// CHECK: scf.for %{{.*}} = %[[REST]] to %all
// CHECK: tile.load

// SENT-LABEL: tile.kernel @double
// SENT: %[[ROOM:.*]] = tile.alloc : <4, tensor<1024xbf16, #{{.*}}>, slack 8>
// SENT: tile.shared_store {{.*}}, %[[ROOM]][%[[I:.*]]] shift
// SENT: tile.bulk_store %[[ROOM]][%[[I]]]
// SENT: tile.shared_store {{.*}}, %[[ROOM]][%[[J:.*]]] shift
// SENT: tile.bulk_store %[[ROOM]][%[[J]]] {{.*}} bounded
// SENT: tile.bulk_wait %[[ROOM]], 0
// SENT-NEXT: tile.return
tile.kernel @double(%x: !v, %y: !v, %whole: index, %all: index) grid 1 launch <num_warps = 4> tuning <min_ctas_per_sm = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = tile.program_id 0
  %z = tile.constant 0.0 : bf16 : tensor<1024xbf16>
  %a = scf.for %i = %c0 to %whole step %c1 iter_args(%s = %z) -> (tensor<1024xbf16>) {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %n = tile.map add(%s, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    scf.yield %n : tensor<1024xbf16>
  }
  %b = scf.for %i = %whole to %all step %c1 iter_args(%s = %a) -> (tensor<1024xbf16>) {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %n = tile.map add(%s, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    scf.yield %n : tensor<1024xbf16>
  }
  scf.for %i = %c0 to %whole step %c1 {
    %t = tile.load %x[%row, %i] dims [1] : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %b) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] : tensor<1024xbf16>, !v
  }
  scf.for %i = %whole to %all step %c1 {
    %t = tile.load %x[%row, %i] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
    %d = tile.map sub(%t, %b) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
    tile.store %d, %y[%row, %i] dims [1] bounded : tensor<1024xbf16>, !v
  }
  tile.return
}
