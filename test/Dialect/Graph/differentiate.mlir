// RUN: %tessera_opt %s -gir-differentiate | FileCheck %s
// RUN: %tessera_opt %s --gir-differentiate="function=loss wrt=0,1 value=true" | FileCheck %s --check-prefix=LOSS

!S = !gir.tensor<S, f32>
!BS = !gir.tensor<B, S, f32>
!H = !gir.tensor<B, S, bf16>

// The result's cotangent times the derivative of the table.
// CHECK-LABEL: func @tanh
// CHECK-SAME: %[[X:.*]]: !gir.tensor<S, f32>, %[[G:.*]]: !gir.tensor<S, f32>
// CHECK-NEXT: %[[Y:.*]] = gir.map tanh(%[[X]])
// CHECK-NEXT: %[[Q:.*]] = gir.map mul(%[[Y]], %[[Y]])
// CHECK-NEXT: %[[ONE:.*]] = gir.constant 1.000000e+00
// CHECK-NEXT: %[[D:.*]] = gir.map sub(%[[ONE]], %[[Q]])
// CHECK-NEXT: %[[R:.*]] = gir.map mul(%[[G]], %[[D]])
// CHECK-NEXT: return %[[R]]
func.func @tanh(%x: !S, %g: !S) -> !S {
  %y = gir.map tanh(%x) : (!S) -> !S
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %0 : !S
}

// The derivative of a 16-bit operation is computed in f32, and rounded once.
// CHECK-LABEL: func @exp_narrow
// CHECK: %[[Y:.*]] = gir.map exp(
// CHECK-DAG: %[[G:.*]] = gir.cast %arg1 : !gir.tensor<B, S, bf16> -> !gir.tensor<B, S, f32>
// CHECK-DAG: %[[W:.*]] = gir.cast %[[Y]] : !gir.tensor<B, S, bf16> -> !gir.tensor<B, S, f32>
// CHECK: %[[M:.*]] = gir.map mul(%[[G]], %[[W]])
// CHECK-NEXT: gir.cast %[[M]] : !gir.tensor<B, S, f32> -> !gir.tensor<B, S, bf16>
// CHECK-NEXT: return
func.func @exp_narrow(%x: !H, %g: !H) -> !H {
  %y = gir.map exp(%x) : (!H) -> !H
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!H, !H, !H) -> !H
  return %0 : !H
}

// Softmax has no Jacobian: y (g - sum(g y)).
// CHECK-LABEL: func @softmax
// CHECK-NEXT: %[[Y:.*]] = gir.softmax %arg0 dim 1
// CHECK-NEXT: %[[GY:.*]] = gir.map mul(%arg1, %[[Y]])
// CHECK-NEXT: %[[DOT:.*]] = gir.reduce sum %[[GY]] dims [1]
// CHECK-NEXT: %[[E:.*]] = gir.broadcast %[[DOT]] dims [0]
// CHECK-NEXT: %[[DIFF:.*]] = gir.map sub(%arg1, %[[E]])
// CHECK-NEXT: %[[R:.*]] = gir.map mul(%[[Y]], %[[DIFF]])
// CHECK-NEXT: return %[[R]]
func.func @softmax(%x: !BS, %g: !BS) -> !BS {
  %y = gir.softmax %x dim 1 : !BS
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!BS, !BS, !BS) -> !BS
  return %0 : !BS
}

// The gradients of a contraction are contractions.
// CHECK-LABEL: func @contract
// CHECK-NEXT: %[[L:.*]] = gir.contract %arg2, %arg1 batch [0] x [0] over [2] x [2] : (!gir.tensor<H, M, N, f32>, !gir.tensor<H, K, N, f32>) -> !gir.tensor<H, M, K, f32>
// CHECK-NEXT: %[[R:.*]] = gir.contract %arg0, %arg2 batch [0] x [0] over [1] x [1] : (!gir.tensor<H, M, K, f32>, !gir.tensor<H, M, N, f32>) -> !gir.tensor<H, K, N, f32>
// CHECK-NEXT: return %[[L]], %[[R]]
func.func @contract(%a: !gir.tensor<H, M, K, f32>, %b: !gir.tensor<H, K, N, f32>, %g: !gir.tensor<H, M, N, f32>)
    -> (!gir.tensor<H, M, K, f32>, !gir.tensor<H, K, N, f32>) {
  %y = gir.contract %a, %b batch [0] x [0] over [2] x [1]
     : (!gir.tensor<H, M, K, f32>, !gir.tensor<H, K, N, f32>) -> !gir.tensor<H, M, N, f32>
  %0:2 = gir.vjp of(%y) cotangents(%g) wrt(%a, %b)
     : (!gir.tensor<H, M, N, f32>, !gir.tensor<H, M, N, f32>, !gir.tensor<H, M, K, f32>, !gir.tensor<H, K, N, f32>)
       -> (!gir.tensor<H, M, K, f32>, !gir.tensor<H, K, N, f32>)
  return %0#0, %0#1 : !gir.tensor<H, M, K, f32>, !gir.tensor<H, K, N, f32>
}

