// RUN: %tessera_opt %s -tile-join-wgmma -o /dev/null --remarks-filter-missed="tile-join-wgmma" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#wide = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d1:64] -> d0:64 d1:128">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#wide_sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32, d1:64] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:128">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!w = !tile.buffer<2, tensor<64x128xbf16, #wide>>
!s = tensor<64x64xf32, #sums>
!ws = tensor<64x128xf32, #wide_sums>

// Pairs are joined, and so are those of an accumulation: nothing is missed.
// CHECK-NOT: Function=two
// CHECK-NOT: Function=same_sum
tile.kernel @two(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %2:2 = tile.wgmma_wait 0, %0, %1 : !s, !s
  tile.return
}

tile.kernel @same_sum(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %x[%c0], %v[%c0], %0 : !b, !b, !s
  tile.wgmma_commit
  %2 = tile.wgmma_wait 0, %1 : !s
  tile.return
}

// CHECK: remark: [Missed] MoreThanTwo | Category:tile-join-wgmma | Function=three
// CHECK-SAME: an instruction computes two MMAs with the same lhs, and this is a further one
tile.kernel @three(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %u = tile.alloc offset 49152 : !b
  %zero = tile.constant 0.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !b, !s
  %2 = tile.wgmma %x[%c0], %u[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %3:3 = tile.wgmma_wait 0, %0, %1, %2 : !s, !s, !s
  tile.return
}

// CHECK: [Missed] Distance{{.*}}Function=before
// CHECK-SAME: rhs is -16384 bytes after that of the previous MMA, and a descriptor holds 0 to 262144
tile.kernel @before(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 32768 : !b
  %v = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %2:2 = tile.wgmma_wait 0, %0, %1 : !s, !s
  tile.return
}

// CHECK: [Missed] NotOneSpan{{.*}}Function=wide
// CHECK-SAME: rhs has 128 columns, and an instruction with two of them needs one swizzle span, 128 bytes of contiguous columns, of each
tile.kernel @wide(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !w
  %v = tile.alloc offset 49152 : !w
  %zero = tile.constant 0.0 : f32 : !ws
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !w, !ws
  %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !w, !ws
  tile.wgmma_commit
  %2:2 = tile.wgmma_wait 0, %0, %1 : !ws, !ws
  tile.return
}
