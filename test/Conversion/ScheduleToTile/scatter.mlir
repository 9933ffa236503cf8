// RUN: %tessera_opt %s -convert-sched-to-tile | FileCheck %s

// Elements past the edge get an index out of bounds.
// CHECK-LABEL: tile.kernel @sums
// CHECK: scf.for
// CHECK: tile.scatter %{{.*}}, %out[%pid0] at(%{{.*}}) dims [-1, 0] bounded sum :
// CHECK: scf.for
// CHECK: %[[IN:.*]] = tile.map lt
// CHECK: %[[AT:.*]] = tile.map where(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<4x256xi1>, tensor<4x256xi64>, tensor<4x256xi64>)
// CHECK: tile.scatter %{{.*}}, %out[%pid0] at(%[[AT]]) dims [-1, 0] bounded sum :
func.func @sums(%x: !gir.tensor<S, i64>, %t: !gir.tensor<V, D, f32>) -> !gir.tensor<V, D, f32> {
  %r = sched.kernel @sums(%a = %x : !gir.tensor<S, i64>, %b = %t : !gir.tensor<V, D, f32>) -> (%o : !gir.tensor<V, D, f32>)
      dims [stream s = S tile 4, parallel d = D tile 256] order [d] attributes {into = array<i64: 1>} {
    sched.stream over [s] live ["0", "S"] full ["0", "S"] lag 0.0 {
      %0 = sched.load %a["s"] : !gir.tensor<S, i64> -> !sched.val<[s], i64>
      %1 = sched.constant 1.0 : f32 : !sched.val<[], f32>
      sched.store %1, %o["#0", "d"] at (%0 : !sched.val<[s], i64>) below ["V"] sum : !sched.val<[], f32>, !gir.tensor<V, D, f32>
    }
  }
  return %r : !gir.tensor<V, D, f32>
}

// CHECK-LABEL: tile.kernel @put
// CHECK: tile.scatter %{{.*}}, %out[] at(%{{.*}}) dims [-1] : tensor<256xf32>
func.func @put(%x: !gir.tensor<S, i64>, %s: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> {
  %r = sched.kernel @put(%a = %x : !gir.tensor<S, i64>, %b = %s : !gir.tensor<S, f32>) -> (%o : !gir.tensor<S, f32>)
      dims [parallel s = S tile 256] order [s] {
    %0 = sched.load %a["s"] : !gir.tensor<S, i64> -> !sched.val<[s], i64>
    %1 = sched.load %b["s"] : !gir.tensor<S, f32> -> !sched.val<[s], f32>
    sched.store %1, %o["#0"] at (%0 : !sched.val<[s], i64>) below ["S"] : !sched.val<[s], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}
