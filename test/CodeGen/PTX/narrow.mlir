// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -print-ptx=wide=false -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -print-ptx -o /dev/null | FileCheck %s --check-prefix=WIDE

// If no tensor has an extent above 2^31 elements, indices are computed and compared in 32 bits. Equal sizes
// share one word, so that the load and the store share one comparison.
// CHECK-LABEL: .entry move(
// CHECK: setp.{{[a-z]+}}.{{[us]}}32
// CHECK-NOT: setp.{{[a-z]+}}.{{[us]}}64
// CHECK: ld.global.v4.b32
// CHECK-NOT: setp.{{[a-z]+}}.{{[us]}}32
// CHECK: st.global.v4.b32
// WIDE-LABEL: .entry move(
// WIDE: setp.{{[a-z]+}}.{{[us]}}64
// WIDE-NOT: setp.{{[a-z]+}}.{{[us]}}64
// WIDE: ld.global.v4.b32
func.func @host(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32> attributes {gir.symbols = {N = {divisor = 64 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  tile.launch @move grid ["ceildiv(N, 512)", "M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  return %0 : !gir.tensor<M, N, f32>
}
!v = !tile.view<?x?xf32, strides = [?, 1], divisors = [1, 64]>
tile.kernel @move(%x: !v, %y: !v) grid 2 launch <num_warps = 4> {
  %n = tile.program_id 0
  %m = tile.program_id 1
  %a = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<512xf32>
  tile.store %a, %y[%m, %n] dims [1] bounded : tensor<512xf32>, !v
  tile.return
}

// Loop counters have 32 bits, too.
// CHECK-LABEL: .entry count(
// CHECK: setp.lt.s32
// CHECK: add.s32 %[[NEXT:.*]], %{{.*}}, 1;
// CHECK: setp.lt.s32 %{{.*}}, %[[NEXT]],
// CHECK: ret;
// WIDE-LABEL: .entry count(
// WIDE: setp.lt.s64
// WIDE: add.s64 %[[NEXT:.*]], %{{.*}}, 1;
// WIDE: setp.lt.s64 %{{.*}}, %[[NEXT]],
// WIDE: ret;
tile.kernel @count(%x: !v, %y: !v, %all: index) grid 2 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tile.program_id 0
  scf.for %i = %c0 to %all step %c1 {
    %a = tile.load %x[%i, %n] dims [1] : !v -> tensor<512xf32>
    tile.store %a, %y[%i, %n] dims [1] : tensor<512xf32>, !v
  }
  tile.return
}
