// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>>
tile.kernel @behind_without_slack(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a slot with slack for a tile of rank 1 that begins behind some elements}}
  %0 = tile.read %b[%i] behind %i : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:2, d0:1, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @behind_out_of_order(%i: index) grid 1 {
  %b = tile.alloc : !b
  %x = tile.constant 0.0 : bf16 : tensor<128xbf16, #rows>
  // expected-error @+1 {{expected elements that lie in order}}
  tile.write %x, %b[%i] behind %i : tensor<128xbf16, #rows>, !b
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @pads(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a pad of type 'bf16', got 'f32'}}
  %0 = tile.read %b[%i] behind %i below %i pad 0.0 : f32 : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @below_without_pad(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a pad with `from` or `below`, and none without}}
  %0 = tile.read %b[%i] behind %i below %i : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>>
tile.kernel @pad_alone(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a pad with `from` or `below`, and none without}}
  %0 = tile.read %b[%i] pad 0.0 : bf16 : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d1:1] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:8 d1:8">
#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:8 d1:8">
!b = !tile.buffer<1, tensor<8x8xbf16, #memory>>
tile.kernel @from_of_a_box(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a whole tile of rank 1 whose elements are there in part, got 'tensor<8x8xbf16}}
  %0 = tile.read %b[%i] from %i pad 0.0 : bf16 : !b -> tensor<8x8xbf16, #rows>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!r = !tile.view<?xbf16, strides = [1]>
tile.kernel @row_of_a_row(%x: !v, %i: index) grid 1 {
  %r = tile.row %x[%i] dim 1 : !v -> !r
  // expected-error @+1 {{expected a row of an argument of the kernel}}
  %s = tile.row %r[] dim 0 : !r -> !r
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_dim(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected a dimension below 2, got 2}}
  %r = tile.row %x[%i] dim 2 : !v -> !tile.view<?xbf16, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_coords(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected 1 coordinates, one for each other dimension of the view, got 2}}
  %r = tile.row %x[%i, %i] dim 1 : !v -> !tile.view<?xbf16, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_across(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected neighbours in memory along dimension 0, got '!tile.view<?x?xbf16, strides = [?, 1]>'}}
  %r = tile.row %x[%i] dim 0 : !v -> !tile.view<?xbf16, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_type(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected a result of type '!tile.view<?xbf16, strides = [1]>', got '!tile.view<?xf16, strides = [1]>'}}
  %r = tile.row %x[%i] dim 1 : !v -> !tile.view<?xf16, strides = [1]>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
// expected-error @+1 {{expected a slack of at least 0, got -1}}
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack -1>

// -----

// expected-error @+1 {{expected at least one gate, got 0}}
!g = !tile.gates<0>

// -----

tile.kernel @gates() grid 1 {
  // expected-error @+1 {{expected an offset that 8 divides, got 4}}
  %g = tile.gates offset 4 : <1>
  tile.return
}

// -----

tile.kernel @arrivals() grid 1 {
  // expected-error @+1 {{expected 1 to 1048575 arrivals, got 0}}
  %g = tile.gates arrivals 0 : <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @warps(%x: !v, %i: index) grid 1 hints {warps = 2} {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected one of 2 warps, got 2}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] by 2 : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1, d0:2, d0:4] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_layout(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected a layout that tensor copies write}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_dims(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected 2 dims for}}
  tile.fetch %x[%i, %i] dims [1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_coordinates(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected 2 coordinates, one for each dimension of the view, got 1}}
  tile.fetch %x[%i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, ?]>
tile.kernel @box_neighbours(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected neighbours in memory along a dimension of the tile}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [68, 1]>
tile.kernel @box_stride(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected a stride in dimension 0 that 16 bytes divide, above 0, got 68}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xf16, strides = [?, 1]>
tile.kernel @box_element(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected a buffer of element type 'f16', got 'bf16'}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?x?x?x?x?xbf16, strides = [?, ?, ?, ?, ?, 1]>
tile.kernel @box_rank(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected a view of at most 5 dimensions}}
  tile.fetch %x[%i, %i, %i, %i, %i, %i] dims [4, 5] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256] -> d0:512 d1:64">
