// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-set-launch-config -o /dev/null --remarks-filter-missed="tile-set-launch-config" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x64xf32, strides = [64, 1]>

// CHECK: [Missed] NotPersistent{{.*}}Function=copy
// CHECK-SAME: the kernel is not persistent: it does not use wgmma, or runs in clusters of 1 CTAs
tile.kernel @copy(%x: !v, %y: !v) grid 1 launch <persistent_ctas = 132> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<64xf32>
  tile.store %t, %y[%i, %c0] dims [1] : tensor<64xf32>, !v
  tile.return
}
