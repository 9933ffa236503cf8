// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @used_early(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected an accumulator that is waited for before other operations use it}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  // expected-note @+1 {{it is used here}}
  %1 = tile.map exp2(%0) : (!s) -> !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @used_after_a_loop(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  %sum = scf.for %k = %i to %i step %i iter_args(%acc = %zero) -> (!s) {
    // expected-error @+1 {{expected an accumulator that is waited for before other operations use it}}
    %0 = tile.wgmma %x[%i], %x[%i], %acc : !b, !b, !s
    scf.yield %0 : !s
  }
  // expected-note @+1 {{it is used here}}
  %1 = tile.map exp2(%sum) : (!s) -> !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @warps(%i: index) grid 1 launch <num_warps = 8> {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected the layout of a wgmma accumulator of 8 warps}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1, d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @not_swizzled(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a layout that wgmma reads for}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @alignment(%i: index) grid 1 {
  %x = tile.alloc offset 512 : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a buffer at a multiple of 1024 bytes, got offset 512}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#left = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#rows = #tile.layout<"register[d1:1, d1:2, d1:4, d0:16, d0:32] lane[d1:8, d1:16, d1:32, d0:1, d0:2] warp[d0:4, d0:8] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #left>
tile.kernel @lhs(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  %p = tile.constant 0.0 : bf16 : tensor<64x64xbf16, #rows>
  // expected-error @+1 {{expected the layout of a wgmma left operand of 4 warps}}
  %0 = tile.wgmma %p, %x[%i], %zero : tensor<64x64xbf16, #rows>, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @no_stage(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a stage for lhs in a buffer and none for lhs in registers}}
  %0 = tile.wgmma %x, %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

tile.kernel @pending() grid 1 {
  // expected-error @+1 {{expected at least 0 pending groups, got -1}}
  tile.wgmma_wait -1
  tile.return
}

// -----

// Each CTA of a cluster has the accumulator of its own split.
#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d2:1, d1:8, d2:8, d2:16, d2:32] lane[d2:2, d2:4, d1:1, d1:2, d1:4] warp[d1:16, d1:32] block[d0:1] -> d0:2 d1:64 d2:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<2x64x64xf32, #sums>
tile.kernel @splits(%i: index) grid 1 launch <cluster_size = 2> {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a layout that wgmma reads for}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @join_distance(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a positive multiple of 16 below 262144 for join, got 24}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero join 24 : !b, !b, !s
  %1 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @join_alone(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a tile.wgmma with the same lhs and the same types after one with join}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero join 16384 : !b, !b, !s
  tile.wgmma_commit
  %1 = tile.wgmma %x[%i], %x[%i], %zero : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @fence_of_joined(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  %0 = tile.wgmma %x[%i], %x[%i], %zero join 16384 : !b, !b, !s
  // expected-error @+1 {{expected no fence, as the tile.wgmma before it has join}}
  %1 = tile.wgmma %x[%i], %x[%i], %zero fence : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #sums>
tile.kernel @fence_rows(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected several blocks of rows for fence_rows, got 1}}
  %0 = tile.wgmma %x[%i], %x[%i], %zero fence_rows : !b, !b, !s
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
tile.kernel @after_type(%t: index) grid 1 {
  %i = tile.constant 0 : i32 : tensor<64x64xi32, #sums>
  // expected-error @+1 {{expected a tile of f32 in at most 4 registers of a thread for after, got 'tensor<64x64xi32}}
  tile.wgmma_wait 0 after %i : tensor<64x64xi32, #sums>
  tile.return
}

// -----

#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
tile.kernel @after_registers(%t: index) grid 1 {
  %x = tile.constant 0.0 : f32 : tensor<64x64xf32, #sums>
  // expected-error @+1 {{expected a tile of f32 in at most 4 registers of a thread for after, got 'tensor<64x64xf32}}
  tile.wgmma_wait 0 after %x : tensor<64x64xf32, #sums>
  tile.return
}

// -----

#words = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:4+d1:1, d0:8+d1:2, d0:16+d1:4, d1:8, d1:16, d1:32] -> d0:32 d1:64">
#left = #tile.layout<"register[d0:8, d1:4, d1:8, d1:16] lane[d1:1, d1:2, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:32">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<32x64xtf32, #words>>
!s = tensor<64x64xf32, #sums>
tile.kernel @tf32_in_registers(%i: index) grid 1 {
  %x = tile.alloc : !b
  %wide = tile.constant 0.0 : f32 : tensor<64x32xf32, #left>
  %a = tile.cast %wide : tensor<64x32xf32, #left> -> tensor<64x32xtf32, #left>
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected lhs of tf32 in a buffer, got 'tensor<64x32xtf32}}
  %0 = tile.wgmma %a, %x[%i], %zero : tensor<64x32xtf32, #left>, !b, !s
  tile.return
}

// -----

#across = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d0:1+d1:4, d0:2+d1:8, d0:4+d1:16, d0:8, d0:16, d1:32] -> d0:32 d1:64">
#along = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d0:1+d1:4, d0:2+d1:8, d0:4+d1:16, d0:8, d0:16, d0:32] -> d0:64 d1:32">
#sums = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
!a = !tile.buffer<2, tensor<64x32xtf32, #along>>
!b = !tile.buffer<2, tensor<32x64xtf32, #across>>
!s = tensor<64x64xf32, #sums>
tile.kernel @tf32_across(%i: index) grid 1 {
  %x = tile.alloc : !a
  %w = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  // expected-error @+1 {{expected a layout that wgmma reads for rhs, got '!tile.buffer<2, tensor<32x64xtf32}}
  %0 = tile.wgmma %x[%i], %w[%i], %zero : !a, !b, !s
  tile.return
}

// -----

#left = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32] -> d0:64 d1:64">
#a = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16, d0:32] -> d0:64 d1:64">
!b = !tile.buffer<2, tensor<64x64xbf16, #a>>
!s = tensor<64x64xf32, #left>
tile.kernel @transposed_registers(%i: index) grid 1 {
  %x = tile.alloc : !b
  %zero = tile.constant 0.0 : f32 : !s
  %p = tile.constant 1.0 : bf16 : tensor<64x64xbf16, #left>
  // expected-error @+1 {{expected lhs in a buffer for lhs_transposed, got 'tensor<64x64xbf16}}
  %0 = tile.wgmma %p, %x[%i], %zero lhs_transposed : tensor<64x64xbf16, #left>, !b, !s
  tile.return
}

// -----

#row = #tile.layout<"register[d0:1] lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:64, d0:128] -> d0:256">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128] -> d0:256">
tile.kernel @transposed_row(%i: index) grid 1 {
  %x = tile.alloc : !tile.buffer<1, tensor<256xbf16, #memory>>
  // expected-error @+1 {{expected a whole matrix for `transposed`, got 'tensor<256xbf16}}
  %0 = tile.shared_load %x[%i] transposed : <1, tensor<256xbf16, #memory>> -> tensor<256xbf16, #row>
  tile.return
}
