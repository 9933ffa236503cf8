// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90a -tile-widen-mma-types=tensor-cores=false | FileCheck %s
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_70 -tile-widen-mma-types | FileCheck %s --check-prefixes=LATER,VOLTA
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_75 -tile-widen-mma-types | FileCheck %s --check-prefixes=LATER,TURING
// RUN: tessera-opt %s -tessera-attach-target=chip=sm_90:tileir -tile-widen-mma-types | FileCheck %s --check-prefix=HOPPER

// CHECK-LABEL: tile.kernel @floats
// CHECK-DAG:     %[[A:.*]] = tile.cast %{{.*}} : tensor<16x16xbf16> -> tensor<16x16xf32>
// CHECK-DAG:     %[[B:.*]] = tile.cast %{{.*}} : tensor<16x16xbf16> -> tensor<16x16xf32>
// CHECK:         tile.mma %[[A]], %[[B]], %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
// LATER-LABEL: tile.kernel @floats
// LATER:         tile.mma %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
// HOPPER-LABEL: tile.kernel @floats
// HOPPER:        tile.mma %{{.*}} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>)
tile.kernel @floats(%x: !tile.view<16x16xbf16, strides = [16, 1]>, %y: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xbf16, strides = [16, 1]> -> tensor<16x16xbf16>
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %d = tile.mma %a, %a, %zero : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// Bytes: the result is exact in f32, and is added to the accumulator as an integer.
// CHECK-LABEL: tile.kernel @bytes
// CHECK:         %[[P:.*]] = tile.mma %{{.*}}, %{{.*}}, %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
// CHECK:         %[[I:.*]] = tile.cast %[[P]] : tensor<16x16xf32> -> tensor<16x16xi32>
// CHECK:         tile.map add(%{{.*}}, %[[I]]) : (tensor<16x16xi32>, tensor<16x16xi32>)
tile.kernel @bytes(%x: !tile.view<16x16xi8, strides = [16, 1]>, %y: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xi8, strides = [16, 1]> -> tensor<16x16xi8>
  %c = tile.load %y[%c0, %c0] dims [0, 1] : <16x16xi32, strides = [16, 1]> -> tensor<16x16xi32>
  %d = tile.mma %a, %a, %c : (tensor<16x16xi8>, tensor<16x16xi8>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, <16x16xi32, strides = [16, 1]>
  tile.return
}

// CHECK-LABEL: tile.kernel @wide
// CHECK-NOT:     tile.cast
tile.kernel @wide(%x: !tile.view<16x16xf64, strides = [16, 1]>, %y: !tile.view<16x16xf64, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xf64, strides = [16, 1]> -> tensor<16x16xf64>
  %zero = tile.constant 0.0 : f64 : tensor<16x16xf64>
  %d = tile.mma %a, %a, %zero : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf64>, <16x16xf64, strides = [16, 1]>
  tile.return
}

// All tensor cores multiply f16. Quad pairs need 16 columns.
// CHECK-LABEL: tile.kernel @halves
// CHECK:         tile.mma %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
// CHECK:         tile.mma %{{.*}} : (tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
// LATER-LABEL: tile.kernel @halves
// LATER:         tile.mma %{{.*}} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>)
// VOLTA:         tile.mma %{{.*}} : (tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
// TURING:        tile.mma %{{.*}} : (tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>)
!h = !tile.view<16x16xf16, strides = [16, 1]>
tile.kernel @halves(%x: !h, %y: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !h -> tensor<16x16xf16>
  %b = tile.load %x[%c0, %c0] dims [0, 1] : !h -> tensor<16x8xf16>
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %few = tile.constant 0.0 : f32 : tensor<16x8xf32>
  %d = tile.mma %a, %a, %zero : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = tile.mma %a, %b, %few : (tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>) -> tensor<16x8xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.store %e, %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// Tensor cores multiply bytes from sm_75 on.
// VOLTA-LABEL: tile.kernel @deep
// VOLTA:         tile.mma %{{.*}} : (tensor<16x32xf32>, tensor<32x16xf32>, tensor<16x16xf32>)
// TURING-LABEL: tile.kernel @deep
// TURING:        tile.mma %{{.*}} : (tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>)
!i = !tile.view<32x32xi8, strides = [32, 1]>
tile.kernel @deep(%x: !i, %y: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !i -> tensor<16x32xi8>
  %b = tile.load %x[%c0, %c0] dims [0, 1] : !i -> tensor<32x16xi8>
  %zero = tile.constant 0 : i32 : tensor<16x16xi32>
  %d = tile.mma %a, %b, %zero : (tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, <16x16xi32, strides = [16, 1]>
  tile.return
}
