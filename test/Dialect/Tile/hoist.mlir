// RUN: %tessera_opt %s -tile-hoist | FileCheck %s

// A padded load and what follows from it leave the loop; a load that moves with the loop stays.
// CHECK-LABEL: tile.kernel @invariant
tile.kernel @invariant(%q: !tile.view<?x64xf32, strides = [64, 1]>, %k: !tile.view<?x64xf32, strides = [64, 1]>,
                       %o: !tile.view<?x64xf32, strides = [64, 1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tile.program_id 0
  // CHECK: %q_tile = tile.load %q
  // CHECK: %[[TWICE:.*]] = tile.map add(%q_tile, %q_tile)
  // CHECK: scf.for
  // CHECK: tile.load %k
  // CHECK: tile.map mul(%[[TWICE]], %{{.*}})
  scf.for %i = %c0 to %n step %c1 {
    %0 = tile.load %q[%m, %c0] dims [0, 1] pad 0.0 : f32 : !tile.view<?x64xf32, strides = [64, 1]> -> tensor<8x64xf32>
    %1 = tile.map add(%0, %0) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = tile.load %k[%i, %c0] dims [0, 1] pad 0.0 : f32 : !tile.view<?x64xf32, strides = [64, 1]> -> tensor<8x64xf32>
    %3 = tile.map mul(%1, %2) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    tile.store %3, %o[%i, %c0] dims [0, 1] bounded : tensor<8x64xf32>, !tile.view<?x64xf32, strides = [64, 1]>
  }
  tile.return
}

// A load without padding may only be executed where the program says so; constant bounds say so.
// CHECK-LABEL: tile.kernel @unpadded
tile.kernel @unpadded(%q: !tile.view<?xf32, strides = [1]>, %o: !tile.view<?xf32, strides = [1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: scf.for
  // CHECK-NEXT: tile.load %q
  scf.for %i = %c0 to %n step %c1 {
    %0 = tile.load %q[%c0] dims [0] : !tile.view<?xf32, strides = [1]> -> tensor<8xf32>
    tile.store %0, %o[%i] dims [0] : tensor<8xf32>, !tile.view<?xf32, strides = [1]>
  }
  // CHECK: tile.load %q
  // CHECK-NEXT: scf.for
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = tile.load %q[%c0] dims [0] : !tile.view<?xf32, strides = [1]> -> tensor<8xf32>
    tile.store %0, %o[%i] dims [0] : tensor<8xf32>, !tile.view<?xf32, strides = [1]>
  }
  tile.return
}

// A loop that stores to the view keeps its loads, and its outer loop does, too.
// CHECK-LABEL: tile.kernel @stored
tile.kernel @stored(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NEXT: tile.load %x
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = tile.load %x[%c0] dims [0] : !tile.view<?xf32, strides = [1]> -> tensor<8xf32>
      tile.store %0, %x[%j] dims [0] : tensor<8xf32>, !tile.view<?xf32, strides = [1]>
    }
  }
  tile.return
}
