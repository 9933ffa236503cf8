// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts | FileCheck %s

// The epilogue of wgmma is computed in the accumulator's layout, and exchanged after rounding.
// CHECK-DAG: #[[SUMS:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32, d1:64] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32, d0:64] -> d0:128 d1:128">
// CHECK-LABEL: tile.kernel @scaled
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[BENT:.*]] = tile.map tanh(%[[SUM]]) : (tensor<128x128xf32, #[[SUMS]]>) -> tensor<128x128xf32, #[[SUMS]]>
// CHECK-NEXT: %[[NARROW:.*]] = tile.cast %[[BENT]] : tensor<128x128xf32, #[[SUMS]]> -> tensor<128x128xbf16, #[[SUMS]]>
// CHECK-NEXT: %[[MOVED:.*]] = tile.convert %[[NARROW]]
// CHECK-NEXT: tile.store %[[MOVED]]
!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
tile.kernel @scaled(%x: !a, %w: !b, %y: !b, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %bent = tile.map tanh(%sum) : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %narrow = tile.cast %bent : tensor<128x128xf32> -> tensor<128x128xbf16>
  tile.store %narrow, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xbf16>, !b
  tile.return
}

// One accumulator moves to the layout of the tile that it is added to: that tile and the result would be as many bytes.
// CHECK-LABEL: tile.kernel @added
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[OTHER:.*]] = tile.load %r
// CHECK: %[[WIDE:.*]] = tile.cast %[[OTHER]]
// CHECK: %[[MOVED:.*]] = tile.convert %[[SUM]]
// CHECK-NEXT: tile.map add(%[[WIDE]], %[[MOVED]])
tile.kernel @added(%x: !a, %w: !b, %r: !b, %y: !b, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %other = tile.load %r[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<128x128xbf16>
  %wide = tile.cast %other : tensor<128x128xbf16> -> tensor<128x128xf32>
  %both = tile.map add(%wide, %sum) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %narrow = tile.cast %both : tensor<128x128xf32> -> tensor<128x128xbf16>
  tile.store %narrow, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xbf16>, !b
  tile.return
}

// Two accumulators stay, and their factor moves to them.
// CHECK-LABEL: tile.kernel @turned
// CHECK: %[[SUM:.*]]:2 = scf.for
// CHECK: %[[COS:.*]] = tile.load %cos
// CHECK: %[[COME:.*]] = tile.convert %[[COS]] : {{.*}} -> tensor<128x128xbf16, #[[SUMS]]>
// CHECK: %[[WIDE:.*]] = tile.cast %[[COME]]
// CHECK: tile.map mul(%[[WIDE]], %[[SUM]]#0)
// CHECK-NOT: tile.convert %[[SUM]]
// CHECK: %[[NARROW:.*]] = tile.cast {{.*}} -> tensor<128x128xbf16, #[[SUMS]]>
// CHECK-NEXT: tile.convert %[[NARROW]]
tile.kernel @turned(%x: !a, %w: !b, %v: !b, %cos: !b, %sin: !b, %y: !b, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum:2 = scf.for %k = %c0 to %n step %c1 iter_args(%one = %zero, %two = %zero) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %c = tile.load %v[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %first = tile.mma %a, %b, %one : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %second = tile.mma %a, %c, %two : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %first, %second : tensor<128x128xf32>, tensor<128x128xf32>
  }
  %loaded = tile.load %cos[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<128x128xbf16>
  %wide = tile.cast %loaded : tensor<128x128xbf16> -> tensor<128x128xf32>
  %scaled = tile.map mul(%wide, %sum#0) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %more = tile.load %sin[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<128x128xbf16>
  %wider = tile.cast %more : tensor<128x128xbf16> -> tensor<128x128xf32>
  %other = tile.map mul(%wider, %sum#1) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %both = tile.map sub(%scaled, %other) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %narrow = tile.cast %both : tensor<128x128xf32> -> tensor<128x128xbf16>
  tile.store %narrow, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xbf16>, !b
  tile.return
}
