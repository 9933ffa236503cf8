// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#left = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#a2 = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d0:64] -> d0:128 d1:64">
#sums2 = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32, d0:64] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:128 d1:64">
#rows = #tile.layout<"register[d0:8, d0:64] lane[0, 0, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:128">
#wide = #tile.layout<"register[d1:1, d1:2, d1:4, d0:1, d0:2, d0:4] lane[d1:8, d1:16, d1:32, d1:64, d0:8] warp[d0:16, d0:32] -> d0:64 d1:128">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
!b2 = !tile.buffer<2, tensor<128x64xbf16, #a2>>
!s2 = tensor<128x64xf32, #sums2>

// CHECK-LABEL: tile.kernel @mma
tile.kernel @mma(%n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.alloc offset 0 : !b
  %y = tile.alloc offset 16384 : !b
  %p = tile.constant 1.0 : bf16 : tensor<64x64xbf16, #left>
  %zero = tile.constant 0.0 : f32 : !s
  // CHECK: tile.wgmma_fence{{$}}
  tile.wgmma_fence
  // CHECK-NEXT: %[[FIRST:.*]] = tile.wgmma %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : tensor<64x64xbf16, #{{.*}}>, <2, tensor<64x64xbf16, #{{.*}}>>, tensor<64x64xf32, #{{.*}}>
  %0 = tile.wgmma %p, %y[%c0], %zero : tensor<64x64xbf16, #left>, !b, !s
  // Loops carry accumulators in flight.
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %0) -> (!s) {
    // CHECK: tile.wgmma %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} : !tile.buffer<2, tensor<64x64xbf16, #{{.*}}>>, <2, tensor<64x64xbf16, #{{.*}}>>, tensor<64x64xf32, #{{.*}}>
    %1 = tile.wgmma %x[%c0], %y[%c1], %acc : !b, !b, !s
    // CHECK-NEXT: tile.wgmma_commit{{$}}
    tile.wgmma_commit
    // CHECK-NEXT: tile.wgmma_wait 1{{$}}
    tile.wgmma_wait 1
    scf.yield %1 : !s
  }
  // CHECK: %{{.*}}:2 = tile.wgmma_wait 0, %{{.*}}, %[[FIRST]] : tensor<64x64xf32, #{{.*}}>, tensor<64x64xf32, #{{.*}}>
  %done:2 = tile.wgmma_wait 0, %sum, %0 : !s, !s
  %both = tile.map add(%done#0, %done#1) : (!s, !s) -> !s
  tile.return
}

// CHECK-LABEL: tile.kernel @joined
tile.kernel @joined() grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s
  // CHECK: tile.wgmma %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} join 16384 : !tile.buffer
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero join 16384 : !b, !b, !s
  %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %2:2 = tile.wgmma_wait 0, %0, %1 : !s, !s
  tile.return
}

// CHECK-LABEL: tile.kernel @fences
tile.kernel @fences() grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b2
  %w = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s2
  %rows = tile.constant 0.0 : f32 : tensor<128xf32, #rows>
  // CHECK: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} fence :
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero fence : !b2, !b, !s2
  // CHECK: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} fence_rows :
  %1 = tile.wgmma %x[%c0], %w[%c0], %0 fence_rows : !b2, !b, !s2
  // CHECK: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} fence fence_rows :
  %2 = tile.wgmma %x[%c0], %w[%c0], %1 fence fence_rows : !b2, !b, !s2
  tile.wgmma_commit
  // CHECK: tile.wgmma_wait 1 after %{{.*}} : tensor<128xf32, #{{[a-z0-9]*}}>
  tile.wgmma_wait 1 after %rows : tensor<128xf32, #rows>
  // CHECK: tile.wgmma_wait 0, %{{.*}} : tensor<128x64xf32, #{{[a-z0-9]*}}> after %{{.*}} : tensor<128xf32, #{{[a-z0-9]*}}>
  %3 = tile.wgmma_wait 0, %2 : !s2 after %rows : tensor<128xf32, #rows>
  tile.return
}

// CHECK-LABEL: tile.kernel @transposed
tile.kernel @transposed(%n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b2
  %zero = tile.constant 0.0 : f32 : !s
  %left = tile.alloc offset 32768 : !b
  // CHECK: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} lhs_transposed :
  %0 = tile.wgmma %left[%c0], %left[%c0], %zero lhs_transposed : !b, !b, !s
  // CHECK: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} lhs_transposed rhs_transposed fence :
  %1 = tile.wgmma %left[%c0], %left[%c0], %0 lhs_transposed rhs_transposed fence : !b, !b, !s
  tile.wgmma_commit
  tile.wgmma_wait 0
  // CHECK: tile.shared_load %{{.*}} transposed : <2, tensor<128x64xbf16, #{{.*}}>> -> tensor<64x128xbf16, #{{.*}}>
  %2 = tile.shared_load %x[%c0] transposed : !b2 -> tensor<64x128xbf16, #wide>
  tile.return
}
