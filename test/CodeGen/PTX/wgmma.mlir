// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-lower-wgmma -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-lower-wgmma -tile-release-stages -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s --check-prefix=LEFT

// Four instructions for K = 64, one after the other. The left descriptor advances by 32 bytes within a span, the right one by
// 16 rows of 128 bytes; it is contiguous along the columns, so it is transposed. Accumulators are updated in place until the wait.
// CHECK: .extern .shared .align 1024 .b8 shared_memory[];
// CHECK-LABEL: .entry product(
// CHECK: { .reg .b64 a, b; wgmma.fence.sync.aligned; add.s64 a, %rd[[A:[0-9]+]], 0; add.s64 b, %rd[[B:[0-9]+]], 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%r[[S:[0-9]+]], {{[^}]*}}}, a, b, 1, 1, 1, 0, 1;
// CHECK-SAME: add.s64 a, %rd[[A]], 2; add.s64 b, %rd[[B]], 128; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%r[[S]],
// CHECK-SAME: add.s64 a, %rd[[A]], 4; add.s64 b, %rd[[B]], 256;
// CHECK-SAME: add.s64 a, %rd[[A]], 6; add.s64 b, %rd[[B]], 384;
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: bar.sync 0;
// CHECK: cp.async.bulk.tensor
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: ldmatrix
// CHECK-NOT: mma.sync
// A thread of each warp arrives at the empty barrier of the stage; the producer warp waits there.
// LEFT-LABEL: .entry product(
// LEFT: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 8;
// LEFT: wgmma.wait_group.sync.aligned 1;
// LEFT-NOT: bar.sync
// LEFT: elect.sync _|p, 0xffffffff; @p mbarrier.arrive.shared::cta.b64 _, [%r[[LEFT:[0-9]+]]];
// LEFT-NOT: bar.sync
// LEFT: mbarrier.try_wait.parity.shared::cta.b64 p, [%r[[LEFT]]]
// LEFT: cp.async.bulk.tensor
!a = !tile.view<128x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x128xbf16, strides = [128, 1]>
!c = !tile.view<128x128xf32, strides = [128, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<128x128xf32>, !c
  tile.return
}

// The second CTA of a cluster loads from 64 elements further on; half of the accumulators of a CTA are stored to the other one, the others
// stay in registers.
// CHECK-LABEL: .entry shared(
// CHECK: .reqnctapercluster 2
// CHECK: cp.async.bulk.tensor
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: barrier.cluster.wait.aligned
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], 32768;
// CHECK-COUNT-8: st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [
// CHECK-NOT: st.async
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK-COUNT-8: ld.shared.v4.b32
tile.kernel @shared(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2> tuning <use_tma = 1, wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<2x128x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<2x128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x128xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<128x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x128xbf16>, tensor<128x128xbf16>, tensor<2x128x128xf32>) -> tensor<2x128x128xf32>
    scf.yield %next : tensor<2x128x128xf32>
  }
  %all = tile.reduce sum %sum dims [0] : tensor<2x128x128xf32> -> tensor<128x128xf32>
  tile.store %all, %y[%c0, %c0] dims [0, 1] : tensor<128x128xf32>, !c
  tile.return
}
