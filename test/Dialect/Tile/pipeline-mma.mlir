// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-pipeline-mma | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-pipeline-mma -tile-lower-wgmma -tile-allocate-shared -tile-place-barriers | FileCheck %s --check-prefix=PLACED

// The peeled first iteration has its first MMA only. Each iteration of the loop starts the second MMA of the previous
// iteration after its own first one, and refills that iteration's stage at the first use of the accumulator. The last
// MMA follows the loop. A loop without iterations yields its initial values.
// CHECK-LABEL: tile.kernel @stream
// CHECK: %[[G:.*]] = tile.mbarrier_alloc : <4>
// CHECK: %[[H:.*]] = tile.mbarrier_alloc : <4>
// CHECK: %{{.*}}:4 = scf.if
// CHECK: tile.mbarrier_wait %[[G]]
// CHECK: tile.mma
// CHECK-NOT: tile.mma
// CHECK: %[[P0:.*]] = tile.cast
// CHECK: %[[R:.*]]:7 = scf.for {{.*}} iter_args(%[[ACC:[^ ]*]] = %{{[^ ]*}}, %[[SLOT:[^ ]*]] = %{{[^ ]*}}, %[[FREE:[^ ]*]] = %{{[^ ]*}}, %[[TURN:[^ ]*]] = %{{[^ ]*}}, %[[P:[^ ]*]] = %[[P0]], %[[BEFORE:[^ ]*]] = %{{[^ ]*}}, %[[LAST:[^ ]*]] = %{{[^ ]*}})
// CHECK: tile.mbarrier_wait %[[G]][%[[SLOT]]] phase %[[TURN]]
// CHECK: tile.tma_load %k{{.*}}[%[[FREE]]] full %[[G]]
// CHECK: tile.mma
// CHECK-NEXT: tile.mbarrier_wait %[[H]][%[[BEFORE]]] phase %[[LAST]]
// CHECK-NEXT: %[[V:.*]] = tile.shared_load %{{.*}}[%[[BEFORE]]]
// CHECK-NEXT: %[[NEXT:.*]] = tile.mma %[[P]], %[[V]], %[[ACC]]
// CHECK: %[[HALF:.*]] = tile.map mul(%[[NEXT]], %[[NEXT]])
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.tma_load %v{{.*}}[%[[FREE]]] full %[[H]]
// CHECK: %[[Q:.*]] = tile.cast
// CHECK: scf.yield %[[HALF]], %{{.*}}, %{{.*}}, %{{.*}}, %[[Q]], %[[SLOT]], %[[TURN]]
// CHECK: tile.mbarrier_wait %[[H]][%[[R]]#5] phase %[[R]]#6
// CHECK: %[[DONE:.*]] = tile.mma %[[R]]#4, %{{.*}}, %[[R]]#0
// CHECK: scf.yield %[[DONE]]
// CHECK: else
// CHECK-NEXT: scf.yield

// One barrier per iteration is enough, after both waits.
// PLACED-LABEL: tile.kernel @stream
// PLACED: scf.for
// PLACED-NOT: tile.barrier
// PLACED: tile.wgmma %
// PLACED: tile.wgmma %
// PLACED: tile.wgmma_commit
// PLACED-NEXT: tile.wgmma_wait 1, %
// PLACED-NOT: tile.barrier
// PLACED: tile.wgmma_wait 0, %
// PLACED: tile.barrier
// PLACED-NEXT: scf.if
// PLACED-NEXT: tile.tma_load %v
// PLACED-NOT: tile.barrier
// PLACED: scf.yield
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

// Not if the iteration reads the accumulator before its first MMA.
// CHECK-LABEL: tile.kernel @early
// CHECK: scf.for
// CHECK-NOT: scf.for
tile.kernel @early(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %half = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}
