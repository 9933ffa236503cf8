// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -print-ptx=wide=false -o /dev/null | FileCheck %s
!v = !tile.view<?x?xf32, strides = [?, 1], divisors = [1, 64]>
!b = !tile.view<?xf32, strides = [1], divisors = [64]>
func.func @host(%x: !gir.tensor<M, N, f32>, %b: !gir.tensor<N, f32>) -> !gir.tensor<M, N, f32> attributes {gir.symbols = {N = {divisor = 64 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  %1 = tile.empty : !gir.tensor<M, f32>
  tile.launch @unseen grid ["ceildiv(N, 512)", "M"] (%x, %b, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["N"], strides ["1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<N, f32>, !gir.tensor<M, N, f32>
  tile.launch @other grid ["ceildiv(N, 512)", "M"] (%x, %b, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["N - 64"], strides ["1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<N, f32>, !gir.tensor<M, N, f32>
  tile.launch @joined grid ["1", "M"] (%x, %1) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M"], strides ["1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, f32>
  tile.launch @steps grid ["ceildiv(N, 512)", "M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  return %0 : !gir.tensor<M, N, f32>
}

// The pad is masked where it is stored, so the load needs none.
// CHECK-LABEL: .entry unseen(
// CHECK-COUNT-2: { .reg .pred p; setp.ne.b32 p, %{{.*}}, 0; @p ld.global.v4.b32
// CHECK: @p st.global.v4.b32
tile.kernel @unseen(%x: !v, %b: !b, %y: !v) grid 2 launch <num_warps = 4> {
  %n = tile.program_id 0
  %m = tile.program_id 1
  %0 = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<512xf32>
  %1 = tile.load %b[%n] dims [0] pad 0.0 : f32 : !b -> tensor<512xf32>
  %2 = tile.map add(%0, %1) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  tile.store %2, %y[%m, %n] dims [1] bounded : tensor<512xf32>, !v
  tile.return
}

// The pad of a shorter tensor is stored.
// CHECK-LABEL: .entry other(
// CHECK: { .reg .pred p; setp.ne.b32 p, %{{.*}}, 0; @p ld.global.v4.b32
// CHECK: { .reg .pred p; setp.ne.b32 p, %{{.*}}, 0; mov.b32
// CHECK: @p st.global.v4.b32
tile.kernel @other(%x: !v, %b: !b, %y: !v) grid 2 launch <num_warps = 4> {
  %n = tile.program_id 0
  %m = tile.program_id 1
  %0 = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<512xf32>
  %1 = tile.load %b[%n] dims [0] pad 0.0 : f32 : !b -> tensor<512xf32>
  %2 = tile.map add(%0, %1) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  tile.store %2, %y[%m, %n] dims [1] bounded : tensor<512xf32>, !v
  tile.return
}

// The pad takes part in a sum that is stored.
// CHECK-LABEL: .entry joined(
// CHECK: { .reg .pred p; setp.ne.b32 p, %{{.*}}, 0; mov.b32
// CHECK: st.global.b32
tile.kernel @joined(%x: !v, %y: !tile.view<?xf32, strides = [1]>) grid 2 launch <num_warps = 1> {
  %n = tile.program_id 0
  %m = tile.program_id 1
  %0 = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<128xf32>
  %1 = tile.reduce sum %0 dims [0] : tensor<128xf32> -> tensor<f32>
  tile.store %1, %y[%m] dims [] bounded : tensor<f32>, !tile.view<?xf32, strides = [1]>
  tile.return
}

// In a loop a load without a pad would keep its registers live across iterations.
// CHECK-LABEL: .entry steps(
// CHECK: { .reg .pred p; setp.ne.b32 p, %{{.*}}, 0; mov.b32
// CHECK: st.global.v4.b32
tile.kernel @steps(%x: !v, %y: !v) grid 2 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = tile.program_id 0
  scf.for %m = %c0 to %c4 step %c1 {
    %0 = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<512xf32>
    tile.store %0, %y[%m, %n] dims [1] bounded : tensor<512xf32>, !v
  }
  tile.return
}
