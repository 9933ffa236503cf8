// RUN: %tessera_opt %s -tile-assign-layouts=warpgroups=true -tile-fetch-tiles=slots=3 -tile-expand-exchanges -tile-defer-products | FileCheck %s
// RUN: %tessera_opt %s -tile-assign-layouts=warpgroups=true -tile-fetch-tiles=slots=3 -tile-expand-exchanges -tile-defer-products -tile-group-products -tile-allocate-shared -tile-place-barriers | FileCheck %s --check-prefix=GROUPS
// RUN: %tessera_opt %s -tile-assign-layouts=warpgroups=true -tile-fetch-tiles=slots=2 -tile-expand-exchanges -tile-defer-products | FileCheck %s --check-prefix=FEW

// The second product takes what the turn before has made, from that turn's slot, behind the first product; the slot is filled again behind it.
// Behind the loop one product is left, if there was a turn. With two slots the next tiles would come too late.
// CHECK-LABEL: tile.kernel @stream
// CHECK: %[[NONE:.*]] = tile.constant 0.000000e+00 : bf16
// CHECK: %[[R:.*]]:6 = scf.for {{.*}} iter_args(%[[ACC:[^ ]*]] = %{{[^ ]*}}, %[[SLOT:[^ ]*]] = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %[[P:[^ ]*]] = %[[NONE]], %[[OLD:[^ ]*]] = %{{[^ ]*}})
// CHECK: %[[S:.*]] = tile.mma
// CHECK-NEXT: %[[V:.*]] = tile.read %[[B:.*]][%[[OLD]]]
// CHECK-NEXT: %[[SUM:.*]] = tile.mma %[[P]], %[[V]], %[[ACC]]
// CHECK-NEXT: scf.if
// CHECK-COUNT-2: tile.fetch
// CHECK: %[[E:.*]] = tile.map exp2(%[[S]])
// CHECK: %[[SCALED:.*]] = tile.map mul(%[[SUM]], %[[SUM]])
// CHECK: %[[NEXT:.*]] = tile.cast %[[E]]
// CHECK-NOT: tile.mma
// CHECK: scf.yield %[[SCALED]], %{{.*}}, %{{.*}}, %{{.*}}, %[[NEXT]], %[[SLOT]]
// CHECK: %[[ANY:.*]] = arith.cmpi slt
// CHECK-NEXT: %[[DONE:.*]] = scf.if %[[ANY]]
// CHECK-NEXT: %[[LV:.*]] = tile.read %[[B]][%[[R]]#5]
// CHECK-NEXT: tile.mma %[[R]]#4, %[[LV]], %[[R]]#0
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[R]]#0
// CHECK: tile.store

// Groups of warps have both products under way at once; the scores are waited for while the other one goes on.
// GROUPS-LABEL: tile.kernel @stream
// GROUPS: scf.for
// GROUPS: tile.await
// GROUPS: %[[S:.*]] = tile.mma_async %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}]
// GROUPS-NEXT: tile.mma_commit
// GROUPS-NEXT: tile.mma_fence
// GROUPS-NEXT: %[[O:.*]] = tile.mma_async %{{[^[]*}}, %{{.*}}[%{{.*}}]
// GROUPS-NEXT: tile.mma_commit
// GROUPS-NEXT: tile.mma_wait 1, %[[S]]
// GROUPS-NOT: tile.barrier
// GROUPS: tile.map exp2
// GROUPS: tile.mma_wait 0, %[[O]]
// GROUPS-NEXT: tile.barrier
// GROUPS-NEXT: scf.if
// GROUPS-NEXT: tile.fetch
// GROUPS: scf.yield

// FEW-LABEL: tile.kernel @stream
// FEW-NOT: scf.if {{.*}} -> (tensor
!q = !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>
!o = !tile.view<?x64xf32, strides = [64, 1]>
tile.kernel @stream(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 hints {bulk = 1, warps = 4, warpgroups = 1} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %scaled = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %scaled : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}
