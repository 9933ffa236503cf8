// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-fast-math | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90:tileir -tile-fast-math -tile-expand-math | FileCheck %s --check-prefix=EXPAND
// RUN: %tessera_opt %s -tessera-attach-target=chip=x86-64-v4 -tile-fast-math -tile-expand-math -cse | FileCheck %s --check-prefix=CPU
// RUN: %tessera_opt %s -tessera-attach-target=chip=x86-64-v3 -tile-fast-math | FileCheck %s --check-prefix=NONE

// A CPU without approximate instructions has no approximations.
// NONE-LABEL: tile.kernel @narrow
// NONE: tile.map tanh(%{{[^)]*}}) : (tensor<64xf32>)
// NONE-LABEL: tile.kernel @marked
// NONE: tile.map exp2(%{{[^)]*}}) fast

// CHECK-LABEL: tile.kernel @narrow
// CHECK: tile.map tanh(%{{.*}}) fast : (tensor<64xf32>) -> tensor<64xf32>
// CHECK: tile.map gelu_erf(%{{.*}}) fast : (tensor<64xf32>) -> tensor<64xf32>
// EXPAND-LABEL: tile.kernel @narrow
// EXPAND: tile.map tanh(%{{.*}}) fast
// EXPAND: tile.map exp2(%{{.*}}) fast
tile.kernel @narrow(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = tile.map gelu_erf(%1) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @wide
// CHECK: tile.map tanh(%{{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
tile.kernel @wide(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @f(%x: !gir.tensor<64, f32>) attributes {gir.value_type = bf16} {
  tile.launch @narrow grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

func.func @g(%x: !gir.tensor<64, f32>) {
  tile.launch @wide grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

// The policy decides for any type.
// CHECK-LABEL: tile.kernel @approximated
// CHECK: tile.map tanh(%{{.*}}) fast
tile.kernel @approximated(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @exact
// CHECK: tile.map tanh(%{{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
tile.kernel @exact(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map tanh(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @h(%x: !gir.tensor<64, f32>) attributes {gir.numerics = {fast_math = "true"}} {
  tile.launch @approximated grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

func.func @i(%x: !gir.tensor<64, f32>) attributes {gir.numerics = {fast_math = "false"}, gir.value_type = bf16} {
  tile.launch @exact grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

// The approximations of AVX-512 are accurate enough for f16: it has reciprocals and powers of two to 14 bits. Those of
// PTX are as well, without the hyperbolic tangent.
// CHECK-LABEL: tile.kernel @half
// CHECK: tile.map sigmoid(%{{.*}}) fast
// CHECK: tile.map tanh(%{{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
// CHECK: tile.map sqrt(%{{.*}}) fast
// CPU-LABEL: tile.kernel @half
// CPU: %[[T:.*]] = tile.map mul(%{{.*}}) : (tensor<64xf32>, tensor<64xf32>)
// CPU: %[[POWER:.*]] = tile.map exp2(%[[T]]) fast
// CPU: %[[SUM:.*]] = tile.map add(%[[POWER]], %{{.*}})
// CPU: %[[SIGMOID:.*]] = tile.map reciprocal(%[[SUM]]) fast
// CPU: tile.map lt(%[[SIGMOID]],
// CPU: %[[DENOMINATOR:.*]] = tile.map reciprocal(%{{.*}}) fast
// CPU: %[[TANH:.*]] = tile.map mul(%{{.*}}, %[[DENOMINATOR]])
// CPU: tile.map sqrt(%[[TANH]]) fast
tile.kernel @half(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !tile.view<64xf32, strides = [1]> -> tensor<64xf32>
  %1 = tile.map sigmoid(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = tile.map tanh(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = tile.map sqrt(%2) : (tensor<64xf32>) -> tensor<64xf32>
  tile.store %3, %x[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32, strides = [1]>
  tile.return
}

func.func @j(%x: !gir.tensor<64, f32>) attributes {gir.value_type = f16} {
  tile.launch @half grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

// RUN: %tessera_opt %s -tessera-attach-target=chip=x86-64-v4 -tile-fast-math | FileCheck %s --check-prefix=ONLY
// CHECK-LABEL: tile.kernel @marked
// CHECK: tile.map exp2(%{{.*}}) fast
// ONLY-LABEL: tile.kernel @marked
// ONLY: tile.map exp2(%{{[^)]*}}) : (tensor<64xf32>)
tile.kernel @marked(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %0 = tile.constant 0.5 : f32 : tensor<64xf32>
  %1 = tile.map exp2(%0) fast : (tensor<64xf32>) -> tensor<64xf32>
  tile.return
}

func.func @others(%x: !gir.tensor<64, f32>) {
  tile.launch @marked grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}

// Powers that the compiler marks keep all digits of f32 if the function is not of a narrow type.
// RUN: %tessera_opt %s -tessera-attach-target=chip=aarch64 -tile-fast-math | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS-LABEL: tile.kernel @weights
// WEIGHTS-NOT: exp2
// WEIGHTS: tile.map bitwise_left_shift(
// WEIGHTS: tile.map mul(
// WEIGHTS: tile.map exp2(%{{[^)]*}}) : (tensor<64xf64>)
// WEIGHTS: tile.return
tile.kernel @weights(%x: !tile.view<64xf32, strides = [1]>, %y: !tile.view<64xf64, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !tile.view<64xf32, strides = [1]> -> tensor<64xf32>
  %1 = tile.map exp2(%0) fast : (tensor<64xf32>) -> tensor<64xf32>
  tile.store %1, %x[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32, strides = [1]>
  %2 = tile.load %y[%c0] dims [0] : !tile.view<64xf64, strides = [1]> -> tensor<64xf64>
  %3 = tile.map exp2(%2) fast : (tensor<64xf64>) -> tensor<64xf64>
  tile.store %3, %y[%c0] dims [0] : tensor<64xf64>, !tile.view<64xf64, strides = [1]>
  tile.return
}

func.func @wideRows(%x: !gir.tensor<64, f32>, %y: !gir.tensor<64, f64>) {
  tile.launch @weights grid ["1"] (%x, %y) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>, #tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>, !gir.tensor<64, f64>
  return
}

// WEIGHTS-LABEL: tile.kernel @narrowWeights
// WEIGHTS: tile.map exp2(%{{.*}}) fast
tile.kernel @narrowWeights(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] dims [0] : !tile.view<64xf32, strides = [1]> -> tensor<64xf32>
  %1 = tile.map exp2(%0) fast : (tensor<64xf32>) -> tensor<64xf32>
  tile.store %1, %x[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32, strides = [1]>
  tile.return
}

func.func @narrowRows(%x: !gir.tensor<64, f32>) attributes {gir.value_type = bf16} {
  tile.launch @narrowWeights grid ["1"] (%x) views [#tile.operand<offset "0", sizes ["64"], strides ["1"]>] sizes [] : !gir.tensor<64, f32>
  return
}
