// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=CODE
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 | FileCheck %s --check-prefix=LANES

// A reduction stops where its row does: its loop runs up to the valid elements, rounded up to whole steps, not to the
// tile's 4096. What the last step takes too much is replaced by the unit.
// CHECK-LABEL: tessera_target.kernel @normalize
// CHECK: scf.for
// CHECK: %[[LEFT:.*]] = llvm.intr.smin({{.*}}) : (i64, i64) -> i64
// CHECK: %[[VALID:.*]] = llvm.intr.smax(%[[LEFT]],
// CHECK: %[[FULL:.*]] = llvm.icmp "sge" %[[VALID]],
// CHECK: scf.if %[[FULL]]
// CHECK-NOT: llvm.select
// CHECK: } else {
// CHECK: %[[EDGE:.*]] = llvm.sub %[[VALID]],
// CHECK: llvm.select
// Where masked accesses are no instructions, vectors that lie inside are loaded and stored as a whole, others half by
// half.
// LANES: scf.if %{{.*}} -> (vector<4xf32>) {
// LANES-NEXT: llvm.load
// LANES: } else {
// LANES-NOT: llvm.intr.masked.load
// LANES: llvm.load {{.*}} -> vector<2xf32>
// CODE: vaddps {{.*}}zmm
// CODE-NOT: call
!v = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @normalize(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<4096xf32>
  %sum = tile.reduce sum %t dims [0] : tensor<4096xf32> -> tensor<f32>
  %all = tile.broadcast %sum dims [] : tensor<f32> -> tensor<4096xf32>
  %q = tile.map div(%t, %all) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  tile.store %q, %y[%i, %c0] dims [1] bounded : tensor<4096xf32>, !v
  tile.return
}
