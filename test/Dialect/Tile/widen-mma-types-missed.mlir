// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_75 -tile-widen-mma-types -o /dev/null --remarks-filter-missed="tile-widen-mma-types" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<16x16xbf16, strides = [16, 1]>
!h = !tile.view<16x4xf16, strides = [4, 1]>

// CHECK: [Missed] NoTensorCores{{.*}}Function=bf16
// CHECK-SAME: the contraction runs on CUDA cores: the target has no tensor cores for bf16
tile.kernel @bf16(%x: !a, %y: !tile.view<16x16xf32, strides = [16, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !a -> tensor<16x16xbf16>
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %d = tile.mma %a, %a, %zero : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, <16x16xf32, strides = [16, 1]>
  tile.return
}

// CHECK: [Missed] TileTooSmall{{.*}}Function=narrow
// CHECK-SAME: a tile of 16 x 4 is smaller than a tensor core instruction
tile.kernel @narrow(%x: !tile.view<16x16xf16, strides = [16, 1]>, %w: !h, %y: !tile.view<16x4xf32, strides = [4, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : <16x16xf16, strides = [16, 1]> -> tensor<16x16xf16>
  %b = tile.load %w[%c0, %c0] dims [0, 1] : !h -> tensor<16x4xf16>
  %zero = tile.constant 0.0 : f32 : tensor<16x4xf32>
  %d = tile.mma %a, %b, %zero : (tensor<16x16xf16>, tensor<16x4xf16>, tensor<16x4xf32>) -> tensor<16x4xf32>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x4xf32>, <16x4xf32, strides = [4, 1]>
  tile.return
}
