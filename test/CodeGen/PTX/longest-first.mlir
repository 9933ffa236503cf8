// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -print-ptx -o /dev/null | FileCheck %s

// If loops get longer along the grid, the CTAs run in reverse order.
// CHECK-LABEL: .entry longer(
// CHECK-DAG: mov.u32 %r[[ALL:[0-9]+]], %nctaid.x;
// CHECK-DAG: mov.u32 %r[[HERE:[0-9]+]], %ctaid.x;
// CHECK: not.b32 %r[[BACK:[0-9]+]], %r[[HERE]];
// CHECK: add.s32 %r{{[0-9]+}}, %r[[ALL]], %r[[BACK]];
// CHECK: ret;
// CHECK-LABEL: .entry alike(
// CHECK-NOT: %nctaid.x
// CHECK: ret;
// CHECK-LABEL: .entry shorter(
// CHECK-NOT: %nctaid.x
!v = !tile.view<?x?xf32, strides = [4096, 1], divisors = [128, 128]>
tile.kernel @longer(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = tile.program_id 0
  %twice = arith.muli %p, %c2 : index
  %more = arith.addi %twice, %c1 : index
  %end = arith.minsi %more, %n : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}
tile.kernel @alike(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}
tile.kernel @shorter(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tile.program_id 0
  %end = arith.subi %n, %p : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}
