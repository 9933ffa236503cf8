// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>>
tile.kernel @shift_without_slack(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a tile of rank 1 and a buffer with slack for a shift}}
  %0 = tile.shared_load %b[%i] shift %i : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:2, d0:1, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @shift_out_of_order(%i: index) grid 1 {
  %b = tile.alloc : !b
  %x = tile.constant 0.0 : bf16 : tensor<128xbf16, #rows>
  // expected-error @+1 {{expected a buffer with the elements in order}}
  tile.shared_store %x, %b[%i] shift %i : tensor<128xbf16, #rows>, !b
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @pads(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a pad of type 'bf16', got 'f32'}}
  %0 = tile.shared_load %b[%i] shift %i below %i pad 0.0 : f32 : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @below_without_pad(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a pad with `from` or `below`, and none without}}
  %0 = tile.shared_load %b[%i] shift %i below %i : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d0:32, d0:64] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:128">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>>
tile.kernel @pad_alone(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a pad with `from` or `below`, and none without}}
  %0 = tile.shared_load %b[%i] pad 0.0 : bf16 : !b -> tensor<128xbf16, #rows>
  tile.return
}

// -----

#rows = #tile.layout<"register[d1:1] lane[d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:8 d1:8">
#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d0:1, d0:2, d0:4] -> d0:8 d1:8">
!b = !tile.buffer<1, tensor<8x8xbf16, #memory>>
tile.kernel @from_of_a_box(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a whole tile of rank 1 with `from` or `below`, got 'tensor<8x8xbf16}}
  %0 = tile.shared_load %b[%i] from %i pad 0.0 : bf16 : !b -> tensor<8x8xbf16, #rows>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
!r = !tile.view<?xbf16, strides = [1]>
tile.kernel @row_of_a_row(%x: !v, %i: index) grid 1 {
  %r = tile.aligned_row %x[%i] dim 1 : !v -> !r
  // expected-error @+1 {{expected a view that is an argument of the kernel}}
  %s = tile.aligned_row %r[] dim 0 : !r -> !r
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_dim(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected a dimension below 2, got 2}}
  %r = tile.aligned_row %x[%i] dim 2 : !v -> !tile.view<?xbf16, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_coords(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected 1 coordinates, one for each other dimension of the view, got 2}}
  %r = tile.aligned_row %x[%i, %i] dim 1 : !v -> !tile.view<?xbf16, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_across(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected contiguous elements along dimension 0, got '!tile.view<?x?xbf16, strides = [?, 1]>'}}
  %r = tile.aligned_row %x[%i] dim 0 : !v -> !tile.view<?xbf16, strides = [1]>
  tile.return
}

// -----

!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @row_type(%x: !v, %i: index) grid 1 {
  // expected-error @+1 {{expected a result of type '!tile.view<?xbf16, strides = [1]>', got '!tile.view<?xf16, strides = [1]>'}}
  %r = tile.aligned_row %x[%i] dim 1 : !v -> !tile.view<?xf16, strides = [1]>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
// expected-error @+1 {{expected a slack of at least 0, got -1}}
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack -1>

// -----

// expected-error @+1 {{expected at least one mbarrier, got 0}}
!g = !tile.mbarrier<0>

// -----

tile.kernel @mbarriers() grid 1 {
  // expected-error @+1 {{expected an offset that is a multiple of 8, got 4}}
  %g = tile.mbarrier_alloc offset 4 : <1>
  tile.return
}

// -----

tile.kernel @arrivals() grid 1 {
  // expected-error @+1 {{expected 1 to 1048575 arrivals, got 0}}
  %g = tile.mbarrier_alloc arrivals 0 : <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @warps(%x: !v, %i: index) grid 1 launch <num_warps = 2> {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a warp below 2, got 2}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] warp 2 : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1, d0:2, d0:4] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_layout(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a layout that TMA writes}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @bulk_load_of_a_box(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a tile of rank 1, got 'tensor<8x64xbf16}}
  tile.bulk_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @bulk_load_warp(%x: !v, %i: index) grid 1 launch <num_warps = 2> {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a warp below 2, got 3}}
  tile.bulk_load %x[%i, %i] dims [1] into %b[%i] full %g[%i] warp 3 : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_dims(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a tile of rank 1 or more and as many dims, got 'tensor<8x64xbf16}}
  tile.tma_load %x[%i, %i] dims [1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_coordinates(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected 2 coordinates, one for each dimension of the view, got 1}}
  tile.tma_load %x[%i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, ?]>
tile.kernel @box_contiguous(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected contiguous elements along a dimension of the tile}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [68, 1]>
tile.kernel @box_stride(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a positive stride in dimension 0 that is a multiple of 16 bytes, got 68 elements}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xf16, strides = [?, 1]>
tile.kernel @box_element(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a buffer of element type 'f16', got 'bf16'}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?x?x?x?x?xbf16, strides = [?, ?, ?, ?, ?, 1]>
tile.kernel @box_rank(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a view of at most 5 dimensions}}
  tile.tma_load %x[%i, %i, %i, %i, %i, %i] dims [4, 5] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256] -> d0:512 d1:64">
!b = !tile.buffer<1, tensor<512x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_size(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected boxes of at most 256 elements in each dimension, got 512}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16] -> d0:4 d1:64">
!b = !tile.buffer<1, tensor<4x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_stages(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected stages of a multiple of 1024 bytes, got 512}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32] -> d0:8 d1:64">
!b = !tile.buffer<1, tensor<8x64xbf16, #memory>>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @box_offset(%x: !v, %i: index) grid 1 {
  %b = tile.alloc offset 128 : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a buffer at a multiple of 1024 bytes, got offset 128}}
  tile.tma_load %x[%i, %i] dims [0, 1] into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @column(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected contiguous elements along dimension 0}}
  tile.bulk_store %b[%i] to %x[%i, %i] dims [0] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @coordinates(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected 2 coordinates, one for each dimension of the view, got 1}}
  tile.bulk_store %b[%i] to %x[%i] dims [1] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8] -> d0:16">
