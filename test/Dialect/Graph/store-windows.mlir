// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-windows))' | FileCheck %s
// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-store-windows{word-side=64}))' | FileCheck %s --check-prefixes=CHECK,WORDS

// Positions are rows. Elements along the first dimension of windows are 56 positions further on.
// CHECK-LABEL: func.func @conv
// CHECK: %[[TURNED:.*]] = gir.transpose %arg1 perm [0, 2, 1, 3]
// CHECK: %[[ROWS:.*]] = gir.reshape %[[TURNED]] : {{.*}} -> !gir.tensor<128, 3, 192, bf16>
// CHECK: %[[WEIGHTS:.*]] = gir.materialize %[[ROWS]] isolated because "its rows are multiplied with stored windows"
// CHECK: %[[WINDOWS:.*]] = gir.window %arg0 dims [3] sizes [3] steps [1] dilations [1]
// CHECK: gir.transpose %[[WINDOWS]] perm [0, 1, 4, 2, 3]
// CHECK: %[[STORED:.*]] = gir.materialize {{.*}} isolated because "its windows overlap, and tensor cores are fed from memory" : !gir.tensor<32, 192, 3248, bf16>
// CHECK: %[[SLID:.*]] = gir.window %[[STORED]] dims [2] sizes [3] steps [1] dilations [56]
// CHECK: gir.contract %[[SLID]], %[[WEIGHTS]] batch [] x [] over [3, 1] x [1, 2]
func.func @conv(%x: !gir.tensor<32, 64, 58, 58, bf16>, %w: !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 56, 56, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 58, 58, bf16> -> !gir.tensor<32, 64, 56, 56, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 56, 56, 3, 3, bf16>, !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 56, 56, 128, bf16>
  return %1 : !gir.tensor<32, 56, 56, 128, bf16>
}

// The second copy of a small tensor would take longer than its elements save.
// CHECK-LABEL: func.func @small
// CHECK: gir.reshape %arg1 : {{.*}} -> !gir.tensor<128, 576, bf16>
// CHECK: gir.window %arg0 dims [2, 3] sizes [3, 3]
// CHECK: gir.materialize {{.*}} : !gir.tensor<2, 576, 196, bf16>
// CHECK: gir.contract {{.*}} over [1] x [1]
func.func @small(%x: !gir.tensor<2, 64, 16, 16, bf16>, %w: !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<2, 14, 14, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<2, 64, 16, 16, bf16> -> !gir.tensor<2, 64, 14, 14, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<2, 64, 14, 14, 3, 3, bf16>, !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<2, 14, 14, 128, bf16>
  return %1 : !gir.tensor<2, 14, 14, 128, bf16>
}

// 7 positions of 16 bits are no multiple of 16 bytes: what is summed is last.
// CHECK-LABEL: func.func @unaligned
// CHECK: gir.transpose {{.*}} perm [0, 2, 3, 4, 1]
// CHECK: gir.materialize {{.*}} : !gir.tensor<512, 63, 192, bf16>
// CHECK: gir.window {{.*}} dims [1] sizes [3] steps [1] dilations [7]
func.func @unaligned(%x: !gir.tensor<512, 64, 9, 9, bf16>, %w: !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<512, 7, 7, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<512, 64, 9, 9, bf16> -> !gir.tensor<512, 64, 7, 7, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<512, 64, 7, 7, 3, 3, bf16>, !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<512, 7, 7, 128, bf16>
  return %1 : !gir.tensor<512, 7, 7, 128, bf16>
}

// Rows 2*h and 2*h + 1 are matrices of their own, and a fourth row of the weight is zero.
// CHECK-LABEL: func.func @steps
// CHECK: %[[ZERO:.*]] = gir.constant 0.000000e+00 : bf16 : !gir.tensor<128, 64, 1, 3, bf16>
// CHECK: gir.concat 2(%arg1, %[[ZERO]])
// CHECK: gir.materialize {{.*}} : !gir.tensor<128, 2, 384, bf16>
// CHECK: gir.reshape {{.*}} -> !gir.tensor<32, 64, 57, 2, 114, bf16>
// CHECK: gir.window {{.*}} dims [4] sizes [3] steps [2] dilations [1]
// CHECK: gir.materialize {{.*}} : !gir.tensor<32, 384, 3192, bf16>
// CHECK: gir.window {{.*}} dims [2] sizes [2] steps [1] dilations [56]
func.func @steps(%x: !gir.tensor<32, 64, 114, 114, bf16>, %w: !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 56, 56, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [2, 2] dilations [1, 1] : !gir.tensor<32, 64, 114, 114, bf16> -> !gir.tensor<32, 64, 56, 56, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 56, 56, 3, 3, bf16>, !gir.tensor<128, 64, 3, 3, bf16>) -> !gir.tensor<32, 56, 56, 128, bf16>
  return %1 : !gir.tensor<32, 56, 56, 128, bf16>
}

