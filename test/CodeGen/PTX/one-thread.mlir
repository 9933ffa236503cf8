// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -print-ptx -o /dev/null | FileCheck %s

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<?x?xbf16, strides = [?, 1]>
!b = !tile.buffer<4, tensor<128xbf16, #memory>, slack 8>

// The other threads branch around the loop.
// CHECK-LABEL: .entry marked(
// CHECK: setp.ne.b32 %[[OTHER:p[0-9]+]], %r{{[0-9]+}}, 0;
// CHECK-NEXT: @%[[OTHER]] bra
// CHECK-NOT: @%[[OTHER]] bra
// CHECK: cp.async.bulk.shared::cluster.global
// CHECK-NOT: @%[[OTHER]] bra
tile.kernel @marked(%x: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc offset 0 : !b
  %g = tile.mbarrier_alloc offset 2048 : <4>
  scf.for %i = %c0 to %n step %c1 {
    tile.bulk_load %x[%c0, %i] dims [1] bounded into %b[%i] full %g[%i] : !v, !b, <4>
  } {tile.one_thread}
  tile.return
}

// All threads run the loop, and branch around the copy in each iteration.
// CHECK-LABEL: .entry plain(
// CHECK: setp.ne.b32 %[[THREAD:p[0-9]+]], %r{{[0-9]+}}, 0;
// CHECK: @%[[THREAD]] bra
// CHECK: cp.async.bulk.shared::cluster.global
// CHECK: @%[[THREAD]] bra
tile.kernel @plain(%x: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc offset 0 : !b
  %g = tile.mbarrier_alloc offset 2048 : <4>
  scf.for %i = %c0 to %n step %c1 {
    tile.bulk_load %x[%c0, %i] dims [1] bounded into %b[%i] full %g[%i] : !v, !b, <4>
  }
  tile.return
}
