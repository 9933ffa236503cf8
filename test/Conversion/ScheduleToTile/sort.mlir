// RUN: %tessera_opt %s -convert-sched-to-tile -split-input-file -verify-diagnostics | FileCheck %s

// One block has the whole row. What is past its end is the largest integer.
// CHECK-LABEL: tile.kernel @rows
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[MOST:.*]] = tile.constant 9223372036854775807 : i64 : tensor<4x128xi64>
// CHECK: %[[ALL:.*]] = tile.map where(%{{.*}}, %[[X]], %[[MOST]])
// CHECK: %[[S:.*]] = tile.sort %[[ALL]] dim 1 : tensor<4x128xi64>
// CHECK: tile.store %[[S]]
// CHECK-NOT: scf.for
func.func @rows(%x: !gir.tensor<M, 100, i64>) -> !gir.tensor<M, 100, i64> {
  %r = sched.kernel @rows(%a = %x : !gir.tensor<M, 100, i64>) -> (%o : !gir.tensor<M, 100, i64>)
      dims [parallel i = M tile 4, stream n = 100 tile 128] order [i] {
    sched.stream over [n] live ["0", "100"] full ["0", "100"] lag 0.0 {
      %0 = sched.load %a["i", "n"] : !gir.tensor<M, 100, i64> -> !sched.val<[i, n], i64>
      %1 = sched.sort %0 : !sched.val<[i, n], i64>
      sched.store %1, %o["i", "n"] : !sched.val<[i, n], i64>, !gir.tensor<M, 100, i64>
    }
  }
  return %r : !gir.tensor<M, 100, i64>
}

// -----

func.func @half(%x: !gir.tensor<100, i64>) -> !gir.tensor<100, i64> {
  %r = sched.kernel @half(%a = %x : !gir.tensor<100, i64>) -> (%o : !gir.tensor<100, i64>) dims [stream n = 100 tile 64] order [] {
    sched.stream over [n] live ["0", "100"] full ["0", "100"] lag 0.0 {
      %0 = sched.load %a["n"] : !gir.tensor<100, i64> -> !sched.val<[n], i64>
      // expected-error @+1 {{expected the tile of sorted dimension 'n' to cover its size 100, got 64}}
      %1 = sched.sort %0 : !sched.val<[n], i64>
      sched.store %1, %o["n"] : !sched.val<[n], i64>, !gir.tensor<100, i64>
    }
  }
  return %r : !gir.tensor<100, i64>
}
