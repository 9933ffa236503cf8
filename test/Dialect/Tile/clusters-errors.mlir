// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -o /dev/null

!v = !tile.view<512xf32, strides = [1]>
// expected-error @+1 {{expected a cluster size that is a power of two, got 3}}
tile.kernel @cluster_of_three(%x: !v) grid 1 launch <num_warps = 1, cluster_size = 3> {
  tile.return
}

// -----

tile.kernel @no_dsmem() grid 1 launch <num_warps = 1, cluster_size = 2> {
  // expected-error @+1 {{expected dsmem buffers, or mbarriers before it, got none}}
  "tile.cluster_arrive"() : () -> ()
  tile.return
}

// -----

!v = !tile.view<512xf32, strides = [1]>
tile.kernel @scan(%x: !v, %y: !v) grid 1 launch <num_warps = 1, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<512xf32>
  // expected-error @+1 {{expected a layout in which nothing moves along the scanned dimension and another, nor CTAs of a cluster along it}}
  %0, %1 = tile.scan sum %t from %zero dim 0 : tensor<512xf32>, tensor<f32>
  tile.store %0, %y[%c0] dims [0] : tensor<512xf32>, !v
  tile.return
}

// -----

#halves = #tile.layout<"lane[d0:1, d0:2, d0:4, d0:8, d0:16] block[d0:32] -> d0:64">
#evens = #tile.layout<"lane[d0:2, d0:4, d0:8, d0:16, d0:32] block[d0:1] -> d0:64">
tile.kernel @convert() grid 1 launch <num_warps = 1, cluster_size = 2> {
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #halves>
  // expected-error @+1 {{expected a conversion within each CTA}}
  %0 = tile.convert %x : tensor<64xf32, #halves> -> tensor<64xf32, #evens>
  tile.return
}

// -----

#halves = #tile.layout<"lane[d0:1, d0:2, d0:4, d0:8, d0:16] block[d0:32] -> d0:64">
#memory = #tile.layout<"block[d0:1] offset[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
tile.kernel @shared_store() grid 1 launch <num_warps = 1, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #halves>
  %b = tile.alloc : <1, tensor<64xf32, #memory>>
  // expected-error @+1 {{expected a buffer with the elements of each CTA's threads in that CTA}}
  tile.shared_store %x, %b[%c0] : tensor<64xf32, #halves>, <1, tensor<64xf32, #memory>>
  tile.return
}

// -----

#each = #tile.layout<"lane[0, 0, 0, 0, 0] block[d0:1] -> d0:2">
#all = #tile.layout<"offset[d0:1] -> d0:2">
tile.kernel @dsmem_store() grid 1 launch <num_warps = 1, cluster_size = 2> {
  %x = tile.constant 1.0 : f32 : tensor<2xf32, #each>
  %b = tile.alloc : <1, tensor<2xf32, #all>>
  // expected-error @+1 {{expected a buffer of 'tile.alloc dsmem'}}
  tile.dsmem_store %x, %b : tensor<2xf32, #each>, <1, tensor<2xf32, #all>>
  tile.return
}

// -----

#each = #tile.layout<"lane[0, 0, 0, 0, 0] block[d0:1] -> d0:2">
#all = #tile.layout<"offset[d0:1] -> d0:2">
tile.kernel @half() grid 1 launch <num_warps = 1, cluster_size = 2> {
  %x = tile.constant 1.0 : bf16 : tensor<2xbf16, #each>
  %b = tile.alloc dsmem : <1, tensor<2xbf16, #all>>
  // expected-error @+1 {{expected elements of 32 or 64 bits, got 'bf16'}}
  tile.dsmem_store %x, %b : tensor<2xbf16, #each>, <1, tensor<2xbf16, #all>>
  tile.return
}

// -----

#part = #tile.layout<"block[d0:1] offset[d0:1] -> d0:2">
tile.kernel @dsmem() grid 1 {
  // expected-error @+1 {{expected a dsmem with all elements in each CTA, or each element in one}}
  %b = tile.alloc dsmem : <1, tensor<2xf32, #part>>
  tile.return
}

// -----

#part = #tile.layout<"block[d0:1] offset[d1:1] -> d0:2 d1:2">
#other = #tile.layout<"register[d0:1] lane[0, 0, 0, 0, 0] block[d1:1] -> d0:2 d1:2">
tile.kernel @dsmem_load() grid 1 launch <num_warps = 1, cluster_size = 2> {
  %b = tile.alloc dsmem : <1, tensor<2x2xf32, #part>>
  // expected-error @+1 {{expected a buffer with the elements of each CTA's threads in that CTA}}
  %0 = tile.dsmem_load %b : <1, tensor<2x2xf32, #part>> -> tensor<2x2xf32, #other>
  tile.return
}
