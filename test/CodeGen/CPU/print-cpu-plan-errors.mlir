// RUN: %tessera_opt %s -print-cpu-plan -o /dev/null -verify-diagnostics
// RUN: not %tessera_opt %s -print-cpu-plan=target=z80 -o /dev/null 2>&1 | FileCheck %s

// CHECK: expected target cpu, x86-64-v2, x86-64-v3, x86-64-v4, aarch64 or an architecture with features, got 'z80'
!v = !tile.view<16x16xf32, strides = [16, 1]>
tile.kernel @parts(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<16x16xf32>
  %z = tile.constant 0.0 : f32 : tensor<2x16x16xf32>
  // expected-error @below {{expected one partial accumulator for a CPU, got 2}}
  %m = tile.mma %t, %t, %z : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %s = tile.reduce sum %m dims [0] : tensor<2x16x16xf32> -> tensor<16x16xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, !v
  tile.return
}
