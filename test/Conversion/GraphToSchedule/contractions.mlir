// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=2' --sched-merge-dims='target=x86-64-v4 cores=2' --sched-select-schedule='target=x86-64-v4 cores=2' --sched-split-streams='target=x86-64-v4 cores=2' | FileCheck %s

// Rows of all batches are one dimension where all of them are multiplied by one matrix.
// CHECK-LABEL: func.func @batches
// CHECK: dims [parallel i1 = "128*B" tile 256,
// CHECK: sched.load {{.*}}["D*i1 + d"]
// CHECK: sched.store {{.*}}["N*i1 + n"]

// So they are with an epilogue that reads the same rows and columns.
// CHECK-LABEL: func.func @residual
// CHECK: dims [parallel i1 = "128*A*B" tile 256,
// CHECK: sched.load {{.*}}["N*i1 + n"]

// Not if the epilogue depends on the batch, if memory has gaps, or if each batch has its own matrix. AMX is still used for few
// batches: a tile has rows of one batch.
// CHECK-LABEL: func.func @positions
// CHECK: dims [parallel b = B tile 1, parallel i = 128 tile 128,
// CHECK-NOT: unit
// CHECK: sched.stream
// CHECK-LABEL: func.func @gaps
// CHECK: dims [parallel b = B tile 1, parallel i = 128 tile 128,
// CHECK-LABEL: func.func @matrices
// CHECK: dims [parallel b = B tile 1, parallel i = 128 tile 128,

// Nor do few rows of long ones. Few rows and few columns do.
// CHECK-LABEL: func.func @few
// CHECK-NOT: unit
// CHECK: sched.stream
// CHECK-LABEL: func.func @fewer
// CHECK: tuning <use_amx = 0>

// Tiles have the least predicted time: every core has one.
// CHECK-LABEL: func.func @wide
// CHECK: dims [parallel i = 64 tile 64, stream d = D tile 128, parallel i1 = 512 tile 256]
// CHECK-LABEL: func.func @ends
// CHECK: dims [parallel m = M tile 256, stream d = D tile 128, parallel n = N tile 512]

// A long stream is cut into parts where there are few rows: they stay together, for what is streamed is packed once.
// CHECK-LABEL: func.func @stream
// CHECK: tile 64, stream v = V tile 256

