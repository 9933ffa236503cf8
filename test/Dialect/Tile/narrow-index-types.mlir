// RUN: tessera-opt %s -tile-narrow-index-types -canonicalize | FileCheck %s

// A mask and a distance.
// CHECK-LABEL: tile.kernel @positions
// CHECK-NOT:     i64
// CHECK:         tile.map le({{.*}}) : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
// CHECK:         tile.map sub({{.*}}) : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi32>
// CHECK:         tile.cast %{{.*}} : tensor<16x16xi32> -> tensor<16x16xf32>
tile.kernel @positions(%y: !tile.view<16x?xf32, strides = [?, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %p = tile.program_id 0
  %start = arith.muli %p, %c16 : index
  %i = tile.iota %c0 : tensor<16xi64>
  %j = tile.iota %start : tensor<16xi64>
  %ib = tile.broadcast %i dims [0] : tensor<16xi64> -> tensor<16x16xi64>
  %jb = tile.broadcast %j dims [1] : tensor<16xi64> -> tensor<16x16xi64>
  %m = tile.map le(%jb, %ib) : (tensor<16x16xi64>, tensor<16x16xi64>) -> tensor<16x16xi1>
  %d = tile.map sub(%ib, %jb) : (tensor<16x16xi64>, tensor<16x16xi64>) -> tensor<16x16xi64>
  %f = tile.cast %d : tensor<16x16xi64> -> tensor<16x16xf32>
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %w = tile.map where(%m, %f, %zero) : (tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %w, %y[%c0, %p] dims [0, 1] bounded : tensor<16x16xf32>, <16x?xf32, strides = [?, 1]>
  tile.return
}

// Sums, products and differences of possibly negative values may need more bits, and so may loaded values.
// CHECK-LABEL: tile.kernel @wide
// CHECK-NOT:     i32
// CHECK:         tile.return
tile.kernel @wide(%x: !tile.view<16xi64, strides = [1]>, %y: !tile.view<16xf32, strides = [1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.iota %c0 : tensor<16xi64>
  %k = tile.iota %n : tensor<16xi64>
  %a = tile.map add(%i, %k) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %b = tile.map sub(%a, %k) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %c = tile.map sub(%i, %k) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %d = tile.map mul(%i, %c) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %t = tile.load %x[%c0] dims [0] : <16xi64, strides = [1]> -> tensor<16xi64>
  %e = tile.map sub(%i, %t) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %f = tile.cast %b : tensor<16xi64> -> tensor<16xf32>
  %g = tile.cast %d : tensor<16xi64> -> tensor<16xf32>
  %h = tile.cast %e : tensor<16xi64> -> tensor<16xf32>
  %s = tile.map add(%f, %g) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %r = tile.map add(%s, %h) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  tile.store %r, %y[%c0] dims [0] : tensor<16xf32>, <16xf32, strides = [1]>
  tile.return
}

// The minimum of indices is computed in 32 bits; the end of the type, which stands for none, is widened.
// CHECK-LABEL: tile.kernel @least
// CHECK: %[[END:.*]] = tile.constant 2147483647 : i32 : tensor<64xi32>
// CHECK: %[[ONE:.*]] = tile.map where(%{{.*}}, %{{.*}}, %[[END]])
// CHECK: %[[LEAST:.*]] = tile.reduce min %[[ONE]] dims [0] : tensor<64xi32> -> tensor<i32>
// CHECK: %[[NONE:.*]] = tile.map eq(%[[LEAST]],
// CHECK: %[[WIDE:.*]] = tile.cast %[[LEAST]] : tensor<i32> -> tensor<i64>
// CHECK: tile.map where(%[[NONE]], %{{.*}}, %[[WIDE]])
tile.kernel @least(%x: !tile.view<64xi1, strides = [1]>, %out: !tile.view<1xi64, strides = [1]>) grid 1 {
  %end = tile.constant 9223372036854775807 : i64 : tensor<64xi64>
  %c0 = arith.constant 0 : index
  %c = tile.load %x[%c0] dims [0] : <64xi1, strides = [1]> -> tensor<64xi1>
  %i = tile.iota %c0 : tensor<64xi64>
  %p = tile.map where(%c, %i, %end) : (tensor<64xi1>, tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  %r = tile.reduce min %p dims [0] : tensor<64xi64> -> tensor<i64>
  tile.store %r, %out[%c0] dims [] : tensor<i64>, <1xi64, strides = [1]>
  tile.return
}

// Distances, quotients and remainders by positive constants fit, too.
// CHECK-LABEL: tile.kernel @distances
// CHECK: %[[D:.*]] = tile.map sub(%{{.*}}, %{{.*}}) : (tensor<16xi32>, tensor<16xi32>)
// CHECK: %[[A:.*]] = tile.map abs(%[[D]])
// CHECK: tile.map le(%[[A]], %{{.*}}) : (tensor<16xi32>, tensor<16xi32>)
// CHECK: %[[R:.*]] = tile.map remainder(%[[D]], %{{.*}}) : (tensor<16xi32>, tensor<16xi32>)
// CHECK: %[[Q:.*]] = tile.map floor_divide(%[[R]], %{{.*}}) : (tensor<16xi32>, tensor<16xi32>)
// CHECK: tile.map lt(%[[Q]], %{{.*}}) : (tensor<16xi32>, tensor<16xi32>)
// By a position, which may be 0, they do not.
// CHECK: tile.map remainder(%{{.*}}, %{{.*}}) : (tensor<16xi64>, tensor<16xi64>)
tile.kernel @distances(%y: !tile.view<16xi1, strides = [1]>, %z: !tile.view<16xi1, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %p = tile.program_id 0
  %i = tile.iota %c0 : tensor<16xi64>
  %j = tile.iota %p : tensor<16xi64>
  %four = tile.constant 4 : i64 : tensor<16xi64>
  %d = tile.map sub(%i, %j) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %a = tile.map abs(%d) : (tensor<16xi64>) -> tensor<16xi64>
  %near = tile.map le(%a, %four) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
  %r = tile.map remainder(%d, %four) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %q = tile.map floor_divide(%r, %four) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %low = tile.map lt(%q, %four) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
  %m = tile.map remainder(%i, %j) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %lower = tile.map lt(%m, %four) : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
  %b = tile.map bitwise_and(%near, %low) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
  tile.store %b, %y[%c0] dims [0] : tensor<16xi1>, <16xi1, strides = [1]>
  tile.store %lower, %z[%c0] dims [0] : tensor<16xi1>, <16xi1, strides = [1]>
  tile.return
}
