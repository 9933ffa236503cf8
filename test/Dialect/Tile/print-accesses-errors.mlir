// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tessera-attach-target=chip=sm_90a -tile-print-accesses

!v = !tile.view<512xf32, strides = [1]>
tile.kernel @unplaced(%x: !v) grid 1 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{expected a tile with a layout}}
  %0 = tile.load %x[%c0] dims [0] : !v -> tensor<512xf32>
  tile.return
}
