// RUN: %tessera_opt %s -tile-cluster-split-k -o /dev/null --remarks-filter-missed="tile-cluster-split-k" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
!u = !tile.view<?x?xbf16, strides = [?, 1]>

// CHECK: [Missed] ShallowTile{{.*}}Function=shallow
// CHECK-SAME: a K tile of 64 does not give each of 8 CTAs whole k-steps of 16
tile.kernel @shallow(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 4, cluster_size = 8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK: [Missed] SeveralAccumulators{{.*}}Function=two
// CHECK-SAME: the 2 contractions of the kernel do not add to one accumulator that nothing else uses
tile.kernel @two(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 4, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %t = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
  %v = tile.load %w[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
  %other = tile.mma %t, %v, %zero : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
  tile.store %other, %y[%c1, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}
