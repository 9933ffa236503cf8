// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tessera-attach-target=chip=sm_90a -tile-assign-layouts | FileCheck %s

// A row: four elements of 4 bytes for each thread, lanes side by side, then warps. What is left of a row after a sum
// is with every thread, and goes back to the row without a conversion.
// CHECK-DAG: #[[ALL:.*]] = #tile.layout<"lane[0, 0, 0, 0, 0] warp[0, 0] ->">
// CHECK-DAG: #[[ROW:.*]] = #tile.layout<"register[d0:1, d0:2, d0:512] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:128, d0:256] -> d0:1024">
// CHECK-LABEL: tile.kernel @row
// CHECK: tile.load {{.*}} -> tensor<1024xf32, #[[ROW]]>
// CHECK: tile.reduce sum {{.*}} : tensor<1024xf32, #[[ROW]]> -> tensor<f32, #[[ALL]]>
// CHECK: tile.broadcast {{.*}} : tensor<f32, #[[ALL]]> -> tensor<1024xf32, #[[ROW]]>
// CHECK-NOT: tile.convert
!v = !tile.view<?x1024xf32, strides = [1024, 1]>
tile.kernel @row(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<1024xf32>
  %s = tile.reduce sum %t dims [0] : tensor<1024xf32> -> tensor<f32>
  %b = tile.broadcast %s dims [] : tensor<f32> -> tensor<1024xf32>
  %d = tile.map div(%t, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  tile.store %d, %y[%i, %c0] dims [1] : tensor<1024xf32>, !v
  tile.return
}

// -----

// A transposed copy: as memory likes it at both ends, and one conversion between them. A constant has the layout
// of its use.
// CHECK-LABEL: tile.kernel @across
// CHECK: tile.constant {{.*}} : tensor<32x32xf32, #[[OUT:.*]]>
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<32x32xf32, #[[IN:.*]]>
// CHECK: %[[C:.*]] = tile.convert %[[X]] : tensor<32x32xf32, #[[IN]]> -> tensor<32x32xf32, #[[OUT]]>
// CHECK: tile.map add(%[[C]], {{.*}} -> tensor<32x32xf32, #[[OUT]]>
!v = !tile.view<32x32xf32, strides = [32, 1]>
!t = !tile.view<32x32xf32, strides = [1, 32]>
tile.kernel @across(%x: !v, %y: !t) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %one = tile.constant 1.0 : f32 : tensor<32x32xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<32x32xf32>
  %b = tile.map add(%a, %one) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  tile.store %b, %y[%c0, %c0] dims [0, 1] : tensor<32x32xf32>, !t
  tile.return
}

// -----

// A loop carries the MMA's accumulator layout.
// CHECK-LABEL: tile.kernel @product
// CHECK: scf.for {{.*}} -> (tensor<16x8xf32, #[[ACC:.*]]>)
// CHECK: tile.mma {{.*}} -> tensor<16x8xf32, #[[ACC]]>
// CHECK: tile.convert {{.*}} : tensor<16x8xf32, #[[ACC]]> -> tensor<16x8xf32, #{{.*}}>
!a = !tile.view<16x?xbf16, strides = [?, 1]>
!b = !tile.view<?x8xbf16, strides = [8, 1]>
!c = !tile.view<16x8xf32, strides = [8, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x8xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x8xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] : !a -> tensor<16x16xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] : !b -> tensor<16x8xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32>, !c
  tile.return
}

// -----

tile.kernel @odd(%y: !tile.view<48xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{expected tile sizes that are powers of two for a layout, got 'tensor<48xf32>'}}
  %one = tile.constant 1.0 : f32 : tensor<48xf32>
  tile.store %one, %y[%c0] dims [0] : tensor<48xf32>, !tile.view<48xf32, strides = [1]>
  tile.return
}

// -----

