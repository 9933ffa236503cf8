// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 | FileCheck %s --check-prefix=WIDE
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v3 | FileCheck %s --check-prefix=BOUNDED

// Rows pass through both products and what is between them 16 at a time: of all 256 that would be half a megabyte. Memory
// holds the left-hand side, both others, which are packed before, the result, and a band.
// CHECK-LABEL: tessera_target.kernel @chain
// CHECK-SAME: scratch_bytes = 1097792
// CHECK-DAG: %[[STEP:.*]] = llvm.mlir.constant(16 : i64)
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(256 : i64)
// CHECK-DAG: %[[BLOCK:.*]] = llvm.mlir.constant(8 : i64)
// CHECK-DAG: %[[PANEL:.*]] = llvm.mlir.constant(12 : i64)
// CHECK: scf.for %[[BAND:.*]] = %{{.*}} to %[[ROWS]] step %[[STEP]]
// CHECK-NEXT: %[[END:.*]] = llvm.add %[[BAND]], %[[STEP]]
// CHECK: scf.for %{{.*}} = %[[BAND]] to %{{.*}} step %[[BLOCK]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[PANEL]]

// Of vectors four times as long, whole ones of rows do not fit into the first cache.
// WIDE-LABEL: tessera_target.kernel @chain
// WIDE-SAME: scratch_bytes = 557056
!v = !tile.view<1024x256xf32, strides = [256, 1]>
tile.kernel @chain(%a: !v, %b: !v, %c: !v, %out: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<256x256xf32>
  %x = tile.load %a[%i, %c0] dims [0, 1] : !v -> tensor<256x256xf32>
  %y = tile.load %b[%i, %c0] dims [0, 1] : !v -> tensor<256x256xf32>
  %s = tile.mma %x, %y, %zero : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %max = tile.reduce max %s dims [1] : tensor<256x256xf32> -> tensor<256xf32>
  %spread = tile.broadcast %max dims [0] : tensor<256xf32> -> tensor<256x256xf32>
  %p = tile.map sub(%s, %spread) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %z = tile.load %c[%i, %c0] dims [0, 1] : !v -> tensor<256x256xf32>
  %m = tile.mma %p, %z, %zero : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  tile.store %m, %out[%i, %c0] dims [0, 1] : tensor<256x256xf32>, !v
  tile.return
}

// Rows that may end anywhere are taken in blocks that divide a band, not in those that leave the least.
// BOUNDED-LABEL: tessera_target.kernel @bounded
// BOUNDED-NOT: llvm.mlir.constant(6 : i64)
// BOUNDED-DAG: %[[STEP:.*]] = llvm.mlir.constant(64 : i64)
// BOUNDED-DAG: %[[BLOCK:.*]] = llvm.mlir.constant(4 : i64)
// BOUNDED: scf.for %[[BAND:.*]] = %{{.*}} to %{{.*}} step %[[STEP]]
// BOUNDED: scf.for %{{.*}} = %[[BAND]] to %{{.*}} step %[[BLOCK]]
// BOUNDED: scf.for %{{.*}} = %[[BAND]] to %{{.*}} step %[[BLOCK]]
!rows = !tile.view<?x64xf32, strides = [64, 1]>
!square = !tile.view<64x64xf32, strides = [64, 1]>
tile.kernel @bounded(%a: !rows, %b: !square, %c: !square, %out: !rows) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<128x64xf32>
  %x = tile.load %a[%i, %c0] dims [0, 1] pad 0.0 : f32 : !rows -> tensor<128x64xf32>
  %y = tile.load %b[%c0, %c0] dims [0, 1] : !square -> tensor<64x64xf32>
  %s = tile.mma %x, %y, %zero : (tensor<128x64xf32>, tensor<64x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %p = tile.map abs(%s) : (tensor<128x64xf32>) -> tensor<128x64xf32>
  %z = tile.load %c[%c0, %c0] dims [0, 1] : !square -> tensor<64x64xf32>
  %m = tile.mma %p, %z, %zero : (tensor<128x64xf32>, tensor<64x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  tile.store %m, %out[%i, %c0] dims [0, 1] bounded : tensor<128x64xf32>, !rows
  tile.return
}
