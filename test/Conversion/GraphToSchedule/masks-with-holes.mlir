// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=sm_90:ptx' --sched-select-schedule='target=sm_90:ptx' | FileCheck %s --check-prefixes=CHECK,LIST
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' --sched-select-schedule='target=x86-64-v4 cores=2' | FileCheck %s --check-prefixes=CHECK,TESTS
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=sm_90:tileir' | FileCheck %s --check-prefix=HULL
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=sm_90:ptx' --sched-select-schedule='target=sm_90:ptx' --convert-sched-to-tile | FileCheck %s --check-prefix=TILE

// Keys in a window or among the first 16: the blocks between the two parts are left out. Bounds of |i - j| over a block
// are computed from those of i and j.
// CHECK-LABEL: func.func @parts
// CHECK: sched.stream over [k]
// CHECK: sched.map maximum(
// CHECK: %[[LEAST:.*]] = sched.map maximum(
// CHECK: %[[MOST:.*]] = sched.map maximum(
// CHECK: sched.map le(%[[LEAST]], %{{.*}}) : (!sched.val<[], i64>, !sched.val<[], i64>)
// CHECK: sched.map le(%[[MOST]], %{{.*}}) : (!sched.val<[], i64>, !sched.val<[], i64>)
// CHECK: sched.map bitwise_or
// LIST: sched.visit %{{.*}} full %{{.*}} as_list
// TESTS: sched.visit %{{[^ ]*}} full %{{[^ ]*}} :
// CHECK: sched.mask
// HULL-LABEL: func.func @parts
// HULL-NOT: sched.visit
// HULL: sched.mask

// The list: full blocks first, then those with masks; two loops over its elements.
// TILE-LABEL: tile.kernel @parts_0
// TILE: %[[ORDER:.*]] = tile.sort %{{.*}} dim 0 : tensor<64xi32>
// TILE: tile.map bitwise_and(%[[ORDER]], %{{.*}})
// TILE: scf.for %[[I:.*]] = %c0 to %[[FULL:.*]] step
// TILE-NEXT: tile.element %{{.*}}[%[[I]]]
// TILE-NOT: tile.map where
// TILE: scf.for %[[I:.*]] = %[[FULL]] to
// TILE-NEXT: tile.element %{{.*}}[%[[I]]]
// TILE: tile.map where
func.func @parts(%u: !gir.tensor<2048, 2048, f32> {gir.contiguous}, %v: !gir.tensor<2048, 64, f32> {gir.contiguous}) -> !gir.tensor<2048, 64, f32> {
  %i = gir.iota 0 : !gir.tensor<2048, 2048, i64>
  %j = gir.iota 1 : !gir.tensor<2048, 2048, i64>
  %d = gir.map sub(%i, %j) : (!gir.tensor<2048, 2048, i64>, !gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i64>
  %a = gir.map abs(%d) : (!gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i64>
  %c100 = gir.constant 100 : i64 : !gir.tensor<2048, 2048, i64>
  %c16 = gir.constant 16 : i64 : !gir.tensor<2048, 2048, i64>
  %near = gir.map le(%a, %c100) : (!gir.tensor<2048, 2048, i64>, !gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i1>
  %first = gir.map lt(%j, %c16) : (!gir.tensor<2048, 2048, i64>, !gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i1>
  %live = gir.map bitwise_or(%near, %first) : (!gir.tensor<2048, 2048, i1>, !gir.tensor<2048, 2048, i1>) -> !gir.tensor<2048, 2048, i1>
  %none = gir.constant 0xFF800000 : f32 : !gir.tensor<2048, 2048, f32>
  %s = gir.map where(%live, %u, %none) : (!gir.tensor<2048, 2048, i1>, !gir.tensor<2048, 2048, f32>, !gir.tensor<2048, 2048, f32>) -> !gir.tensor<2048, 2048, f32>
  %p = gir.softmax %s dim 1 : !gir.tensor<2048, 2048, f32>
  %o = gir.contract %p, %v batch [] x [] over [1] x [0] : (!gir.tensor<2048, 2048, f32>, !gir.tensor<2048, 64, f32>) -> !gir.tensor<2048, 64, f32>
  return %o : !gir.tensor<2048, 64, f32>
}



// |i - j| <= 100 alone is an interval.
// CHECK-LABEL: func.func @near
// CHECK: sched.stream over [k] live ["max(0, i.lo - 100)", "min(2048, i.hi + 101)"] full ["max(0, i.hi - 100)", "min(2048, i.lo + 101)"]
// CHECK-NOT: sched.visit
func.func @near(%u: !gir.tensor<2048, 2048, f32> {gir.contiguous}, %v: !gir.tensor<2048, 64, f32> {gir.contiguous}) -> !gir.tensor<2048, 64, f32> {
  %i = gir.iota 0 : !gir.tensor<2048, 2048, i64>
  %j = gir.iota 1 : !gir.tensor<2048, 2048, i64>
  %d = gir.map sub(%i, %j) : (!gir.tensor<2048, 2048, i64>, !gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i64>
  %a = gir.map abs(%d) : (!gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i64>
  %c100 = gir.constant 100 : i64 : !gir.tensor<2048, 2048, i64>
  %near = gir.map ge(%c100, %a) : (!gir.tensor<2048, 2048, i64>, !gir.tensor<2048, 2048, i64>) -> !gir.tensor<2048, 2048, i1>
  %none = gir.constant 0xFF800000 : f32 : !gir.tensor<2048, 2048, f32>
  %s = gir.map where(%near, %u, %none) : (!gir.tensor<2048, 2048, i1>, !gir.tensor<2048, 2048, f32>, !gir.tensor<2048, 2048, f32>) -> !gir.tensor<2048, 2048, f32>
  %p = gir.softmax %s dim 1 : !gir.tensor<2048, 2048, f32>
  %o = gir.contract %p, %v batch [] x [] over [1] x [0] : (!gir.tensor<2048, 2048, f32>, !gir.tensor<2048, 64, f32>) -> !gir.tensor<2048, 64, f32>
  return %o : !gir.tensor<2048, 64, f32>
}
