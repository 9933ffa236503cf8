// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-store-rows=shared-bytes=1024 -o /dev/null --remarks-filter-missed="tile-bulk-store-rows" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [?, 1]>

// CHECK: [Missed] SharedMemory{{.*}}Function=large
// CHECK-SAME: 1 stages of the row need {{[0-9]+}} bytes of shared memory, and {{[0-9]+}} are left
tile.kernel @large(%x: !v, %y: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  tile.store %t, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}