// A gather's is a scatter_add, without a transposition of the table.
// CHECK-LABEL: func @gather
// CHECK: %[[ZEROS:.*]] = gir.constant 0.000000e+00 : f32 : !gir.tensor<V, D, f32>
// CHECK-NEXT: %[[R:.*]] = gir.scatter_add %[[ZEROS]], %arg2(%arg1) dim 0
// CHECK-NEXT: return %[[R]]
func.func @gather(%t: !gir.tensor<V, D, f32>, %i: !gir.tensor<S, D, i64>, %g: !gir.tensor<S, D, f32>)
    -> !gir.tensor<V, D, f32> {
  %y = gir.gather %t(%i) dims [0] rest [1]
     : (!gir.tensor<V, D, f32>, !gir.tensor<S, D, i64>) -> !gir.tensor<S, D, f32>
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%t)
     : (!gir.tensor<S, D, f32>, !gir.tensor<S, D, f32>, !gir.tensor<V, D, f32>) -> !gir.tensor<V, D, f32>
  return %0 : !gir.tensor<V, D, f32>
}

// A broadcast's is a sum, a scan's a reversed scan.
// CHECK-LABEL: func @broadcast
// CHECK: gir.reduce sum %arg1 dims [0] : !gir.tensor<B, S, f32> -> !gir.tensor<S, f32>
func.func @broadcast(%x: !S, %g: !BS) -> !S {
  %y = gir.broadcast %x dims [1] : !S -> !BS
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!BS, !BS, !S) -> !S
  return %0 : !S
}

// CHECK-LABEL: func @scan
// CHECK: %[[A:.*]] = gir.slice %arg1 starts ["0", "S - 1"] steps [1, -1]
// CHECK-NEXT: %[[B:.*]] = gir.scan sum %[[A]] dim 1
// CHECK-NEXT: gir.slice %[[B]] starts ["0", "S - 1"] steps [1, -1]
func.func @scan(%x: !BS, %g: !BS) -> !BS {
  %y = gir.scan sum %x dim 1 : !BS
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!BS, !BS, !BS) -> !BS
  return %0 : !BS
}

// The cotangents of the halves of a tensor are one concatenation.
// CHECK-LABEL: func @halves
// CHECK-NEXT: %[[A:.*]] = gir.map neg(%arg2)
// CHECK-NEXT: %[[R:.*]] = gir.concat 0(%arg1, %[[A]])
// CHECK-NEXT: return %[[R]]
func.func @halves(%x: !gir.tensor<"2*S", f32>, %g: !S, %h: !S) -> !gir.tensor<"2*S", f32> {
  %a = gir.slice %x starts ["0"] steps [1] : !gir.tensor<"2*S", f32> -> !S
  %b = gir.slice %x starts ["S"] steps [1] : !gir.tensor<"2*S", f32> -> !S
  %c = gir.map neg(%b) : (!S) -> !S
  %0 = gir.vjp of(%a, %c) cotangents(%g, %h) wrt(%x)
     : (!S, !S, !S, !S, !gir.tensor<"2*S", f32>) -> !gir.tensor<"2*S", f32>
  return %0 : !gir.tensor<"2*S", f32>
}

// Nothing passes through integers and constants of gradients: the gradient is zero.
// CHECK-LABEL: func @stopped
// CHECK-NOT: gir.stop_gradient
// CHECK: %[[ZERO:.*]] = gir.constant 0.000000e+00
// CHECK-NEXT: return %[[ZERO]]
func.func @stopped(%x: !S, %g: !S) -> !S {
  %a = gir.stop_gradient %x : !S
  %b = gir.cast %x : !S -> !gir.tensor<S, i64>
  %c = gir.cast %b : !gir.tensor<S, i64> -> !S
  %y = gir.map mul(%a, %c) : (!S, !S) -> !S
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %0 : !S
}

// The second derivative of x^2 is 2.
// CHECK-LABEL: func @twice
// CHECK-NOT: gir.vjp
// CHECK: %[[TWO:.*]] = gir.constant 2.000000e+00
// CHECK: gir.map mul(%{{.*}}, %[[TWO]])
func.func @twice(%x: !S, %g: !S) -> !S {
  %y = gir.map square(%x) : (!S) -> !S
  %0 = gir.vjp of(%y) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  %1 = gir.vjp of(%0) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %1 : !S
}

// LOSS-LABEL: func @loss
// LOSS-SAME: -> (!gir.tensor<f32>, !gir.tensor<S, f32>, !gir.tensor<S, f32>)
// LOSS: %[[Y:.*]] = gir.reduce sum
// LOSS: return %[[Y]], %{{.*}}, %{{.*}} :
func.func @loss(%x: !S, %w: !S) -> !gir.tensor<f32> {
  %0 = gir.map mul(%x, %w) : (!S, !S) -> !S
  %1 = gir.reduce sum %0 dims [0] : !S -> !gir.tensor<f32>
  return %1 : !gir.tensor<f32>
}

