// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 -print-cpu-code -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=aarch64 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=ARM

// Marked operations of f32 are estimates in whole registers, a scalar's too; others are exact.
// CHECK-LABEL: lanes:
// CHECK-NOT: vdivps
// CHECK-NOT: vsqrtps
// CHECK-DAG: vreduceps $9, {{.*}}zmm
// CHECK-DAG: vscalefps {{.*}}zmm
// CHECK-DAG: vrcp14ps {{.*}}zmm
// CHECK-DAG: vrsqrt14ps {{.*}}zmm
// CHECK-DAG: vfixupimmps {{.*}}zmm

// On AArch64 the exponent of a power comes from the bits of a sum, and quotients from an estimate and one step.
// ARM-LABEL: lanes:
// ARM-NOT: fdiv
// ARM-NOT: frint
// ARM-NOT: fcvt
// ARM-DAG: fmin {{.*}}.4s
// ARM-DAG: shl {{.*}}.4s, #23
// ARM-DAG: frecpe {{.*}}.4s
// ARM-DAG: frecps {{.*}}.4s
// ARM: fsqrt {{.*}}.4s
!v = !tile.view<16xf32, strides = [1]>
tile.kernel @lanes(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !v -> tensor<16xf32>
  %1 = tile.map exp2(%0) fast : (tensor<16xf32>) -> tensor<16xf32>
  %2 = tile.map reciprocal(%1) fast : (tensor<16xf32>) -> tensor<16xf32>
  %3 = tile.map sqrt(%2) fast : (tensor<16xf32>) -> tensor<16xf32>
  tile.store %3, %y[%c0] dims [0] : tensor<16xf32>, !v
  tile.return
}

// CHECK-LABEL: scalar:
// CHECK-NOT: sqrtss
// CHECK: vrsqrt14ps {{.*}}zmm
tile.kernel @scalar(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [] : !v -> tensor<f32>
  %1 = tile.map rsqrt(%0) fast : (tensor<f32>) -> tensor<f32>
  tile.store %1, %y[%c0] dims [] : tensor<f32>, !v
  tile.return
}

// ARM-LABEL: exact:
// ARM: fsqrt {{.*}}.4s
// ARM: fdiv {{.*}}.4s
// CHECK-LABEL: exact:
// CHECK: vsqrtps {{.*}}zmm
// CHECK: vdivps {{.*}}zmm
tile.kernel @exact(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !v -> tensor<16xf32>
  %1 = tile.map sqrt(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = tile.map div(%0, %1) fast : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tile.store %2, %y[%c0] dims [0] : tensor<16xf32>, !v
  tile.return
}

// Of f64 there are none.
// CHECK-LABEL: wide:
// CHECK: vsqrtpd {{.*}}zmm
!w = !tile.view<16xf64, strides = [1]>
tile.kernel @wide(%x: !w, %y: !w) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !w -> tensor<16xf64>
  %1 = tile.map sqrt(%0) fast : (tensor<16xf64>) -> tensor<16xf64>
  tile.store %1, %y[%c0] dims [0] : tensor<16xf64>, !w
  tile.return
}
