// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90a --tile-assign-layouts | FileCheck %s

// A slice of the layout of 32x32x16 elements has 64 registers for 32x32 of them, which eight lanes hold alike.
// Long work is done once, in a layout of its own, and converted.
// CHECK: #[[OWN:.*]] = #tile.layout<"register[d1:1, d0:8, d0:16] lane[
// CHECK-LABEL: @long_work
// CHECK-COUNT-40: tile.map mul({{.*}}) : {{.*}} -> tensor<32x32xf64, #[[OWN]]>
// CHECK: tile.convert {{.*}} : tensor<32x32xf64, #[[OWN]]>
// CHECK: tile.broadcast
tile.kernel @long_work(%a: !tile.view<32x32xf64, strides = [32, 1]>, %b: !tile.view<32x32x16xf64, strides = [512, 16, 1]>,
    %r: !tile.view<32x32x16xf64, strides = [512, 16, 1]>) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %s0 = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<32x32xf64, strides = [32, 1]> -> tensor<32x32xf64>
  %t = tile.load %b[%c0, %c0, %c0] dims [0, 1, 2] : !tile.view<32x32x16xf64, strides = [512, 16, 1]> -> tensor<32x32x16xf64>
  %s1 = tile.map mul(%s0, %s0) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s2 = tile.map mul(%s1, %s1) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s3 = tile.map mul(%s2, %s2) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s4 = tile.map mul(%s3, %s3) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s5 = tile.map mul(%s4, %s4) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s6 = tile.map mul(%s5, %s5) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s7 = tile.map mul(%s6, %s6) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s8 = tile.map mul(%s7, %s7) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s9 = tile.map mul(%s8, %s8) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s10 = tile.map mul(%s9, %s9) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s11 = tile.map mul(%s10, %s10) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s12 = tile.map mul(%s11, %s11) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s13 = tile.map mul(%s12, %s12) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s14 = tile.map mul(%s13, %s13) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s15 = tile.map mul(%s14, %s14) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s16 = tile.map mul(%s15, %s15) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s17 = tile.map mul(%s16, %s16) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s18 = tile.map mul(%s17, %s17) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s19 = tile.map mul(%s18, %s18) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s20 = tile.map mul(%s19, %s19) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s21 = tile.map mul(%s20, %s20) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s22 = tile.map mul(%s21, %s21) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s23 = tile.map mul(%s22, %s22) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s24 = tile.map mul(%s23, %s23) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s25 = tile.map mul(%s24, %s24) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s26 = tile.map mul(%s25, %s25) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s27 = tile.map mul(%s26, %s26) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s28 = tile.map mul(%s27, %s27) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s29 = tile.map mul(%s28, %s28) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s30 = tile.map mul(%s29, %s29) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s31 = tile.map mul(%s30, %s30) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s32 = tile.map mul(%s31, %s31) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s33 = tile.map mul(%s32, %s32) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s34 = tile.map mul(%s33, %s33) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s35 = tile.map mul(%s34, %s34) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s36 = tile.map mul(%s35, %s35) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s37 = tile.map mul(%s36, %s36) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s38 = tile.map mul(%s37, %s37) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s39 = tile.map mul(%s38, %s38) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %s40 = tile.map mul(%s39, %s39) : (tensor<32x32xf64>, tensor<32x32xf64>) -> tensor<32x32xf64>
  %w = tile.broadcast %s40 dims [0, 1] : tensor<32x32xf64> -> tensor<32x32x16xf64>
  %u = tile.map add(%w, %t) : (tensor<32x32x16xf64>, tensor<32x32x16xf64>) -> tensor<32x32x16xf64>
  tile.store %u, %r[%c0, %c0, %c0] dims [0, 1, 2] : tensor<32x32x16xf64>, !tile.view<32x32x16xf64, strides = [512, 16, 1]>
  tile.return
}
