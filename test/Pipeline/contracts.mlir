// A pass that breaks what an earlier one has established is named by the error.
// RUN: not %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-allocate-shared -tile-pipeline-loops=stages=3 2>&1 | FileCheck %s --check-prefix=OFFSET
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers | FileCheck %s

// OFFSET: error: pass 'tile-pipeline-loops' breaks the contract of 'tile-allocate-shared': every allocation has an offset in shared memory
// CHECK: tile.cp_async %
// CHECK: tile.cp_async_wait
!a = !tile.view<64x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!b = !tile.view<?x64xbf16, strides = [64, 1]>
!c = !tile.view<64x64xf32, strides = [64, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<32x64xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !c
  tile.return
}
