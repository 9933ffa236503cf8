// A chain of forty additions of a value to itself is visited once per value: the pass terminates quickly.
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts | FileCheck %s

// CHECK-LABEL: tile.kernel @deep
// CHECK-COUNT-40: tile.map add
// CHECK: tile.reduce sum
!v = !tile.view<1xf32, strides = [1]>
tile.kernel @deep(%y: !v, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.iota %n : tensor<64xi64>
  %t0 = tile.cast %i : tensor<64xi64> -> tensor<64xf32>
  %t1 = tile.map add(%t0, %t0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t2 = tile.map add(%t1, %t1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t3 = tile.map add(%t2, %t2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t4 = tile.map add(%t3, %t3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t5 = tile.map add(%t4, %t4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t6 = tile.map add(%t5, %t5) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t7 = tile.map add(%t6, %t6) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t8 = tile.map add(%t7, %t7) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t9 = tile.map add(%t8, %t8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t10 = tile.map add(%t9, %t9) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t11 = tile.map add(%t10, %t10) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t12 = tile.map add(%t11, %t11) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t13 = tile.map add(%t12, %t12) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t14 = tile.map add(%t13, %t13) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t15 = tile.map add(%t14, %t14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t16 = tile.map add(%t15, %t15) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t17 = tile.map add(%t16, %t16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t18 = tile.map add(%t17, %t17) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t19 = tile.map add(%t18, %t18) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t20 = tile.map add(%t19, %t19) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t21 = tile.map add(%t20, %t20) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t22 = tile.map add(%t21, %t21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t23 = tile.map add(%t22, %t22) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t24 = tile.map add(%t23, %t23) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t25 = tile.map add(%t24, %t24) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t26 = tile.map add(%t25, %t25) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t27 = tile.map add(%t26, %t26) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t28 = tile.map add(%t27, %t27) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t29 = tile.map add(%t28, %t28) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t30 = tile.map add(%t29, %t29) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t31 = tile.map add(%t30, %t30) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t32 = tile.map add(%t31, %t31) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t33 = tile.map add(%t32, %t32) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t34 = tile.map add(%t33, %t33) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t35 = tile.map add(%t34, %t34) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t36 = tile.map add(%t35, %t35) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t37 = tile.map add(%t36, %t36) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t38 = tile.map add(%t37, %t37) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t39 = tile.map add(%t38, %t38) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t40 = tile.map add(%t39, %t39) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %s = tile.reduce sum %t40 dims [0] : tensor<64xf32> -> tensor<f32>
  tile.store %s, %y[%c0] dims [] : tensor<f32>, !v
  tile.return
}
