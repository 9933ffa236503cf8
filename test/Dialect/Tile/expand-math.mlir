// RUN: %tessera_opt %s -split-input-file -tessera-attach-target=chip=x86-64-v3 -tile-expand-math -canonicalize -cse | FileCheck %s
// RUN: %tessera_opt %s -split-input-file -tessera-attach-target=chip=sm_90a -tile-expand-math | FileCheck %s --check-prefixes=NATIVE,PTX
// RUN: %tessera_opt %s -split-input-file -tessera-attach-target=chip=sm_90:tileir -tile-expand-math | FileCheck %s --check-prefixes=NATIVE,TILEIR

// Only primitive operations are left, and the result keeps its type.
// CHECK-LABEL: func.func @exp2
// CHECK-SAME: (%[[X:.*]]: tensor<64xf32>)
// NATIVE-LABEL: func.func @exp2
func.func @exp2(%x: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: %[[HIGH:.*]] = tile.map gt(%[[X]], %{{.*}})
  // CHECK: %[[A:.*]] = tile.map where(%[[HIGH]], %{{.*}}, %[[X]])
  // CHECK: %[[LOW:.*]] = tile.map lt(%[[A]], %{{.*}})
  // CHECK: %[[B:.*]] = tile.map where(%[[LOW]], %{{.*}}, %[[A]])
  // CHECK: %[[WHOLE:.*]] = tile.map add(%[[B]], %[[SHIFT:.*]]) :
  // CHECK: %[[N:.*]] = tile.map sub(%[[WHOLE]], %[[SHIFT]])
  // CHECK: %[[R:.*]] = tile.map sub(%[[B]], %[[N]])
  // CHECK-COUNT-6: tile.map fma
  // CHECK: %[[Y:.*]] = tile.map scaleb(%{{.*}}, %[[N]])
  // CHECK: %[[Z:.*]] = tile.map where(%[[LOW]], %{{.*}}, %[[Y]])
  // CHECK: return %[[Z]]
  // NATIVE: tile.map exp2
  %0 = tile.map exp2(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A weight is a product with a power of two, whose bits are those of a sum: below the normal numbers it is 0.
// CHECK-LABEL: func.func @weight
func.func @weight(%x: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK-COUNT-2: tile.map where
  // CHECK: %[[WHOLE:.*]] = tile.map add(%{{.*}}, %[[SHIFT:.*]]) :
  // CHECK: tile.map sub(%[[WHOLE]], %[[SHIFT]])
  // CHECK-COUNT-5: tile.map fma
  // CHECK: %[[POWER:.*]] = tile.bitcast %[[WHOLE]] : tensor<64xf32> -> tensor<64xi32>
  // CHECK: %[[SHIFTED:.*]] = tile.map bitwise_left_shift(%[[POWER]],
  // CHECK: %[[SCALE:.*]] = tile.bitcast %[[SHIFTED]] : tensor<64xi32> -> tensor<64xf32>
  // CHECK: %[[WEIGHT:.*]] = tile.map mul(%{{.*}}, %[[SCALE]])
  // CHECK-NOT: scaleb
  // CHECK: return %[[WEIGHT]]
  %0 = tile.map exp2(%x) fast : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// The quotient is rounded to nearest, and so is never below the exact integer. Finiteness is not tested by x - x: an
// FMA could contract one of its sides without rounding.
// CHECK-LABEL: func.func @floorDivide
// CHECK-SAME: (%[[X:.*]]: tensor<64xf32>, %[[Y:.*]]: tensor<64xf32>)
func.func @floorDivide(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: %[[Q:.*]] = tile.map div(%[[X]], %[[Y]]) : (tensor<64xf32>
  // CHECK: tile.map floor(%[[Q]])
  // CHECK: tile.map fma(%{{.*}}, %[[Y]], %[[X]])
  // CHECK-NOT: tile.map sub(%[[X]], %[[X]])
  // CHECK: return
  %0 = tile.map floor_divide(%x, %y) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// What the rounding of a product lost is added, too: the product is rounded where it stands, and no sum takes it before.
// CHECK-LABEL: func.func @roundedProducts
func.func @roundedProducts(%x: tensor<64xf64>, %y: tensor<64xf64>) -> tensor<64xf64> {
  // CHECK: %[[ZERO:.*]] = tile.constant 0.000000e+00 : f64
  // CHECK: %[[U:.*]] = tile.map fma(%{{.*}}, %{{.*}}, %[[ZERO]])
  // CHECK: tile.map add(%[[U]], %{{.*}})
  // CHECK: %[[W:.*]] = tile.map fma(%[[CUBE:.*]], %[[C:.*]], %[[ZERO]])
  // CHECK: %[[MINUS:.*]] = tile.map neg(%[[W]])
  // CHECK: tile.map fma(%[[CUBE]], %[[C]], %[[MINUS]])
  // CHECK: tile.map add(%{{.*}}, %[[W]])
  %0 = tile.map pow(%x, %y) : (tensor<64xf64>, tensor<64xf64>) -> tensor<64xf64>
  return %0 : tensor<64xf64>
}

// -----

// exp of f32 is made of exp2 on a target that has no instruction for it.
// NATIVE-LABEL: func.func @exp(
func.func @exp(%x: tensor<64xf32>) -> tensor<64xf32> {
  // PTX: tile.map exp2({{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
  // TILEIR: tile.map exp({{.*}}) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tile.map exp(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// PTX has instructions of f32 only, which modules with f64 do not use.
// NATIVE-LABEL: func.func @exps
func.func @exps(%x: tensor<64xf32>, %y: tensor<64xf64>) -> (tensor<64xf32>, tensor<64xf64>) {
  // PTX-NOT: exp2
  // PTX: tile.map scaleb({{.*}}) : (tensor<64xf32>
  // TILEIR: tile.map exp({{.*}}) : (tensor<64xf32>)
  %0 = tile.map exp(%x) : (tensor<64xf32>) -> tensor<64xf32>
  // PTX-NOT: exp2
  // PTX: tile.map scaleb({{.*}}) : (tensor<64xf64>
  // TILEIR: tile.map exp({{.*}}) : (tensor<64xf64>)
  %1 = tile.map exp(%y) : (tensor<64xf64>) -> tensor<64xf64>
  return %0, %1 : tensor<64xf32>, tensor<64xf64>
}

// -----

// Random numbers are an operation of PTX kernels alone.
// CHECK-LABEL: func.func @philox
// CHECK-NOT: philox(
// NATIVE-LABEL: func.func @philox
// PTX: tile.map philox(
// TILEIR-NOT: tile.map philox(
func.func @philox(%i: tensor<4xi64>) -> tensor<4xi64> {
  %0 = tile.map philox(%i, %i, %i) : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: return
  // TILEIR: return
  return %0 : tensor<4xi64>
}

// -----

// What the target computes itself is kept, in f32 like all 16-bit arithmetic.
// NATIVE-LABEL: func.func @nativeNarrow
func.func @nativeNarrow(%x: tensor<64xf16>) -> tensor<64xf16> {
  // TILEIR: %[[WIDE:.*]] = tile.cast %{{.*}} : tensor<64xf16> -> tensor<64xf32>
  // TILEIR-NEXT: %[[Y:.*]] = tile.map tanh(%[[WIDE]]) : (tensor<64xf32>) -> tensor<64xf32>
  // TILEIR-NEXT: tile.cast %[[Y]] : tensor<64xf32> -> tensor<64xf16>
  %0 = tile.map tanh(%x) : (tensor<64xf16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

// 16-bit arithmetic is done in f32, one rounding for every operation.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: (%[[X:.*]]: tensor<64xbf16>, %[[Y:.*]]: tensor<64xbf16>, %[[C:.*]]: tensor<64xi1>)
func.func @narrow(%x: tensor<64xbf16>, %y: tensor<64xbf16>, %c: tensor<64xi1>)
    -> (tensor<64xbf16>, tensor<64xi1>, tensor<64xbf16>, tensor<bf16>) {
  // CHECK-DAG: %[[WX:.*]] = tile.cast %[[X]] : tensor<64xbf16> -> tensor<64xf32>
  // CHECK-DAG: %[[WY:.*]] = tile.cast %[[Y]] : tensor<64xbf16> -> tensor<64xf32>
  // CHECK: %[[SUM:.*]] = tile.map add(%[[WX]], %[[WY]]) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: %[[ROUNDED:.*]] = tile.cast %[[SUM]] : tensor<64xf32> -> tensor<64xbf16>
  %0 = tile.map add(%x, %y) : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  // CHECK: tile.map lt(%[[WX]], %[[WY]]) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = tile.map lt(%x, %y) : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xi1>
  // CHECK: tile.map where(%[[C]], %[[X]], %[[Y]]) : (tensor<64xi1>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  %2 = tile.map where(%c, %x, %y) : (tensor<64xi1>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  // CHECK: %[[TOTAL:.*]] = tile.reduce sum %[[WX]] dims [0] : tensor<64xf32> -> tensor<f32>
  // CHECK: tile.cast %[[TOTAL]] : tensor<f32> -> tensor<bf16>
  %3 = tile.reduce sum %x dims [0] : tensor<64xbf16> -> tensor<bf16>
  return %0, %1, %2, %3 : tensor<64xbf16>, tensor<64xi1>, tensor<64xbf16>, tensor<bf16>
}

// -----

// CHECK-LABEL: func.func @simple
// CHECK-SAME: (%[[X:.*]]: tensor<f64>, %[[I:.*]]: tensor<i32>)
func.func @simple(%x: tensor<f64>, %i: tensor<i32>) -> (tensor<f64>, tensor<f64>, tensor<i1>, tensor<i32>, tensor<i32>) {
  // CHECK: %[[ROOT:.*]] = tile.map sqrt(%[[X]])
  // CHECK: tile.map div(%{{.*}}, %[[ROOT]])
  %0 = tile.map rsqrt(%x) : (tensor<f64>) -> tensor<f64>
  // CHECK: tile.map maximum(%[[X]], %{{.*}}) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %1 = tile.map relu(%x) : (tensor<f64>) -> tensor<f64>
  // CHECK: tile.map ne(%[[X]], %[[X]])
  %2 = tile.map isnan(%x) : (tensor<f64>) -> tensor<i1>
  // CHECK: tile.map mul(%[[I]], %[[I]])
  %3 = tile.map square(%i) : (tensor<i32>) -> tensor<i32>
  // CHECK: tile.map floor_divide(%[[I]], %{{.*}}) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %4 = tile.map floor_divide(%i, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %0, %1, %2, %3, %4 : tensor<f64>, tensor<f64>, tensor<i1>, tensor<i32>, tensor<i32>
}

// -----

// A small constant power is a product: x³ = x · x².
// CHECK-LABEL: func.func @cube
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @cube(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = tile.constant 3.0 : f32 : tensor<4xf32>
  // CHECK: %[[SQUARE:.*]] = tile.map mul(%[[X]], %[[X]])
  // CHECK: %[[CUBE:.*]] = tile.map mul(%[[X]], %[[SQUARE]])
  // CHECK: return %[[CUBE]]
  %0 = tile.map pow(%x, %three) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Everything in the vocabulary that is not primitive.
// CHECK-LABEL: func.func @all
// CHECK-NOT: tile.map {{exp|log|rsqrt|reciprocal|square|sin|cos|tan|erf|pow|sig|sil|gelu|relu|is|rem|fmod|floor_}}
// CHECK: return
func.func @all(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tile.map exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tile.map expm1(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tile.map log(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = tile.map sin(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = tile.map silu(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = tile.map gelu_erf(%4) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = tile.map remainder(%5, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = tile.map pow(%6, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// Maps that are marked `fast` keep the target's own functions: PTX has tanh from sm_75 on.
// RUN: %tessera_opt %s -split-input-file -tessera-attach-target=chip=sm_70 -tile-expand-math | FileCheck %s --check-prefix=VOLTA
// NATIVE-LABEL: tile.kernel @approximated
// PTX: %[[TANH:.*]] = tile.map tanh(%{{.*}}) fast
// PTX: %[[POWER:.*]] = tile.map exp2(%{{.*}}) fast
// PTX: %[[SUM:.*]] = tile.map add(%[[POWER]],
// PTX: %[[SHARE:.*]] = tile.map reciprocal(%[[SUM]]) fast
// PTX: tile.map mul(%[[TANH]], %[[SHARE]])
// PTX-NOT: tile.map tanh
// PTX: tile.return
// VOLTA-LABEL: tile.kernel @approximated
// VOLTA-NOT: tile.map tanh
// VOLTA: tile.return
tile.kernel @approximated(%x: !tile.view<64xf32, strides = [1]>, %out: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : <64xf32, strides = [1]> -> tensor<64xf32>
  %t = tile.map tanh(%a) fast : (tensor<64xf32>) -> tensor<64xf32>
  %s = tile.map silu(%t) fast : (tensor<64xf32>) -> tensor<64xf32>
  %e = tile.map tanh(%s) : (tensor<64xf32>) -> tensor<64xf32>
  tile.store %e, %out[%c0] dims [0] : tensor<64xf32>, <64xf32, strides = [1]>
  tile.return
}

// -----

// CUDA Tile IR has no approximate reciprocal: a quotient is a division.
// NATIVE-LABEL: tile.kernel @quotient
// TILEIR: tile.map div(%{{.*}}) fast
tile.kernel @quotient(%x: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : <64xf32, strides = [1]> -> tensor<64xf32>
  %e = tile.map erf(%a) fast : (tensor<64xf32>) -> tensor<64xf32>
  tile.store %e, %x[%c0] dims [0] : tensor<64xf32>, <64xf32, strides = [1]>
  tile.return
}

// -----

// An online softmax is marked where its powers are not native, or its type is narrow.
// RUN: %tessera_opt %s -split-input-file -tessera-attach-target=chip=sm_90a -tile-expand-math | FileCheck %s --check-prefix=MIXED
// MIXED-LABEL: tile.kernel @online
// MIXED: tile.online_update %{{.*}} scale 1.000000e+00 expanded : tensor<64xf32>
// MIXED: tile.online_weigh %{{.*}}, %{{.*}} scale 1.000000e+00 expanded : tensor<64xf64>
tile.kernel @online(%x: !tile.view<64xf32, strides = [1]>, %h: !tile.view<64xf16, strides = [1]>,
                    %d: !tile.view<64xf64, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : <64xf32, strides = [1]> -> tensor<64xf32>
  %n0, %r0, %s0, %f0 = tile.online_update %a scale 1.0 : tensor<64xf32>
  tile.store %r0, %x[%c0] dims [0] : tensor<64xf32>, <64xf32, strides = [1]>
  %b = tile.load %h[%c0] dims [0] : <64xf16, strides = [1]> -> tensor<64xf16>
  %n1, %r1, %s1, %f1 = tile.online_update %b scale 1.0 : tensor<64xf16>
  tile.store %r1, %h[%c0] dims [0] : tensor<64xf16>, <64xf16, strides = [1]>
  %c = tile.load %d[%c0] dims [0] : <64xf64, strides = [1]> -> tensor<64xf64>
  %w = tile.online_weigh %c, %c scale 1.0 : tensor<64xf64>
  tile.store %w, %d[%c0] dims [0] : tensor<64xf64>, <64xf64, strides = [1]>
  tile.return
}

// -----

// A constant factor is folded into the constants of an approximation if the function has no other use.
// RUN: %tessera_opt %s -split-input-file -tessera-attach-target=chip=sm_90a -tile-expand-math | FileCheck %s --check-prefix=FACTOR
// FACTOR-LABEL: tile.kernel @factors
// FACTOR: %[[A:.*]] = tile.load %x[%c0
// FACTOR: %[[B:.*]] = tile.load %x[%c1
// FACTOR: %[[POWER:.*]] = tile.map exp2(%{{.*}}) fast
// FACTOR: %[[HALF:.*]] = tile.constant 1.500000e+00
// FACTOR: %[[REST:.*]] = tile.map sub(%[[HALF]], %[[POWER]])
// FACTOR: %[[SLOPE:.*]] = tile.constant 1.500000e+00
// FACTOR: %[[LINE:.*]] = tile.map mul(%[[A]], %[[SLOPE]])
// FACTOR: %[[GELU:.*]] = tile.map fma(%{{.*}}, %[[REST]], %[[LINE]])
// FACTOR: %[[E:.*]] = tile.map exp2(%{{.*}}) fast
// FACTOR: %[[PART:.*]] = tile.constant 0.333333343
// FACTOR: %[[SUM:.*]] = tile.map fma(%[[E]], %[[PART]], %[[PART]])
// FACTOR: %[[SHARE:.*]] = tile.map reciprocal(%[[SUM]]) fast
// FACTOR: %[[SILU:.*]] = tile.map mul(%[[B]], %[[SHARE]])
// FACTOR: tile.map add(%[[GELU]], %[[SILU]])
// FACTOR-LABEL: tile.kernel @kept
// FACTOR: %[[LINE:.*]] = tile.map mul(
// FACTOR-NEXT: %[[GELU:.*]] = tile.map fma(%{{.*}}, %[[LINE]])
// FACTOR-NEXT: %[[MORE:.*]] = tile.map mul(%[[GELU]],
// FACTOR-NEXT: tile.map add(%[[MORE]], %[[GELU]])
tile.kernel @factors(%x: !tile.view<2x64xf32, strides = [64, 1]>, %out: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %three = tile.constant 3.0 : f32 : tensor<64xf32>
  %a = tile.load %x[%c0, %c0] dims [1] : <2x64xf32, strides = [64, 1]> -> tensor<64xf32>
  %b = tile.load %x[%c1, %c0] dims [1] : <2x64xf32, strides = [64, 1]> -> tensor<64xf32>
  %g = tile.map gelu_erf(%a) fast : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tile.map mul(%g, %three) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %s = tile.map silu(%b) fast : (tensor<64xf32>) -> tensor<64xf32>
  %1 = tile.map mul(%three, %s) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = tile.map add(%0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %2, %out[%c0] dims [0] : tensor<64xf32>, <64xf32, strides = [1]>
  tile.return
}
tile.kernel @kept(%x: !tile.view<64xf32, strides = [1]>, %out: !tile.view<64xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %three = tile.constant 3.0 : f32 : tensor<64xf32>
  %a = tile.load %x[%c0] dims [0] : <64xf32, strides = [1]> -> tensor<64xf32>
  %g = tile.map gelu_erf(%a) fast : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tile.map mul(%g, %three) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = tile.map add(%0, %g) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  tile.store %1, %out[%c0] dims [0] : tensor<64xf32>, <64xf32, strides = [1]>
  tile.return
}
