// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-pipeline-mma -o /dev/null --remarks-filter-missed="tile-pipeline-mma" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!q = !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>
!o = !tile.view<?x64xf32, strides = [64, 1]>

// CHECK-NOT: Function=overlapped
tile.kernel @overlapped(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %half = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}

// CHECK: [Missed] TooFewRegisters{{.*}}Function=crowded
// CHECK-SAME: two contractions in flight need 128 registers per thread, and 640 threads have 102
tile.kernel @crowded(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 launch <num_warps = 4> tuning <min_ctas_per_sm = 5, use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %half = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}

// CHECK: [Missed] AccumulatorNotRescaled{{.*}}Function=plain
// CHECK-SAME: the iteration adds to the carried accumulator without rescaling it
tile.kernel @plain(%x: !q, %k: !q, %v: !q, %y: !o, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %acc : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}

// Two contractions depend on the first, and their operands arrive at one barrier.
// CHECK: [Missed] SharedBarrier{{.*}}Function=siblings
// CHECK-SAME: the full barrier of rhs serves another operand of the iteration: more than two contractions, or two operands, depend on the same one
tile.kernel @siblings(%x: !q, %k: !q, %v: !q, %w: !q, %y: !o, %z: !o, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %other = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %half = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %less = tile.map mul(%other, %other) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %wt = tile.load %w[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %third = tile.mma %p, %wt, %less : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next, %third : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %sum#0, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.store %sum#1, %z[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}

// The right operand of the third is loaded before the loop. One contraction is delayed.
// CHECK: [Missed] AnotherDelayed{{.*}}Function=three
// CHECK-SAME: an iteration delays one contraction, and delays an earlier one already
tile.kernel @three(%x: !q, %k: !q, %v: !q, %w: !q, %y: !o, %z: !o, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %wt = tile.load %w[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %other = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = tile.map exp2(%s) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %half = tile.map mul(%acc, %acc) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %less = tile.map mul(%other, %other) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %p = tile.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %p, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %third = tile.mma %p, %wt, %less : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next, %third : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %sum#0, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.store %sum#1, %z[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !o
  tile.return
}
