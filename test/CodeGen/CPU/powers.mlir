// RUN: %tessera_opt %s -tessera-attach-target=chip=x86-64-v3 -tile-expand-math -convert-tile-to-cpu=target=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,EXPANDED
// RUN: %tessera_opt %s -tessera-attach-target=chip=aarch64 -tile-expand-math -convert-tile-to-cpu=target=aarch64 | FileCheck %s

// A sum of powers stops where its row does: beyond the edge they are those of -inf, whatever the row is scaled and
// shifted by.
// CHECK-LABEL: tessera_target.kernel @powers
// CHECK: %[[VALID:.*]] = llvm.intr.smax(
// CHECK: llvm.urem
// CHECK: %[[WHOLE:.*]] = llvm.sub
// CHECK: %[[LEAST:.*]] = llvm.intr.smin(%[[WHOLE]],
// CHECK: %[[END:.*]] = llvm.intr.smin(%[[LEAST]],
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
// EXPANDED: llvm.shl %{{.*}} : vector<8xi32>
!v = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @powers(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %scale = tile.constant 1.5 : f32 : tensor<4096xf32>
  %one = tile.constant 1.0 : f32 : tensor<f32>
  %t = tile.load %x[%i, %c0] dims [1] pad 0xFF800000 : f32 : !v -> tensor<4096xf32>
  %shift = tile.broadcast %one dims [] : tensor<f32> -> tensor<4096xf32>
  %minus = tile.map neg(%shift) : (tensor<4096xf32>) -> tensor<4096xf32>
  %moved = tile.map fma(%t, %scale, %minus) : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %power = tile.map exp2(%moved) fast : (tensor<4096xf32>) -> tensor<4096xf32>
  %sum = tile.reduce sum %power dims [0] : tensor<4096xf32> -> tensor<f32>
  tile.store %sum, %y[%i, %c0] dims [] : tensor<f32>, !v
  tile.return
}
