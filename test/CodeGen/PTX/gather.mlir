// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// A row with a gathered index is loaded in 16-byte vectors.
// CHECK-LABEL: .entry row(
// CHECK: ld.global.b64
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-NOT: ld.global
tile.kernel @row(%i: !tile.view<1xi64, strides = [1]>, %x: !tile.view<512x8xbf16, strides = [1, 512]>, %y: !tile.view<512xbf16, strides = [1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %n = tile.load %i[%c0] dims [] : !tile.view<1xi64, strides = [1]> -> tensor<i64>
  %p = tile.broadcast %n dims [] : tensor<i64> -> tensor<512xi64>
  %a = tile.gather %x[%c0] at (%p) dims [0] : !tile.view<512x8xbf16, strides = [1, 512]>, tensor<512xi64> -> tensor<512xbf16>
  tile.store %a, %y[%c0] dims [0] : tensor<512xbf16>, !tile.view<512xbf16, strides = [1]>
  tile.return
}

// Elements with different indices are loaded one by one.
// CHECK-LABEL: .entry each(
// CHECK-COUNT-8: ld.global.b16
// CHECK-NOT: ld.global
tile.kernel @each(%i: !tile.view<256xi64, strides = [1]>, %x: !tile.view<256x8xbf16, strides = [1, 256]>, %y: !tile.view<256xbf16, strides = [1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %p = tile.load %i[%c0] dims [0] : !tile.view<256xi64, strides = [1]> -> tensor<256xi64>
  %a = tile.gather %x[%c0] at (%p) dims [0] : !tile.view<256x8xbf16, strides = [1, 256]>, tensor<256xi64> -> tensor<256xbf16>
  tile.store %a, %y[%c0] dims [0] : tensor<256xbf16>, !tile.view<256xbf16, strides = [1]>
  tile.return
}
