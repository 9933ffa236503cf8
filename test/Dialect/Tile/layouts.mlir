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
// expected-error @+1 {{expected a layout that covers every element of the tile, got #tile.layout<"register[d0:1] -> d0:2">}}
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
// CHECK: tile.cp_async %x[%{{.*}}] dims [0] bounded into %[[B]][%{{.*}}] via #{{.*}} : <?xf32, strides = [1]>, <2, tensor<64xf32, #{{.*}}>>
// CHECK: tile.cp_async_commit
// CHECK: tile.cp_async_wait 0
// CHECK: tile.barrier
// CHECK: tile.shared_load %[[B]][%{{.*}}] : <2, tensor<64xf32, #{{.*}}>> -> tensor<64xf32, #{{.*}}>
#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
#row = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
tile.kernel @copies(%x: !tile.view<?xf32, strides = [1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : <2, tensor<64xf32, #row>>
  tile.cp_async %x[%c0] dims [0] bounded into %b[%c0] via #pair : !tile.view<?xf32, strides = [1]>, <2, tensor<64xf32, #row>>
  tile.cp_async_commit
  tile.cp_async_wait 0
  tile.barrier
  %t = tile.shared_load %b[%c0] : <2, tensor<64xf32, #row>> -> tensor<64xf32, #pair>
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
  // expected-error @+1 {{expected at least 0 pending groups, got -1}}
  tile.cp_async_wait -1
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @exchange
// CHECK: %[[B:.*]] = tile.alloc offset 128 : <1, tensor<64xf32, #{{.*}}>>
// CHECK: tile.shared_store %{{.*}}, %[[B]][%{{.*}}] : tensor<64xf32, #{{.*}}>, <1, tensor<64xf32, #{{.*}}>>
// CHECK: tile.barrier warp
// CHECK: tile.shared_load %[[B]][%{{.*}}] : <1, tensor<64xf32, #{{.*}}>> -> tensor<64xf32, #{{.*}}>
// CHECK: tile.barrier{{$}}
#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
#apart = #tile.layout<"register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:64">
#row = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
tile.kernel @exchange() grid 1 {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #pair>
  %b = tile.alloc offset 128 : <1, tensor<64xf32, #row>>
  tile.shared_store %x, %b[%c0] : tensor<64xf32, #pair>, <1, tensor<64xf32, #row>>
  tile.barrier warp
  %y = tile.shared_load %b[%c0] : <1, tensor<64xf32, #row>> -> tensor<64xf32, #apart>
  tile.barrier
  tile.return
}

// -----

// Four warps along a row of 512: each has a partial sum.
// CHECK-DAG: #[[PARTS:.*]] = #tile.layout<"lane[0, 0, 0, 0, 0] warp[d0:1, d0:2] -> d0:4">
// CHECK: tile.warp_reduce sum %{{.*}} dims [0] : tensor<512xf32, #{{.*}}> -> tensor<4xf32, #[[PARTS]]>
// CHECK: tile.scan sum %{{.*}} from %{{.*}} dim 0 exclusive : tensor<512xf32, #{{.*}}>, tensor<f32>
#row = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:128, d0:256] -> d0:512">
#parts = #tile.layout<"lane[0, 0, 0, 0, 0] warp[d0:1, d0:2] -> d0:4">
func.func @partial(%x: tensor<512xf32, #row>, %c: tensor<f32>) -> tensor<4xf32, #parts> {
  %0 = tile.warp_reduce sum %x dims [0] : tensor<512xf32, #row> -> tensor<4xf32, #parts>
  %1, %2 = tile.scan sum %x from %c dim 0 exclusive : tensor<512xf32, #row>, tensor<f32>
  return %0 : tensor<4xf32, #parts>
}

// -----

#row = #tile.layout<"register[d0:1, d0:2] lane[d0:4, d0:8, d0:16, d0:32, d0:64] warp[d0:128, d0:256] -> d0:512">
#two = #tile.layout<"warp[d0:1, 0] -> d0:2">
func.func @other_layout(%x: tensor<512xf32, #row>) {
  // expected-error @+1 {{expected a result of type 'tensor<4xf32, #tile.layout<"lane[0, 0, 0, 0, 0] warp[d0:1, d0:2] -> d0:4">>', got}}
  %0 = tile.warp_reduce sum %x dims [0] : tensor<512xf32, #row> -> tensor<2xf32, #two>
  return
}

// -----

func.func @no_layout_of_tile(%x: tensor<512xf32>) {
  // expected-error @+1 {{expected a tile with a layout, got 'tensor<512xf32>'}}
  %0 = tile.warp_reduce sum %x dims [0] : tensor<512xf32> -> tensor<4xf32>
  return
}

// -----

func.func @exclusive(%x: tensor<512xf32>, %c: tensor<f32>) {
  // expected-error @+1 {{expected a tile with a layout for an exclusive scan, got 'tensor<512xf32>'}}
  %0, %1 = tile.scan sum %x from %c dim 0 exclusive : tensor<512xf32>, tensor<f32>
  return
}

// -----

#pair = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
#row = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:32">
tile.kernel @small_stage(%c: index) grid 1 {
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #pair>
  %b = tile.alloc : <1, tensor<32xf32, #row>>
  // expected-error @+1 {{expected a tile of shape 32, got 64}}
  tile.shared_store %x, %b[%c] : tensor<64xf32, #pair>, <1, tensor<32xf32, #row>>
  tile.return
}

// -----

#row = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:32">
tile.kernel @unaligned() grid 1 {
  // expected-error @+1 {{expected an offset that is a multiple of 16, got 8}}
  %b = tile.alloc offset 8 : <1, tensor<32xf32, #row>>
  tile.return
}

// -----

// CHECK: tile.mma_shared %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} : <1, tensor<2x4xf64, #{{.*}}>>, <1, tensor<4x2xf64, #{{.*}}>>, tensor<2x2xf64, #{{.*}}>
#left = #tile.layout<"offset[d1:1, d1:2, d0:1] -> d0:2 d1:4">
#right = #tile.layout<"offset[d1:1, d0:1, d0:2] -> d0:4 d1:2">
#sums = #tile.layout<"lane[d0:1, d1:1, 0, 0, 0] -> d0:2 d1:2">
tile.kernel @mma_shared(%c: index) grid 1 {
  %zero = tile.constant 0.0 : f64 : tensor<2x2xf64, #sums>
  %a = tile.alloc : <1, tensor<2x4xf64, #left>>
  %b = tile.alloc : <1, tensor<4x2xf64, #right>>
  %0 = tile.mma_shared %a[%c], %b[%c], %zero
     : <1, tensor<2x4xf64, #left>>, <1, tensor<4x2xf64, #right>>, tensor<2x2xf64, #sums>
  tile.return
}

// -----

#columns = #tile.layout<"offset[d0:1, d1:1] -> d0:2 d1:2">
#sums = #tile.layout<"lane[d0:1, d1:1, 0, 0, 0] -> d0:2 d1:2">
tile.kernel @mma_shared(%c: index) grid 1 {
  %zero = tile.constant 0.0 : f64 : tensor<2x2xf64, #sums>
  %a = tile.alloc : <1, tensor<2x2xf64, #columns>>
  // expected-error @+1 {{expected row-major matrices}}
  %0 = tile.mma_shared %a[%c], %a[%c], %zero : <1, tensor<2x2xf64, #columns>>, <1, tensor<2x2xf64, #columns>>, tensor<2x2xf64, #sums>
  tile.return
}
