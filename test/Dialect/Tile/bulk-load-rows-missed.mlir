// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows=shared-bytes=1024 -o /dev/null --remarks-filter-missed="tile-bulk-load-rows" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!s = !tile.view<?xf32, strides = [1]>

// CHECK: [Missed] SharedMemory{{.*}}Function=held
// CHECK-SAME: 1 stages of the row need {{[0-9]+}} bytes of shared memory, and {{[0-9]+}} are left
tile.kernel @held(%x: !v, %y: !s) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
  %m = tile.reduce max %f dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %m, %y[%i] dims [] : tensor<f32>, !s
  tile.return
}

// CHECK: [Missed] ViewIsWritten{{.*}}Function=in_place
// CHECK-SAME: the kernel writes the view that it loads
tile.kernel @in_place(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %u = tile.map add(%t, %t) : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  tile.store %u, %x[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}
