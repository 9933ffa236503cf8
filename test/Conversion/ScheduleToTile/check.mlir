// RUN: %tessera_opt %s -convert-sched-to-tile | FileCheck %s

// A block is reduced to one condition and the least value that violates it; elements past the edge hold.
// CHECK-LABEL: tile.kernel @checks
// CHECK: %[[OK:.*]] = tile.load
// CHECK: %[[I:.*]] = tile.load
// CHECK: %[[OUT:.*]] = tile.map bitwise_not(
// CHECK: %[[FINE:.*]] = tile.map bitwise_or(%[[OK]], %[[OUT]])
// CHECK: %[[MOST:.*]] = tile.constant 9223372036854775807 : i64
// CHECK: %[[TOLD:.*]] = tile.map where(%[[FINE]], %[[MOST]], %[[I]])
// CHECK: %[[ALL:.*]] = tile.reduce all %[[FINE]] dims [0]
// CHECK: %[[LEAST:.*]] = tile.reduce min %[[TOLD]] dims [0]
// CHECK: %[[A:.*]] = tile.extract %[[ALL]] : tensor<i1> -> i1
// CHECK: %[[B:.*]] = tile.extract %[[LEAST]] : tensor<i64> -> i64
// CHECK: tile.check %[[A]], %[[B]] else <kind = "index", message = "no", sizes = []>
func.func @checks(%x: !gir.tensor<S, i1>, %y: !gir.tensor<S, i64>) {
  sched.kernel @checks(%a = %x : !gir.tensor<S, i1>, %b = %y : !gir.tensor<S, i64>) -> () dims [parallel i = S tile 8] order [i] {
    %0 = sched.load %a["i"] : !gir.tensor<S, i1> -> !sched.val<[i], i1>
    %1 = sched.load %b["i"] : !gir.tensor<S, i64> -> !sched.val<[i], i64>
    sched.check %0, %1 else <kind = "index", message = "no", sizes = []> : !sched.val<[i], i1>, !sched.val<[i], i64>
  }
  return
}
