// RUN: %tessera_opt %s -tile-persistent-loop | FileCheck %s

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

// CHECK: tile.launch @scaled grid ["ceildiv(M, 8)"]
func.func @other(%x: !gir.tensor<M, N, bf16>, %w: !gir.tensor<N, bf16>) -> !gir.tensor<M, N, bf16> {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @scaled grid ["M"] (%x, %w, %w, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["N"], strides ["1"]>,
     #tile.operand<offset "0", sizes ["64"], strides ["1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, bf16>, !gir.tensor<N, bf16>, !gir.tensor<N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}

// Four rows per CTA, except for the last one.
// CHECK-LABEL: tile.kernel @double(
// CHECK-SAME: %[[COUNT:programs[0-9_]*]]: index) grid 1 launch <tiles_per_cta = 4>
// CHECK: %[[BLOCK:.*]] = tile.program_id 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c4
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c4
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %[[COUNT]]
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[END]] step %c1
// CHECK: tile.load %x[%[[ROW]], %c0]
// CHECK: tile.store %{{.*}}, %y[%[[ROW]], %c0]
// CHECK: tile.return
tile.kernel @double(%x: !v, %y: !v) grid 1 launch <tiles_per_cta = 4> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<64xf32>
  %d = tile.map add(%t, %t) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %d, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.return
}

!rows = !tile.view<?x?xbf16, strides = [?, 1]>
!loose = !tile.view<?xbf16, strides = [1]>
!whole = !tile.view<64xbf16, strides = [1]>

// Loads that all rows share and that are read element by element move before the loop; wide accesses stay in it.
// CHECK-LABEL: tile.kernel @scaled(
// CHECK: %[[W:.*]] = tile.load %w[%{{.*}}]
// CHECK: %[[F:.*]] = tile.cast %[[W]]
// CHECK: scf.for
// CHECK: tile.load %x
// CHECK: tile.load %v
// CHECK: tile.map mul(%{{.*}}, %[[F]])
tile.kernel @scaled(%x: !rows, %w: !loose, %v: !whole, %y: !rows) grid 1 launch <tiles_per_cta = 8> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !rows -> tensor<64xbf16>
  %f = tile.cast %t : tensor<64xbf16> -> tensor<64xf32>
  %v_tile = tile.load %v[%c0] dims [0] : !whole -> tensor<64xbf16>
  %g = tile.cast %v_tile : tensor<64xbf16> -> tensor<64xf32>
  %a = tile.map add(%f, %g) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %w_tile = tile.load %w[%c0] dims [0] pad 0.0 : bf16 : !loose -> tensor<64xbf16>
  %h = tile.cast %w_tile : tensor<64xbf16> -> tensor<64xf32>
  %m = tile.map mul(%a, %h) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = tile.cast %m : tensor<64xf32> -> tensor<64xbf16>
  tile.store %r, %y[%i, %c0] dims [1] bounded : tensor<64xbf16>, !rows
  tile.return
}

// At most eight persistent CTAs; each computes every eighth output tile. Rows vary fastest in raster groups of four.
// CHECK: tile.launch @stays grid ["min(8, M*N)"]{{.*}} sizes ["N", "M"]
func.func @grid(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32> {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  tile.launch @stays grid ["N", "M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  return %0 : !gir.tensor<M, N, f32>
}

// CHECK-LABEL: tile.kernel @stays(
// CHECK-SAME: %[[COLUMNS:programs0[0-9_]*]]: index, %[[ROWS:programs1[0-9_]*]]: index) grid 1 launch <num_warps = 1>
// CHECK-SAME: attributes {tile.changed = ["persistent_ctas 8 -> none: a loop over the grid in the kernel", "raster_group 4 -> none: a loop over the grid in the kernel"]} {
// CHECK: %[[ALL:.*]] = arith.muli %[[COLUMNS]], %[[ROWS]]
// CHECK: %[[STEP:.*]] = arith.minsi %c8{{.*}}, %[[ALL]]
// CHECK: %[[BLOCK:.*]] = tile.program_id 0
// CHECK: scf.for %[[P:.*]] = %[[BLOCK]] to %[[ALL]] step %[[STEP]]
// CHECK: %[[SPAN:.*]] = arith.muli %[[COLUMNS]], %[[MOST:c4.*]] :
// CHECK-NEXT: %[[GROUP:.*]] = arith.divui %[[P]], %[[SPAN]]
// CHECK-NEXT: %[[INSIDE:.*]] = arith.remui %[[P]], %[[SPAN]]
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[GROUP]], %[[MOST]]
// CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK-NEXT: %[[HEIGHT:.*]] = arith.minsi %[[LEFT]], %[[MOST]]
// CHECK-NEXT: %[[COLUMN:.*]] = arith.divui %[[INSIDE]], %[[HEIGHT]]
// CHECK-NEXT: %[[PLACE:.*]] = arith.remui %[[INSIDE]], %[[HEIGHT]]
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[PLACE]]
// CHECK: tile.load %x[%[[ROW]], %[[COLUMN]]]
// CHECK: tile.store %{{.*}}, %y[%[[ROW]], %[[COLUMN]]]
!w = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @stays(%x: !w, %y: !w) grid 2 launch <num_warps = 1, persistent_ctas = 8> tuning <raster_group = 4> {
  %j = tile.program_id 0
  %i = tile.program_id 1
  %t = tile.load %x[%i, %j] dims [1] : !w -> tensor<1xf32>
  tile.store %t, %y[%i, %j] dims [1] : tensor<1xf32>, !w
  tile.return
}

// Loops get longer along the grid: not persistent.
// CHECK: tile.launch @longer grid ["M"]{{.*}} sizes []
func.func @lengths(%x: !gir.tensor<M, 64, f32>) -> !gir.tensor<M, 64, f32> {
  %0 = tile.empty : !gir.tensor<M, 64, f32>
  tile.launch @longer grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>,
     #tile.operand<offset "0", sizes ["M", "64"], strides ["64", "1"]>] sizes []
    : !gir.tensor<M, 64, f32>, !gir.tensor<M, 64, f32>
  return %0 : !gir.tensor<M, 64, f32>
}

// CHECK-LABEL: tile.kernel @longer(
// CHECK-SAME: grid 1 launch <num_warps = 1> attributes {tile.changed = ["persistent_ctas 8 -> none: the tiles of the grid do not suit a loop"]} {
// CHECK: %[[I:.*]] = tile.program_id 0
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1
tile.kernel @longer(%x: !v, %y: !v) grid 1 launch <num_warps = 1, persistent_ctas = 8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64xf32>
  %i = tile.program_id 0
  %end = arith.addi %i, %c1 : index
  %sum = scf.for %j = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<64xf32>) {
    %t = tile.load %x[%j, %c0] dims [1] : !v -> tensor<64xf32>
    %next = tile.map add(%acc, %t) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  tile.store %sum, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.return
}
