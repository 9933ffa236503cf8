// RUN: %tessera_opt %s -tile-merge-loads | FileCheck %s

!v = !tile.view<?x?xf32, strides = [?, 1]>

func.func @host(%x: !gir.tensor<M, N, f32>, %y: !gir.tensor<M, L, f32>) -> !gir.tensor<M, N, f32> {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  tile.launch @centre grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  tile.launch @softmax grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  tile.launch @longer grid ["M"] (%y, %0) views
    [#tile.operand<offset "0", sizes ["M", "L"], strides ["L", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, L, f32>, !gir.tensor<M, N, f32>
  return %0 : !gir.tensor<M, N, f32>
}

// The padding of the second load is not stored, so that the first load serves both.
// CHECK-LABEL: tile.kernel @centre
// CHECK: %[[X:.*]] = tile.load {{.*}} pad 0xFF800000
// CHECK-NOT: tile.load
// CHECK: tile.map sub(%[[X]],
tile.kernel @centre(%x: !v, %out: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %a = tile.load %x[%i, %c0] dims [1] pad 0xFF800000 : f32 : !v -> tensor<1024xf32>
  %m = tile.reduce max %a dims [0] : tensor<1024xf32> -> tensor<f32>
  %b = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
  %c = tile.broadcast %m dims [] : tensor<f32> -> tensor<1024xf32>
  %d = tile.map sub(%b, %c) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  tile.store %d, %out[%i, %c0] dims [1] bounded : tensor<1024xf32>, !v
  tile.return
}

// Weights are elementwise.
// CHECK-LABEL: tile.kernel @softmax
// CHECK: %[[X:.*]] = tile.load {{.*}} pad 0xFF800000
// CHECK-NOT: tile.load
// CHECK: tile.online_weigh %[[X]],
tile.kernel @softmax(%x: !v, %out: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %a = tile.load %x[%i, %c0] dims [1] pad 0xFF800000 : f32 : !v -> tensor<1024xf32>
  %m = tile.reduce max %a dims [0] : tensor<1024xf32> -> tensor<f32>
  %n, %r, %s, %f = tile.online_update %m scale 2.0 guarded : tensor<f32>
  %b = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
  %c = tile.broadcast %r dims [] : tensor<f32> -> tensor<1024xf32>
  %w = tile.online_weigh %b, %c scale 2.0 : tensor<1024xf32>
  tile.store %w, %out[%i, %c0] dims [1] bounded : tensor<1024xf32>, !v
  tile.return
}

// Rows of another length are stored where the load is padded.
// CHECK-LABEL: tile.kernel @longer
// CHECK-COUNT-2: tile.load
tile.kernel @longer(%x: !v, %out: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %a = tile.load %x[%i, %c0] dims [1] pad 0xFF800000 : f32 : !v -> tensor<1024xf32>
  %m = tile.reduce max %a dims [0] : tensor<1024xf32> -> tensor<f32>
  %b = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
  %c = tile.broadcast %m dims [] : tensor<f32> -> tensor<1024xf32>
  %d = tile.map sub(%b, %c) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  tile.store %d, %out[%i, %c0] dims [1] bounded : tensor<1024xf32>, !v
  tile.return
}
