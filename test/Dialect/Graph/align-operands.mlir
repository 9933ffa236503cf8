// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-align-operands))' | FileCheck %s
// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-align-operands),convert-graph-to-sched{target=sm_90:ptx})' | FileCheck %s --check-prefix=SCHED

// Rows of 2,002 bytes are copied to cache lines; those of 2,048 are read where they are.
// CHECK-LABEL: @odd_rows
// CHECK-NEXT: %[[A:.*]] = gir.materialize %arg0 isolated align_rows 128 because
// CHECK-NEXT: gir.contract %[[A]], %arg1
// SCHED-LABEL: @odd_rows
// SCHED: sched.kernel @odd_rows_0{{.*}} -> (%{{.*}} : !gir.tensor<8192, 1024, bf16>)
// SCHED: sched.kernel @odd_rows_1
func.func @odd_rows(%a: !gir.tensor<8192, 1001, bf16> {gir.contiguous}, %b: !gir.tensor<1001, 1024, bf16> {gir.contiguous}) -> !gir.tensor<8192, 1024, bf16> {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<8192, 1001, bf16>, !gir.tensor<1001, 1024, bf16>) -> !gir.tensor<8192, 1024, bf16>
  return %0 : !gir.tensor<8192, 1024, bf16>
}

// Few multiplications do not pay for a copy, and unknown strides may be aligned.
// CHECK-LABEL: @small
// CHECK-NEXT: gir.contract %arg0, %arg1
func.func @small(%a: !gir.tensor<512, 1001, bf16> {gir.contiguous}, %b: !gir.tensor<1001, 512, bf16> {gir.contiguous}) -> !gir.tensor<512, 512, bf16> {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<512, 1001, bf16>, !gir.tensor<1001, 512, bf16>) -> !gir.tensor<512, 512, bf16>
  return %0 : !gir.tensor<512, 512, bf16>
}
// CHECK-LABEL: @strided
// CHECK-NEXT: gir.contract %arg0, %arg1
func.func @strided(%a: !gir.tensor<8192, 1001, bf16>, %b: !gir.tensor<1001, 1024, bf16> {gir.contiguous}) -> !gir.tensor<8192, 1024, bf16> {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<8192, 1001, bf16>, !gir.tensor<1001, 1024, bf16>) -> !gir.tensor<8192, 1024, bf16>
  return %0 : !gir.tensor<8192, 1024, bf16>
}

// Short rows are padded to 16 bytes only. Reshapes of an argument are copied like arguments.
// CHECK-LABEL: @short
// CHECK-NEXT: %[[A:.*]] = gir.reshape %arg0
// CHECK-NEXT: %[[M:.*]] = gir.materialize %[[A]] isolated align_rows 16 because
// CHECK-NEXT: gir.contract %[[M]], %arg1
func.func @short(%a: !gir.tensor<16, 8192, 100, bf16> {gir.contiguous}, %b: !gir.tensor<100, 1024, bf16> {gir.contiguous}) -> !gir.tensor<131072, 1024, bf16> {
  %0 = gir.reshape %a : !gir.tensor<16, 8192, 100, bf16> -> !gir.tensor<131072, 100, bf16>
  %1 = gir.contract %0, %b batch [] x [] over [1] x [0] : (!gir.tensor<131072, 100, bf16>, !gir.tensor<100, 1024, bf16>) -> !gir.tensor<131072, 1024, bf16>
  return %1 : !gir.tensor<131072, 1024, bf16>
}

// A copy moves an element twice: it pays if the contraction reads it a few hundred times.
// CHECK-LABEL: @few_reads
// CHECK-NEXT: gir.contract %arg0, %arg1
func.func @few_reads(%a: !gir.tensor<65536, 1001, bf16> {gir.contiguous}, %b: !gir.tensor<1001, 64, bf16> {gir.contiguous}) -> !gir.tensor<65536, 64, bf16> {
  %0 = gir.contract %a, %b batch [] x [] over [1] x [0] : (!gir.tensor<65536, 1001, bf16>, !gir.tensor<1001, 64, bf16>) -> !gir.tensor<65536, 64, bf16>
  return %0 : !gir.tensor<65536, 64, bf16>
}
