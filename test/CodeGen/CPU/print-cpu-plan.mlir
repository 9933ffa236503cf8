// RUN: %tessera_opt %s -print-cpu-plan=target=x86-64-v3 -o /dev/null | FileCheck %s

// Elementwise chains need no memory: one loop nest evaluates the load, the map and the store.
// CHECK-LABEL: plan of @double: 0 bytes of scratch memory
// CHECK-NOT: buffer
// CHECK: access tile.load
// CHECK: access tile.store
// CHECK: group 16: store
// CHECK-LABEL: demands of @double
!v = !tile.view<16xf32, strides = [1]>
tile.kernel @double(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] : !v -> tensor<16xf32>
  %s = tile.map add(%t, %t) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tile.store %s, %y[%i] dims [0] : tensor<16xf32>, !v
  tile.return
}

// A reduction has a buffer, and the group after it reads it.
// CHECK-LABEL: plan of @centered: 64 bytes of scratch memory
// CHECK-NEXT: buffer 0: 8xf32, rows of 8, offset 0, 64 bytes, items
// CHECK: group 8x32: buffer 0 = tile.reduce
// CHECK: group 8x32: store
!m = !tile.view<8x32xf32, strides = [32, 1]>
tile.kernel @centered(%x: !m, %y: !m) grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !m -> tensor<8x32xf32>
  %max = tile.reduce max %t dims [1] : tensor<8x32xf32> -> tensor<8xf32>
  %all = tile.broadcast %max dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %d = tile.map sub(%t, %all) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<8x32xf32>, !m
  tile.return
}

// The loop carries its accumulator in one buffer; the right operand is packed in panels.
// CHECK-LABEL: plan of @product
// CHECK-DAG: buffer [[SUM:[0-9]+]]: 64x64xf32, rows of
// CHECK-DAG: buffer [[PANEL:[0-9]+]]: 64x{{.*}}xf32, panels of
// CHECK: group 64x64: buffer [[SUM]] = tile.constant
// CHECK: for
// CHECK: mma buffer [[SUM]] = {{.*}} times buffer [[PANEL]]
// CHECK: group 64x64: store
// CHECK-LABEL: demands of @product
// CHECK: tile.load 64x64xf32, dim 0 up to tile.store dim 0
!a = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @product(%x: !a, %w: !a, %y: !a, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %l = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : f32 : !a -> tensor<64x64xf32>
    %r = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : f32 : !a -> tensor<64x64xf32>
    %next = tile.mma %l, %r, %acc : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !a
  tile.return
}
