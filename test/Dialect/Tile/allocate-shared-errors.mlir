// RUN: %tessera_opt %s -verify-diagnostics -tessera-attach-target=chip=sm_75 -tile-allocate-shared -o /dev/null

#m = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256, d0:512, d0:1024] -> d0:2048">
// expected-error @+2 {{kernel 'many' is not supported for target 'sm_75' via 'ptx': it needs 73728 bytes of shared memory, a CTA has 65536}}
// expected-note @+1 {{the tiles of kernel 'many' are too large for shared memory}}
tile.kernel @many() grid 1 {
  %a = tile.alloc : !tile.buffer<9, tensor<2048xf32, #m>>
  tile.return
}