// A matrix of more than 1 GiB is divided.
// CHECK-LABEL: func.func @large
// CHECK: gir.slice %arg0 starts ["0", "0", "0"]
// CHECK: gir.slice %arg0 starts ["150", "0", "0"]
// CHECK: gir.concat 0
func.func @large(%x: !gir.tensor<300, 64, 32770, bf16>, %w: !gir.tensor<128, 64, 3, bf16>) -> !gir.tensor<300, 32768, 128, bf16> {
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<300, 64, 32770, bf16> -> !gir.tensor<300, 64, 32768, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 3] x [1, 2] : (!gir.tensor<300, 64, 32768, 3, bf16>, !gir.tensor<128, 64, 3, bf16>) -> !gir.tensor<300, 32768, 128, bf16>
  return %1 : !gir.tensor<300, 32768, 128, bf16>
}

// A weight that is a view is stored, too.
// CHECK-LABEL: func.func @view
// CHECK: %[[W:.*]] = gir.transpose %arg1 perm [1, 0, 2]
// CHECK: %[[STORED:.*]] = gir.materialize {{.*}} isolated because "its rows are multiplied with stored windows"
// CHECK: gir.contract %{{.*}}, %[[STORED]]
func.func @view(%x: !gir.tensor<32, 64, 58, f32>, %w: !gir.tensor<64, 32, 3, f32>) -> !gir.tensor<32, 56, 32, f32> {
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<32, 64, 58, f32> -> !gir.tensor<32, 64, 56, 3, f32>
  %1 = gir.transpose %w perm [1, 0, 2] : !gir.tensor<64, 32, 3, f32> -> !gir.tensor<32, 64, 3, f32>
  %2 = gir.contract %0, %1 batch [] x [] over [1, 3] x [1, 2] : (!gir.tensor<32, 64, 56, 3, f32>, !gir.tensor<32, 64, 3, f32>) -> !gir.tensor<32, 56, 32, f32>
  return %2 : !gir.tensor<32, 56, 32, f32>
}

// Where positions are summed, as in the gradient of a weight, all elements are stored.
// CHECK-LABEL: func.func @gradient
// CHECK: gir.transpose {{.*}} perm [0, 1, 4, 5, 2, 3]
// CHECK: gir.materialize {{.*}} : !gir.tensor<32, 64, 3, 3, 56, 56, bf16>
func.func @gradient(%x: !gir.tensor<32, 64, 58, 58, bf16>, %dy: !gir.tensor<32, 128, 56, 56, bf16>) -> !gir.tensor<128, 64, 3, 3, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 58, 58, bf16> -> !gir.tensor<32, 64, 56, 56, 3, 3, bf16>
  %1 = gir.contract %dy, %0 batch [] x [] over [0, 2, 3] x [0, 2, 3] : (!gir.tensor<32, 128, 56, 56, bf16>, !gir.tensor<32, 64, 56, 56, 3, 3, bf16>) -> !gir.tensor<128, 64, 3, 3, bf16>
  return %1 : !gir.tensor<128, 64, 3, 3, bf16>
}

// One channel for each window is no matrix.
// CHECK-LABEL: func.func @single_channels
// CHECK-NOT: gir.materialize
// CHECK: return
func.func @single_channels(%x: !gir.tensor<32, 64, 58, f32>, %w: !gir.tensor<64, 3, f32>) -> !gir.tensor<64, 32, 56, f32> {
  %0 = gir.window %x dims [2] sizes [3] steps [1] dilations [1] : !gir.tensor<32, 64, 58, f32> -> !gir.tensor<32, 64, 56, 3, f32>
  %1 = gir.contract %0, %w batch [1] x [0] over [3] x [1] : (!gir.tensor<32, 64, 56, 3, f32>, !gir.tensor<64, 3, f32>) -> !gir.tensor<64, 32, 56, f32>
  return %1 : !gir.tensor<64, 32, 56, f32>
}

// wgmma has no transposed operands of tf32: what is summed is last, in aligned rows, if the sides are long.
// CHECK-LABEL: func.func @words
// CHECK: gir.materialize {{.*}} isolated align_rows 16 because "its rows are multiplied with stored windows" : !gir.tensor<64, 7, 21, f32>
// WORDS: gir.transpose {{.*}} perm [0, 2, 3, 4, 1]
// WORDS: gir.materialize {{.*}} isolated align_rows 16 {{.*}} : !gir.tensor<32, 3472, 21, f32>
// CHECK: gir.contract
func.func @words(%x: !gir.tensor<32, 3, 62, 62, f32>, %w: !gir.tensor<64, 3, 7, 7, f32>) -> !gir.tensor<32, 56, 56, 64, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = gir.window %x dims [2, 3] sizes [7, 7] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 3, 62, 62, f32> -> !gir.tensor<32, 3, 56, 56, 7, 7, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 3, 56, 56, 7, 7, f32>, !gir.tensor<64, 3, 7, 7, f32>) -> !gir.tensor<32, 56, 56, 64, f32>
  return %1 : !gir.tensor<32, 56, 56, 64, f32>
}

