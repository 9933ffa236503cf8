// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-prefetch-mma-operands -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// A tensor map is a parameter after the words. An elected thread loads a tile; rows of 256 bytes are
// two spans of one box if the rows of the view are whole spans. ldmatrix reads the fragments.
// CHECK: .extern .shared .align 1024 .b8 shared_memory[];
// CHECK-LABEL: .entry product(
// CHECK: .param .u64 product_param_15,
// CHECK-NEXT: .param .align 64 .b8 product_param_16[128],
// CHECK-NEXT: .param .align 64 .b8 product_param_17[128]
// CHECK: prefetch.tensormap [%rd{{[0-9]+}}];
// CHECK: prefetch.tensormap [%rd{{[0-9]+}}];
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 2;
// CHECK: elect.sync _|p, 0xffffffff; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r[[G:[0-9]+]]], 8192;
// CHECK-SAME: @p cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}], [%r[[G]]];
// CHECK: elect.sync _|p, 0xffffffff; @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r[[H:[0-9]+]]], 16384;
// CHECK-SAME: @p cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}], [%r[[H]]]; }
// CHECK: mbarrier.try_wait.parity.shared::cta.b64 p
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16
// CHECK-NOT: cp.async.cg
!a = !tile.view<64x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!b = !tile.view<?x128xbf16, strides = [128, 1]>
!c = !tile.view<64x128xf32, strides = [128, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 tuning <use_tma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x128xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x64xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !b -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !c
  tile.return
}
