// RUN: %tessera_opt %s -tile-collapse-loops | FileCheck %s
// RUN: %tessera_opt %s -tile-collapse-loops -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads | FileCheck %s --check-prefix=TMA

!x = !tile.view<128x5x3x512xbf16, strides = [7680, 1536, 512, 1]>
!y = !tile.view<128x128xf32, strides = [128, 1]>

// Three loops that only pass the accumulator on become one.
// CHECK-LABEL: tile.kernel @nest
// CHECK: %[[SUM:.*]] = scf.for %[[T:.*]] = %{{.*}} to %[[ALL:.*]] step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<128x128xf32>)
// CHECK-DAG: %[[K:.*]] = arith.remui %[[T]], %{{.*}} : index
// CHECK-DAG: %[[ROWS:.*]] = arith.divui %[[T]], %{{.*}} : index
// CHECK-DAG: %[[J:.*]] = arith.remui %[[ROWS]], %{{.*}} : index
// CHECK-DAG: %[[I:.*]] = arith.divui %[[ROWS]], %{{.*}} : index
// CHECK: tile.load %{{.*}}[%{{.*}}, %[[I]], %[[J]], %[[K]]]
// CHECK: tile.mma %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK: scf.yield
// CHECK-NOT: scf.yield
// CHECK: tile.store %[[SUM]]

// TMA loads the tiles of later iterations, whose coordinates are computed for them.
// TMA-LABEL: tile.kernel @nest
// TMA: scf.for
// TMA: %[[AHEAD:.*]] = arith.addi
// TMA: scf.if
// TMA: arith.divui
// TMA: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
// TMA: tile.mma
tile.kernel @nest(%x: !x, %y: !y) grid 1 launch <num_warps = 4> tuning <num_stages = 3, use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %zero) -> (tensor<128x128xf32>) {
    %s = scf.for %j = %c0 to %c3 step %c1 iter_args(%b = %a) -> (tensor<128x128xf32>) {
      %t = scf.for %k = %c0 to %c8 step %c1 iter_args(%c = %b) -> (tensor<128x128xf32>) {
        %p = tile.load %x[%c0, %i, %j, %k] dims [0, 3] : !x -> tensor<128x64xbf16>
        %q = tile.load %x[%c0, %i, %j, %k] dims [3, 0] : !x -> tensor<64x128xbf16>
        %d = tile.mma %p, %q, %c : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
        scf.yield %d : tensor<128x128xf32>
      }
      scf.yield %t : tensor<128x128xf32>
    }
    scf.yield %s : tensor<128x128xf32>
  }
  tile.store %r, %y[%c0, %c0] dims [0, 1] : tensor<128x128xf32>, !y
  tile.return
}

// The inner loop runs a different number of times in each outer iteration.
// CHECK-LABEL: tile.kernel @triangle
// CHECK: scf.for
// CHECK: scf.for
tile.kernel @triangle(%x: !x, %y: !y) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %zero) -> (tensor<128x128xf32>) {
    %t = scf.for %k = %c0 to %i step %c1 iter_args(%c = %a) -> (tensor<128x128xf32>) {
      %p = tile.load %x[%c0, %i, %c0, %k] dims [0, 3] : !x -> tensor<128x64xbf16>
      %q = tile.load %x[%c0, %i, %c0, %k] dims [3, 0] : !x -> tensor<64x128xbf16>
      %d = tile.mma %p, %q, %c : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    scf.yield %t : tensor<128x128xf32>
  }
  tile.store %r, %y[%c0, %c0] dims [0, 1] : tensor<128x128xf32>, !y
  tile.return
}
