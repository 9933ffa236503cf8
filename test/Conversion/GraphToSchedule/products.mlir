// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched | FileCheck %s

// Few batches do not keep a product from the matrix unit: a tile has rows of one of them.
// CHECK-LABEL: func.func @batches
// CHECK: dims [parallel b = B tile 1, parallel i = 128 tile 128,
// CHECK-NOT: unit
// CHECK: sched.stream

// Few rows do.
// CHECK-LABEL: func.func @few
// CHECK: hints {unit = 0}

// A long stream is cut into parts where there are few rows: they stay together, for what is streamed is packed once.
// CHECK-LABEL: func.func @stream
// CHECK: tile 64, stream v = V tile 256
func.func @batches(%x: !gir.tensor<B, 128, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, 128, N, f32> attributes {gir.symbols = {B = {hint = 4 : i64, max = 4 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [2] x [0] : (!gir.tensor<B, 128, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, 128, N, f32>
  return %0 : !gir.tensor<B, 128, N, f32>
}
func.func @few(%x: !gir.tensor<B, D, f32> {gir.contiguous}, %w: !gir.tensor<D, N, f32> {gir.contiguous}) -> !gir.tensor<B, N, f32> attributes {gir.symbols = {B = {hint = 100 : i64, max = 100 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [0] : (!gir.tensor<B, D, f32>, !gir.tensor<D, N, f32>) -> !gir.tensor<B, N, f32>
  return %0 : !gir.tensor<B, N, f32>
}
func.func @stream(%x: !gir.tensor<64, D, f32> {gir.contiguous}, %w: !gir.tensor<V, D, f32> {gir.contiguous}) -> !gir.tensor<64, f32> attributes {gir.symbols = {V = {hint = 50000 : i64}}} {
  %0 = gir.contract %x, %w batch [] x [] over [1] x [1] : (!gir.tensor<64, D, f32>, !gir.tensor<V, D, f32>) -> !gir.tensor<64, V, f32>
  %1 = gir.logsumexp %0 dims [1] : !gir.tensor<64, V, f32> -> !gir.tensor<64, f32>
  return %1 : !gir.tensor<64, f32>
}
