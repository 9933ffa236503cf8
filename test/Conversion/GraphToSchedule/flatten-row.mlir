// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched=target=sm_90:ptx | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched='target=x86-64-v4 cores=4' | FileCheck %s --check-prefixes=CHECK,CPU

// A row of several dimensions is one stream where they are adjacent in everything that has them: one kernel reads it,
// reduces it and stores it.
// CHECK-LABEL: func.func @norm
// CHECK: sched.kernel @norm_0(
// CHECK: dims [parallel {{.*}} = 1000 tile 1, stream [[R:.*]] = 5809 tile 1]
// CHECK: sched.stream over [[[R]]]
// CHECK: sched.load %{{.*}}["[[R]]"] : <157, 37, f32> -> <[[[R]]], f32>
// CHECK: sched.store {{.*}}[[R]]{{.*}}, <1000, 157, 37, f32>
// CHECK-NOT: sched.kernel
func.func @norm(%x: !gir.tensor<1000, 157, 37, f32> {gir.contiguous}, %w: !gir.tensor<157, 37, f32> {gir.contiguous}) -> !gir.tensor<1000, 157, 37, f32> {
  %0 = gir.layer_norm %x rank 2 eps 1.0e-05 scale %w : (!gir.tensor<1000, 157, 37, f32>, !gir.tensor<157, 37, f32>) -> !gir.tensor<1000, 157, 37, f32>
  return %0 : !gir.tensor<1000, 157, 37, f32>
}

// A tensor may have gaps between rows: the statistics are stored.
// CHECK-LABEL: func.func @gaps
// CHECK: sched.kernel @gaps_0(
// CHECK: sched.kernel @gaps_1(
func.func @gaps(%x: !gir.tensor<1000, 157, 37, f32>, %w: !gir.tensor<157, 37, f32> {gir.contiguous}) -> !gir.tensor<1000, 157, 37, f32> {
  %0 = gir.layer_norm %x rank 2 eps 1.0e-05 scale %w : (!gir.tensor<1000, 157, 37, f32>, !gir.tensor<157, 37, f32>) -> !gir.tensor<1000, 157, 37, f32>
  return %0 : !gir.tensor<1000, 157, 37, f32>
}

// The same where an operand has one of the dimensions alone.
// CHECK-LABEL: func.func @beside
// CHECK: sched.kernel @beside_0(
// CHECK: sched.kernel @beside_1(
func.func @beside(%x: !gir.tensor<1000, 157, 37, f32> {gir.contiguous}, %w: !gir.tensor<157, f32> {gir.contiguous}) -> !gir.tensor<1000, 157, 37, f32> {
  %0 = gir.layer_norm %x rank 2 eps 1.0e-05 : (!gir.tensor<1000, 157, 37, f32>) -> !gir.tensor<1000, 157, 37, f32>
  %1 = gir.broadcast %w dims [1] : !gir.tensor<157, f32> -> !gir.tensor<1000, 157, 37, f32>
  %2 = gir.map mul(%0, %1) : (!gir.tensor<1000, 157, 37, f32>, !gir.tensor<1000, 157, 37, f32>) -> !gir.tensor<1000, 157, 37, f32>
  return %2 : !gir.tensor<1000, 157, 37, f32>
}

// Four cores have two rows: the statistics are stored, so that all cores share the rows. CTAs of a GPU share a row.
// CHECK-LABEL: func.func @few
// GPU: sched.kernel @few_0(
// GPU-NOT: sched.kernel
// CPU: sched.kernel @few_0(
// CPU: sched.kernel @few_1(
func.func @few(%x: !gir.tensor<2, 157, 37, f32> {gir.contiguous}) -> !gir.tensor<2, 157, 37, f32> {
  %0 = gir.layer_norm %x rank 2 eps 1.0e-05 : (!gir.tensor<2, 157, 37, f32>) -> !gir.tensor<2, 157, 37, f32>
  return %0 : !gir.tensor<2, 157, 37, f32>
}
