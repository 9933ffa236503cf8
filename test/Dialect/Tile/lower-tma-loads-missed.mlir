// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads=stages=3 -o /dev/null --remarks-filter-missed="tile-lower-tma-loads" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads="stages=3 shared-bytes=1024" -o /dev/null --remarks-filter-missed="tile-lower-tma-loads" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s --check-prefix=SMALL

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 128]>
!c = !tile.view<?x?xf32, strides = [4096, 1]>
!u = !tile.view<?x?xbf16, strides = [?, 1]>
!i = !tile.view<?xi64, strides = [1]>

// CHECK-NOT: Function=loaded
// SMALL: [Missed] SharedMemory{{.*}}Function=loaded
// SMALL-SAME: 3 stages need {{[0-9]+}} bytes of shared memory with the loop's layout conversions, and 1024 are left
tile.kernel @loaded(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
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

// CHECK: [Missed] UnalignedRows{{.*}}Function=unaligned
// CHECK-SAME: rows are known to be 2-byte aligned, and TMA needs 16
tile.kernel @unaligned(%x: !u, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
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

// CHECK: [Missed] PaddingNotZero{{.*}}Function=padded
// CHECK-SAME: the tile is padded with 1.000000e+00 : bf16, and TMA pads with 0
tile.kernel @padded(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 1.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 1.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK: [Missed] ViewIsWritten{{.*}}Function=written
// CHECK-SAME: the kernel writes the view that it loads
tile.kernel @written(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %r = tile.cast %sum : tensor<128x128xf32> -> tensor<128x128xbf16>
  tile.store %r, %x[%c0, %c0] dims [0, 1] bounded : tensor<128x128xbf16>, !a
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK: [Missed] LoadedIndex{{.*}}Function=indexed
// CHECK-SAME: coordinate 0 is computed from an index that the iteration loads: it is not known ahead
tile.kernel @indexed(%x: !a, %w: !b, %y: !c, %pages: !i, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %e = tile.load %pages[%k] dims [] : !i -> tensor<i64>
    %page = tile.extract %e : tensor<i64> -> index
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%page, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<128x128xf32>, !c
  tile.return
}

// CHECK: [Missed] BoxTooLarge{{.*}}Function=large
// CHECK-SAME: dimension 0 of the tile has 512 elements, and a box at most 256
tile.kernel @large(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<512x16xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<512x16xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<512x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x16xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<512x64xbf16>, tensor<64x16xbf16>, tensor<512x16xf32>) -> tensor<512x16xf32>
    scf.yield %next : tensor<512x16xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : tensor<512x16xf32>, !c
  tile.return
}

// CHECK: [Missed] OnlyContractions{{.*}}Function=contractions
// CHECK-SAME: the loop does nothing but mma.sync, for which cp.async is faster
tile.kernel @contractions(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 4> {
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
