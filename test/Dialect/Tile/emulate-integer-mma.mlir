// RUN: tessera-opt %s -tile-emulate-integer-mma | FileCheck %s

// CHECK-LABEL: tile.kernel @int16
// CHECK:         %[[X:.*]] = tile.load
// CHECK:         %[[F:.*]] = tile.cast %[[X]] : tensor<16x16xi16> -> tensor<16x16xf64>
// CHECK:         %[[P:.*]] = tile.mma %[[F]], %{{.*}}, %{{.*}} : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>)
// CHECK:         %[[I:.*]] = tile.cast %[[P]] : tensor<16x16xf64> -> tensor<16x16xi64>
// CHECK:         %[[N:.*]] = tile.cast %[[I]] : tensor<16x16xi64> -> tensor<16x16xi32>
// CHECK:         tile.map add(%{{.*}}, %[[N]])
tile.kernel @int16(%x: !tile.view<16x16xi16, strides = [16, 1]>, %z: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 7 : i32 : tensor<16x16xi32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xi16, strides = [16, 1]> -> tensor<16x16xi16>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xi16>, tensor<16x16xi16>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %d, %z[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, <16x16xi32, strides = [16, 1]>
  tile.return
}

// The product of the upper limbs lies above 2^32.
// CHECK-LABEL: tile.kernel @int32
// CHECK:         %[[LOW:.*]] = tile.map bitwise_and
// CHECK:         tile.map bitwise_right_shift
// CHECK-COUNT-3: tile.mma
// CHECK-NOT:     tile.mma
// CHECK-LABEL: tile.kernel @int64
// CHECK-COUNT-10: tile.mma
// CHECK-NOT:     tile.mma
tile.kernel @int32(%z: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0 : i32 : tensor<16x16xi32>
  %v = tile.load %z[%c0, %c0] dims [0, 1] : <16x16xi32, strides = [16, 1]> -> tensor<16x16xi32>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xi32>, tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %d, %z[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, <16x16xi32, strides = [16, 1]>
  tile.return
}
tile.kernel @int64(%z: !tile.view<16x16xi64, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0 : i64 : tensor<16x16xi64>
  %v = tile.load %z[%c0, %c0] dims [0, 1] : <16x16xi64, strides = [16, 1]> -> tensor<16x16xi64>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xi64>, tensor<16x16xi64>, tensor<16x16xi64>) -> tensor<16x16xi64>
  tile.store %d, %z[%c0, %c0] dims [0, 1] : tensor<16x16xi64>, <16x16xi64, strides = [16, 1]>
  tile.return
}

// Bytes stay.
// CHECK-LABEL: tile.kernel @int8
// CHECK:         tile.mma {{.*}} : (tensor<16x16xi8>, tensor<16x16xi8>, tensor<16x16xi32>)
tile.kernel @int8(%x: !tile.view<16x16xi8, strides = [16, 1]>, %z: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0 : i32 : tensor<16x16xi32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xi8, strides = [16, 1]> -> tensor<16x16xi8>
  %d = tile.mma %v, %v, %zero : (tensor<16x16xi8>, tensor<16x16xi8>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %d, %z[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, <16x16xi32, strides = [16, 1]>
  tile.return
}
