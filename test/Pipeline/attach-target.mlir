// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_80 | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_80 -tessera-attach-target=chip=sm_90a | FileCheck %s --check-prefix=LAST
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -print-ptx -o /dev/null | FileCheck %s --check-prefix=PTX

// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90:tileir | FileCheck %s --check-prefix=TILEIR
// RUN: %tessera_opt %s -tessera-attach-target=chip=x86-64-v4 | FileCheck %s --check-prefix=CPU
// TILEIR: module attributes {tessera.target = "sm_90:tileir"}
// CPU: module attributes {tessera.target = "x86-64-v4"}

// Placed Tile IR is for one chip: the driver refuses it for another one.
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -o %t.mlir
// RUN: not %tessera compile %t.mlir --target sm_80 --via ptx --emit ptx 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: %tessera compile %t.mlir --target sm_90 --via ptx --emit ptx | FileCheck %s --check-prefix=PTX

// CHECK: module attributes {tessera.target = "sm_80"}
// LAST: module attributes {tessera.target = "sm_90a"}
// PTX: .target sm_90a
// OTHER: expected placed Tile IR for sm_80, got one for sm_90
#layout = #tile.layout<"register[d0:128] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[d0:32, d0:64] -> d0:256">
tile.kernel @k() grid 1 {
  %0 = tile.constant 0.0 : f32 : tensor<256xf32, #layout>
  tile.return
}
