// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 | FileCheck %s

// A row that is the same for all programs is converted before the first of them, where it is worth a place in memory.
// CHECK-LABEL: tessera_target.kernel @shared
// CHECK: ^bb0(%{{.*}}: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64, %{{.*}}: !llvm.ptr):
// CHECK: scf.for
// CHECK: llvm.fpext {{.*}} vector<4xf16> to vector<4xf32>
// CHECK: llvm.store
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK-NOT: llvm.fpext
!m = !tile.view<?x256xf32, strides = [256, 1]>
!w = !tile.view<?x256xf16, strides = [256, 1]>
tile.kernel @shared(%x: !m, %w: !w, %y: !m) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %row = tile.load %w[%c0, %c0] dims [1] : !w -> tensor<256xf16>
  %wide = tile.cast %row : tensor<256xf16> -> tensor<256xf32>
  %all = tile.broadcast %wide dims [1] : tensor<256xf32> -> tensor<4x256xf32>
  %t = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : !m -> tensor<4x256xf32>
  %p = tile.map mul(%t, %all) : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  tile.store %p, %y[%i, %c0] dims [0, 1] bounded : tensor<4x256xf32>, !m
  tile.return
}

// Each program has a row of its own.
// CHECK-LABEL: tessera_target.kernel @own
// CHECK: ^bb0(%{{.*}}: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64, %{{.*}}: !llvm.ptr):
// CHECK-NOT: llvm.fpext
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK: llvm.fpext
tile.kernel @own(%x: !m, %w: !w, %y: !m) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %row = tile.load %w[%i, %c0] dims [1] : !w -> tensor<256xf16>
  %wide = tile.cast %row : tensor<256xf16> -> tensor<256xf32>
  %all = tile.broadcast %wide dims [1] : tensor<256xf32> -> tensor<4x256xf32>
  %t = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : !m -> tensor<4x256xf32>
  %p = tile.map mul(%t, %all) : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  tile.store %p, %y[%i, %c0] dims [0, 1] bounded : tensor<4x256xf32>, !m
  tile.return
}

// A program writes what the next one reads.
// CHECK-LABEL: tessera_target.kernel @written
// CHECK: ^bb0(%{{.*}}: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64, %{{.*}}: !llvm.ptr):
// CHECK-NOT: llvm.fpext
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK: llvm.fpext
tile.kernel @written(%x: !m, %w: !w, %y: !m) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %row = tile.load %w[%c0, %c0] dims [1] : !w -> tensor<256xf16>
  %wide = tile.cast %row : tensor<256xf16> -> tensor<256xf32>
  %all = tile.broadcast %wide dims [1] : tensor<256xf32> -> tensor<4x256xf32>
  %t = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : !m -> tensor<4x256xf32>
  %p = tile.map mul(%t, %all) : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  tile.store %p, %y[%i, %c0] dims [0, 1] bounded : tensor<4x256xf32>, !m
  %next = tile.map neg(%wide) : (tensor<256xf32>) -> tensor<256xf32>
  %narrow = tile.cast %next : tensor<256xf32> -> tensor<256xf16>
  tile.store %narrow, %w[%c0, %c0] dims [1] : tensor<256xf16>, !w
  tile.return
}
