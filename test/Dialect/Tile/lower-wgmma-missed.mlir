// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=4 -tile-lower-layout-conversions -tile-lower-wgmma -o /dev/null --remarks-filter-missed="tile-lower-wgmma" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
!u = !tile.view<?x?xbf16, strides = [?, 1]>
!q = !tile.view<?x64xbf16, strides = [64, 1], divisors = [64, 64]>

// CHECK: remark: [Missed] TooManyColumns | Category:tile-lower-wgmma | Function=columns
// CHECK-SAME: the accumulator has 512 columns, and wgmma at most 256
tile.kernel @columns(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x512xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x512xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x512xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x512xbf16>, tensor<64x512xf32>) -> tensor<64x512xf32>
    scf.yield %next : tensor<64x512xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x512xf32>, !c
  tile.return
}

// CHECK: [Missed] TooFewRows{{.*}}Function=rows
// CHECK-SAME: the accumulator has 64 rows, and 8 warps need at least 128
tile.kernel @rows(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x128xf32>, !c
  tile.return
}

// TMA cannot load a left operand whose rows are not aligned, so that the accumulator has the layout of mma.sync.
// CHECK: [Missed] AccumulatorLayout{{.*}}Function=unaligned
// CHECK-SAME: the accumulator is not distributed over the 8 warps as wgmma requires
tile.kernel @unaligned(%x: !u, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !u -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// The loop carries two accumulators of one commit group, and rescales them.
// CHECK: [Missed] SeveralCarried{{.*}}Function=carried
// CHECK-SAME: the loop carries the 2 accumulators of a commit group, and the wait of the next iteration is for one: this iteration waits for them
tile.kernel @carried(%x: !q, %k: !q, %u: !q, %v: !q, %w: !q, %y: !c, %z: !c, %n: index) grid 1 launch <num_warps = 4> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %other = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %q = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %kt = tile.load %k[%i, %c0] dims [1, 0] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %s = tile.mma %q, %kt, %zero : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %half = tile.map mul(%acc, %s) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %less = tile.map mul(%other, %s) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %ut = tile.load %u[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %vt = tile.load %v[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %wt = tile.load %w[%i, %c0] dims [0, 1] pad 0.0 : bf16 : !q -> tensor<64x64xbf16>
    %next = tile.mma %ut, %vt, %half : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %more = tile.mma %ut, %wt, %less : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next, %more : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %sum#0, %y[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !c
  tile.store %sum#1, %z[%c0, %c0] dims [0, 1] bounded : tensor<64x64xf32>, !c
  tile.return
}

// CHECK: [Missed] MmaSync{{.*}}Function=sync
// CHECK-SAME: the schedule of the kernel selects mma.sync: it does not set wgmma
// CHECK-NOT: Function=lowered
tile.kernel @sync(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1> {
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

tile.kernel @lowered(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
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
