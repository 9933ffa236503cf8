// RUN: %tessera_opt %s -convert-sched-to-tile | FileCheck %s

// Gather indices are the last dimensions of the view: their bound is a size, their scale a stride. Rows with one index
// are loaded as rows.
// CHECK-LABEL: func.func @rows
// CHECK: tile.launch @rows_0 {{.*}}#tile.operand<offset "$0", sizes ["D", "V - 3"], strides ["1", "2*$0"]>
// CHECK-LABEL: tile.kernel @rows_0
// CHECK: %[[I:.*]] = tile.load %in[%pid1] dims [0] pad 0 : i16
// CHECK: %[[B:.*]] = tile.broadcast %[[I]] dims [0]
// CHECK: %[[C:.*]] = tile.cast %[[B]] : tensor<4x256xi16> -> tensor<4x256xi32>
// CHECK: tile.gather %in_0[%pid0] at(%[[C]]) dims [-1, 0] pad 0.000000e+00 : f32
func.func @rows(%i: !gir.tensor<S, i16>, %w: !gir.tensor<V, D, f32> {gir.unit_stride = 1 : i64}) -> !gir.tensor<S, D, f32> {
  %r = sched.kernel @rows(%a = %i : !gir.tensor<S, i16>, %b = %w : !gir.tensor<V, D, f32>) -> (%o : !gir.tensor<S, D, f32>)
      dims [parallel s = S tile 4, parallel d = D tile 256] order [d, s] {
    %0 = sched.load %a["s"] : !gir.tensor<S, i16> -> !sched.val<[s], i16>
    %1 = sched.load %b["2*#0 + 1", "d"] at (%0 : !sched.val<[s], i16>) below ["V - 3"] : !gir.tensor<V, D, f32> -> !sched.val<[s, d], f32>
    sched.store %1, %o["s", "d"] : !sched.val<[s, d], f32>, !gir.tensor<S, D, f32>
  }
  return %r : !gir.tensor<S, D, f32>
}

// Past the end of the indices the gathered element is not zero, so it is masked.
// CHECK-LABEL: tile.kernel @sums
// CHECK: scf.for
// CHECK: tile.gather %in_0[] at(%{{.*}}) dims [-1] :
// CHECK: scf.for
// CHECK: %[[G:.*]] = tile.gather
// CHECK: %[[W:.*]] = tile.map where(%{{.*}}, %[[G]],
// CHECK: tile.reduce sum %[[W]]
func.func @sums(%i: !gir.tensor<S, i64>, %w: !gir.tensor<V, f32>) -> !gir.tensor<f32> {
  %r = sched.kernel @sums(%a = %i : !gir.tensor<S, i64>, %b = %w : !gir.tensor<V, f32>) -> (%o : !gir.tensor<f32>)
      dims [stream s = S tile 64] order [] {
    %2 = sched.stream over [s] live ["0", "S"] full ["0", "S"] lag 0.0 -> !sched.val<[], f32> {
      %0 = sched.load %a["s"] : !gir.tensor<S, i64> -> !sched.val<[s], i64>
      %1 = sched.load %b["#0"] at (%0 : !sched.val<[s], i64>) below ["V"] : !gir.tensor<V, f32> -> !sched.val<[s], f32>
      %3 = sched.accumulate sum(%1) : (!sched.val<[s], f32>) -> !sched.val<[], f32>
      sched.yield %3 : !sched.val<[], f32>
    }
    sched.store %2, %o[] : !sched.val<[], f32>, !gir.tensor<f32>
  }
  return %r : !gir.tensor<f32>
}
