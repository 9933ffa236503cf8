// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' --sched-merge-dims='target=x86-64-v4 cores=2' --sched-select-schedule='target=x86-64-v4 cores=2' --sched-split-streams='target=x86-64-v4 cores=2' | FileCheck %s
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' --sched-merge-dims='target=x86-64-v4 cores=2' --sched-select-schedule='target=x86-64-v4 cores=2' --sched-split-streams='target=x86-64-v4 cores=2' --convert-sched-to-tile | FileCheck %s --check-prefix=TILE
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' --sched-merge-dims='target=x86-64-v4 cores=2' --sched-select-schedule='target=x86-64-v4 cores=2' --sched-split-streams='target=x86-64-v4 cores=2' | sed 's/sched.visit \(%[^ ]* full %[^ ]*\)/sched.visit \1 as_range/' | %tessera_opt --convert-sched-to-tile --cse | FileCheck %s --check-prefix=RANGE

// A mask that data decides is tested by the bounds of the data over each block.

// CHECK-LABEL: func.func @documents
// CHECK: %[[ROW:.*]] = sched.load %{{.*}}["s"]
// CHECK: %[[RLO:.*]] = sched.bound min %[[ROW]] over [s]
// CHECK: %[[RHI:.*]] = sched.bound max %[[ROW]] over [s]
// CHECK: sched.stream over [t] live ["0", "min(T, s.hi + 1)"] full ["0", "T"]
// CHECK: %[[KEY:.*]] = sched.load %{{.*}}["t"]
// CHECK: %[[KLO:.*]] = sched.bound min %[[KEY]] over [t]
// CHECK: %[[KHI:.*]] = sched.bound max %[[KEY]] over [t]
// CHECK: sched.map le(%[[RLO]], %[[KHI]])
// CHECK: sched.map le(%[[KLO]], %[[RHI]])
// CHECK: sched.visit %{{.*}} full %{{.*}}
// CHECK: sched.mask

// As a range: bounds of many blocks at a time, then a loop with masks, one without, and one with masks.
// RANGE-LABEL: tile.kernel @documents_0
// RANGE: scf.for
// RANGE: tile.load %{{.*}} -> tensor<[[ALL:[0-9]+]]xi64>
// RANGE: tile.reshape %{{.*}} : tensor<[[ALL]]xi64> -> tensor<32x
// RANGE: tile.reduce max %{{.*}} dims [1]
// RANGE: %[[FIRST:.*]] = arith.minsi
// RANGE: %[[HEAD:.*]] = arith.minsi
// RANGE: %[[MIDDLE:.*]] = arith.minsi
// RANGE: %[[END:.*]] = arith.minsi
// RANGE: scf.for %{{.*}} = %[[FIRST]] to %[[HEAD]]
// RANGE: tile.map where
// RANGE: scf.for %{{.*}} = %[[HEAD]] to %[[MIDDLE]]
// RANGE-NOT: tile.map where{{.*}}tensor<256x256xi1>
// RANGE: scf.for %{{.*}} = %[[MIDDLE]] to %[[END]]
// RANGE-NOT: scf.if

// TILE-LABEL: tile.kernel @documents_0
// TILE: scf.for
// TILE: tile.extract
// TILE: scf.if
// TILE: tile.extract
// TILE: scf.if
// TILE: tile.mma
// TILE: else
// TILE: tile.map where
func.func @documents(%u: !gir.tensor<S, T, f32> {gir.contiguous}, %v: !gir.tensor<T, 64, f32> {gir.contiguous}, %a: !gir.tensor<S, i64>, %b: !gir.tensor<T, i64>) -> !gir.tensor<S, 64, f32> {
  %ab = gir.broadcast %a dims [0] : !gir.tensor<S, i64> -> !gir.tensor<S, T, i64>
  %bb = gir.broadcast %b dims [1] : !gir.tensor<T, i64> -> !gir.tensor<S, T, i64>
  %same = gir.map eq(%ab, %bb) : (!gir.tensor<S, T, i64>, !gir.tensor<S, T, i64>) -> !gir.tensor<S, T, i1>
  %i = gir.iota 0 : !gir.tensor<S, T, i64>
  %j = gir.iota 1 : !gir.tensor<S, T, i64>
  %past = gir.map le(%j, %i) : (!gir.tensor<S, T, i64>, !gir.tensor<S, T, i64>) -> !gir.tensor<S, T, i1>
  %live = gir.map bitwise_and(%same, %past) : (!gir.tensor<S, T, i1>, !gir.tensor<S, T, i1>) -> !gir.tensor<S, T, i1>
  %none = gir.constant 0xFF800000 : f32 : !gir.tensor<S, T, f32>
  %s = gir.map where(%live, %u, %none) : (!gir.tensor<S, T, i1>, !gir.tensor<S, T, f32>, !gir.tensor<S, T, f32>) -> !gir.tensor<S, T, f32>
  %p = gir.softmax %s dim 1 : !gir.tensor<S, T, f32>
  %o = gir.contract %p, %v batch [] x [] over [1] x [0] : (!gir.tensor<S, T, f32>, !gir.tensor<T, 64, f32>) -> !gir.tensor<S, 64, f32>
  return %o : !gir.tensor<S, 64, f32>
}
