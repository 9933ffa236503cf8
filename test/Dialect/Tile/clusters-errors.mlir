// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tile-assign-layouts -tile-expand-exchanges -o /dev/null

!v = !tile.view<512xf32, strides = [1]>
// expected-error @+1 {{expected a cluster of a power of two of blocks, got 3}}
tile.kernel @three(%x: !v) grid 1 hints {cluster = 3, warps = 1} {
  tile.return
}

// -----

tile.kernel @closed() grid 1 hints {cluster = 2, warps = 1} {
  // expected-error @+1 {{expected a mailbox, or gates before it, got none}}
  "tile.open"() : () -> ()
  tile.return
}

// -----

!v = !tile.view<512xf32, strides = [1]>
tile.kernel @scan(%x: !v, %y: !v) grid 1 hints {cluster = 2, warps = 1} {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : tensor<f32>
  %t = tile.load %x[%c0] dims [0] : !v -> tensor<512xf32>
  // expected-error @+1 {{expected a layout in which nothing moves along the scanned dimension and another, nor blocks of a cluster along it}}
  %0, %1 = tile.scan sum %t from %zero dim 0 : tensor<512xf32>, tensor<f32>
  tile.store %0, %y[%c0] dims [0] : tensor<512xf32>, !v
  tile.return
}

// -----

#halves = #tile.layout<"lane[d0:1, d0:2, d0:4, d0:8, d0:16] block[d0:32] -> d0:64">
#evens = #tile.layout<"lane[d0:2, d0:4, d0:8, d0:16, d0:32] block[d0:1] -> d0:64">
tile.kernel @convert() grid 1 hints {cluster = 2, warps = 1} {
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #halves>
  // expected-error @+1 {{expected what a block needs within the block: the blocks of a cluster exchange parts of reductions only}}
  %0 = tile.convert %x : tensor<64xf32, #halves> -> tensor<64xf32, #evens>
  tile.return
}

// -----

#halves = #tile.layout<"lane[d0:1, d0:2, d0:4, d0:8, d0:16] block[d0:32] -> d0:64">
#memory = #tile.layout<"block[d0:1] offset[d0:2, d0:4, d0:8, d0:16, d0:32] -> d0:64">
tile.kernel @write() grid 1 hints {cluster = 2, warps = 1} {
  %c0 = arith.constant 0 : index
  %x = tile.constant 1.0 : f32 : tensor<64xf32, #halves>
  %b = tile.alloc : <1, tensor<64xf32, #memory>>
  // expected-error @+1 {{expected a buffer in which each block has the elements of its own threads}}
  tile.write %x, %b[%c0] : tensor<64xf32, #halves>, <1, tensor<64xf32, #memory>>
  tile.return
}

// -----

#each = #tile.layout<"lane[0, 0, 0, 0, 0] block[d0:1] -> d0:2">
#all = #tile.layout<"offset[d0:1] -> d0:2">
tile.kernel @push() grid 1 hints {cluster = 2, warps = 1} {
  %x = tile.constant 1.0 : f32 : tensor<2xf32, #each>
  %b = tile.alloc : <1, tensor<2xf32, #all>>
  // expected-error @+1 {{expected a mailbox, which 'tile.alloc mailbox' makes}}
  tile.push %x, %b : tensor<2xf32, #each>, <1, tensor<2xf32, #all>>
  tile.return
}

// -----

#each = #tile.layout<"lane[0, 0, 0, 0, 0] block[d0:1] -> d0:2">
#all = #tile.layout<"offset[d0:1] -> d0:2">
tile.kernel @narrow() grid 1 hints {cluster = 2, warps = 1} {
  %x = tile.constant 1.0 : bf16 : tensor<2xbf16, #each>
  %b = tile.alloc mailbox : <1, tensor<2xbf16, #all>>
  // expected-error @+1 {{expected elements of 32 or 64 bits, got 'bf16'}}
  tile.push %x, %b : tensor<2xbf16, #each>, <1, tensor<2xbf16, #all>>
  tile.return
}

// -----

#part = #tile.layout<"block[d0:1] offset[d0:1] -> d0:2">
tile.kernel @mailbox() grid 1 {
  // expected-error @+1 {{expected a mailbox that holds all elements in each block, or each one in one}}
  %b = tile.alloc mailbox : <1, tensor<2xf32, #part>>
  tile.return
}

// -----

#part = #tile.layout<"block[d0:1] offset[d1:1] -> d0:2 d1:2">
#other = #tile.layout<"register[d0:1] lane[0, 0, 0, 0, 0] block[d1:1] -> d0:2 d1:2">
tile.kernel @take() grid 1 hints {cluster = 2, warps = 1} {
  %b = tile.alloc mailbox : <1, tensor<2x2xf32, #part>>
  // expected-error @+1 {{expected a buffer in which each block has the elements of its own threads}}
  %0 = tile.take %b : <1, tensor<2x2xf32, #part>> -> tensor<2x2xf32, #other>
  tile.return
}
