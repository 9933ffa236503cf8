// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 -print-cpu-code -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=X86

// A bf16 becomes f32 by zeros below it: interleaved, which all of a NEON processor's units do. The lanes that are no
// register are shifted.
// CHECK-LABEL: wide:
// CHECK: zip1 {{.*}}.8h
// CHECK: shl {{.*}}.2s, {{.*}}.2s, #16
// X86-LABEL: wide:
// X86: vpslld $16
!n = !tile.view<6xbf16, strides = [1]>
!w = !tile.view<6xf32, strides = [1]>
tile.kernel @wide(%x: !n, %y: !w) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !n -> tensor<6xbf16>
  %1 = tile.cast %0 : tensor<6xbf16> -> tensor<6xf32>
  %2 = tile.map add(%1, %1) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  tile.store %2, %y[%c0] dims [0] : tensor<6xf32>, !w
  tile.return
}
