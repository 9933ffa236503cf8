// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s

#rows = #tile.layout<"register[d0:32, d0:64, d0:128, d0:256] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:512">
#memory = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d0:64, d0:128, d0:256] -> d0:512">
!v = !tile.view<?x?xbf16, strides = [?, 1]>
!b = !tile.buffer<2, tensor<512xbf16, #memory>, slack 8>
!whole = !tile.buffer<2, tensor<512xbf16, #memory>>

// CHECK-LABEL: tile.kernel @rows
tile.kernel @rows(%x: !v, %y: !v, %row: index, %n: index) grid 1 hints {warps = 1} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.alloc : <2, tensor<512xbf16, #{{.*}}>, slack 8>
  %b = tile.alloc : !b
  %whole = tile.alloc : !whole
  // CHECK: tile.gates : <2>
  %g = tile.gates : <2>
  // CHECK: tile.gates offset 64 : <1>
  %h = tile.gates offset 64 : <1>
  %s = tile.shift %x[%row, %c0] by 8 : !v
  // CHECK: tile.fetch %{{.*}}[%{{.*}}, %{{.*}}] dims [1] bounded into %{{.*}}[%{{.*}}] opens %{{.*}}[%{{.*}}] : <?x?xbf16, strides = [?, 1]>, <2, tensor<512xbf16, #{{.*}}>, slack 8>, <2>
  tile.fetch %x[%row, %c0] dims [1] bounded into %b[%c0] opens %g[%c0] : !v, !b, <2>
  // CHECK: tile.fetch %{{.*}} dims [1] into %{{.*}} opens %{{.*}} : <?x?xbf16, strides = [?, 1]>, <2, tensor<512xbf16, #{{[^>]*}}>>, <1>
  tile.fetch %x[%row, %c0] dims [1] into %whole[%c0] opens %h[%c0] : !v, !whole, <1>
  // CHECK: tile.await %{{.*}}[%{{.*}}] phase %{{.*}} : <2>
  tile.await %g[%c0] phase %c0 : <2>
  // CHECK: tile.read %{{.*}}[%{{.*}}] behind %{{.*}} : <2,
  %0 = tile.read %b[%c0] behind %s : !b -> tensor<512xbf16, #rows>
  // CHECK: tile.read %{{.*}}[%{{.*}}] behind %{{.*}} below %{{.*}} pad 0.000000e+00 : bf16 : <2,
  %1 = tile.read %b[%c0] behind %s below %n pad 0.0 : bf16 : !b -> tensor<512xbf16, #rows>
  // CHECK: tile.write %{{.*}}, %{{.*}}[%{{.*}}] behind %{{.*}} : tensor<512xbf16
  tile.write %1, %b[%c0] behind %s : tensor<512xbf16, #rows>, !b
  // CHECK-NEXT: tile.fence{{$}}
  tile.fence
  // CHECK-NEXT: tile.send %{{.*}}[%{{.*}}] to %{{.*}}[%{{.*}}, %{{.*}}] dims [1] bounded : <2,
  tile.send %b[%c0] to %y[%row, %c0] dims [1] bounded : !b, !v
  // CHECK-NEXT: tile.sent %{{.*}}, 0 : <2,
  tile.sent %b, 0 : !b
  // CHECK-NEXT: %[[ROW:.*]] = tile.row %x[%{{.*}}] dim 1 : <?x?xbf16, strides = [?, 1]> -> <?xbf16, strides = [1]>
  %r = tile.row %x[%row] dim 1 : !v -> !tile.view<?xbf16, strides = [1]>
  // CHECK-NEXT: tile.fetch %[[ROW]][%{{.*}}] dims [0] bounded into %{{.*}}[%{{.*}}] opens %{{.*}}[%{{.*}}] : <?xbf16, strides = [1]>, <2,
  tile.fetch %r[%c0] dims [0] bounded into %whole[%c0] opens %h[%c0] : !tile.view<?xbf16, strides = [1]>, !whole, <1>
  // CHECK-NEXT: tile.read %{{.*}}[%{{.*}}] from %{{.*}} pad 0.000000e+00 : bf16 : <2,
  %2 = tile.read %whole[%c0] from %s pad 0.0 : bf16 : !whole -> tensor<512xbf16, #rows>
  // CHECK-NEXT: tile.read %{{.*}}[%{{.*}}] from %{{.*}} below %{{.*}} pad 0.000000e+00 : bf16 : <2,
  %3 = tile.read %whole[%c0] from %s below %n pad 0.0 : bf16 : !whole -> tensor<512xbf16, #rows>
  tile.return
}