// Few channels are enough for positions that fill a device.
// CHECK-LABEL: func.func @words_of_few_channels
// WORDS: gir.transpose %{{.*}} perm [0, 2, 3, 4, 1]
// CHECK: gir.contract
func.func @words_of_few_channels(%x: !gir.tensor<32, 64, 58, 58, f32>, %w: !gir.tensor<32, 64, 3, 3, f32>) -> !gir.tensor<32, 56, 56, 32, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 64, 58, 58, f32> -> !gir.tensor<32, 64, 56, 56, 3, 3, f32>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 64, 56, 56, 3, 3, f32>, !gir.tensor<32, 64, 3, 3, f32>) -> !gir.tensor<32, 56, 56, 32, f32>
  return %1 : !gir.tensor<32, 56, 56, 32, f32>
}

// Both dimensions slide: positions are those of the tensor, and six of each 114 are left out.
// CHECK-LABEL: func.func @two_dimensions
// WORDS: gir.concat 1(%{{.*}}, %{{.*}}) : {{.*}} -> !gir.tensor<32, 13002, 128, bf16>
// WORDS: %[[STORED:.*]] = gir.materialize {{.*}} : !gir.tensor<32, 13002, 128, bf16>
// WORDS: %[[ROWS:.*]] = gir.window %[[STORED]] dims [1] sizes [7] steps [1] dilations [114]
// WORDS: %[[BOTH:.*]] = gir.window %[[ROWS]] dims [1] sizes [7] steps [1] dilations [1]
// WORDS: %[[PRODUCT:.*]] = gir.contract %[[BOTH]], %{{.*}} batch [] x [] over [3, 4, 2] x [1, 2, 3]
// WORDS: %[[ALL:.*]] = gir.materialize %[[PRODUCT]] because "its rows end with positions that no window has"
// WORDS: %[[POSITIONS:.*]] = gir.reshape %[[ALL]] : {{.*}} -> !gir.tensor<32, 108, 114, 64, bf16>
// WORDS: gir.slice %[[POSITIONS]] {{.*}} -> !gir.tensor<32, 108, 108, 64, bf16>
// CHECK: return
func.func @two_dimensions(%x: !gir.tensor<32, 128, 114, 114, bf16>, %w: !gir.tensor<64, 128, 7, 7, bf16>) -> !gir.tensor<32, 108, 108, 64, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [7, 7] steps [1, 1] dilations [1, 1] : !gir.tensor<32, 128, 114, 114, bf16> -> !gir.tensor<32, 128, 108, 108, 7, 7, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 128, 108, 108, 7, 7, bf16>, !gir.tensor<64, 128, 7, 7, bf16>) -> !gir.tensor<32, 108, 108, 64, bf16>
  return %1 : !gir.tensor<32, 108, 108, 64, bf16>
}

// A dilation that is a multiple of the step: windows show every second row.
// CHECK-LABEL: func.func @skipped_rows
// CHECK: gir.slice %arg0 starts ["0", "0", "0", "0"] steps [1, 1, 2, 1] : {{.*}} -> !gir.tensor<32, 128, 59, 117, bf16>
// WORDS: gir.slice %arg0 starts ["0", "0", "0", "0"] steps [1, 1, 2, 2] : {{.*}} -> !gir.tensor<32, 128, 59, 59, bf16>
// WORDS: gir.window {{.*}} dims [1] sizes [3] steps [1] dilations [59]
// CHECK: gir.contract
func.func @skipped_rows(%x: !gir.tensor<32, 128, 117, 117, bf16>, %w: !gir.tensor<128, 128, 3, 3, bf16>) -> !gir.tensor<32, 57, 57, 128, bf16> {
  %0 = gir.window %x dims [2, 3] sizes [3, 3] steps [2, 2] dilations [2, 2] : !gir.tensor<32, 128, 117, 117, bf16> -> !gir.tensor<32, 128, 57, 57, 3, 3, bf16>
  %1 = gir.contract %0, %w batch [] x [] over [1, 4, 5] x [1, 2, 3] : (!gir.tensor<32, 128, 57, 57, 3, 3, bf16>, !gir.tensor<128, 128, 3, 3, bf16>) -> !gir.tensor<32, 57, 57, 128, bf16>
  return %1 : !gir.tensor<32, 57, 57, 128, bf16>
}
