// RUN: %tessera_opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi64>, tensor<2x4xf32>, tensor<f32>, index) {
  %two = tile.constant 2.0 : f32 : tensor<4xf32>
  %three = tile.constant 3.0 : f32 : tensor<4xf32>
  %seven = tile.constant -7 : i64 : tensor<4xi64>
  %four = tile.constant 4 : i64 : tensor<4xi64>
  // CHECK-DAG: %[[PRODUCT:.*]] = tile.constant 6.000000e+00 : f32 : tensor<4xf32>
  %0 = tile.map mul(%two, %three) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-DAG: %[[TRUE:.*]] = tile.constant true : tensor<4xi1>
  %1 = tile.map lt(%two, %three) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-DAG: %[[FLOOR:.*]] = tile.constant -2 : i64 : tensor<4xi64>
  %2 = tile.map floor_divide(%seven, %four) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK-DAG: %[[WIDE:.*]] = tile.constant 2.000000e+00 : f32 : tensor<2x4xf32>
  %3 = tile.broadcast %two dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  // CHECK-DAG: %[[HALF:.*]] = tile.constant 5.000000e-01 : f32 : tensor<f32>
  %half = arith.constant 0.5 : f32
  %4 = tile.splat %half : f32 -> tensor<f32>
  // CHECK-DAG: %[[INDEX:.*]] = arith.constant 9 : index
  %nine = tile.constant 9 : i32 : tensor<i32>
  %5 = tile.extract %nine : tensor<i32> -> index
  // CHECK: return %[[PRODUCT]], %[[TRUE]], %[[FLOOR]], %[[WIDE]], %[[HALF]], %[[INDEX]]
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xi1>, tensor<4xi64>, tensor<2x4xf32>, tensor<f32>, index
}

