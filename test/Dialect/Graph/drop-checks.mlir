// RUN: %tessera_opt %s --pass-pipeline='builtin.module(func.func(gir-drop-checks))' | FileCheck %s

// CHECK-LABEL: @checked
// CHECK-NEXT: gir.map
// CHECK-NEXT: return
func.func @checked(%ok: !gir.tensor<S, i1>, %i: !gir.tensor<S, i64>) -> !gir.tensor<S, i64> {
  gir.check %ok, %i else <kind = "index", message = "index {0} is out of range", sizes = []> : !gir.tensor<S, i1>, !gir.tensor<S, i64>
  %0 = gir.map neg(%i) : (!gir.tensor<S, i64>) -> !gir.tensor<S, i64>
  return %0 : !gir.tensor<S, i64>
}