#swizzled = #tile.layout<"offset[d1:1, d1:2, d1:4, d1:8, d1:16, d1:32, d0:1+d1:8, d0:2+d1:16, d0:4+d1:32, d0:8, d0:16] -> d0:32 d1:64">
#turned = #tile.layout<"offset[d0:1, d0:2, d0:4, d0:8, d0:16, d0:32, d1:1+d0:8, d1:2+d0:16, d1:4+d0:32, d1:8, d0:64] -> d0:128 d1:16">
!batch = !tile.view<?x?x?xbf16, strides = [?, ?, 1]>
!box = !tile.buffer<2, tensor<32x64xbf16, #swizzled>>
!boxes = !tile.buffer<2, tensor<128x16xbf16, #turned>>

// CHECK-LABEL: tile.kernel @boxes
tile.kernel @boxes(%x: !batch, %i: index) grid 1 hints {warps = 2} {
  %c0 = arith.constant 0 : index
  %b = tile.alloc offset 1024 : !box
  %d = tile.alloc : !boxes
  // CHECK: tile.gates arrivals 2 : <2>
  %g = tile.gates arrivals 2 : <2>
  // CHECK: tile.fetch %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dims [1, 2] bounded into %{{.*}}[%{{.*}}] opens %{{.*}}[%{{.*}}] : <?x?x?xbf16, strides = [?, ?, 1]>, <2, tensor<32x64xbf16, #{{.*}}>>, <2>
  tile.fetch %x[%i, %c0, %i] dims [1, 2] bounded into %b[%c0] opens %g[%c0] : !batch, !box, <2>
  // Two boxes of 64 elements along what is next in memory.
  // CHECK: tile.fetch %{{.*}} dims [2, 0] into %{{.*}} opens %{{.*}} by 1 : <?x?x?xbf16, strides = [?, ?, 1]>, <2, tensor<128x16xbf16, #{{.*}}>>, <2>
  tile.fetch %x[%i, %c0, %i] dims [2, 0] into %d[%c0] opens %g[%c0] by 1 : !batch, !boxes, <2>
  %left = tile.gates arrivals 2 : <2>
  // CHECK: tile.arrive %[[LEFT:.*]][%[[SLOT:.*]]] : <2>
  tile.arrive %left[%c0] : <2>
  // CHECK: tile.fetch %{{.*}} opens %{{.*}}[%[[SLOT]]] by 1 after %[[LEFT]][%[[SLOT]]] phase %{{.*}} : <?x?x?xbf16, strides = [?, ?, 1]>, <2, tensor<32x64xbf16, #{{.*}}>>, <2>, !tile.gates<2>
  tile.fetch %x[%i, %c0, %i] dims [1, 2] bounded into %b[%c0] opens %g[%c0] by 1 after %left[%c0] phase %i : !batch, !box, <2>, !tile.gates<2>
  tile.return
}

// Each of two blocks brings 16 of 32 rows, or one of two boxes, for both.
// CHECK-LABEL: tile.kernel @for_all
tile.kernel @for_all(%x: !batch, %i: index) grid 1 hints {cluster = 2, warps = 2} {
  %c0 = arith.constant 0 : index
  %b = tile.alloc : !box
  %d = tile.alloc : !boxes
  %g = tile.gates arrivals 2 : <2>
  %left = tile.gates arrivals 4 : <2>
  // CHECK: tile.open{{$}}
  tile.open
  tile.meet
  // CHECK: tile.fetch %{{.*}} dims [1, 2] bounded shared into %{{.*}} opens
  tile.fetch %x[%i, %c0, %i] dims [1, 2] bounded shared into %b[%c0] opens %g[%c0] : !batch, !box, <2>
  // CHECK: tile.fetch %{{.*}} dims [2, 0] shared into %{{.*}} opens
  tile.fetch %x[%i, %c0, %i] dims [2, 0] shared into %d[%c0] opens %g[%c0] : !batch, !boxes, <2>
  // CHECK: tile.arrive cluster %{{.*}}[%{{.*}}] : <2>
  tile.arrive cluster %left[%c0] : <2>
  tile.return
}