// The rule is used in place of the derivative of the values; a result without a cotangent has zeros.
// CHECK-LABEL: func @rule
// CHECK-SAME: %[[X:.*]]: !gir.tensor<S, f32>, %[[G:.*]]: !gir.tensor<S, f32>
// CHECK-NEXT: %[[ZERO:.*]] = gir.constant 0.000000e+00
// CHECK-NEXT: %[[A:.*]] = gir.map add(%[[G]], %[[ZERO]])
// CHECK-NEXT: %[[R:.*]] = gir.map mul(%[[A]], %[[X]])
// CHECK-NEXT: return %[[R]]
func.func @rule(%x: !S, %g: !S) -> !S {
  %0 = gir.map exp(%x) : (!S) -> !S
  %1:2 = gir.custom_vjp (%0, %x) of(%x) {
  ^bb0(%a: !S, %b: !S):
    %2 = gir.map add(%a, %b) : (!S, !S) -> !S
    %3 = gir.map mul(%2, %x) : (!S, !S) -> !S
    gir.yield %3 : !S
  } : (!S, !S, !S) -> (!S, !S)
  %4 = gir.vjp of(%1#0) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %4 : !S
}

// Without gradients only the values remain.
// CHECK-LABEL: func @value
// CHECK-NEXT: %[[Y:.*]] = gir.map exp(%arg0)
// CHECK-NEXT: return %[[Y]]
func.func @value(%x: !S) -> !S {
  %0 = gir.map exp(%x) : (!S) -> !S
  %1 = gir.custom_vjp (%0) of(%x) {
  ^bb0(%g: !S):
    gir.yield %g : !S
  } : (!S, !S) -> !S
  %2 = gir.checkpoint nothing (%1) of(%x) : (!S, !S) -> !S
  %3 = gir.checkpoint_name %2 "y" : !S
  return %3 : !S
}

// A policy that saves nothing: the derivative of exp uses a second exp of the argument.
// CHECK-LABEL: func @nothing
// CHECK-NEXT: %[[Y:.*]] = gir.map exp(%arg0)
// CHECK-NEXT: %[[X:.*]] = gir.recompute %arg0
// CHECK-NEXT: %[[AGAIN:.*]] = gir.map exp(%[[X]])
// CHECK-NEXT: %[[R:.*]] = gir.map mul(%arg1, %[[AGAIN]])
// CHECK-NEXT: return %[[Y]], %[[R]]
func.func @nothing(%x: !S, %g: !S) -> (!S, !S) {
  %0 = gir.map exp(%x) : (!S) -> !S
  %1 = gir.checkpoint nothing (%0) of(%x) : (!S, !S) -> !S
  %2 = gir.vjp of(%1) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %1, %2 : !S, !S
}

// What is saved is stored once, and nothing is computed again for it.
// CHECK-LABEL: func @everything
// CHECK-NEXT: %[[Y:.*]] = gir.map exp(%arg0)
// CHECK-NEXT: %[[SAVED:.*]] = gir.materialize %[[Y]] because "a checkpoint policy saves it"
// CHECK-NEXT: %[[R:.*]] = gir.map mul(%arg1, %[[SAVED]])
// CHECK-NEXT: return %[[SAVED]], %[[R]]
func.func @everything(%x: !S, %g: !S) -> (!S, !S) {
  %0 = gir.map exp(%x) : (!S) -> !S
  %1 = gir.checkpoint everything (%0) of(%x) : (!S, !S) -> !S
  %2 = gir.vjp of(%1) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %1, %2 : !S, !S
}

// A named tensor is saved, and what follows it is computed again from there.
// CHECK-LABEL: func @named
// CHECK-NEXT: %[[A:.*]] = gir.map exp(%arg0)
// CHECK-NEXT: %[[SAVED:.*]] = gir.materialize %[[A]] because "a checkpoint policy saves it"
// CHECK-NEXT: %[[Y:.*]] = gir.map tanh(%[[SAVED]])
// CHECK-NEXT: %[[READ:.*]] = gir.recompute %[[SAVED]]
// CHECK-NEXT: %[[AGAIN:.*]] = gir.map tanh(%[[READ]])
// CHECK: gir.map mul(%[[AGAIN]], %[[AGAIN]])
func.func @named(%x: !S, %g: !S) -> (!S, !S) {
  %0 = gir.map exp(%x) : (!S) -> !S
  %1 = gir.checkpoint_name %0 "a" : !S
  %2 = gir.map tanh(%1) : (!S) -> !S
  %3 = gir.checkpoint names ["a", "b"] (%2) of(%x) : (!S, !S) -> !S
  %4 = gir.vjp of(%3) cotangents(%g) wrt(%x) : (!S, !S, !S) -> !S
  return %3, %4 : !S, !S
}
