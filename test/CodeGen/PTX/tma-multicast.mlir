// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-lower-wgmma -tile-release-stages -tile-tma-multicast -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// Each of two CTAs multicasts 64 of the 128 left rows to both: its mbarrier expects all of them, 16384 bytes. The 64 right columns are
// its own. One thread initializes the full and empty barriers, 16 warps arrive at the latter, and all CTAs have theirs before the first copy. A lane per
// CTA arrives at its empty barrier; the producer waits for both CTAs.
// CHECK-LABEL: .entry columns(
// CHECK: .reqnctapercluster 2
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 2;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 16;
// CHECK: @p fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned;
// CHECK: barrier.cluster.wait.aligned;
// CHECK-NOT: bar.sync
// CHECK: .reg .b16 m; mov.b16 m, 3; elect.sync _|p, 0xffffffff; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r[[G:[0-9]+]]], 16384; @p cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}], [%r[[G]]], m; }
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], 8192; @p cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: bar.sync
// CHECK: setp.lt.u32 p, %r[[LANE:[0-9]+]], 2; @p mapa.shared::cluster.u32 a, %r[[LEFT:[0-9]+]], %r[[LANE]]; @p mbarrier.arrive.shared::cluster.b64 _, [a];
// CHECK: mbarrier.try_wait.parity.shared::cta.b64 p, [
// CHECK: multicast::cluster
// CHECK-NOT: barrier.cluster
// CHECK: ret;
!a = !tile.view<128x?xbf16, strides = [4096, 1], divisors = [128, 64]>
!b = !tile.view<?x128xbf16, strides = [128, 1]>
!c = !tile.view<128x128xf32, strides = [128, 1]>
tile.kernel @columns(%x: !a, %w: !b, %y: !c, %n: index) grid 1 launch <num_warps = 8, cluster_size = 2, cluster_axis = 1> tuning <use_tma = 1, wgmma = 1> {
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
