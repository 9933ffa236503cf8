// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-decouple-epilogue | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [4096, 1], divisors = [64, 64]>
!r = !tile.view<?xbf16, strides = [1], divisors = [64]>

// Each warp stores its part of the rows, 128 bytes at a time, through two alternating stages; each warp loads the row
// of the bias.
// CHECK-DAG: #[[SUMS:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32, d1:64] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32, d0:64] -> d0:128 d1:128">
// CHECK-DAG: #[[PART:.*]] = #tile.layout<"register[d1:1, d0:8, d1:8, d1:16, d1:32] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[d0:16, d0:32, d0:64] -> d0:128 d1:64">
// CHECK-DAG: #[[WIDE:.*]] = #tile.layout<"register[d1:1, d1:2, d1:4, d0:4, d0:8] lane[d1:8, d1:16, d1:32, d0:1, d0:2] warp[d0:16, d0:32, d0:64] -> d0:128 d1:64">
// CHECK-DAG: #[[ROW:.*]] = #tile.layout<"register[d0:1, d0:8, d0:16, d0:32, d0:64] lane[d0:2, d0:4, 0, 0, 0] warp[0, 0, 0] -> d0:128">
// CHECK-LABEL: tile.kernel @stays
// CHECK: %[[B:.*]] = tile.alloc : <2, tensor<128x64xbf16, #[[MEMORY:.*]]>>
// CHECK: scf.for %[[P:.*]] =
// CHECK: tile.load %r{{.*}} -> tensor<128xbf16, #[[ROW]]>
// CHECK-NOT: tile.convert
// CHECK: %[[OUT:.*]] = tile.cast %{{.*}} -> tensor<128x128xbf16, #[[SUMS]]>
// CHECK: %[[FIRST:.*]] = arith.muli %[[P]], %c2
// CHECK: %[[LEFT:.*]] = tile.slice %[[OUT]] at [0, 0] : tensor<128x128xbf16, #[[SUMS]]> -> tensor<128x64xbf16, #[[PART]]>
// CHECK-NEXT: tile.shared_store %[[LEFT]], %[[B]][%[[ZERO:.*]]] : tensor<128x64xbf16, #[[PART]]>
// CHECK-NEXT: %[[READ:.*]] = tile.shared_load %[[B]][%[[ZERO]]] : <2, tensor<128x64xbf16, #[[MEMORY]]>> -> tensor<128x64xbf16, #[[WIDE]]>
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %c0
// CHECK-NEXT: tile.store %[[READ]], %y[%c0{{.*}}, %[[AT]]] dims [0, 1] bounded : tensor<128x64xbf16, #[[WIDE]]>
// CHECK: tile.slice %[[OUT]] at [0, 64]
// CHECK-NEXT: tile.shared_store %{{.*}}, %[[B]][%c1{{.*}}]
// CHECK: tile.store
// CHECK-NOT: tile.store
tile.kernel @stays(%x: !a, %w: !a, %r: !r, %y: !a, %n: index, %programs: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %block = tile.program_id 0
  scf.for %p = %block to %programs step %c4 {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
      %b = tile.load %w[%k, %p] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x128xbf16>
      %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %row = tile.load %r[%p] dims [0] pad 0.0 : bf16 : !r -> tensor<128xbf16>
    %wide = tile.cast %row : tensor<128xbf16> -> tensor<128xf32>
    %all = tile.broadcast %wide dims [1] : tensor<128xf32> -> tensor<128x128xf32>
    %more = tile.map add(%sum, %all) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %out = tile.cast %more : tensor<128x128xf32> -> tensor<128x128xbf16>
    tile.store %out, %y[%c0, %p] dims [0, 1] bounded : tensor<128x128xbf16>, !a
  }
  tile.return
}

// A kernel that is not persistent has all of its shared memory for the epilogue.
// CHECK-LABEL: tile.kernel @leaves
// CHECK: tile.convert
// CHECK: tile.store {{.*}} : tensor<128x128xbf16
tile.kernel @leaves(%x: !a, %w: !a, %y: !a, %n: index) grid 1 launch <num_warps = 8> tuning <wgmma = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : tensor<128x128xf32>
  %p = tile.program_id 0
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<128x64xbf16>
    %b = tile.load %w[%k, %p] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x128xbf16>
    %next = tile.mma %a, %b, %acc : (tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = tile.cast %sum : tensor<128x128xf32> -> tensor<128x128xbf16>
  tile.store %out, %y[%c0, %p] dims [0, 1] bounded : tensor<128x128xbf16>, !a
  tile.return
}
