// RUN: %tessera_opt %s -tile-join-wgmma | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-join-wgmma -print-ptx -o /dev/null | FileCheck %s --check-prefix=PTX

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>

// One instruction has the columns of both, which are 16384 bytes apart: 1024 units of a descriptor.
// CHECK-LABEL: tile.kernel @two
// CHECK: tile.wgmma %[[X:.*]][%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} join 16384 :
// CHECK-NEXT: tile.wgmma %[[X]][%{{.*}}], %{{.*}}[%{{.*}}], %{{[a-z0-9_]*}} :
// PTX-LABEL: .entry two(
// PTX: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// PTX-NOT: m64n64k16
// PTX: wgmma.commit_group
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

// Of three, the first two.
// CHECK-LABEL: tile.kernel @three
// CHECK: tile.wgmma {{.*}} join 16384 :
// CHECK-NEXT: tile.wgmma
// CHECK-NOT: join
// CHECK: tile.wgmma_commit
tile.kernel @three(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s
  %u = tile.alloc offset 49152 : !b
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %x[%c0], %v[%c0], %zero : !b, !b, !s
  %2 = tile.wgmma %x[%c0], %u[%c0], %zero : !b, !b, !s
  tile.wgmma_commit
  %3:3 = tile.wgmma_wait 0, %0, %1, %2 : !s, !s, !s
  tile.return
}

// The second continues the sum of the first.
// CHECK-LABEL: tile.kernel @same_sum
// CHECK-NOT: join
// CHECK: tile.return
// PTX-LABEL: .entry same_sum(
// PTX-COUNT-2: m64n64k16
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

// Another left operand, another stage, and a barrier in between.
// CHECK-LABEL: tile.kernel @apart
// CHECK-NOT: join
// CHECK: tile.return
tile.kernel @apart(%i: index) grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.alloc offset 0 : !b
  %w = tile.alloc offset 16384 : !b
  %v = tile.alloc offset 32768 : !b
  %zero = tile.constant 0.0 : f32 : !s
  tile.wgmma_fence
  %0 = tile.wgmma %x[%c0], %w[%c0], %zero : !b, !b, !s
  %1 = tile.wgmma %w[%c0], %v[%c0], %zero : !b, !b, !s
  %2 = tile.wgmma %w[%c0], %v[%i], %zero : !b, !b, !s
  tile.barrier
  %3 = tile.wgmma %w[%c0], %v[%i], %zero : !b, !b, !s
  tile.wgmma_commit
  %4:4 = tile.wgmma_wait 0, %0, %1, %2, %3 : !s, !s, !s, !s
  tile.return
}

// The second buffer lies before the first.
// CHECK-LABEL: tile.kernel @before
// CHECK-NOT: join
// CHECK: tile.return
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
