// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v3 | FileCheck %s

// The launch knows what is told, by number, and the kernel tells it where its environment says.
// CHECK-LABEL: tessera_target.program @f
// CHECK: tessera_target.launch @k {{.*}} checks [#gir.failure<kind = "index", message = "a {0}", sizes = ["S"]>, #gir.failure<kind = "assertion", message = "b", sizes = []>]
// CHECK-LABEL: tessera_target.kernel @k
// CHECK: ^bb0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %[[ENV:.*]]: !llvm.ptr):
// CHECK: scf.for %[[PROGRAM:[a-z0-9]*]] =
// CHECK: } else {
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ENV]][24]
// CHECK: %[[FAILURE:.*]] = llvm.load %[[AT]]
// CHECK: %[[FIRST:.*]] = llvm.load %[[FAILURE]]
// CHECK: %[[EARLIER:.*]] = llvm.icmp "slt" %[[PROGRAM]], %[[FIRST]]
// CHECK: scf.if %[[EARLIER]] {
// CHECK-NEXT: llvm.store %[[PROGRAM]], %[[FAILURE]]
func.func @f(%x: !gir.tensor<S, i64> {gir.name = "x", gir.contiguous}) {
  tile.launch @k grid ["S"] (%x) views [#tile.operand<offset "0", sizes ["S"], strides ["1"]>] sizes [] : !gir.tensor<S, i64>
  return
}
tile.kernel @k(%x: !tile.view<?xi64, strides = [1]>) grid 1 {
  %zero = tile.constant 0 : i64 : tensor<i64>
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [] : !tile.view<?xi64, strides = [1]> -> tensor<i64>
  %c = tile.map ge(%t, %zero) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %ok = tile.extract %c : tensor<i1> -> i1
  %v = tile.extract %t : tensor<i64> -> i64
  tile.check %ok, %v else <kind = "index", message = "a {0}", sizes = ["S"]>
  tile.check %ok, %v else <kind = "assertion", message = "b", sizes = []>
  tile.check %ok, %v else <kind = "index", message = "a {0}", sizes = ["S"]>
  tile.return
}
