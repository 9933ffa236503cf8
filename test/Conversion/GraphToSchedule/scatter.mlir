// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' | FileCheck %s

// Additions at computed indices: sources are processed in order along the dimension, and grid tasks share the others. The
// first kernel copies the input.
// CHECK-LABEL: func.func @rows
// CHECK: %[[X:.*]] = sched.kernel @rows_0
// CHECK: sched.store {{.*}}, %out["v", "d"]
// CHECK: sched.kernel @rows_1({{.*}} = %[[X]] : !gir.tensor<V, D, f32>)
// CHECK-NEXT: dims [stream s = S tile {{[0-9]+}}, parallel d = D tile {{[0-9]+}}] order [d] attributes {into = array<i64: 2>}
// CHECK: sched.stream over [s]
// CHECK: %[[I:.*]] = sched.load %in_0["s", "d"]
// CHECK: sched.store {{.*}}, %out["#0", "d"] at(%[[I]] : !sched.val<[s, d], i64>) below ["V"] sum
func.func @rows(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32> {
  %0 = gir.scatter_add %x, %s(%i) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// Sources are computed where they are added, unless they are reduced.
// CHECK-LABEL: func.func @sources
// CHECK: sched.kernel @sources_0
// CHECK-NEXT: {{.*}}it is scattered to computed indices
// CHECK: sched.accumulate sum
// CHECK: sched.stream over [s]
// CHECK: sched.map exp
// CHECK-NEXT: sched.store {{.*}} sum
func.func @sources(%x: !gir.tensor<V, f32>, %s: !gir.tensor<S, T, f32>, %i: !gir.tensor<S, i64>) -> (!gir.tensor<V, f32>, !gir.tensor<V, f32>) {
  %0 = gir.reduce sum %s dims [1] : !gir.tensor<S, T, f32> -> !gir.tensor<S, f32>
  %1 = gir.scatter_add %x, %0(%i) dim 0 : (!gir.tensor<V, f32>, !gir.tensor<S, f32>, !gir.tensor<S, i64>) -> !gir.tensor<V, f32>
  %2 = gir.cast %i : !gir.tensor<S, i64> -> !gir.tensor<S, f32>
  %3 = gir.map exp(%2) : (!gir.tensor<S, f32>) -> !gir.tensor<S, f32>
  %4 = gir.scatter_add %x, %3(%i) dim 0 : (!gir.tensor<V, f32>, !gir.tensor<S, f32>, !gir.tensor<S, i64>) -> !gir.tensor<V, f32>
  return %1, %4 : !gir.tensor<V, f32>, !gir.tensor<V, f32>
}

// A kernel has one stream, the sources': scans along another dimension are stored first, whether they are added or
// say where.
// CHECK-LABEL: func.func @running
// CHECK: sched.kernel @running_0
// CHECK-NEXT: {{.*}}it is scattered to computed indices
// CHECK: sched.stream over [d]
// CHECK-NEXT: sched.load
// CHECK-NEXT: sched.scan prod
// CHECK-NOT: sched.kernel
// CHECK: sched.store {{.*}}"s", "d"
// CHECK: sched.stream over [d]
// CHECK: sched.scan sum
// CHECK: sched.stream over [s]
// CHECK-NOT: sched.scan
// CHECK: sched.store {{.*}} sum
func.func @running(%x: !gir.tensor<V, D, f32>, %s: !gir.tensor<S, D, f32>, %i: !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32> {
  %0 = gir.scan prod %s dim 1 : !gir.tensor<S, D, f32>
  %1 = gir.scan sum %i dim 1 : !gir.tensor<S, D, i64>
  %2 = gir.scatter_add %x, %0(%1) dim 0 : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, f32>
  return %2 : !gir.tensor<V, D, f32>
}

// What is put at computed places is written in any order; a scan says where, and its dimension is the stream.
// CHECK-LABEL: func.func @put
// CHECK: sched.kernel @put_0
// CHECK-NEXT: dims [parallel b = B tile {{[0-9]+}}, parallel c = C tile {{[0-9]+}}, stream i = 256 tile {{[0-9]+}}]
// CHECK: sched.stream over [i]
// CHECK: %[[AT:.*]] = sched.scan sum
// CHECK: sched.store {{.*}}, %out["b", "#0"] at(%[[AT]] : !sched.val<[b, c, i], i64>) below ["256*C"] :
func.func @put(%s: !gir.tensor<B, C, 256, i64>) -> !gir.tensor<B, "256*C", i64> {
  %0 = gir.scan sum %s dim 2 : !gir.tensor<B, C, 256, i64>
  %1 = gir.scatter %s(%0) batch 1 : (!gir.tensor<B, C, 256, i64>, !gir.tensor<B, C, 256, i64>) -> !gir.tensor<B, "256*C", i64>
  return %1 : !gir.tensor<B, "256*C", i64>
}

// A scan by a key is carried along its stream, as any other.
// CHECK-LABEL: func.func @rank
// CHECK: sched.stream over [s]
// CHECK: sched.scan sum(%{{.*}}) by(%{{.*}} : !sched.val<[s], i32>) below 256 : <[], i32> -> <[s], i32>
func.func @rank(%k: !gir.tensor<S, i32>) -> !gir.tensor<S, i32> {
  %0 = gir.constant 1 : i32 : !gir.tensor<S, i32>
  %1 = gir.scan sum %0 dim 0 by (%k : !gir.tensor<S, i32>) below 256 : !gir.tensor<S, i32>
  return %1 : !gir.tensor<S, i32>
}
