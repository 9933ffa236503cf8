// RUN: %tessera_opt %s -convert-sched-to-tile | FileCheck %s

// Launch, tuning and the list of changes go on; nothing else was overwritten.
// CHECK: tile.kernel @fill_0(%{{.*}}) grid 1 launch <num_warps = 8, cluster_size = 2> tuning <num_stages = 4>
// CHECK-SAME: attributes {tile.changed = ["num_warps 4 -> 8: measured"]} {
func.func @fill() -> !gir.tensor<S, f32> {
  %r = sched.kernel @fill_0() -> (%o : !gir.tensor<S, f32>)
      dims [parallel i = S tile 1024] order [i] launch <num_warps = 8, cluster_size = 2> tuning <num_stages = 4>
      attributes {sched.changed = ["num_warps 4 -> 8: measured"]} {
    %0 = sched.constant 1.0 : f32 : !sched.val<[], f32>
    sched.store %0, %o["i"] : !sched.val<[], f32>, !gir.tensor<S, f32>
  }
  return %r : !gir.tensor<S, f32>
}
