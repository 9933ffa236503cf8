// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -print-ptx -o /dev/null | FileCheck %s

// CTAs with reverse_grid run in reverse order, whatever their loops are.
// CHECK-LABEL: .entry reversed(
// CHECK-DAG: mov.u32 %r[[ALL:[0-9]+]], %nctaid.x;
// CHECK-DAG: mov.u32 %r[[HERE:[0-9]+]], %ctaid.x;
// CHECK: not.b32 %r[[BACK:[0-9]+]], %r[[HERE]];
// CHECK: add.s32 %r{{[0-9]+}}, %r[[ALL]], %r[[BACK]];
// CHECK: ret;
!v = !tile.view<?x?xf32, strides = [4096, 1], divisors = [128, 128]>
tile.kernel @reversed(%x: !v, %y: !v) grid 1 launch <num_warps = 4> tuning <reverse_grid = 1> {
  %c0 = arith.constant 0 : index
  %p = tile.program_id 0
  %t = tile.load %x[%p, %c0] dims [1] : !v -> tensor<128xf32>
  tile.store %t, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}

// In a cluster, clusters run in reverse order, and CTAs keep their ranks.
// CHECK-LABEL: .entry clusters(
// CHECK-DAG: mov.u32 %r[[CTAS:[0-9]+]], %nctaid.x;
// CHECK-DAG: mov.u32 %r[[CTA:[0-9]+]], %ctaid.x;
// CHECK-DAG: shr.u32 %r[[CLUSTERS:[0-9]+]], %r[[CTAS]], 1;
// CHECK-DAG: shr.u32 %r[[CLUSTER:[0-9]+]], %r[[CTA]], 1;
// CHECK-DAG: not.b32 %r[[LAST:[0-9]+]], %r[[CLUSTER]];
// CHECK-DAG: add.s32 %r{{[0-9]+}}, %r[[CLUSTERS]], %r[[LAST]];
// CHECK: ret;
tile.kernel @clusters(%x: !v, %y: !v) grid 1 launch <num_warps = 4, cluster_size = 2> tuning <reverse_grid = 1> {
  %c0 = arith.constant 0 : index
  %p = tile.program_id 0
  %t = tile.load %x[%p, %c0] dims [1] : !v -> tensor<1024xf32>
  tile.store %t, %y[%p, %c0] dims [1] : tensor<1024xf32>, !v
  tile.return
}

// CHECK-LABEL: .entry forward(
// CHECK-NOT: %nctaid.x
// CHECK: ret;
tile.kernel @forward(%x: !v, %y: !v) grid 1 launch <num_warps = 4> tuning <reverse_grid = 0> {
  %c0 = arith.constant 0 : index
  %p = tile.program_id 0
  %t = tile.load %x[%p, %c0] dims [1] : !v -> tensor<128xf32>
  tile.store %t, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}
