// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s

// Operands are loaded in 16-byte vectors and read by ldmatrix, the right one transposed; the accumulators are stored
// through shared memory as well, after rounding.
// CHECK-LABEL: .entry product(
// CHECK: ld.global.v4.b32
// CHECK: st.shared.v4.b32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ld.shared.v4.b32
// CHECK: st.global.v4.b32
!a = !tile.view<64x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!b = !tile.view<?x64xbf16, strides = [64, 1]>
!c = !tile.view<64x64xbf16, strides = [64, 1]>
tile.kernel @product(%x: !a, %w: !b, %y: !c, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] : !a -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] dims [0, 1] : !b -> tensor<32x64xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %round = tile.cast %sum : tensor<64x64xf32> -> tensor<64x64xbf16>
  tile.store %round, %y[%c0, %c0] dims [0, 1] : tensor<64x64xbf16>, !c
  tile.return
}

// One instruction rounds two elements, and a loop carries them in one register.
// CHECK-LABEL: .entry halves(
// CHECK-NOT: cvt.rn.f16.f32
// CHECK-NOT: mov.b16
// CHECK: cvt.rn.f16x2.f32
// CHECK-NOT: cvt.rn.f16.f32
!halves = !tile.view<64x64xf16, strides = [64, 1]>
!singles = !tile.view<64x64xf32, strides = [64, 1]>
tile.kernel @halves(%x: !singles, %y: !halves, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f16 : tensor<64x64xf16>
  %last = scf.for %k = %c0 to %n step %c1 iter_args(%before = %zero) -> (tensor<64x64xf16>) {
    %a = tile.load %x[%k, %c0] dims [0, 1] : !singles -> tensor<64x64xf32>
    %half = tile.cast %a : tensor<64x64xf32> -> tensor<64x64xf16>
    %sum = tile.map add(%before, %half) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    scf.yield %sum : tensor<64x64xf16>
  }
  tile.store %last, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf16>, !halves
  tile.return
}

// A product that not every iteration has: its accumulator comes out of shared memory, too, as a whole and before the product,
// whose operands are read step by step.
// CHECK-LABEL: .entry some(
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {[[SUMS:%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+]]}
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {[[NEXT:%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+]]}, {{.*}}, {[[SUMS]]};
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{.*}}, {[[NEXT]]};
!rows = !tile.view<16x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!columns = !tile.view<?x16xbf16, strides = [16, 1]>
!sums = !tile.view<16x16xf32, strides = [16, 1]>
tile.kernel @some(%x: !rows, %w: !columns, %y: !sums, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = tile.constant 0.0 : f32 : tensor<16x16xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32>) {
    %rest = arith.remui %k, %c2 : index
    %isEven = arith.cmpi eq, %rest, %c0 : index
    %next = scf.if %isEven -> (tensor<16x16xf32>) {
      %a = tile.load %x[%c0, %k] dims [0, 1] : !rows -> tensor<16x32xbf16>
      %b = tile.load %w[%k, %c0] dims [0, 1] : !columns -> tensor<32x16xbf16>
      %c = tile.mma %a, %b, %acc : (tensor<16x32xbf16>, tensor<32x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
      scf.yield %c : tensor<16x16xf32>
    } else {
      scf.yield %acc : tensor<16x16xf32>
    }
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf32>, !sums
  tile.return
}

// CHECK-LABEL: .entry bytes(
// CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
!d = !tile.view<16x32xi8, strides = [32, 1]>
!e = !tile.view<32x16xi8, strides = [1, 32]>
tile.kernel @bytes(%x: !d, %w: !e, %y: !tile.view<16x16xi32, strides = [16, 1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0 : i32 : tensor<16x16xi32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !d -> tensor<16x32xi8>
  %b = tile.load %w[%c0, %c0] dims [0, 1] : !e -> tensor<32x16xi8>
  %c = tile.mma %a, %b, %zero : (tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>) -> tensor<16x16xi32>
  tile.store %c, %y[%c0, %c0] dims [0, 1] : tensor<16x16xi32>, !tile.view<16x16xi32, strides = [16, 1]>
  tile.return
}

// CHECK-LABEL: .entry doubles(
// CHECK-COUNT-16: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
!f = !tile.view<16x16xf64, strides = [16, 1]>
tile.kernel @doubles(%x: !f, %y: !f) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f64 : tensor<16x16xf64>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !f -> tensor<16x16xf64>
  %c = tile.mma %a, %a, %zero : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  tile.store %c, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf64>, !f
  tile.return
}

// MMA on CUDA cores, one k-step after the other.
// CHECK-LABEL: .entry plain(
// CHECK: st.shared
// CHECK: bar.warp.sync -1;
// CHECK-COUNT-8: fma.rn.f64
tile.kernel @plain(%x: !f, %y: !f) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f64 : tensor<16x16xf64>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !f -> tensor<16x16xf64>
  %c = tile.mma %a, %a, %zero {tile.plain} : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  tile.store %c, %y[%c0, %c0] dims [0, 1] : tensor<16x16xf64>, !f
  tile.return
}

// A software pipeline of cp.async: the second RUN line.
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s --check-prefix=AHEAD
// AHEAD-LABEL: .entry product(
// AHEAD: cp.async.cg.shared.global
// AHEAD: cp.async.commit_group;
// AHEAD-DAG: cp.async.wait_group 1;
// AHEAD-DAG: bar.sync 0;
// AHEAD-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// AHEAD-DAG: mma.sync