!b = !tile.buffer<1, tensor<512x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_size(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected boxes of at most 256 elements in each dimension, got 512}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16] -> d0:4 d1:64">
!b = !tile.buffer<1, tensor<4x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_slots(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected slots of bytes that 1024 divides, got 512}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_offset(%x: !v, %i: index) grid 1 {
  %b = tile.alloc offset 128 : !b
  %g = tile.gates : <1>
  // expected-error @+1 {{expected a buffer at an offset that 1024 divides, got 128}}
  tile.fetch %x[%i, %i] dims [0, 1] into %b[%i] opens %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @column(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected neighbours in memory along dimension 0}}
  tile.send %b[%i] to %x[%i, %i] dims [0] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @coordinates(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected 2 coordinates, one for each dimension of the view, got 1}}
  tile.send %b[%i] to %x[%i] dims [1] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8] -> d0:16">
!b = !tile.buffer<1, tensor<16xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @short(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected at least 32 elements of a block, and bytes that 16 divides}}
  tile.send %b[%i] to %x[%i, %i] dims [1] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 4>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @slack(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a slack of 8 elements or none, got 4}}
  tile.send %b[%i] to %x[%i, %i] dims [1] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @sent(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a number of sends of at least 0, got -1}}
  tile.sent %b, -1 : !b
  tile.return
}

// -----

#memory = #tile.layout<"block[d0:1] offset[d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @strewn(%x: !v, %i: index) grid 1 hints {cluster = 2} {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected elements that lie in order}}
  tile.send %b[%i] to %x[%i, %i] dims [1] : !b, !v
  tile.return
}

// -----

tile.kernel @some(%i: index) grid 1 hints {warps = 8} {
  %g = tile.gates arrivals 4 : <1>
  // expected-error @+1 {{expected gates of 8 arrivals, one of each warp, got 4}}
  tile.arrive %g[%i] : <1>
  tile.return
}

// -----

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
tile.kernel @both(%x: !v, %i: index) grid 1 hints {warps = 4} {
  %b = tile.alloc : !box
  %g = tile.gates arrivals 4 : <2>
  // expected-note @+1 {{a copy opens one here}}
  tile.fetch %x[%i, %i] dims [0, 1] bounded into %b[%i] opens %g[%i] : !v, !box, <2>
  // expected-error @+1 {{expected gates that warps alone open}}
  tile.arrive %g[%i] : <2>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @row(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.gates : <1>
  %left = tile.gates arrivals 4 : <1>
  // expected-error @+1 {{expected a box, a gate and its phase where it waits for others}}
  tile.fetch %x[%i, %i] dims [1] bounded into %b[%i] opens %g[%i] after %left[%i] phase %i : !v, !b, <1>, !tile.gates<1>
  tile.return
}

// -----

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
tile.kernel @alone(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !box
  %g = tile.gates : <2>
  // expected-error @+1 {{expected a cluster whose blocks all have the whole tile, got 1 and}}
  tile.fetch %x[%i, %i] dims [0, 1] bounded shared into %b[%i] opens %g[%i] : !v, !box, <2>
  tile.return
}

// -----

#parts = #tile.layout<"block[d0:32] offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:64 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<64x64xbf16, #parts>>
tile.kernel @parts(%x: !v, %i: index) grid 1 hints {cluster = 2} {
  %b = tile.alloc : !box
  %g = tile.gates : <2>
  // expected-error @+1 {{expected a cluster whose blocks all have the whole tile, got 2 and}}
  tile.fetch %x[%i, %i] dims [0, 1] bounded shared into %b[%i] opens %g[%i] : !v, !box, <2>
  tile.return
}

// -----

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
tile.kernel @small(%x: !v, %i: index) grid 1 hints {cluster = 8} {
  %b = tile.alloc : !box
  %g = tile.gates : <2>
  // expected-error @+1 {{expected a tile of which each of 8 blocks can bring a part, got}}
  tile.fetch %x[%i, %i] dims [0, 1] bounded shared into %b[%i] opens %g[%i] : !v, !box, <2>
  tile.return
}

// -----

tile.kernel @all(%i: index) grid 1 hints {cluster = 2, warps = 8} {
  %g = tile.gates arrivals 8 : <1>
  // expected-error @+1 {{expected gates of 16 arrivals, one of each warp, got 8}}
  tile.arrive cluster %g[%i] : <1>
  tile.return
}
