// The CTAs of a cluster divide a row into contiguous parts and reduce it through dsmem.
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-cache-rows -tile-lower-layout-conversions | FileCheck %s --check-prefix=KEPT
// RUN: %tessera_opt %s -tile-per-thread-partials | FileCheck %s --check-prefix=DEFERRED

// CHECK-DAG: [[BOX:#layout[0-9]*]] = #tile.layout<"offset[d0:1] -> d0:2">
// CHECK-DAG: [[ROW:#layout[0-9]*]] = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:128] block[d0:256] -> d0:512">
// CHECK-DAG: [[NUMBER:#layout[0-9]*]] = #tile.layout<"lane[0, 0, 0, 0, 0] warp[0] block[0] ->">
// CHECK-DAG: [[PARTS:#layout[0-9]*]] = #tile.layout<"lane[0, 0, 0, 0, 0] warp[d0:1] block[d0:2] -> d0:4">
// CHECK-DAG: [[OWN:#layout[0-9]*]] = #tile.layout<"block[d0:1] offset[d1:1] -> d0:2 d1:2">
// CHECK-DAG: [[EACH:#layout[0-9]*]] = #tile.layout<"lane[0, 0, 0, 0, 0] warp[0] block[d0:1] -> d0:2">
// CHECK-DAG: #tile.layout<"block[d0:16] offset[d1:1, d1:2, d1:4, d1:8, d1:16, d0:1, d0:2, d0:4, d0:8, d2:1] -> d0:32 d1:32 d2:2">
// CHECK-DAG: #tile.layout<"register[{{.*}}] lane[{{.*}}] warp[{{.*}}] block[d1:64] -> d0:32 d1:128">
// CHECK-DAG: #tile.layout<"register[{{.*}}] lane[{{.*}}] warp[{{.*}}] block[d0:64] -> d0:128 d1:32">
// CHECK-DAG: [[ALL:#layout[0-9]*]] = #tile.layout<"register[d0:1] lane[0, 0, 0, 0, 0] warp[0] block[0] -> d0:2">

!row = !tile.view<512xf32, strides = [1]>
!number = !tile.view<1xf32, strides = [1]>

// CHECK-LABEL: tile.kernel @total
// CHECK: %[[MAIL:.*]] = tile.alloc dsmem offset [[#]] : <1, tensor<2xf32, [[BOX]]>>
// CHECK-NEXT: tile.cluster_arrive dsmem %[[MAIL]] : !tile.buffer<1, tensor<2xf32, [[BOX]]>>
// CHECK: tile.load {{.*}} -> tensor<512xf32, [[ROW]]>
// CHECK: tile.warp_reduce sum {{.*}} -> tensor<4xf32, [[PARTS]]>
// CHECK: tile.shared_store {{.*}} <1, tensor<2x2xf32, [[OWN]]>>
// CHECK: tile.barrier
// CHECK: %[[ONE:.*]] = tile.reduce sum {{.*}} dims [1] {{.*}} -> tensor<2xf32, [[EACH]]>
// CHECK-NEXT: tile.cluster_wait
// CHECK-NEXT: tile.dsmem_store %[[ONE]], %[[MAIL]] : tensor<2xf32, [[EACH]]>, <1, tensor<2xf32, [[BOX]]>>
// CHECK-NEXT: tile.dsmem_wait %[[MAIL]] : <1, tensor<2xf32, [[BOX]]>>
// CHECK-NEXT: %[[TAKEN:.*]] = tile.dsmem_load %[[MAIL]] : <1, tensor<2xf32, [[BOX]]>> -> tensor<2xf32, [[ALL]]>
// CHECK-NEXT: tile.reduce sum %[[TAKEN]] dims [0] : tensor<2xf32, [[ALL]]> -> tensor<f32, [[NUMBER]]>
tile.kernel @total(%x: !row, %y: !number) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] dims [0] : !row -> tensor<512xf32>
  %s = tile.reduce sum %t dims [0] : tensor<512xf32> -> tensor<f32>
  tile.store %s, %y[%c0] dims [] : tensor<f32>, !number
  tile.return
}

!rows = !tile.view<4x2048xbf16, strides = [2048, 1]>

// A dsmem in a loop has two stages, and the cluster's barrier comes before the loop; 16-bit elements are stored as words.
// CHECK-LABEL: tile.kernel @iterations
// CHECK: tile.alloc dsmem offset [[#]] : <2, tensor<2xi32, [[BOX]]>>
// CHECK: tile.cluster_arrive
// CHECK: tile.cluster_wait
// CHECK-NEXT: scf.for
// CHECK: %[[WORD:.*]] = tile.cast {{.*}} : tensor<2xi8, [[EACH]]> -> tensor<2xi32, [[EACH]]>
// CHECK-NEXT: tile.dsmem_store %[[WORD]]
// CHECK: tile.cast {{.*}} : tensor<2xi32, [[ALL]]> -> tensor<2xi8, [[ALL]]>
!bytes = !tile.view<2048xi8, strides = [1]>
tile.kernel @iterations(%x: !bytes, %y: !bytes) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %c4 step %c1 {
    %t = tile.load %x[%k] dims [0] : !bytes -> tensor<512xi8>
    %m = tile.reduce max %t dims [0] : tensor<512xi8> -> tensor<i8>
    %wide = tile.broadcast %m dims [] : tensor<i8> -> tensor<512xi8>
    %d = tile.map sub(%t, %wide) : (tensor<512xi8>, tensor<512xi8>) -> tensor<512xi8>
    tile.store %d, %y[%k] dims [0] : tensor<512xi8>, !bytes
  }
  tile.return
}

