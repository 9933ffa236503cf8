// RUN: %tessera_opt %s -tile-mark-simt-mma -o /dev/null --remarks-filter-missed="tile-mark-simt-mma" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!a = !tile.view<16x16xf64, strides = [16, 1]>

// CHECK: [Missed] NoFp64TensorCores{{.*}}Function=double
// CHECK-SAME: the contraction runs on CUDA cores: the target has no tensor cores for f64
tile.kernel @double(%x: !a, %y: !a) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !a -> tensor<16x16xf64>
  %zero = tile.constant 0.0 : f64 : tensor<16x16xf64>
  %d = tile.mma %a, %a, %zero : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  tile.store %d, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf64>, !a
  tile.return
}
