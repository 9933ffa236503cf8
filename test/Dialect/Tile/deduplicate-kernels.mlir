// RUN: %tessera_opt %s -tile-deduplicate-kernels | FileCheck %s

!v = !tile.view<?xf32, strides = [1]>
#v = #tile.operand<offset "0", sizes ["S"], strides ["1"]>

// CHECK: tile.kernel @first
// CHECK-NOT: tile.kernel @second
// CHECK: tile.kernel @other
tile.kernel @first(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<256xf32>
  %d = tile.map add(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<256xf32>, !v
  tile.return
}
tile.kernel @second(%x: !v, %y: !v) grid 1 attributes {tile.changed = ["num_warps 8 -> none: another history"]} {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<256xf32>
  %d = tile.map add(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<256xf32>, !v
  tile.return
}
tile.kernel @other(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<256xf32>
  %d = tile.map mul(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<256xf32>, !v
  tile.return
}

// CHECK-LABEL: func.func @steps
// CHECK: tile.launch @first
// CHECK: tile.launch @first
// CHECK: tile.launch @other
func.func @steps(%x: !gir.tensor<S, f32>) {
  %0 = tile.empty : !gir.tensor<S, f32>
  %1 = tile.empty : !gir.tensor<S, f32>
  %2 = tile.empty : !gir.tensor<S, f32>
  tile.launch @first grid ["ceildiv(S, 256)"] (%0, %1) views [#v, #v] sizes [] : !gir.tensor<S, f32>, !gir.tensor<S, f32>
  tile.launch @second grid ["ceildiv(S, 256)"] (%1, %2) views [#v, #v] sizes [] : !gir.tensor<S, f32>, !gir.tensor<S, f32>
  tile.launch @other grid ["ceildiv(S, 256)"] (%2, %0) views [#v, #v] sizes [] : !gir.tensor<S, f32>, !gir.tensor<S, f32>
  return
}
