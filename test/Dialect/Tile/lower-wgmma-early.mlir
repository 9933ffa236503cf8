// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-lower-wgmma | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-lower-wgmma -o /dev/null --remarks-filter-missed="tile-lower-wgmma" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s --check-prefix=MISSED

!r = !tile.view<?xf32, strides = [1], divisors = [64]>

// A tile and its transpose are in one stage. The second contraction of two stages starts after the first one, before
// anything waits for it. Both contractions with lhs in registers start when no other one runs, and the next iteration
// waits for them at once.
// CHECK-LABEL: tile.kernel @both
// CHECK: %[[Q:.*]] = tile.alloc : <2, tensor<64x64xbf16
// CHECK: %[[ROWS:.*]] = tile.alloc : <2, tensor<64xf32
// CHECK: %[[G:.*]] = tile.alloc : <2, tensor<64x64xbf16
// CHECK: tile.mbarrier_alloc arrivals 3 : <2>
// CHECK-NOT: tile.mbarrier_alloc
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[STAGE:.*]] = %{{.*}}, %[[FREE:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: tile.mbarrier_wait
// CHECK: %[[S:.*]] = tile.wgmma %{{.*}}, %[[Q]][%[[STAGE]]], %{{[a-z0-9_]*}} :
// CHECK-NEXT: tile.wgmma_commit
// CHECK-NEXT: %[[SUMS:.*]]:2 = tile.wgmma_wait 0, %[[A]], %[[B]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.tma_load %q{{.*}} into %[[Q]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %r{{.*}} into %[[ROWS]][%[[FREE]]]
// CHECK-NEXT: tile.tma_load %g{{.*}} into %[[G]][%[[FREE]]]
// CHECK: %[[D:.*]] = tile.wgmma %{{.*}}, %[[G]][%[[STAGE]]], %{{.*}} rhs_transposed :
// CHECK-NEXT: tile.wgmma_commit
// CHECK: tile.wgmma_wait 1, %[[S]]
// CHECK: tile.map exp2
// CHECK: %[[P:.*]] = tile.cast
// CHECK: tile.wgmma_wait 0, %[[D]]
// CHECK: tile.map mul
// CHECK: %[[H:.*]] = tile.cast
// CHECK: %[[NA:.*]] = tile.wgmma %[[P]], %[[G]][%[[STAGE]]], %[[SUMS]]#0 :
// CHECK: %[[NB:.*]] = tile.wgmma %[[H]], %[[Q]][%[[STAGE]]], %[[SUMS]]#1 rhs_transposed :
// CHECK-NEXT: tile.wgmma_commit
// CHECK: scf.yield %[[NA]], %[[NB]]
tile.kernel @both(%k: !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>, %q: !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>, %r: !r, %g: !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>, %v: !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>, %dv: !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>, %dk: !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>, %n: index) grid 1 launch <num_warps = 4> tuning <num_stages = 2, use_tma = 1, wgmma = 1> {
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %none = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pid0 = tile.program_id 0
  %kt = tile.load %k[%pid0, %c0] dims [0, 1] : <?x64xbf16, strides = [64, 1], divisors = [64, 64]> -> tensor<64x64xbf16>
  %vt = tile.load %v[%pid0, %c0] dims [0, 1] : <?x64xbf16, strides = [64, 1], divisors = [64, 64]> -> tensor<64x64xbf16>
  %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %none, %b = %none) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %qt = tile.load %q[%i, %c0] dims [1, 0] : <?x64xbf16, strides = [64, 1], divisors = [64, 64]> -> tensor<64x64xbf16>
    %s = tile.mma %kt, %qt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %row = tile.load %r[%i] dims [0] : <?xf32, strides = [1], divisors = [64]> -> tensor<64xf32>
    %rows = tile.broadcast %row dims [1] : tensor<64xf32> -> tensor<64x64xf32>
    %x = tile.map sub(%s, %rows) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%x) fast : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %gr = tile.load %g[%i, %c0] dims [0, 1] : <?x64xbf16, strides = [64, 1], divisors = [64, 64]> -> tensor<64x64xbf16>
    %na = tile.mma %p, %gr, %a : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %gt = tile.load %g[%i, %c0] dims [1, 0] : <?x64xbf16, strides = [64, 1], divisors = [64, 64]> -> tensor<64x64xbf16>
    %d = tile.mma %vt, %gt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = tile.map mul(%e, %d) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %h = tile.cast %f : tensor<64x64xf32> -> tensor<64x64xbf16>
    %qr = tile.load %q[%i, %c0] dims [0, 1] : <?x64xbf16, strides = [64, 1], divisors = [64, 64]> -> tensor<64x64xbf16>
    %nb = tile.mma %h, %qr, %b : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %na, %nb : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %oa = tile.cast %sums#0 : tensor<64x64xf32> -> tensor<64x64xbf16>
  tile.store %oa, %dv[%pid0, %c0] dims [0, 1] : tensor<64x64xbf16>, <?x64xbf16, strides = [64, 1], divisors = [64, 64]>
  %ob = tile.cast %sums#1 : tensor<64x64xf32> -> tensor<64x64xbf16>
  tile.store %ob, %dk[%pid0, %c0] dims [0, 1] : tensor<64x64xbf16>, <?x64xbf16, strides = [64, 1], divisors = [64, 64]>
  tile.return
}