// A carried tile keeps the layout of the body, here that of the accumulator; it is converted for the store once, after
// the loop.
// CHECK-LABEL: tile.kernel @carried
// CHECK: scf.for
// CHECK: tile.reduce max %{{.*}} : tensor<64x64xf32, #{{.*}}> -> tensor<64xf32, #[[OWN:.*]]>
// CHECK-NOT: tile.convert
// CHECK: scf.yield %{{.*}} : tensor<64xf32, #[[OWN]]>
// CHECK: tile.convert %{{.*}} : tensor<64xf32, #[[OWN]]>
// CHECK: tile.store
!qa = !tile.view<64x64xbf16, strides = [64, 1]>
!qb = !tile.view<?x64xbf16, strides = [64, 1]>
!qc = !tile.view<64xf32, strides = [1]>
tile.kernel @carried(%x: !qa, %w: !qb, %y: !qc, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %least = tile.constant 0xFF800000 : f32 : tensor<64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !qa -> tensor<64x64xbf16>
  %best = scf.for %k = %c0 to %n step %c1 iter_args(%m = %least) -> (tensor<64xf32>) {
    %b = tile.load %w[%k, %c0] dims [0, 1] : !qb -> tensor<64x64xbf16>
    %s = tile.mma %a, %b, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = tile.reduce max %s dims [1] : tensor<64x64xf32> -> tensor<64xf32>
    %next = tile.map maximum(%m, %r) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  tile.store %best, %y[%c0] dims [0] : tensor<64xf32>, !qc
  tile.return
}

// -----

// A reduction across warps goes through shared memory, from there to the layout of the store.
// CHECK-DAG: #[[STORED:.*]] = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:64, d0:128] -> d0:256">
// CHECK-LABEL: tile.kernel @columns
// CHECK: tile.reduce sum {{.*}} -> tensor<256xf32, #[[STORED]]>
// CHECK-NEXT: tile.store
!columns = !tile.view<32x256xf32, strides = [256, 1]>
!sums = !tile.view<256xf32, strides = [1]>
tile.kernel @columns(%x: !columns, %y: !sums) grid 1 {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !columns -> tensor<32x256xf32>
  %s = tile.reduce sum %t dims [0] : tensor<32x256xf32> -> tensor<256xf32>
  tile.store %s, %y[%c0] dims [0] : tensor<256xf32>, !sums
  tile.return
}

// -----

// All warps need the left operand. Each repeats short work on its elements.
// CHECK-DAG: #[[LEFT:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[0, 0, 0] -> d0:16 d1:64">
// CHECK-LABEL: tile.kernel @little_work
// CHECK: tile.map mul{{.*}} -> tensor<16x64xf32, #[[LEFT]]>
!a = !tile.view<16x64xbf16, strides = [64, 1]>
!b = !tile.view<64x64xbf16, strides = [64, 1]>
!c = !tile.view<16x64xf32, strides = [64, 1]>
tile.kernel @little_work(%x: !a, %w: !b, %y: !c) grid 1 launch <num_warps = 8> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !a -> tensor<16x64xbf16>
  %b = tile.load %w[%c0, %c0] dims [0, 1] : !b -> tensor<64x64xbf16>
  %t0 = tile.cast %a : tensor<16x64xbf16> -> tensor<16x64xf32>
  %t1 = tile.map mul(%t0, %t0) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %l = tile.cast %t1 : tensor<16x64xf32> -> tensor<16x64xbf16>
  %p = tile.mma %l, %b, %zero : (tensor<16x64xbf16>, tensor<64x64xbf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
  tile.store %p, %y[%c0, %c0] dims [0, 1] : tensor<16x64xf32>, !c
  tile.return
}

// -----

// Long work is done once, in the layout of the load, and its results are exchanged.
// CHECK-DAG: #[[LEFT:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[0, 0, 0] -> d0:16 d1:64">
// CHECK-DAG: #[[ONCE:.*]] = #tile.layout<"register[d1:1, d1:2] lane[d1:4, d1:8, d1:16, d1:32, d0:1] warp[d0:2, d0:4, d0:8] -> d0:16 d1:64">
// CHECK-LABEL: tile.kernel @much_work
// CHECK-COUNT-4: tile.map mul{{.*}} -> tensor<16x64xf32, #[[ONCE]]>
// CHECK: %[[L:.*]] = tile.cast {{.*}} -> tensor<16x64xbf16, #[[ONCE]]>
// CHECK: tile.convert %[[L]] : tensor<16x64xbf16, #[[ONCE]]> -> tensor<16x64xbf16, #[[LEFT]]>
!a = !tile.view<16x64xbf16, strides = [64, 1]>
!b = !tile.view<64x64xbf16, strides = [64, 1]>
!c = !tile.view<16x64xf32, strides = [64, 1]>
tile.kernel @much_work(%x: !a, %w: !b, %y: !c) grid 1 launch <num_warps = 8> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !a -> tensor<16x64xbf16>
  %b = tile.load %w[%c0, %c0] dims [0, 1] : !b -> tensor<64x64xbf16>
  %t0 = tile.cast %a : tensor<16x64xbf16> -> tensor<16x64xf32>
  %t1 = tile.map mul(%t0, %t0) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %t2 = tile.map mul(%t1, %t1) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %t3 = tile.map mul(%t2, %t2) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %t4 = tile.map mul(%t3, %t3) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %l = tile.cast %t4 : tensor<16x64xf32> -> tensor<16x64xbf16>
  %p = tile.mma %l, %b, %zero : (tensor<16x64xbf16>, tensor<64x64xbf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
  tile.store %p, %y[%c0, %c0] dims [0, 1] : tensor<16x64xf32>, !c
  tile.return
}

// -----

// So is work on elements that are not contiguous in memory.
// CHECK-DAG: #[[LEFT:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[0, 0, 0] -> d0:16 d1:64">
// CHECK-DAG: #[[ONCE:.*]] = #tile.layout<"register[d1:32, d0:8] lane[d1:1, d1:2, d1:4, d1:8, d1:16] warp[d0:1, d0:2, d0:4] -> d0:16 d1:64">
// CHECK-LABEL: tile.kernel @scattered
// CHECK: %[[L:.*]] = tile.load %x{{.*}} -> tensor<16x64xbf16, #[[ONCE]]>
// CHECK: tile.convert %[[L]] : tensor<16x64xbf16, #[[ONCE]]> -> tensor<16x64xbf16, #[[LEFT]]>
!a = !tile.view<16x64xbf16, strides = [?, ?]>
!b = !tile.view<64x64xbf16, strides = [64, 1]>
!c = !tile.view<16x64xf32, strides = [64, 1]>
tile.kernel @scattered(%x: !a, %w: !b, %y: !c) grid 1 launch <num_warps = 8> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !a -> tensor<16x64xbf16>
  %b = tile.load %w[%c0, %c0] dims [0, 1] : !b -> tensor<64x64xbf16>
  %p = tile.mma %a, %b, %zero : (tensor<16x64xbf16>, tensor<64x64xbf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
  tile.store %p, %y[%c0, %c0] dims [0, 1] : tensor<16x64xf32>, !c
  tile.return
}
