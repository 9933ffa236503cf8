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
