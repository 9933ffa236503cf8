// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>

// Tiles for warpgroups take as many stages as shared memory has room for; the kernel says that these are fewer than it was to have, and its
// other loops still read what was chosen.
// CHECK: tile.kernel @product({{.*}}) grid 1 launch <num_warps = 8> tuning <num_stages = 11, use_tma = 1, wgmma = 1>
// CHECK-SAME: attributes {tile.changed = ["num_stages 11 -> 7: shared memory for TMA loads of a loop"]} {
// CHECK: tile.alloc : <7, tensor<128x64xbf16
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <num_stages = 11, use_tma = 1, wgmma = 1> {
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

// CHECK: tile.kernel @fits({{.*}}) grid 1 launch <num_warps = 8> tuning <num_stages = 3, use_tma = 1, wgmma = 1> {
// CHECK: tile.alloc : <3, tensor<128x64xbf16
tile.kernel @fits(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <num_stages = 3, use_tma = 1, wgmma = 1> {
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

// Loops that follow each other over the same tiles, such as those of blocks with and without a mask, share their stages.
// CHECK-LABEL: tile.kernel @segments
// CHECK-COUNT-2: tile.alloc : <2, tensor<
// CHECK-NOT: tile.alloc
// CHECK: %[[HEAD:.*]]:4 = scf.for
// CHECK: tile.tma_load
// CHECK: %[[FULL:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}} = %[[HEAD]]#0, %{{.*}} = %[[HEAD]]#1, %{{.*}} = %[[HEAD]]#2, %{{.*}} = %[[HEAD]]#3)
// CHECK: tile.tma_load
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[FULL]]#0, %{{.*}} = %[[FULL]]#1, %{{.*}} = %[[FULL]]#2, %{{.*}} = %[[FULL]]#3)
// CHECK: tile.tma_load
tile.kernel @segments(%x: !a, %w: !b, %y: !c, %n: index, %p: index, %q: index) grid 1 launch <num_warps = 8> tuning <num_stages = 2, use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %first = arith.maxsi %p, %c0 : index
  %second = arith.maxsi %q, %first : index
  %head = scf.for %k = %c0 to %first step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %full = scf.for %k = %first to %second step %c1 iter_args(%acc = %head) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %sum = scf.for %k = %second to %n step %c1 iter_args(%acc = %full) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}
