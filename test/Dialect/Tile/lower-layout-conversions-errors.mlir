// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tessera-attach-target=chip=sm_75 -tile-lower-layout-conversions -o /dev/null

#rows = #tile.layout<"register[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d1:64, d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128 d1:128">
#columns = #tile.layout<"register[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d1:32, d1:64] lane[d1:1, d1:2, d1:4, d1:8, d1:16] -> d0:128 d1:128">
// expected-note @+1 {{the tiles of kernel 'large' are too large for shared memory}}
tile.kernel @large() grid 1 launch <num_warps = 1> {
  %x = tile.constant 1.0 : f64 : tensor<128x128xf64, #rows>
  // expected-error @+1 {{expected a tile of at most 65536 bytes to convert on sm_75, got 131072}}
  %0 = tile.convert %x : tensor<128x128xf64, #rows> -> tensor<128x128xf64, #columns>
  tile.return
}

// -----

#swizzled = #tile.layout<"lane[d1:1, d1:2, d1:4, d1:8, d0:1+d1:1] warp[d0:2] -> d0:4 d1:16">
#one = #tile.layout<"lane[0, 0, 0, 0, d0:1] warp[d0:2] -> d0:4">
tile.kernel @swizzled() grid 1 launch <num_warps = 2> {
  %x = tile.constant 1.0 : f32 : tensor<4x16xf32, #swizzled>
  %zero = tile.constant 0.0 : f32 : tensor<4xf32, #one>
  // expected-error @+1 {{expected a layout in which nothing moves along the scanned dimension and another}}
  %0, %1 = tile.scan sum %x from %zero dim 1 : tensor<4x16xf32, #swizzled>, tensor<4xf32, #one>
  tile.return
}

// -----

#swizzled = #tile.layout<"lane[d1:1, d1:2, d1:4, d1:8, d0:1+d1:1] warp[d0:2] -> d0:4 d1:16">
tile.kernel @sorted() grid 1 launch <num_warps = 2> {
  %x = tile.constant 1 : i32 : tensor<4x16xi32, #swizzled>
  // expected-error @+1 {{expected a layout in which nothing moves along the sorted dimension and another}}
  %0 = tile.sort %x dim 1 : tensor<4x16xi32, #swizzled>
  tile.return
}

// -----

#parts = #tile.layout<"register[d1:1] lane[0, 0, 0, 0, 0] warp[d0:2] block[d0:1] -> d0:4 d1:2">
#halves = #tile.layout<"lane[0, 0, 0, 0, 0] warp[0] block[d0:1] -> d0:2">
tile.kernel @warps() grid 1 launch <num_warps = 2, cluster_size = 2> {
  %x = tile.constant 1.0 : f32 : tensor<4x2xf32, #parts>
  // expected-error @+1 {{expected a result that all CTAs of the cluster hold, or of which each holds a part without a reduction across warps}}
  %0 = tile.reduce sum %x dims [0] : tensor<4x2xf32, #parts> -> tensor<2xf32, #halves>
  tile.return
}
