// RUN: %tessera_opt %s -tile-persistent-loop -o /dev/null --remarks-filter-missed="tile-persistent-loop" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x64xf32, strides = [64, 1]>

func.func @host(%x: !gir.tensor<M, 64, f32>) -> !gir.tensor<M, 64, f32> {
  %0 = tile.empty : !gir.tensor<M, 64, f32>
  tile.launch @causal grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>,
     #tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>] sizes []
    : !gir.tensor<M, 64, f32>, !gir.tensor<M, 64, f32>
  tile.launch @twice grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>,
     #tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>] sizes []
    : !gir.tensor<M, 64, f32>, !gir.tensor<M, 64, f32>
  tile.launch @square grid ["M", "1"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>,
     #tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>] sizes []
    : !gir.tensor<M, 64, f32>, !gir.tensor<M, 64, f32>
  return %0 : !gir.tensor<M, 64, f32>
}

// CHECK: [Missed] IterationsVary{{.*}}Function=causal
// CHECK-SAME: the number of iterations depends on the tile: CTAs would not be balanced
tile.kernel @causal(%x: !v, %y: !v) grid 1 launch <persistent_ctas = 132> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<64xf32>
  %sum = scf.for %k = %c0 to %i step %c1 iter_args(%acc = %zero) -> (tensor<64xf32>) {
    %t = tile.load %x[%k, %c0] dims [1] : !v -> tensor<64xf32>
    %next = tile.map add(%acc, %t) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  tile.store %sum, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.return
}

// CHECK: [Missed] SeveralStores{{.*}}Function=twice
// CHECK-SAME: the kernel stores 2 tiles, and the epilogue of a persistent kernel stores one
tile.kernel @twice(%x: !v, %y: !v) grid 1 launch <persistent_ctas = 132> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.program_id 0
  %j = arith.addi %i, %c1 : index
  %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<64xf32>
  tile.store %t, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.store %t, %y[%j, %c0] dims [1] bounded : tensor<64xf32>, !v
  tile.return
}

// CHECK: [Missed] GridRank{{.*}}Function=square
// CHECK-SAME: the grid has 2 dimensions, and tiles_per_cta needs one
tile.kernel @square(%x: !v, %y: !v) grid 2 launch <tiles_per_cta = 4> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<64xf32>
  tile.store %t, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.return
}
