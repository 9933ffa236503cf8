// RUN: %tessera_opt %s -tile-order-wgmma-waits | %tessera_opt | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-fence-wgmma -tile-order-wgmma-waits -print-ptx -o /dev/null | FileCheck %s --check-prefix=PTX

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#rows = #tile.layout<"register[d0:8] lane[0, 0, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64">
#columns = #tile.layout<"register[d0:1, d0:8, d0:16, d0:32] lane[d0:2, d0:4, 0, 0, 0] warp[0, 0] -> d0:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
!r = tensor<64xf32, #rows>

// The reduction runs under the MMA, and the wait stays after it: after an instruction that depends on both of its registers.
// CHECK-LABEL: tile.kernel @under
// CHECK: %[[MAX:.*]] = tile.reduce max
// CHECK: tile.wgmma_wait 0, %{{.*}} : tensor<64x64xf32, #{{.*}}> after %[[MAX]] : tensor<64xf32, #{{.*}}>
// PTX-LABEL: .entry under(
// PTX: wgmma.commit_group
// PTX: { .reg .pred p; setp.eq.f32 p, {{.*}}, 0fFF7FFFFF; setp.eq.and.f32 p, {{.*}}, 0fFF7FFFFF, p; @p nanosleep.u32 0; }
// PTX: wgmma.wait_group
tile.kernel @under() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %t = tile.constant 1.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %max = tile.reduce max %t dims [1] : !s -> !r
  %1 = tile.wgmma_wait 0, %0 : !s
  tile.return
}

// Of two reductions, the last one.
// CHECK-LABEL: tile.kernel @last
// CHECK: tile.reduce max
// CHECK: %[[SUM:.*]] = tile.reduce sum
// CHECK: tile.wgmma_wait 1 after %[[SUM]] : tensor<64xf32, #{{.*}}>
tile.kernel @last() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %t = tile.constant 1.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %max = tile.reduce max %t dims [1] : !s -> !r
  %sum = tile.reduce sum %t dims [1] : !s -> !r
  tile.wgmma_wait 1
  %1 = tile.wgmma_wait 0, %0 : !s
  tile.return
}

// A reduction before the commit, or before another wait, does not run under the MMA.
// CHECK-LABEL: tile.kernel @before
// CHECK: tile.reduce max
// CHECK-NOT: after
// CHECK: tile.return
// PTX-LABEL: .entry before(
// PTX-NOT: nanosleep
// PTX: wgmma.wait_group
tile.kernel @before() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %t = tile.constant 1.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  tile.wgmma_wait 0
  %max = tile.reduce max %t dims [1] : !s -> !r
  tile.wgmma_commit
  %1 = tile.wgmma_wait 0, %0 : !s
  tile.return
}
