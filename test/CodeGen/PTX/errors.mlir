// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null

!v = !tile.view<16xf32, strides = [1]>
tile.kernel @places(%x: !v, %y: !tile.view<?xf32, strides = [1]>) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !v -> tensor<16xf32>
  %i = tile.iota %c0 : tensor<16xi64>
  // expected-error @+1 {{expected an unordered sum for PTX}}
  tile.scatter %a, %y[] at (%i) dims [-1] sum : tensor<16xf32>, !tile.view<?xf32, strides = [1]>, tensor<16xi64>
  tile.return
}

// -----

!v = !tile.view<256x256xf32, strides = [256, 1]>
!t = !tile.view<256x256xf32, strides = [1, 256]>
// expected-note @+1 {{the tiles of kernel 'large' are too large for shared memory}}
tile.kernel @large(%x: !v, %y: !t) grid 1 {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<256x256xf32>
  // expected-error @+1 {{expected a tile of at most 232448 bytes to convert on sm_90, got 262144}}
  tile.store %a, %y[%c0, %c0] dims [0, 1] : tensor<256x256xf32>, !t
  tile.return
}