// Accumulators that leave no registers for two results: the contractions stay where they are.
// MISSED: it could run beside an earlier contraction, for which 368 registers per thread are needed, and 128 threads have 255
// CHECK-LABEL: tile.kernel @wide
// CHECK: tile.wgmma_commit
// CHECK: tile.map exp2
// CHECK: tile.wgmma %{{.*}}, %{{.*}} :
// CHECK: tile.wgmma %{{.*}} rhs_transposed :
tile.kernel @wide(%k: !tile.view<?x256xbf16, strides = [256, 1], divisors = [64, 64]>, %q: !tile.view<?x256xbf16, strides = [256, 1], divisors = [64, 64]>, %r: !r, %g: !tile.view<?x256xbf16, strides = [256, 1], divisors = [64, 64]>, %v: !tile.view<?x256xbf16, strides = [256, 1], divisors = [64, 64]>, %dv: !tile.view<?x256xbf16, strides = [256, 1], divisors = [64, 64]>, %dk: !tile.view<?x256xbf16, strides = [256, 1], divisors = [64, 64]>, %n: index) grid 1 launch <num_warps = 4> tuning <num_stages = 2, use_tma = 1, wgmma = 1> {
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %none = tile.constant 0.0 : f32 : tensor<64x256xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pid0 = tile.program_id 0
  %kt = tile.load %k[%pid0, %c0] dims [0, 1] : <?x256xbf16, strides = [256, 1], divisors = [64, 64]> -> tensor<64x256xbf16>
  %vt = tile.load %v[%pid0, %c0] dims [0, 1] : <?x256xbf16, strides = [256, 1], divisors = [64, 64]> -> tensor<64x256xbf16>
  %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %none, %b = %none) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
    %qt = tile.load %q[%i, %c0] dims [1, 0] : <?x256xbf16, strides = [256, 1], divisors = [64, 64]> -> tensor<256x64xbf16>
    %s = tile.mma %kt, %qt, %zero : (tensor<64x256xbf16>, tensor<256x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %row = tile.load %r[%i] dims [0] : <?xf32, strides = [1], divisors = [64]> -> tensor<64xf32>
    %rows = tile.broadcast %row dims [1] : tensor<64xf32> -> tensor<64x64xf32>
    %x = tile.map sub(%s, %rows) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%x) fast : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %gr = tile.load %g[%i, %c0] dims [0, 1] : <?x256xbf16, strides = [256, 1], divisors = [64, 64]> -> tensor<64x256xbf16>
    %na = tile.mma %p, %gr, %a : (tensor<64x64xbf16>, tensor<64x256xbf16>, tensor<64x256xf32>) -> tensor<64x256xf32>
    %gt = tile.load %g[%i, %c0] dims [1, 0] : <?x256xbf16, strides = [256, 1], divisors = [64, 64]> -> tensor<256x64xbf16>
    %d = tile.mma %vt, %gt, %zero : (tensor<64x256xbf16>, tensor<256x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = tile.map mul(%e, %d) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %h = tile.cast %f : tensor<64x64xf32> -> tensor<64x64xbf16>
    %qr = tile.load %q[%i, %c0] dims [0, 1] : <?x256xbf16, strides = [256, 1], divisors = [64, 64]> -> tensor<64x256xbf16>
    %nb = tile.mma %h, %qr, %b : (tensor<64x64xbf16>, tensor<64x256xbf16>, tensor<64x256xf32>) -> tensor<64x256xf32>
    scf.yield %na, %nb : tensor<64x256xf32>, tensor<64x256xf32>
  }
  %oa = tile.cast %sums#0 : tensor<64x256xf32> -> tensor<64x256xbf16>
  tile.store %oa, %dv[%pid0, %c0] dims [0, 1] : tensor<64x256xbf16>, <?x256xbf16, strides = [256, 1], divisors = [64, 64]>
  %ob = tile.cast %sums#1 : tensor<64x256xf32> -> tensor<64x256xbf16>
  tile.store %ob, %dk[%pid0, %c0] dims [0, 1] : tensor<64x256xbf16>, <?x256xbf16, strides = [256, 1], divisors = [64, 64]>
  tile.return
}
