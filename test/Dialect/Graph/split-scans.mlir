// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-split-scans{sms=132}))' | FileCheck %s
// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-split-scans{sms=2}))' | FileCheck %s --check-prefix=SMALL

// One row of 64 MiB: its 64 parts are summed, then what comes before each part, and the parts are scanned from there.
// CHECK-LABEL: @long
// CHECK: %[[PARTS:.*]] = gir.reshape %arg0 : {{.*}} -> !gir.tensor<1, 64, 262144, f32>
// CHECK: %[[SUMS:.*]] = gir.reduce sum %[[PARTS]] dims [2]
// CHECK: %[[STORED:.*]] = gir.materialize %[[SUMS]] because
// CHECK: gir.transpose %[[STORED]]
// CHECK: %[[BEFORE:.*]] = gir.materialize %{{.*}} because
// CHECK: gir.broadcast %[[BEFORE]]
// CHECK: gir.scan sum %[[PARTS]] dim 2
// A device whose SMs are busy with fewer rows.
// SMALL-LABEL: @long
// SMALL-NEXT: gir.scan sum %arg0 dim 1
func.func @long(%x: !gir.tensor<1, 16777216, f32>) -> !gir.tensor<1, 16777216, f32> {
  %0 = gir.scan sum %x dim 1 : !gir.tensor<1, 16777216, f32>
  return %0 : !gir.tensor<1, 16777216, f32>
}

// Additions keep their order where numerics are strict.
// CHECK-LABEL: @strict
// CHECK-NEXT: gir.scan
func.func @strict(%x: !gir.tensor<1, 16777216, f32>) -> !gir.tensor<1, 16777216, f32> attributes {gir.numerics = {numerics = "strict"}} {
  %0 = gir.scan sum %x dim 1 : !gir.tensor<1, 16777216, f32>
  return %0 : !gir.tensor<1, 16777216, f32>
}

// 64 parts are not equal, and other monoids stay whole.
// CHECK-LABEL: @odd
// CHECK-NEXT: gir.scan sum
// CHECK-NEXT: gir.scan prod
func.func @odd(%x: !gir.tensor<1, 16777217, f32>, %y: !gir.tensor<1, 16777216, f32>) -> (!gir.tensor<1, 16777217, f32>, !gir.tensor<1, 16777216, f32>) {
  %0 = gir.scan sum %x dim 1 : !gir.tensor<1, 16777217, f32>
  %1 = gir.scan prod %y dim 1 : !gir.tensor<1, 16777216, f32>
  return %0, %1 : !gir.tensor<1, 16777217, f32>, !gir.tensor<1, 16777216, f32>
}
