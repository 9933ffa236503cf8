// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-fast-math -tile-expand-math -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_80 -tile-fast-math -tile-expand-math -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx=version=70 -o /dev/null | FileCheck %s --check-prefix=AMPERE

// AMPERE: .version 7.0
// AMPERE: .target sm_80

// Rows of a multiple of 64 elements: predicated 16-byte vectors; reductions over lanes, then over warps.
// CHECK: .target sm_90a
// CHECK: .extern .shared .align 128 .b8 shared_memory[];
// CHECK-LABEL: .entry normalise(
// CHECK: .reqntid 128
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: @p st.shared.b32
// CHECK: bar.sync 0;
// CHECK: ld.shared.v4.b32
// CHECK-NOT: bar.sync
// CHECK: div.rn.f32
// CHECK-COUNT-2: @p st.global.v4.b32
func.func @host(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32> attributes {gir.symbols = {N = {divisor = 64 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  tile.launch @normalise grid ["M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  return %0 : !gir.tensor<M, N, f32>
}
!v = !tile.view<?x?xf32, strides = [?, 1], divisors = [1, 64]>
tile.kernel @normalise(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
  %s = tile.reduce sum %t dims [0] : tensor<1024xf32> -> tensor<f32>
  %b = tile.broadcast %s dims [] : tensor<f32> -> tensor<1024xf32>
  %d = tile.map div(%t, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xf32>, !v
  tile.return
}

// A transpose through shared memory by one warp, and a loop.
// CHECK-LABEL: .entry across(
// CHECK: ld.global.v4.b32
// CHECK: bar.warp.sync -1;
// CHECK: st.shared
// CHECK: bar.warp.sync -1;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: st.global
!m = !tile.view<32x?xbf16, strides = [?, 1], divisors = [32, 64]>
!n = !tile.view<32x?xbf16, strides = [1, 32], divisors = [32, 64]>
tile.kernel @across(%x: !m, %y: !n, %n: index) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !m -> tensor<32x32xbf16>
    tile.store %a, %y[%c0, %k] dims [0, 1] bounded : tensor<32x32xbf16>, !n
  }
  tile.return
}
func.func @host2(%x: !gir.tensor<32, N, bf16>) -> !gir.tensor<N, 32, bf16> attributes {gir.symbols = {N = {divisor = 64 : i64}}} {
  %0 = tile.empty : !gir.tensor<N, 32, bf16>
  tile.launch @across grid ["1"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["32", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["32", "N"], strides ["1", "32"]>] sizes ["ceildiv(N, 32)"]
    : !gir.tensor<32, N, bf16>, !gir.tensor<N, 32, bf16>
  return %0 : !gir.tensor<N, 32, bf16>
}

// A scan: registers, then lanes, of two segments of 128 elements; then the totals of the four warps.
// CHECK-LABEL: .entry running(
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK: bar.sync 0;
// CHECK-NOT: bar.sync
// CHECK: st.global.v4.b32
!r = !tile.view<1024xf32, strides = [1]>
tile.kernel @running(%x: !r, %y: !r) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !r -> tensor<1024xf32>
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %b, %c = tile.scan sum %a from %zero dim 0 : tensor<1024xf32>, tensor<f32>
  tile.store %b, %y[%c0] dims [0] : tensor<1024xf32>, !r
  tile.return
}

// Tiles as wide as a vector: a thread holds a whole row.
// CHECK-LABEL: .entry pairs(
// CHECK: ld.global.v2.b32
!p = !tile.view<?x2xf32, strides = [2, 1], divisors = [1, 2]>
tile.kernel @pairs(%x: !p, %y: !p) grid 1 launch <num_warps = 1> {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] dims [0, 1] pad 0.0 : f32 : !p -> tensor<64x2xf32>
  tile.store %a, %y[%i, %c0] dims [0, 1] bounded : tensor<64x2xf32>, !p
  tile.return
}

// Positions compared with one value: the thread computes its distance once and compares it with constants.
// CHECK-LABEL: .entry chosen(
// CHECK: ld.global.b64
// CHECK: sub.s64
// CHECK: setp.lt.u64 %p{{.*}}, %rd{{.*}}, 128;
// CHECK-COUNT-4: setp.eq.b32 %p{{.*}}, %r{{.*}}, {{0|32|64|96}};
tile.kernel @chosen(%x: !tile.view<?x127xf32, strides = [127, 1]>, %t: !tile.view<?xi64, strides = [1]>, %y: !tile.view<?x127xf32, strides = [127, 1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %n = tile.load %t[%i] dims [] : !tile.view<?xi64, strides = [1]> -> tensor<i64>
  %a = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !tile.view<?x127xf32, strides = [127, 1]> -> tensor<128xf32>
  %j = tile.iota %c0 : tensor<128xi64>
  %b = tile.broadcast %n dims [] : tensor<i64> -> tensor<128xi64>
  %is = tile.map eq(%j, %b) : (tensor<128xi64>, tensor<128xi64>) -> tensor<128xi1>
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %w = tile.map where(%is, %a, %zero) : (tensor<128xi1>, tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  tile.store %w, %y[%i, %c0] dims [1] bounded : tensor<128xf32>, !tile.view<?x127xf32, strides = [127, 1]>
  tile.return
}

// Rows that end in the last eighth of their tile: only four of 32 registers are compared. The factor of the squares
// is selected and replaces the original elements.
// CHECK-LABEL: .entry squares(
// CHECK: setp.lt.s32 %[[SHORT:p[0-9]+]], %{{r[0-9]+}}, 896;
// CHECK-NEXT: @%[[SHORT]] bra
// CHECK-COUNT-4: selp.f32
// CHECK-NOT: selp.f32
// CHECK: bra.uni
// CHECK-COUNT-32: selp.f32
// CHECK-NOT: selp.f32
// CHECK: ret;
!one = !tile.view<?xf32, strides = [1]>
func.func @sums(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32> {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  %1 = tile.empty : !gir.tensor<M, f32>
  tile.launch @squares grid ["M"] (%x, %0, %1) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M"], strides ["1"]>] sizes ["N"]
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>, !gir.tensor<M, f32>
  return %0 : !gir.tensor<M, N, f32>
}
!loose = !tile.view<?x?xf32, strides = [?, 1]>
tile.kernel @squares(%x: !loose, %y: !loose, %s: !one, %n: index) grid 1 launch <num_warps = 1> {
  %i = tile.program_id 0
  %c0 = arith.constant 0 : index
  %zeros = tile.constant 0.0 : f32 : tensor<1024xf32>
  %ones = tile.constant 1.0 : f32 : tensor<1024xf32>
  %t = tile.load %x[%i, %c0] dims [1] pad 0.0 : f32 : !loose -> tensor<1024xf32>
  %d = tile.map sub(%t, %ones) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %q = tile.map mul(%d, %d) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %j = tile.iota %c0 : tensor<1024xi32>
  %m = tile.splat %n : index -> tensor<1024xi32>
  %l = tile.map lt(%j, %m) : (tensor<1024xi32>, tensor<1024xi32>) -> tensor<1024xi1>
  %k = tile.map where(%l, %q, %zeros) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %sum = tile.reduce sum %k dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %sum, %s[%i] dims [] : tensor<f32>, !one
  tile.store %d, %y[%i, %c0] dims [1] bounded : tensor<1024xf32>, !loose
  tile.return
}
