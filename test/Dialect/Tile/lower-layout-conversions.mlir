// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-lower-layout-conversions | FileCheck %s

#row = #tile.layout<"register[d0:1, d0:2, d0:512] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:128, d0:256] -> d0:1024">
#all = #tile.layout<"lane[0, 0, 0, 0, 0] warp[0, 0] -> ">

// One part per warp, and all parts in each thread.
// CHECK-DAG: #[[PARTS:.*]] = #tile.layout<"lane[0, 0, 0, 0, 0] warp[d0:1, d0:2] -> d0:4">
// CHECK-DAG: #[[GATHERED:.*]] = #tile.layout<"register[d0:1, d0:2] lane[0, 0, 0, 0, 0] warp[0, 0] -> d0:4">
// CHECK-DAG: #[[FOUR:.*]] = #tile.layout<"offset[d0:1, d0:2] -> d0:4">
// CHECK-LABEL: tile.kernel @reduction
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: %[[P:.*]] = tile.warp_reduce max %{{.*}} dims [0] skip_nan : {{.*}} -> tensor<4xf32, #[[PARTS]]>
// CHECK: %[[B:.*]] = tile.alloc : <1, tensor<4xf32, #[[FOUR]]>>
// CHECK: tile.shared_store %[[P]], %[[B]][%[[C0]]]
// CHECK: %[[A:.*]] = tile.shared_load %[[B]][%[[C0]]] : <1, tensor<4xf32, #[[FOUR]]>> -> tensor<4xf32, #[[GATHERED]]>
// CHECK: tile.reduce max %[[A]] dims [0] skip_nan : tensor<4xf32, #[[GATHERED]]> -> tensor<f32, #{{.*}}>
tile.kernel @reduction() grid 1 {
  %x = tile.constant 1.0 : f32 : tensor<1024xf32, #row>
  %0 = tile.reduce max %x dims [0] skip_nan : tensor<1024xf32, #row> -> tensor<f32, #all>
  tile.return
}

// Runs of 128 elements are scanned by warps, the totals of the eight runs by every thread, which then selects its own.
// CHECK-LABEL: tile.kernel @running
// CHECK: %[[R:.*]] = tile.reshape %{{.*}} : tensor<1024xf32, #{{.*}}> -> tensor<8x128xf32, #[[SPLIT:.*]]>
// CHECK: %[[S:.*]], %[[T:.*]] = tile.scan sum %[[R]] from %{{.*}} dim 1 : tensor<8x128xf32, #[[SPLIT]]>, tensor<8xf32, #[[RUNS:.*]]>
// CHECK: tile.shared_store %[[T]]
// CHECK: %[[G:.*]] = tile.shared_load
// CHECK: %[[BEFORE:.*]], %[[TOTAL:.*]] = tile.scan sum %[[G]] from %{{.*}} dim 0 exclusive
// CHECK: %[[OWN:.*]] = tile.convert %[[BEFORE]] : {{.*}} -> tensor<8xf32, #[[RUNS]]>
// CHECK: %[[ALL:.*]] = tile.broadcast %[[OWN]] dims [0]
// CHECK: %[[SUM:.*]] = tile.map add(%[[ALL]], %[[S]])
// CHECK: tile.reshape %[[SUM]] : {{.*}} -> tensor<1024xf32
tile.kernel @running(%y: !tile.view<1024xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<1024xf32, #row>
  %zero = tile.constant 0.0 : f32 : tensor<f32, #all>
  %0, %1 = tile.scan sum %x from %zero dim 0 : tensor<1024xf32, #row>, tensor<f32, #all>
  tile.store %0, %y[%c0] dims [0] : tensor<1024xf32, #row>, !tile.view<1024xf32, strides = [1]>
  tile.return
}

// A sort across warps: each warp sorts runs of 256. In the two phases after that, threads first get the elements that
// warps had, for the steps between them.
// CHECK-LABEL: tile.kernel @sort
// CHECK: %[[W:.*]] = tile.sort %{{.*}} dim 0 phases [1, 9] steps [0, 8] : tensor<1024xi64, #[[LOW:.*]]>
// CHECK: tile.shared_store %[[W]]
// CHECK: %[[H:.*]] = tile.shared_load {{.*}} -> tensor<1024xi64, #[[HIGH:.*]]>
// CHECK: %[[S:.*]] = tile.sort %[[H]] dim 0 phases [9, 10] steps [8, 10] : tensor<1024xi64, #[[HIGH]]>
// CHECK: tile.shared_store %[[S]]
// CHECK: %[[L:.*]] = tile.shared_load {{.*}} -> tensor<1024xi64, #[[LOW]]>
// CHECK: tile.sort %[[L]] dim 0 phases [9, 10] steps [0, 8]
// CHECK: tile.sort %{{.*}} dim 0 phases [10, 11] steps [8, 10]
// CHECK: tile.sort %{{.*}} dim 0 phases [10, 11] steps [0, 8]
// CHECK-NOT: tile.sort
#sorted = #tile.layout<"register[d0:1, d0:2, d0:4] lane[d0:8, d0:16, d0:32, d0:64, d0:128] warp[d0:256, d0:512] -> d0:1024">
tile.kernel @sort(%y: !tile.view<1024xi64, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1 : i64 : tensor<1024xi64, #sorted>
  %0 = tile.sort %x dim 0 : tensor<1024xi64, #sorted>
  tile.store %0, %y[%c0] dims [0] : tensor<1024xi64, #sorted>, !tile.view<1024xi64, strides = [1]>
  tile.return
}