!b = !tile.buffer<1, tensor<16xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @short(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected at least 32 elements per CTA and a multiple of 16 bytes}}
  tile.bulk_store %b[%i] to %x[%i, %i] dims [1] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 4>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @slack(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a slack of 8 elements or none, got 4}}
  tile.bulk_store %b[%i] to %x[%i, %i] dims [1] : !b, !v
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @pending(%i: index) grid 1 {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected at least 0 pending bulk stores, got -1}}
  tile.bulk_wait %b, -1 : !b
  tile.return
}

// -----

#memory = #tile.layout<"block[d0:1] offset[d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
!v = !tile.view<?x?xbf16, strides = [?, 1]>
tile.kernel @scattered(%x: !v, %i: index) grid 1 launch <cluster_size = 2> {
  %b = tile.alloc : !b
  // expected-error @+1 {{expected a buffer with the elements in order}}
  tile.bulk_store %b[%i] to %x[%i, %i] dims [1] : !b, !v
  tile.return
}

// -----

tile.kernel @fewer_arrivals(%i: index) grid 1 launch <num_warps = 8> {
  %g = tile.mbarrier_alloc arrivals 4 : <1>
  // expected-error @+1 {{expected mbarriers with 8 arrivals, one per warp, got 4}}
  tile.mbarrier_arrive %g[%i] : <1>
  tile.return
}

// -----

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
tile.kernel @full_and_empty(%x: !v, %i: index) grid 1 launch <num_warps = 4> {
  %b = tile.alloc : !box
  %g = tile.mbarrier_alloc arrivals 4 : <2>
  // expected-note @+1 {{a load completes at one here}}
  tile.tma_load %x[%i, %i] dims [0, 1] bounded into %b[%i] full %g[%i] : !v, !box, <2>
  // expected-error @+1 {{expected mbarriers at which no load completes}}
  tile.mbarrier_arrive %g[%i] : <2>
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!b = !tile.buffer<1, tensor<128xbf16, #memory>, slack 8>
tile.kernel @tma_row(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <1>
  // expected-error @+1 {{expected a layout that TMA writes, got}}
  tile.tma_load %x[%i, %i] dims [1] bounded into %b[%i] full %g[%i] : !v, !b, <1>
  tile.return
}

// -----

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
tile.kernel @multicast_alone(%x: !v, %i: index) grid 1 {
  %b = tile.alloc : !box
  %g = tile.mbarrier_alloc : <2>
  // expected-error @+1 {{expected a cluster of several CTAs that all hold the whole tile, got 1 and}}
  tile.tma_load %x[%i, %i] dims [0, 1] bounded multicast into %b[%i] full %g[%i] : !v, !box, <2>
  tile.return
}

// -----

#parts = #tile.layout<"block[d0:32] offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:64 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<64x64xbf16, #parts>>
tile.kernel @multicast_parts(%x: !v, %i: index) grid 1 launch <cluster_size = 2> {
  %b = tile.alloc : !box
  %g = tile.mbarrier_alloc : <2>
  // expected-error @+1 {{expected a cluster of several CTAs that all hold the whole tile, got 2 and}}
  tile.tma_load %x[%i, %i] dims [0, 1] bounded multicast into %b[%i] full %g[%i] : !v, !box, <2>
  tile.return
}

// -----

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
!v = !tile.view<?x?xbf16, strides = [64, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
tile.kernel @multicast_small(%x: !v, %i: index) grid 1 launch <cluster_size = 8> {
  %b = tile.alloc : !box
  %g = tile.mbarrier_alloc : <2>
  // expected-error @+1 {{expected a tile that 8 CTAs can divide for multicast, got}}
  tile.tma_load %x[%i, %i] dims [0, 1] bounded multicast into %b[%i] full %g[%i] : !v, !box, <2>
  tile.return
}

// -----

tile.kernel @cluster_arrivals(%i: index) grid 1 launch <num_warps = 8, cluster_size = 2> {
  %g = tile.mbarrier_alloc arrivals 8 : <1>
  // expected-error @+1 {{expected mbarriers with 16 arrivals, one per warp, got 8}}
  tile.mbarrier_arrive cluster %g[%i] : <1>
  tile.return
}

// -----

tile.kernel @one_thread_of_a_branch(%is: i1) grid 1 {
  // expected-error @+1 {{expected an scf.for without results for tile.one_thread}}
  scf.if %is {
  } {tile.one_thread}
  tile.return
}

// -----

tile.kernel @one_thread_with_results(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{expected an scf.for without results for tile.one_thread}}
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (index) {
    scf.yield %s : index
  } {tile.one_thread}
  tile.return
}

// -----

tile.kernel @one_thread_at_a_barrier(%n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{expected a tile.bulk_load of the first warp in a loop with tile.one_thread}}
    tile.barrier
  } {tile.one_thread}
  tile.return
}

// -----

#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64] -> d0:128">
!v = !tile.view<?x?xbf16, strides = [?, 1]>
!b = !tile.buffer<4, tensor<128xbf16, #memory>, slack 8>
tile.kernel @one_thread_of_another_warp(%x: !v, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tile.alloc : !b
  %g = tile.mbarrier_alloc : <4>
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{expected a tile.bulk_load of the first warp in a loop with tile.one_thread}}
    tile.bulk_load %x[%c0, %i] dims [1] bounded into %b[%i] full %g[%i] warp 1 : !v, !b, <4>
  } {tile.one_thread}
  tile.return
}
