// Stores to distributed shared memory, counted by an mbarrier of the receiving CTA.
// RUN: %tessera_opt %S/../../Dialect/Tile/clusters.mlir -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// CHECK: .version 8.1
// CHECK: .entry total
// CHECK: .reqnctapercluster 2
// CHECK: mbarrier.init.shared.b64 [{{.*}}], 1; @p fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned;
// CHECK: barrier.cluster.wait.aligned
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], 8;
// CHECK: mapa.shared::cluster.u32
// CHECK: @p st.async.shared::cluster.mbarrier::complete_tx::bytes.b32
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// The first CTA stores the elements that all CTAs hold.
// CHECK: st.global.b32
// CHECK: .entry iterations
// CHECK: mbarrier.init.shared.b64 [{{.*}}+0], 1; @p mbarrier.init.shared.b64 [{{.*}}+8], 1;
// CHECK: .entry split_k
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], 4096;
// CHECK: st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32