// Conversions within a warp are shuffles; a scan within a warp needs nothing.
#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
#apart = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:64">
#one = #tile.layout<"lane[0, 0, 0, 0, 0] -> ">
// CHECK-LABEL: tile.kernel @shuffles
// CHECK-NOT: tile.alloc
// CHECK: tile.convert
// CHECK-NEXT: tile.scan
tile.kernel @shuffles() grid 1 launch <num_warps = 1> {
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #pair>
  %zero = tile.constant 0.0 : f32 : tensor<f32, #one>
  %0 = tile.convert %x : tensor<64xf32, #pair> -> tensor<64xf32, #apart>
  %1, %2 = tile.scan sum %0 from %zero dim 0 : tensor<64xf32, #apart>, tensor<f32, #one>
  tile.return
}

// A loop-invariant operand is written before the loop, and the MMA reads it in each iteration.
#rows = #tile.layout<"register[d1:1, d1:2, d1:4] lane[d1:8, d0:1, d0:2, d0:4, d0:8] warp[0, 0] -> d0:16 d1:16">
#a = #tile.layout<"register[d1:1, d0:8, d1:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[0, 0] -> d0:16 d1:16">
#b = #tile.layout<"register[d0:1, d0:8, d1:8] lane[d0:2, d0:4, d1:1, d1:2, d1:4] warp[0, 0] -> d0:16 d1:16">
#c = #tile.layout<"register[d1:1, d0:8, d1:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[0, 0] -> d0:16 d1:16">
#mixed = #tile.layout<"register[d1:1, d1:2, d1:4] lane[d1:8, d0:1, d0:2, 0, 0] warp[d0:4, d0:8] -> d0:16 d1:16">
// CHECK-LABEL: tile.kernel @invariant
// CHECK: tile.shared_store %{{.*}}, %[[A:.*]][%
// CHECK: scf.for
// CHECK: tile.load
// CHECK: tile.shared_store %{{.*}}, %[[B:.*]][%
// CHECK-NEXT: tile.shared_load %[[A]]
// CHECK-NEXT: tile.shared_load %[[B]]
// CHECK-NEXT: tile.mma
tile.kernel @invariant(%x: !tile.view<16x?xbf16, strides = [16, 1]>, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<16x?xbf16, strides = [16, 1]> -> tensor<16x16xbf16, #mixed>
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32, #c>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #c>) {
    %a = tile.convert %q : tensor<16x16xbf16, #mixed> -> tensor<16x16xbf16, #a>
    %t = tile.load %x[%c0, %k] dims [0, 1] : !tile.view<16x?xbf16, strides = [16, 1]> -> tensor<16x16xbf16, #mixed>
    %b = tile.convert %t : tensor<16x16xbf16, #mixed> -> tensor<16x16xbf16, #b>
    %next = tile.mma %a, %b, %acc : (tensor<16x16xbf16, #a>, tensor<16x16xbf16, #b>, tensor<16x16xf32, #c>) -> tensor<16x16xf32, #c>
    scf.yield %next : tensor<16x16xf32, #c>
  }
  tile.return
}

// An MMA without tensor cores reads its operands from shared memory.
#d = #tile.layout<"register[d0:4, d0:8, d1:8] lane[d1:1, d1:2, d1:4, d0:1, d0:2] -> d0:16 d1:16">
// CHECK-LABEL: tile.kernel @doubles
// CHECK: tile.shared_store %{{.*}}, %[[A:.*]][%
// CHECK: tile.shared_store %{{.*}}, %[[B:.*]][%
// CHECK: tile.mma_shared %[[A]][%{{.*}}], %[[B]][%{{.*}}], %{{.*}}
tile.kernel @doubles() grid 1 launch <num_warps = 1> {
  %x = tile.constant 1.0 : f64 : tensor<16x16xf64, #d>
  %0 = tile.mma %x, %x, %x {tile.plain} : (tensor<16x16xf64, #d>, tensor<16x16xf64, #d>, tensor<16x16xf64, #d>) -> tensor<16x16xf64, #d>
  tile.return
}
