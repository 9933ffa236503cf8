// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-print-accesses -o /dev/null | FileCheck %s
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops=stages=2 -tile-lower-layout-conversions -tile-print-accesses -o /dev/null | FileCheck %s --check-prefix=SHARED
// RUN: %tessera_opt %S/clusters.mlir -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-layout-conversions -tile-print-accesses -o /dev/null | FileCheck %s --check-prefix=CLUSTER
// RUN: %tessera_opt %S/../../CodeGen/PTX/wgmma.mlir -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-lower-tma-loads -tile-lower-layout-conversions -tile-print-accesses -o /dev/null | FileCheck %s --check-prefix=PEERS

// A sum of all CTAs goes to each of them; partial accumulators go to the CTA that owns them.
// CLUSTER-LABEL: accesses of @total
// CLUSTER: tile.dsmem_store 2xf32: 1 x 4 bytes, to all CTAs by lanes
// CLUSTER-LABEL: accesses of @split_k
// CLUSTER: tile.dsmem_store 32x32x2xf32: 2 x 4 bytes, to owners

// What a thread holds for the thread with the same number in another CTA goes there by vectors.
// PEERS-LABEL: accesses of @shared
// PEERS: tile.dsmem_store 128x128x2xf32: 4 x 4 bytes, to peers

!v = !tile.view<?x?xf32, strides = [?, 1], divisors = [1, 64]>
func.func @host(%x: !gir.tensor<M, N, f32>) -> !gir.tensor<M, N, f32> attributes {gir.symbols = {N = {divisor = 64 : i64}}} {
  %0 = tile.empty : !gir.tensor<M, N, f32>
  %1 = tile.empty : !gir.tensor<M, f32>
  tile.launch @masked grid ["ceildiv(N, 512)", "M"] (%x, %0) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, N, f32>
  tile.launch @summed grid ["1", "M"] (%x, %1) views
    [#tile.operand<offset "0", sizes ["M", "N"], strides ["N", "1"]>,
     #tile.operand<offset "0", sizes ["M"], strides ["1"]>] sizes []
    : !gir.tensor<M, N, f32>, !gir.tensor<M, f32>
  return %0 : !gir.tensor<M, N, f32>
}

// The grid covers the rows, and the last tile may cross the end of a row. The store masks what the load pads.
// CHECK-LABEL: accesses of @masked
// CHECK-NEXT: tile.load 512xf32: 4 x 4 bytes, checks dims [1], needs no pad
// CHECK-NEXT: tile.store 512xf32: 4 x 4 bytes, checks dims [1]
tile.kernel @masked(%x: !v, %y: !v) grid 2 launch <num_warps = 4> {
  %n = tile.program_id 0
  %m = tile.program_id 1
  %0 = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<512xf32>
  %1 = tile.map add(%0, %0) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
  tile.store %1, %y[%m, %n] dims [1] bounded : tensor<512xf32>, !v
  tile.return
}

// The pad takes part in a sum.
// CHECK-LABEL: accesses of @summed
// CHECK-NEXT: tile.load 128xf32: 4 x 4 bytes, checks dims [1], pads
// CHECK-NEXT: tile.store f32: 1 x 4 bytes
tile.kernel @summed(%x: !v, %y: !tile.view<?xf32, strides = [1]>) grid 2 launch <num_warps = 1> {
  %n = tile.program_id 0
  %m = tile.program_id 1
  %0 = tile.load %x[%m, %n] dims [1] pad 0.0 : f32 : !v -> tensor<128xf32>
  %1 = tile.reduce sum %0 dims [0] : tensor<128xf32> -> tensor<f32>
  tile.store %1, %y[%m] dims [] bounded : tensor<f32>, !tile.view<?xf32, strides = [1]>
  tile.return
}

// A stride that is not known to be a multiple of 16 bytes leaves single elements.
// CHECK-LABEL: accesses of @unaligned
// CHECK-NEXT: tile.load 512xf32: 1 x 4 bytes
// CHECK-NEXT: tile.store 512xf32: 1 x 4 bytes
!u = !tile.view<?x512xf32, strides = [?, 1]>
tile.kernel @unaligned(%x: !u) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %m = tile.program_id 0
  %0 = tile.load %x[%m, %c0] dims [1] : !u -> tensor<512xf32>
  tile.store %0, %x[%m, %c0] dims [1] : tensor<512xf32>, !u
  tile.return
}

// Fragments are loaded by ldmatrix, one k-step after the other.
// SHARED-LABEL: accesses of @product
// SHARED: tile.cp_async 64x64xbf16: 8 x 2 bytes
// SHARED: tile.shared_load 64x64xbf16: ldmatrix.x4, by fragments
// SHARED: tile.shared_load 64x64xbf16: ldmatrix.x4.trans, by fragments
// SHARED: tile.store 64x64xf32
!w = !tile.view<64x4096xbf16, strides = [4096, 1]>
!k = !tile.view<4096x64xbf16, strides = [64, 1]>
!c = !tile.view<64x64xf32, strides = [64, 1]>
tile.kernel @product(%a: !w, %b: !k, %y: !c) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %zero = tile.constant 0.0 : f32 : tensor<64x64xf32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %l = tile.load %a[%c0, %k] dims [0, 1] : !w -> tensor<64x64xbf16>
    %r = tile.load %b[%k, %c0] dims [0, 1] : !k -> tensor<64x64xbf16>
    %next = tile.mma %l, %r, %acc : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !c
  tile.return
}
