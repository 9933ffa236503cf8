// RUN: %tessera_opt %s -tile-expand-sorts | FileCheck %s

// Three steps for four elements: the last two order them in one direction, the first one in two.
// CHECK-LABEL: func.func @four
// CHECK: %[[AT:.*]] = tile.iota %{{.*}} : tensor<4xi32>
// CHECK: %[[A:.*]] = tile.reshape %{{.*}} : tensor<3x4xi64> -> tensor<3x2x2x1xi64>
// CHECK: tile.map bitwise_xor
// CHECK-DAG: tile.reduce max %[[A]] dims [2] : tensor<3x2x2x1xi64> -> tensor<3x2x1xi64>
// CHECK-DAG: tile.reduce min %[[A]] dims [2] : tensor<3x2x2x1xi64> -> tensor<3x2x1xi64>
// CHECK: %[[W:.*]] = tile.map where
// CHECK: %[[R:.*]] = tile.reshape %[[W]] : tensor<3x2x2x1xi64> -> tensor<3x4xi64>
// CHECK: %[[B:.*]] = tile.reshape %[[R]] : tensor<3x4xi64> -> tensor<3x1x2x2xi64>
// CHECK-NOT: tile.map bitwise_xor
// CHECK: tile.reduce
// CHECK: tile.reshape %{{.*}} : tensor<3x4xi64> -> tensor<3x2x2x1xi64>
// CHECK-NOT: tile.map bitwise_xor
// CHECK-NOT: tile.sort
func.func @four(%x: tensor<3x4xi64>) -> tensor<3x4xi64> {
  %0 = tile.sort %x dim 1 : tensor<3x4xi64>
  return %0 : tensor<3x4xi64>
}
