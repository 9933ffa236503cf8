// RUN: %tessera_opt %s -tile-turn-rows | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!f = !tile.view<?x?xf32, strides = [?, 1]>
!w = !tile.view<?xbf16, strides = [1]>
func.func @host(%x: !gir.tensor<M, N, bf16>, %w: !gir.tensor<N, bf16>) -> (!gir.tensor<M, N, f32>, !gir.tensor<M, N, bf16>) {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  tile.launch @rows grid ["M"] (%x, %w, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>, #tile.operand<offset "0", sizes ["N"], strides ["1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, bf16>, !gir.tensor<N, bf16>, !gir.tensor<M, N, f32>
  %1 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @running grid ["M"] (%x, %1) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>, #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>]
    sizes [] : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  tile.launch @part grid ["M"] (%x, %1) views
    [#tile.operand<offset "1", sizes ["M", "N - 1"], strides ["N", "1"]>, #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>]
    sizes [] : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0, %1 : !gir.tensor<M, N, f32>, !gir.tensor<M, N, bf16>
}

// Rows of both tensors begin alike; what all rows share is turned as well, at any address.
// CHECK-LABEL: tile.kernel @rows
// CHECK: %[[I:.*]] = tile.program_id 0
// CHECK: %[[S:.*]] = tile.shift %x[%[[I]], %{{.*}}] by 8 :
// CHECK: tile.load %x[%[[I]], %{{.*}}] dims [1] pad 0.000000e+00 : bf16 turned %[[S]] aligned 8 :
// CHECK: tile.load %w[%{{.*}}] dims [0] pad 0.000000e+00 : bf16 turned %[[S]] :
// CHECK: tile.iota %{{.*}} turned %[[S]] : tensor<1024xi32>
// CHECK: tile.store %{{.*}}, %y[%[[I]], %{{.*}}] dims [1] bounded turned %[[S]] aligned 8 :
tile.kernel @rows(%x: !v, %w: !w, %y: !f) grid 1 {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %a = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
  %u = tile.load %w[%c0] dims [0] pad 0.0 : bf16 : !w -> tensor<1024xbf16>
  %b = tile.cast %u : tensor<1024xbf16> -> tensor<1024xf32>
  %j = tile.iota %c0 : tensor<1024xi32>
  %c = tile.cast %j : tensor<1024xi32> -> tensor<1024xf32>
  %d = tile.map fma(%a, %b, %c) : (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xf32>, !f
  tile.return
}

// Running sums depend on the order.
// CHECK-LABEL: tile.kernel @running
// CHECK-NOT: turned
tile.kernel @running(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %a = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
  %z = tile.constant 0.0 : f32 : tensor<f32>
  %b, %c = tile.scan sum %a from %z dim 0 : tensor<1024xf32>, tensor<f32>
  %d = tile.cast %b : tensor<1024xf32> -> tensor<1024xbf16>
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}

// Of two tensors that begin at different addresses the first to be known decides.
// CHECK-LABEL: tile.kernel @part
// CHECK: %[[T:.*]] = tile.shift %y
// CHECK: tile.load %x[{{.*}} turned %[[T]] :
// CHECK: tile.store {{.*}} turned %[[T]] aligned 8 :
tile.kernel @part(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  tile.store %t, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}
