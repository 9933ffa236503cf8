// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 | FileCheck %s

// A buffer's address is computed once for all programs. Behind the edge of a row, where each vector is compared with it,
// LLVM knows nothing of the loop's index; before it, where all the time is spent, it does.
// CHECK-LABEL: tessera_target.kernel @rows
// CHECK: ^bb0(%[[ARGS:.*]]: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64, %[[ENV:.*]]: !llvm.ptr):
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[ENV]][8]
// CHECK-NEXT: %[[SCRATCH:.*]] = llvm.load %[[SLOT]]
// CHECK-NEXT: %[[SECOND:.*]] = llvm.getelementptr %[[SCRATCH]][64]
// CHECK-NEXT: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK-NOT: llvm.getelementptr %[[SCRATCH]]
// CHECK-NOT: llvm.inline_asm
// CHECK: scf.for
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.store %{{.*}}, %[[SECOND]]
// CHECK: } else {
// CHECK: scf.for
// CHECK-NOT: llvm.inline_asm
// CHECK: scf.for
// CHECK-NEXT: llvm.inline_asm "", "=r,0"
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.store %{{.*}}, %[[SECOND]]
!v = !tile.view<?x?xf32, strides = [?, 1]>
!r = !tile.view<?xf32, strides = [1]>
tile.kernel @rows(%x: !v, %y: !r, %z: !r) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 1.0 : f32 : !v -> tensor<256xf32>
  %sum = tile.reduce sum %t dims [0] : tensor<256xf32> -> tensor<f32>
  %most = tile.reduce max %t dims [0] : tensor<256xf32> -> tensor<f32>
  tile.store %sum, %y[%i] dims [] : tensor<f32>, !r
  tile.store %most, %z[%i] dims [] : tensor<f32>, !r
  tile.return
}
