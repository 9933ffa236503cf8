// RUN: %tessera_opt %s -print-cuda-tile -o /dev/null | FileCheck %s

// Operations that CUDA Tile IR lacks, and those that depend on signedness.
// CHECK-LABEL: entry @scalars
!v = !tile.view<64xf32, strides = [1]>
!b = !tile.view<64xui8, strides = [1]>
!p = !tile.view<64xi1, strides = [1]>
tile.kernel @scalars(%x: !v, %bytes: !b, %bools: !p) grid 1 {
  %c0 = arith.constant 0 : index
  %f = tile.load %x[%c0] dims [0] : !v -> tensor<64xf32>
  %u = tile.load %bytes[%c0] dims [0] : !b -> tensor<64xui8>

  // Bools are stored as bytes.
  // CHECK: [[P:%[0-9]+]] = cmpi {{.*}} {not_equal, signed} : tile<64xi1>
  %p = tile.load %bools[%c0] dims [0] : !p -> tensor<64xi1>

  // CHECK: maxi {{.*}} {unsigned} : tile<64xi8>
  %m = tile.map maximum(%u, %u) : (tensor<64xui8>, tensor<64xui8>) -> tensor<64xui8>
  // CHECK: cmpi {{.*}} {less_than, unsigned}
  %l = tile.map lt(%m, %u) : (tensor<64xui8>, tensor<64xui8>) -> tensor<64xi1>
  // CHECK: itof {{.*}} {unsigned} : tile<64xf32>
  %w = tile.cast %m : tensor<64xui8> -> tensor<64xf32>
  // A division by zero gives zero.
  // CHECK: [[ZERO:%[0-9]+]] = cmpi
  // CHECK: [[Q:%[0-9]+]] = divi {{.*}} {unsigned, zero}
  // CHECK: select [[ZERO]], {{%[0-9]+}}, [[Q]]
  %d = tile.map floor_divide(%m, %u) : (tensor<64xui8>, tensor<64xui8>) -> tensor<64xui8>
  // CHECK: ori [[P]], {{%[0-9]+}} : tile<64xi1>
  %o = tile.map add(%p, %l) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  // CHECK: maxf {{.*}} {propagate_nan}
  %g = tile.map maximum(%f, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: cmpf {{.*}} {not_equal, unordered}
  %n = tile.map ne(%g, %f) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  // Ties go to even, by adding and subtracting 2^23.
  // CHECK: [[BIG:%[0-9]+]] = constant 8388608
  // CHECK: addf {{%[0-9]+}}, [[BIG]]
  // CHECK: subf {{%[0-9]+}}, [[BIG]]
  %r = tile.map round(%g) : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: exp
  // CHECK: divf
  %s = tile.map silu(%r) : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: [[C:%[0-9]+]] = select {{.*}} : tile<64xf32>
  %y = tile.map where(%n, %s, %f) : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %y, %x[%c0] dims [0] : tensor<64xf32>, !v
  // CHECK: exti {{.*}} {unsigned} : tile<64xi8>
  tile.store %o, %bools[%c0] dims [0] : tensor<64xi1>, !p
  tile.store %d, %bytes[%c0] dims [0] : tensor<64xui8>, !b
  tile.return
}