// A factor stays with the operand that has it: a product may round its operands.
// CHECK-LABEL: func.func @factors
// CHECK: %[[X:.*]] = sched.load %in[
// CHECK: %[[Y:.*]] = sched.load %in_0[
// CHECK: %[[SCALED:.*]] = sched.map mul(%[[Y]],
// CHECK: sched.accumulate sum(%[[X]], %[[SCALED]])
// CHECK: sched.yield
func.func @batches(%x: !gir.tensor<B, 128, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, 128, N, f32> attributes {gir.symbols = {B = {hint = 4 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [2] x [0] : (!gir.tensor<B, 128, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, 128, N, f32>
  return %0 : !gir.tensor<B, 128, N, f32>
}
func.func @residual(%x: !gir.tensor<A, B, 128, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}, %r: !gir.tensor<A, B, 128, N, f32> {gir.contiguous}) -> !gir.tensor<A, B, 128, N, f32> attributes {gir.symbols = {A = {hint = 2 : i64}, B = {hint = 4 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [3] x [0] : (!gir.tensor<A, B, 128, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<A, B, 128, N, f32>
  %1 = gir.map add(%0, %r) : (!gir.tensor<A, B, 128, N, f32>, !gir.tensor<A, B, 128, N, f32>) -> !gir.tensor<A, B, 128, N, f32>
  return %1 : !gir.tensor<A, B, 128, N, f32>
}
func.func @positions(%x: !gir.tensor<B, 128, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}, %p: !gir.tensor<128, N, f32> {gir.contiguous}) -> !gir.tensor<B, 128, N, f32> attributes {gir.symbols = {B = {hint = 4 : i64, max = 4 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [2] x [0] : (!gir.tensor<B, 128, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, 128, N, f32>
  %1 = gir.broadcast %p dims [1, 2] : !gir.tensor<128, N, f32> -> !gir.tensor<B, 128, N, f32>
  %2 = gir.map add(%0, %1) : (!gir.tensor<B, 128, N, f32>, !gir.tensor<B, 128, N, f32>) -> !gir.tensor<B, 128, N, f32>
  return %2 : !gir.tensor<B, 128, N, f32>
}
func.func @gaps(%x: !gir.tensor<B, 128, D, f32>, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, 128, N, f32> attributes {gir.symbols = {B = {hint = 4 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [2] x [0] : (!gir.tensor<B, 128, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, 128, N, f32>
  return %0 : !gir.tensor<B, 128, N, f32>
}
func.func @matrices(%x: !gir.tensor<B, 128, D, f32> {gir.contiguous}, %w: !gir.tensor<B, D, N, f32> {gir.contiguous}) -> !gir.tensor<B, 128, N, f32> attributes {gir.symbols = {B = {hint = 4 : i64}}} {
  %0 = gir.contract %x, %w batch [0] x [0] over [2] x [1] : (!gir.tensor<B, 128, D, f32>, !gir.tensor<B, D, N, f32>) -> !gir.tensor<B, 128, N, f32>
  return %0 : !gir.tensor<B, 128, N, f32>
}
func.func @few(%x: !gir.tensor<B, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, N, f32> attributes {gir.symbols = {B = {hint = 100 : i64, max = 100 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<B, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, N, f32>
  return %0 : !gir.tensor<B, N, f32>
}
func.func @fewer(%x: !gir.tensor<B, D, f32> {gir.contiguous}, %w: !gir.tensor<D, C, f32> {gir.contiguous}) -> !gir.tensor<B, C, f32> attributes {gir.symbols = {B = {hint = 100 : i64, max = 100 : i64}, C = {hint = 64 : i64, max = 64 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<B, D, f32>, !gir.tensor<D, C, f32>) -> !gir.tensor<B, C, f32>
  return %0 : !gir.tensor<B, C, f32>
}
func.func @wide(%x: !gir.tensor<64, D, f32> {gir.contiguous}, %w: !gir.tensor<D, 512, f32> {gir.contiguous}) -> !gir.tensor<64, 512, f32> {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<64, D, f32>, !gir.tensor<D, 512, f32>) -> !gir.tensor<64, 512, f32>
  return %0 : !gir.tensor<64, 512, f32>
}
func.func @ends(%x: !gir.tensor<M, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<M, N, f32> attributes {gir.symbols = {M = {hint = 512 : i64, max = 512 : i64}, N = {hint = 1024 : i64, max = 1024 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<M, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<M, N, f32>
  return %0 : !gir.tensor<M, N, f32>
}
func.func @stream(%x: !gir.tensor<64, D, f32> {gir.contiguous}, %w: !gir.tensor<V, D, f32> {gir.contiguous}) -> !gir.tensor<64, f32> attributes {gir.symbols = {V = {hint = 50000 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [1] : (!gir.tensor<64, D, f32>, !gir.tensor<V, D, f32>) -> !gir.tensor<64, V, f32>
  %1 = gir.logsumexp %0 dims [1] : !gir.tensor<64, V, f32> -> !gir.tensor<64, f32>
  return %1 : !gir.tensor<64, f32>
}
func.func @factors(%x: !gir.tensor<M, K, f32> {gir.contiguous}, %y: !gir.tensor<K, N, f32> {gir.contiguous}) -> !gir.tensor<M, N, f32> {
  %0 = gir.constant 3.000000e+00 : f32 : !gir.tensor<K, N, f32>
  %1 = gir.map mul(%y, %0) : (!gir.tensor<K, N, f32>, !gir.tensor<K, N, f32>) -> !gir.tensor<K, N, f32>
  %2 = gir.contract %x, %1 batch [] x [] over [1] x [0] : (!gir.tensor<M, K, f32>, !gir.tensor<K, N, f32>) -> !gir.tensor<M, N, f32>
  return %2 : !gir.tensor<M, N, f32>
}
