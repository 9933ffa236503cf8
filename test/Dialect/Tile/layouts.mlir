// RUN: %tessera_opt %s -split-input-file -verify-diagnostics | %tessera_opt -split-input-file | FileCheck %s

// CHECK-DAG: #[[PAIR:.*]] = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
// CHECK-DAG: #[[APART:.*]] = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:64">
// CHECK: tile.convert {{.*}} : tensor<64xf32, #[[PAIR]]> -> tensor<64xf32, #[[APART]]>
#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
#apart = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:64">
func.func @convert(%x: tensor<64xf32, #pair>) -> tensor<64xf32, #apart> {
  %0 = tile.convert %x : tensor<64xf32, #pair> -> tensor<64xf32, #apart>
  return %0 : tensor<64xf32, #apart>
}

// -----

#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
func.func @no_layout(%x: tensor<64xf32>) {
  // expected-error @+1 {{expected tiles with layouts, got 'tensor<64xf32>'}}
  %0 = tile.convert %x : tensor<64xf32> -> tensor<64xf32, #pair>
  return
}

// -----

#pair = #tile.layout<"register[d0:1] -> d0:2">
// expected-error @+1 {{expected a layout that holds each element of the tile, got #tile.layout<"register[d0:1] -> d0:2">}}
func.func @too_small(%x: tensor<64xf32, #pair>) {
  return
}

// -----

// expected-error @+1 {{expected a layout such as 'register[d0:1] lane[d0:2] -> d0:4', got 'registers'}}
#pair = #tile.layout<"registers">
func.func @no_text(%x: tensor<64xf32, #pair>) {
  return
}

// -----

// CHECK-LABEL: tile.kernel @copies
// CHECK: %[[B:.*]] = tile.alloc : <2, tensor<64xf32, #{{.*}}>>
// CHECK: tile.copy %x[%{{.*}}] dims [0] bounded into %[[B]][%{{.*}}] via #{{.*}} : <?xf32, strides = [1]>, <2, tensor<64xf32, #{{.*}}>>
// CHECK: tile.commit
// CHECK: tile.wait 0
// CHECK: tile.barrier
// CHECK: tile.read %[[B]][%{{.*}}] via #{{.*}} : <2, tensor<64xf32, #{{.*}}>> -> tensor<64xf32, #{{.*}}>
#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
#row = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
tile.kernel @copies(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : <2, tensor<64xf32, #row>>
  tile.copy %x[%c0] dims [0] bounded into %b[%c0] via #pair : !tile.view<?xf32, strides = [1]>, <2, tensor<64xf32, #row>>
  tile.commit
  tile.wait 0
  tile.barrier
  %t = tile.read %b[%c0] via #pair : <2, tensor<64xf32, #row>> -> tensor<64xf32, #pair>
  tile.return
}

// -----

#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
tile.kernel @no_offsets() grid 1 {
  // expected-error @+1 {{expected a tile with a layout over offsets}}
  %b = tile.alloc : <2, tensor<64xf32, #pair>>
  tile.return
}

// -----

tile.kernel @negative() grid 1 {
  // expected-error @+1 {{expected a number of groups of at least 0, got -1}}
  tile.wait -1
  tile.return
}
