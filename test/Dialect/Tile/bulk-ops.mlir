// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s

#rows = #tile.layout<"register[d0:32, d0:64, d0:128, d0:256] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:512">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256] -> d0:512">
!v = !tile.view<?x?xbf16, strides = [?, 1]>
!b = !tile.buffer<2, tensor<512xbf16, #memory>, slack 8>
!whole = !tile.buffer<2, tensor<512xbf16, #memory>>

// CHECK-LABEL: tile.kernel @rows
tile.kernel @rows(%x: !v, %y: !v, %row: index, %n: index) grid 1 launch <num_warps = 1> {
  %c0 = arith.constant 0 : index
  // CHECK: tile.alloc : <2, tensor<512xbf16, #{{.*}}>, slack 8>
  %b = tile.alloc : !b
  %whole = tile.alloc : !whole
  // CHECK: tile.mbarrier_alloc : <2>
  %g = tile.mbarrier_alloc : <2>
  // CHECK: tile.mbarrier_alloc offset 64 : <1>
  %h = tile.mbarrier_alloc offset 64 : <1>
  %s = tile.misalignment %x[%row, %c0] mod 8 : !v
  // CHECK: tile.bulk_load %{{.*}}[%{{.*}}, %{{.*}}] dims [1] bounded into %{{.*}}[%{{.*}}] full %{{.*}}[%{{.*}}] : <?x?xbf16, strides = [?, 1]>, <2, tensor<512xbf16, #{{.*}}>, slack 8>, <2>
  tile.bulk_load %x[%row, %c0] dims [1] bounded into %b[%c0] full %g[%c0] : !v, !b, <2>
  // CHECK: tile.bulk_load %{{.*}} dims [1] into %{{.*}} full %{{.*}} : <?x?xbf16, strides = [?, 1]>, <2, tensor<512xbf16, #{{[^>]*}}>>, <1>
  tile.bulk_load %x[%row, %c0] dims [1] into %whole[%c0] full %h[%c0] : !v, !whole, <1>
  // CHECK: tile.mbarrier_wait %{{.*}}[%{{.*}}] phase %{{.*}} : <2>
  tile.mbarrier_wait %g[%c0] phase %c0 : <2>
  // CHECK: tile.shared_load %{{.*}}[%{{.*}}] shift %{{.*}} : <2,
  %0 = tile.shared_load %b[%c0] shift %s : !b -> tensor<512xbf16, #rows>
  // CHECK: tile.shared_load %{{.*}}[%{{.*}}] shift %{{.*}} below %{{.*}} pad 0.000000e+00 : bf16 : <2,
  %1 = tile.shared_load %b[%c0] shift %s below %n pad 0.0 : bf16 : !b -> tensor<512xbf16, #rows>
  // CHECK: tile.shared_store %{{.*}}, %{{.*}}[%{{.*}}] shift %{{.*}} : tensor<512xbf16
  tile.shared_store %1, %b[%c0] shift %s : tensor<512xbf16, #rows>, !b
  // CHECK-NEXT: tile.fence_proxy_async{{$}}
  tile.fence_proxy_async
  // CHECK-NEXT: tile.bulk_store %{{.*}}[%{{.*}}] to %{{.*}}[%{{.*}}, %{{.*}}] dims [1] bounded : <2,
  tile.bulk_store %b[%c0] to %y[%row, %c0] dims [1] bounded : !b, !v
  // CHECK-NEXT: tile.bulk_wait %{{.*}}, 0 : <2,
  tile.bulk_wait %b, 0 : !b
  // CHECK-NEXT: %[[ROW:.*]] = tile.aligned_row %x[%{{.*}}] dim 1 : <?x?xbf16, strides = [?, 1]> -> <?xbf16, strides = [1]>
  %r = tile.aligned_row %x[%row] dim 1 : !v -> !tile.view<?xbf16, strides = [1]>
  // CHECK-NEXT: tile.bulk_load %[[ROW]][%{{.*}}] dims [0] bounded into %{{.*}}[%{{.*}}] full %{{.*}}[%{{.*}}] : <?xbf16, strides = [1]>, <2,
  tile.bulk_load %r[%c0] dims [0] bounded into %whole[%c0] full %h[%c0] : !tile.view<?xbf16, strides = [1]>, !whole, <1>
  // CHECK-NEXT: tile.shared_load %{{.*}}[%{{.*}}] from %{{.*}} pad 0.000000e+00 : bf16 : <2,
  %2 = tile.shared_load %whole[%c0] from %s pad 0.0 : bf16 : !whole -> tensor<512xbf16, #rows>
  // CHECK-NEXT: tile.shared_load %{{.*}}[%{{.*}}] from %{{.*}} below %{{.*}} pad 0.000000e+00 : bf16 : <2,
  %3 = tile.shared_load %whole[%c0] from %s below %n pad 0.0 : bf16 : !whole -> tensor<512xbf16, #rows>
  tile.return
}

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
#turned = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d1:1+d0:8, d1:2+d0:16, d1:4+d0:32, d1:8, d0:64] -> d0:128 d1:16">
!batch = !tile.view<?x?x?xbf16, strides = [?, ?, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
!boxes = !tile.buffer<2, tensor<128x16xbf16, #turned>>

// CHECK-LABEL: tile.kernel @boxes
tile.kernel @boxes(%x: !batch, %i: index) grid 1 launch <num_warps = 2> {
  %c0 = arith.constant 0 : index
  %b = tile.alloc offset 1024 : !box
  %d = tile.alloc : !boxes
  // CHECK: tile.mbarrier_alloc arrivals 2 : <2>
  %g = tile.mbarrier_alloc arrivals 2 : <2>
  // CHECK: tile.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dims [1, 2] bounded into %{{.*}}[%{{.*}}] full %{{.*}}[%{{.*}}] : <?x?x?xbf16, strides = [?, ?, 1]>, <2, tensor<32x64xbf16, #{{.*}}>>, <2>
  tile.tma_load %x[%i, %c0, %i] dims [1, 2] bounded into %b[%c0] full %g[%c0] : !batch, !box, <2>
  // Two spans of 64 elements along the contiguous dimension.
  // CHECK: tile.tma_load %{{.*}} dims [2, 0] into %{{.*}} full %{{.*}} warp 1 : <?x?x?xbf16, strides = [?, ?, 1]>, <2, tensor<128x16xbf16, #{{.*}}>>, <2>
  tile.tma_load %x[%i, %c0, %i] dims [2, 0] into %d[%c0] full %g[%c0] warp 1 : !batch, !boxes, <2>
  %empty = tile.mbarrier_alloc arrivals 2 : <2>
  // CHECK: tile.mbarrier_arrive %[[EMPTY:.*]][%[[STAGE:.*]]] : <2>
  tile.mbarrier_arrive %empty[%c0] : <2>
  // CHECK: tile.tma_load %{{.*}} full %{{.*}}[%[[STAGE]]] warp 1 empty %[[EMPTY]][%[[STAGE]]] phase %{{.*}} : <?x?x?xbf16, strides = [?, ?, 1]>, <2, tensor<32x64xbf16, #{{.*}}>>, <2>, !tile.mbarrier<2>
  tile.tma_load %x[%i, %c0, %i] dims [1, 2] bounded into %b[%c0] full %g[%c0] warp 1 empty %empty[%c0] phase %i : !batch, !box, <2>, !tile.mbarrier<2>
  tile.return
}

// Each of two CTAs issues 16 of 32 rows, or one of two spans, for both.
// CHECK-LABEL: tile.kernel @multicast
tile.kernel @multicast(%x: !batch, %i: index) grid 1 launch <num_warps = 2, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !box
  %d = tile.alloc : !boxes
  %g = tile.mbarrier_alloc arrivals 2 : <2>
  %empty = tile.mbarrier_alloc arrivals 4 : <2>
  // CHECK: tile.cluster_arrive{{$}}
  tile.cluster_arrive
  tile.cluster_wait
  // CHECK: tile.tma_load %{{.*}} dims [1, 2] bounded multicast into %{{.*}} full
  tile.tma_load %x[%i, %c0, %i] dims [1, 2] bounded multicast into %b[%c0] full %g[%c0] : !batch, !box, <2>
  // CHECK: tile.tma_load %{{.*}} dims [2, 0] multicast into %{{.*}} full
  tile.tma_load %x[%i, %c0, %i] dims [2, 0] multicast into %d[%c0] full %g[%c0] : !batch, !boxes, <2>
  // CHECK: tile.mbarrier_arrive cluster %{{.*}}[%{{.*}}] : <2>
  tile.mbarrier_arrive cluster %empty[%c0] : <2>
  tile.return
}
