// RUN: tessera-opt %s -tile-widen-mma-types | FileCheck %s

// CHECK-LABEL: tile.kernel @floats
// CHECK-DAG:     %[[A:.*]] = tile.cast %{{.*}} : tensor<16x16xbf16> -> tensor<16x16xf32>
// CHECK-DAG:     %[[B:.*]] = tile.cast %{{.*}} : tensor<16x16xbf16> -> tensor<16x16xf32>
// CHECK:         tile.mma %[[A]], %[[B]], %{{.*}} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>)
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
