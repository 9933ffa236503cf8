// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-bulk-load-rows -tile-bulk-store-rows -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// One thread initializes the mbarrier and issues the bulk copy; all threads wait and read their elements one by one.
// CHECK-LABEL: .entry double(
// CHECK: mbarrier.init.shared::cta.b64 [%r{{.*}}], 1;
// CHECK: fence.proxy.async.shared::cta;
// The thread loads the elements of the chunk where the tensor ends, so that nothing past the end is read.
// CHECK: setp.{{[lg][te]}}.s64
// CHECK: max.s64
// CHECK: setp.gt.s32 p0, %r{{.*}}, 0; @p0 ld.global.b16 v0, [%rd{{.*}}+0]; setp.gt.s32 p1, %r{{.*}}, 2; @p1 ld.global.b16 v1, [%rd{{.*}}+2];
// CHECK-SAME: @p0 st.shared.b16 [%r{{.*}}+0], v0; {{.*}} @p6 st.shared.b16 [%r{{.*}}+12], v6; fence.proxy.async.shared::cta; }
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{.*}}], %r[[SIZE:[0-9]+]]; @p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{.*}}], [%rd{{.*}}], %r[[SIZE]], [%r{{.*}}];
// CHECK: bar.sync 0;
// CHECK: mbarrier.try_wait.parity.shared::cta.b64 p
// CHECK-COUNT-8: ld.shared.b16
// CHECK-NOT: ld.global
// The rounded result is written, fenced and stored: whole chunks by a bulk copy, the ends by lanes.
// CHECK-COUNT-8: cvt.rn.bf16.f32
// CHECK-COUNT-8: st.shared.b16
// CHECK: fence.proxy.async.shared::cta;
// CHECK: bar.sync 0;
// CHECK: cp.async.bulk.global.shared::cta.bulk_group [%rd{{.*}}], [%r{{.*}}], %r{{.*}};
// CHECK-COUNT-2: @p ld.shared.b16 v, [%r{{.*}}]; @p st.global.b16 [%rd{{.*}}], v;
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.async.bulk.wait_group.read 0;
!v = !tile.view<?x?xbf16, strides = [?, 1]>
func.func @host(%x: !gir.tensor<M, N, bf16>) -> !gir.tensor<M, N, bf16> attributes {gir.symbols = {M = {divisor = 1 : i64}, N = {divisor = 1 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, bf16>
  tile.launch @double grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, bf16>, !gir.tensor<M, N, bf16>
  return %0 : !gir.tensor<M, N, bf16>
}
tile.kernel @double(%x: !v, %y: !v) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : bf16 : !v -> tensor<1024xbf16>
  %f = tile.cast %t : tensor<1024xbf16> -> tensor<1024xf32>
  %a = tile.map add(%f, %f) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %d = tile.cast %a : tensor<1024xf32> -> tensor<1024xbf16>
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xbf16>, !v
  tile.return
}
