// RUN: %tessera_opt %s --gir-decompose --convert-graph-to-sched=target=sm_90:ptx | FileCheck %s

// Groups of channels are normalized together, and the channels are read as such afterwards: the statistics of the groups
// are stored, and the channels read them at the quotient of their number. Nothing else is between the two kernels. The
// number of channels is not known to be a multiple of the number of groups.
// CHECK-LABEL: func.func @grouped
// CHECK: sched.kernel @grouped_0({{.*}}) -> (%out : !gir.tensor<N, 2, f32>, %out_0 : !gir.tensor<N, 2, f32>)
// CHECK: a value is stored between kernels because groups of elements share it
// CHECK: sched.kernel @grouped_1(
// CHECK: %[[G:.*]] = sched.index "floordiv([[C:.*]], floordiv(C, 2))" : <[[[C]]], i64>
// CHECK: sched.load %{{.*}}["{{.*}}", "#0"] at(%[[G]] : {{.*}}) below ["2"] : <N, 2, f32>
// CHECK: sched.load %{{.*}}["[[C]]"] : <C, f32>
// CHECK: sched.store {{.*}} <N, C, H, f32>
// CHECK-NOT: sched.kernel
func.func @grouped(%x: !gir.tensor<N, C, H, f32> {gir.contiguous}, %w: !gir.tensor<C, f32> {gir.contiguous}) -> !gir.tensor<N, C, H, f32> {
  %0 = gir.reshape %x : !gir.tensor<N, C, H, f32> -> !gir.tensor<N, 2, "floordiv(C, 2)", H, f32>
  %1 = gir.layer_norm %0 rank 2 eps 1.0e-05 : (!gir.tensor<N, 2, "floordiv(C, 2)", H, f32>) -> !gir.tensor<N, 2, "floordiv(C, 2)", H, f32>
  %2 = gir.reshape %1 : !gir.tensor<N, 2, "floordiv(C, 2)", H, f32> -> !gir.tensor<N, C, H, f32>
  %3 = gir.broadcast %w dims [1] : !gir.tensor<C, f32> -> !gir.tensor<N, C, H, f32>
  %4 = gir.map mul(%2, %3) : (!gir.tensor<N, C, H, f32>, !gir.tensor<N, C, H, f32>) -> !gir.tensor<N, C, H, f32>
  return %4 : !gir.tensor<N, C, H, f32>
}

// Rows that are repeated for groups are stored as such for other reasons: so are rows normalized before.
// CHECK-LABEL: func.func @repeated
// CHECK-NOT: groups of elements share it
// CHECK: sched.kernel @repeated_0({{.*}}) -> (%out : !gir.tensor<B, 24, D, f32>)
// CHECK-NOT: groups of elements share it
// CHECK: sched.kernel @repeated_1(
// CHECK-NOT: sched.kernel
func.func @repeated(%x: !gir.tensor<B, 8, D, f32> {gir.contiguous}, %y: !gir.tensor<B, 24, D, f32> {gir.contiguous}) -> !gir.tensor<B, 24, D, f32> {
  %0 = gir.layer_norm %x rank 1 eps 1.0e-05 : (!gir.tensor<B, 8, D, f32>) -> !gir.tensor<B, 8, D, f32>
  %1 = gir.broadcast %0 dims [0, 1, 3] : !gir.tensor<B, 8, D, f32> -> !gir.tensor<B, 8, 3, D, f32>
  %2 = gir.reshape %1 : !gir.tensor<B, 8, 3, D, f32> -> !gir.tensor<B, 24, D, f32>
  %3 = gir.map mul(%2, %y) : (!gir.tensor<B, 24, D, f32>, !gir.tensor<B, 24, D, f32>) -> !gir.tensor<B, 24, D, f32>
  return %3 : !gir.tensor<B, 24, D, f32>
}

// Groups along the last dimension would take a division for each element: the normalized rows are stored.
// CHECK-LABEL: func.func @innermost
// CHECK-NOT: groups of elements share it
// CHECK: sched.kernel @innermost_0({{.*}}) -> (%out : !gir.tensor<N, C, f32>)
// CHECK: sched.kernel @innermost_1(
func.func @innermost(%x: !gir.tensor<N, C, f32> {gir.contiguous}, %w: !gir.tensor<C, f32> {gir.contiguous}) -> !gir.tensor<N, C, f32> {
  %0 = gir.reshape %x : !gir.tensor<N, C, f32> -> !gir.tensor<N, 2, "floordiv(C, 2)", f32>
  %1 = gir.layer_norm %0 rank 1 eps 1.0e-05 : (!gir.tensor<N, 2, "floordiv(C, 2)", f32>) -> !gir.tensor<N, 2, "floordiv(C, 2)", f32>
  %2 = gir.reshape %1 : !gir.tensor<N, 2, "floordiv(C, 2)", f32> -> !gir.tensor<N, C, f32>
  %3 = gir.broadcast %w dims [1] : !gir.tensor<C, f32> -> !gir.tensor<N, C, f32>
  %4 = gir.map mul(%2, %3) : (!gir.tensor<N, C, f32>, !gir.tensor<N, C, f32>) -> !gir.tensor<N, C, f32>
  return %4 : !gir.tensor<N, C, f32>
}
