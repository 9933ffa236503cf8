// RUN: %tessera_opt %s -tile-walk-programs | FileCheck %s

!v = !tile.view<?x64xf32, strides = [64, 1]>

// CHECK: tile.launch @double grid ["ceildiv(M, 4)"]{{.*}} sizes ["M"]
func.func @host(%x: !gir.tensor<M, 64, f32>) -> !gir.tensor<M, 64, f32> {
  %0 = tile.empty : !gir.tensor<M, 64, f32>
  tile.launch @double grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>,
     #tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>] sizes []
    : !gir.tensor<M, 64, f32>, !gir.tensor<M, 64, f32>
  return %0 : !gir.tensor<M, 64, f32>
}

// Four rows for a block, as long as there are some.
// CHECK-LABEL: tile.kernel @double(
// CHECK-SAME: %[[COUNT:programs[0-9_]*]]: index) grid 1 hints {walk = 4}
// CHECK: %[[BLOCK:.*]] = tile.program_id 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c4
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c4
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %[[COUNT]]
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[END]] step %c1
// CHECK: tile.load %x[%[[ROW]], %c0]
// CHECK: tile.store %{{.*}}, %y[%[[ROW]], %c0]
// CHECK: tile.return
tile.kernel @double(%x: !v, %y: !v) grid 1 hints {walk = 4} {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<64xf32>
  %d = tile.map add(%t, %t) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %d, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.return
}