// Each CTA caches its own part of the row.
// KEPT: [[KEPT:#layout[0-9]*]] = #tile.layout<"block[d0:256] offset[{{.*}}] -> d0:512">
// KEPT-LABEL: tile.kernel @cached
// KEPT: tile.alloc : <4, tensor<512xbf16, [[KEPT]]>>
// KEPT: tile.shared_store {{.*}} <4, tensor<512xbf16, [[KEPT]]>>

// One partial result per thread of each CTA.
// DEFERRED-LABEL: tile.kernel @cached
// DEFERRED: scf.for {{.*}} -> (tensor<f32>, tensor<2x64xf32>)
// DEFERRED: tile.reshape {{.*}} -> tensor<2x1x64x4xf32>
// DEFERRED-NEXT: tile.reduce sum {{.*}} dims [1, 3]
// DEFERRED: tile.reduce sum {{.*}} dims [0, 1] : tensor<2x64xf32> -> tensor<f32>
tile.kernel @cached(%x: !rows, %y: !rows) grid 1 launch <num_warps = 2, cluster_size = 2> tuning <min_ctas_per_sm = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %p = tile.program_id 0
  %z = tile.constant 0.0 : f32 : tensor<f32>
  %s = scf.for %k = %c0 to %c4 step %c1 iter_args(%before = %z) -> (tensor<f32>) {
    %t = tile.load %x[%p, %k] dims [1] : !rows -> tensor<512xbf16>
    %f = tile.cast %t : tensor<512xbf16> -> tensor<512xf32>
    %now = tile.reduce sum %f dims [0] : tensor<512xf32> -> tensor<f32>
    %both = tile.map add(%before, %now) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %both : tensor<f32>
  }
  %wide = tile.broadcast %s dims [] : tensor<f32> -> tensor<512xf32>
  scf.for %k = %c0 to %c4 step %c1 {
    %t = tile.load %x[%p, %k] dims [1] : !rows -> tensor<512xbf16>
    %f = tile.cast %t : tensor<512xbf16> -> tensor<512xf32>
    %d = tile.map div(%f, %wide) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
    %n = tile.cast %d : tensor<512xf32> -> tensor<512xbf16>
    tile.store %n, %y[%p, %k] dims [1] : tensor<512xbf16>, !rows
  }
  tile.return
}

!lhs = !tile.view<32x128xbf16, strides = [128, 1]>
!rhs = !tile.view<128x32xbf16, strides = [32, 1]>
!sums = !tile.view<32x32xf32, strides = [32, 1]>

// Split-K over a cluster: each CTA has one split of K, and stores its accumulator to the CTA that has the rows.
// CHECK-LABEL: tile.kernel @split_k
// CHECK: %[[MAIL:.*]] = tile.alloc dsmem offset [[#]] : <1, tensor<32x32x2xf32, [[ROWS:#layout[0-9]*]]>>
// CHECK: %[[SUMS:.*]] = tile.mma {{.*}} -> tensor<2x32x32xf32, [[HALF:#layout[0-9]*]]>
// CHECK: %[[PARTS:.*]] = tile.warp_reduce sum %[[SUMS]] dims [0] : tensor<2x32x32xf32, [[HALF]]> -> tensor<32x32x2xf32, [[EACHSUM:#layout[0-9]*]]>
// CHECK-NEXT: tile.cluster_wait
// CHECK-NEXT: tile.dsmem_store %[[PARTS]], %[[MAIL]]
// CHECK-NEXT: tile.dsmem_wait %[[MAIL]]
// CHECK-NEXT: %[[TAKEN:.*]] = tile.dsmem_load %[[MAIL]] : {{.*}} -> tensor<32x32x2xf32, [[BOTH:#layout[0-9]*]]>
// CHECK-NEXT: %[[SUM:.*]] = tile.reduce sum %[[TAKEN]] dims [2] : tensor<32x32x2xf32, [[BOTH]]> -> tensor<32x32xf32, [[STORED:#layout[0-9]*]]>
// CHECK-NEXT: tile.store %[[SUM]]
tile.kernel @split_k(%a: !lhs, %b: !rhs, %y: !sums) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<2x32x32xf32>
  %l = tile.load %a[%c0, %c0] dims [0, 1] : !lhs -> tensor<32x128xbf16>
  %r = tile.load %b[%c0, %c0] dims [0, 1] : !rhs -> tensor<128x32xbf16>
  %p = tile.mma %l, %r, %zero : (tensor<32x128xbf16>, tensor<128x32xbf16>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %s = tile.reduce sum %p dims [0] : tensor<2x32x32xf32> -> tensor<32x32xf32>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<32x32xf32>, !sums
  tile.return
}
