// RUN: %tessera_opt %s -tile-fence-wgmma | %tessera_opt | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-fence-wgmma -print-ptx -o /dev/null | FileCheck %s --check-prefix=PTX

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#a2 = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d0:64] -> d0:128 d1:64">
#sums2 = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32, d0:64] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:128 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
!b2 = !tile.buffer<2, tensor<128x64xbf16, #a2>>
!s2 = tensor<128x64xf32, #sums2>
!p2 = tensor<128x64xbf16, #sums2>

// Both accumulators of the group are moved into registers; the second after the fence of the group.
// CHECK-LABEL: tile.kernel @group
// CHECK: tile.wgmma_fence
// CHECK-NEXT: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} fence :
// CHECK-NEXT: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} fence :
// PTX-LABEL: .entry group(
// PTX-COUNT-2: { .reg .b64 a, b; wgmma.fence.sync.aligned;
// PTX: wgmma.commit_group
tile.kernel @group() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %one = tile.constant 1.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %w[%c0], %x[%c0], %one : !b, !b, !s
  tile.wgmma_commit
  %2:2 = tile.wgmma_wait 0, %0, %1 : !s, !s
  tile.return
}

// A loop and another MMA leave the accumulator in its registers: the fence of the group is enough.
// CHECK-LABEL: tile.kernel @carried
// CHECK: tile.wgmma_fence
// CHECK-NEXT: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} :
// CHECK-NEXT: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} :
// PTX-LABEL: .entry carried(
// PTX: { .reg .b64 a, b; wgmma.fence.sync.aligned;
// PTX-NOT: wgmma.fence
// PTX: wgmma.commit_group
tile.kernel @carried(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    tile.wgmma_fence
    %0 = tile.wgmma %x[%c0], %w[%c0], %acc : !b, !b, !s
    %1 = tile.wgmma %w[%c0], %x[%c0], %0 : !b, !b, !s
    tile.wgmma_commit
    tile.wgmma_wait 1
    scf.yield %1 : !s
  }
  %2 = tile.wgmma_wait 0, %sum : !s
  tile.return
}

// One instruction computes both MMAs, of which the second has an accumulator that is moved.
// CHECK-LABEL: tile.kernel @joined
// CHECK: tile.wgmma {{.*}} join 16384 fence :
// CHECK-NEXT: tile.wgmma {{.*}}, %{{[a-z0-9_]*}} :
tile.kernel @joined(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    tile.wgmma_fence
    %0 = tile.wgmma %x[%c0], %w[%c0], %acc join 16384 : !b, !b, !s
    %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !b, !s
    tile.wgmma_commit
    %2:2 = tile.wgmma_wait 0, %0, %1 : !s, !s
    scf.yield %2#0 : !s
  }
  tile.return
}

// Each warpgroup has two blocks of rows. The rows of lhs are moved into registers for each, and so are accumulators that nothing has
// left there.
// CHECK-LABEL: tile.kernel @blocks
// CHECK: tile.wgmma %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{[a-z0-9_]*}} :
// CHECK: tile.wgmma %{{[a-z0-9_]*}}, %{{.*}}[%{{.*}}], %{{[a-z0-9_]*}} fence_rows :
// CHECK: tile.wgmma %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{[a-z0-9_]*}} fence fence_rows :
// PTX-LABEL: .entry blocks(
// PTX: { .reg .b64 a, b; wgmma.fence.sync.aligned;
// PTX: { .reg .b64 a, b; add.s64
// PTX: { .reg .b64 a, b; add.s64
// PTX: { .reg .b64 a, b; wgmma.fence.sync.aligned;
// PTX: wgmma.commit_group
// PTX-COUNT-2: { .reg .b64 a, b; wgmma.fence.sync.aligned;
// PTX: wgmma.commit_group
tile.kernel @blocks(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.alloc offset 0 : !b2
  %w = tile.alloc offset 32768 : !b
  %p = tile.constant 1.0 : bf16 : !p2
  %zero = tile.constant 0.0 : f32 : !s2
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s2) {
    tile.wgmma_fence
    %0 = tile.wgmma %x[%c0], %w[%c0], %acc : !b2, !b, !s2
    %1 = tile.wgmma %p, %w[%c0], %0 : !p2, !b, !s2
    tile.wgmma_commit
    %2 = tile.wgmma_wait 0, %1 : !s2
    scf.yield %2 : !s2
  }
  tile.wgmma_fence
  %3 = tile.wgmma %x[%c0], %w[%c0], %zero : !b2, !b, !s2
  tile.wgmma_commit
  %4 = tile.wgmma_wait 0, %3 : !s2
  tile.return
}
