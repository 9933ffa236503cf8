// RUN: %tessera_opt %s -tile-order-wgmma-waits -o %t.mlir --remarks-filter-missed="tile-order-wgmma-waits" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=KEPT --input-file=%t.mlir

// KEPT: tile.wgmma_wait 0, %{{.*}} : tensor<64x64xf32, #{{[a-z0-9]*}}>{{$}}
// KEPT: tile.wgmma_wait 0, %{{.*}} : tensor<64x64xf32, #{{[a-z0-9]*}}>{{$}}
#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#rows = #tile.layout<"register[d0:8] lane[0, 0, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64">
#columns = #tile.layout<"register[d0:1, d0:8, d0:16, d0:32] lane[d0:2, d0:4, 0, 0, 0] warp[0, 0] -> d0:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
!r = tensor<64xf32, #rows>

// CHECK: remark: {{.*}}ReductionNotKept | Category:tile-order-wgmma-waits{{.*}}a reduction of f32 in 16 registers per thread; the pass takes f32 in at most 4
tile.kernel @wide() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %t = tile.constant 1.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %max = tile.reduce max %t dims [0] : !s -> tensor<64xf32, #columns>
  %1 = tile.wgmma_wait 0, %0 : !s
  tile.return
}

// CHECK: remark: {{.*}}ReductionNotKept{{.*}}a reduction of i32 in 2 registers per thread
tile.kernel @integers() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %t = tile.constant 1.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %i = tile.constant 1 : i32 : tensor<64x64xi32, #sums>
  %max = tile.reduce max %i dims [1] : tensor<64x64xi32, #sums> -> tensor<64xi32, #rows>
  %1 = tile.wgmma_wait 0, %0 : !s
  tile.return
}
