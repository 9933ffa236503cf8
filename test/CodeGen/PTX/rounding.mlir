// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-expand-math -canonicalize -tile-assign-layouts -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-expand-math -canonicalize -tile-assign-layouts -tile-allocate-shared -tile-place-barriers -print-ptx=fuse=false -o /dev/null | FileCheck %s --check-prefix=STRICT

!row = !tile.view<128xf32, strides = [1]>

// A product goes into the sum that takes it, unless everything is rounded.
// CHECK-LABEL: .entry fused(
// CHECK: fma.rn.f32
// STRICT-LABEL: .entry fused(
// STRICT: mul.rn.f32 {{[ \t]*}}[[PRODUCT:%r[0-9]+]],
// STRICT: add.rn.f32 {{.*}}[[PRODUCT]],
tile.kernel @fused(%x: !row, %y: !row) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !row -> tensor<128xf32>
  %b = tile.load %y[%c0] dims [0] : !row -> tensor<128xf32>
  %p = tile.map mul(%a, %b) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  %s = tile.map add(%p, %a) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  tile.store %s, %y[%c0] dims [0] : tensor<128xf32>, !row
  tile.return
}

// The quotient of a product is rounded to the nearest number, and so is the product wherever it is used: its exact remainder
// is one with the rounded product, and nothing else is computed of the factors.
// CHECK-LABEL: .entry quotient(
// CHECK: mul.f32 {{[ \t]*}}[[PRODUCT:%r[0-9]+]], [[A:%r[0-9]+]], [[B:%r[0-9]+]];
// CHECK: div.rn.f32 {{.*}}[[PRODUCT]],
// CHECK: cvt.rmi.f32.f32
// CHECK-NOT: [[A]], [[B]]
// CHECK: fma.rn.f32 {{.*}}, [[PRODUCT]];
// CHECK-NOT: [[A]], [[B]]
// CHECK: ret;
tile.kernel @quotient(%x: !row, %y: !row, %z: !row) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !row -> tensor<128xf32>
  %b = tile.load %y[%c0] dims [0] : !row -> tensor<128xf32>
  %d = tile.load %z[%c0] dims [0] : !row -> tensor<128xf32>
  %p = tile.map mul(%a, %b) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  %q = tile.map floor_divide(%p, %d) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  tile.store %q, %z[%c0] dims [0] : tensor<128xf32>, !row
  tile.return
}