// CHECK-LABEL: func.func @casts
func.func @casts() -> (tensor<4xi32>, tensor<4xbf16>, tensor<4xi32>) {
  %pi = tile.constant 3.1415927 : f32 : tensor<4xf32>
  // CHECK-DAG: %[[BITS:.*]] = tile.constant 1078530011 : i32 : tensor<4xi32>
  %0 = tile.bitcast %pi : tensor<4xf32> -> tensor<4xi32>
  // CHECK-DAG: %[[NARROW:.*]] = tile.constant 3.140630e+00 : bf16 : tensor<4xbf16>
  %1 = tile.cast %pi : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-DAG: %[[THREE:.*]] = tile.constant 3 : i32 : tensor<4xi32>
  %2 = tile.cast %pi : tensor<4xf32> -> tensor<4xi32>
  // CHECK: return %[[BITS]], %[[NARROW]], %[[THREE]]
  return %0, %1, %2 : tensor<4xi32>, tensor<4xbf16>, tensor<4xi32>
}

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
func.func @neutral(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %one = tile.constant 1.0 : f32 : tensor<4xf32>
  %minusZero = tile.constant -0.0 : f32 : tensor<4xf32>
  %zero = tile.constant 0.0 : f32 : tensor<4xf32>
  %0 = tile.map mul(%one, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tile.map add(%0, %minusZero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = tile.map sub(%1, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = tile.map div(%2, %one) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = tile.map maximum(%3, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = tile.map neg(%4) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = tile.map neg(%5) : (tensor<4xf32>) -> tensor<4xf32>
  %izero = tile.constant 0 : i32 : tensor<4xi32>
  %7 = tile.map add(%izero, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %8 = tile.map bitwise_or(%7, %izero) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: return %[[X]], %[[I]]
  return %6, %8 : tensor<4xf32>, tensor<4xi32>
}

// -0.0 + 0.0 is 0.0, and x * 0.0 is NaN for infinite x: neither folds.
// CHECK-LABEL: func.func @notNeutral
func.func @notNeutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = tile.constant 0.0 : f32 : tensor<4xf32>
  // CHECK: tile.map add
  %0 = tile.map add(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: tile.map mul
  %1 = tile.map mul(%x, %zero) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Elementary functions do not fold: their expansion decides their bits.
// CHECK-LABEL: func.func @elementary
func.func @elementary() -> tensor<4xf32> {
  %one = tile.constant 1.0 : f32 : tensor<4xf32>
  // CHECK: tile.map exp
  %0 = tile.map exp(%one) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @choices
// CHECK-SAME: (%[[C:.*]]: tensor<4xi1>, %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
func.func @choices(%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  %true = tile.constant true : tensor<4xi1>
  %false = tile.constant false : tensor<4xi1>
  %0 = tile.map where(%false, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tile.map where(%c, %a, %a) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = tile.map where(%c, %true, %false) : (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK-NEXT: return %[[B]], %[[A]], %[[C]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// CHECK-LABEL: func.func @movement
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4xbf16>)
func.func @movement(%x: tensor<2x3xf32>, %b: tensor<4xbf16>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<6xf32>, tensor<4xbf16>) {
  %0 = tile.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = tile.transpose %0 perm [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %2 = tile.reshape %x : tensor<2x3xf32> -> tensor<3x2xf32>
  %3 = tile.reshape %2 : tensor<3x2xf32> -> tensor<2x3xf32>
  // CHECK: %[[WIDE:.*]] = tile.broadcast %[[X]] dims [1, 3] : tensor<2x3xf32> -> tensor<5x2x4x3xf32>
  %4 = tile.broadcast %x dims [0, 2] : tensor<2x3xf32> -> tensor<2x4x3xf32>
  %5 = tile.broadcast %4 dims [1, 2, 3] : tensor<2x4x3xf32> -> tensor<5x2x4x3xf32>
  // CHECK: %[[FLAT:.*]] = tile.reshape %[[X]] : tensor<2x3xf32> -> tensor<6xf32>
  %6 = tile.reshape %2 : tensor<3x2xf32> -> tensor<6xf32>
  %7 = tile.cast %b : tensor<4xbf16> -> tensor<4xf32>
  %8 = tile.cast %7 : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: return %[[X]], %[[X]], %[[WIDE]], %[[FLAT]], %[[B]]
  return %1, %3, %5, %6, %8 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<6xf32>, tensor<4xbf16>
}

// A pair of casts that rounds does not fold.
// CHECK-LABEL: func.func @rounding
func.func @rounding(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: tile.cast
  // CHECK: tile.cast
  %0 = tile.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = tile.cast %0 : tensor<4xbf16> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: tile.kernel @sizes
tile.kernel @sizes(%x: !tile.view<?x64xi64, strides = [64, 1]>) grid 1 {
  // CHECK-DAG: %[[C64:.*]] = tile.constant 64 : i64 : tensor<i64>
  // CHECK-DAG: %[[N:.*]] = tile.dim %x, 0
  %0 = tile.dim %x, 0 : !tile.view<?x64xi64, strides = [64, 1]>
  %1 = tile.dim %x, 1 : !tile.view<?x64xi64, strides = [64, 1]>
  %2 = tile.splat %1 : index -> tensor<i64>
  // CHECK: tile.store %[[C64]], %x[%[[N]], %{{.*}}]
  tile.store %2, %x[%0, %1] dims [] : tensor<i64>, !tile.view<?x64xi64, strides = [64, 1]>
  tile.return
}

// The maximum of consecutive integers is the last one.
// CHECK-LABEL: tile.kernel @ends_of_iota
// CHECK-SAME: %[[N:[a-z]+]]: index
// CHECK: %[[STEPS:.*]] = arith.constant 63 : index
// CHECK: %[[LAST:.*]] = arith.addi %[[N]], %[[STEPS]] : index
// CHECK: tile.splat %[[LAST]] : index -> tensor<i64>
// CHECK: tile.splat %[[N]] : index -> tensor<i64>
// CHECK-NOT: tile.reduce
tile.kernel @ends_of_iota(%y: !tile.view<2xi64, strides = [1]>, %n: index) grid 1 {
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %0 = tile.iota %n : tensor<64xi64>
  %1 = tile.reduce max %0 dims [0] : tensor<64xi64> -> tensor<i64>
  %2 = tile.reduce min %0 dims [0] : tensor<64xi64> -> tensor<i64>
  tile.store %1, %y[%zero] dims [] : tensor<i64>, !tile.view<2xi64, strides = [1]>
  tile.store %2, %y[%one] dims [] : tensor<i64>, !tile.view<2xi64, strides = [1]>
  tile.return
}
