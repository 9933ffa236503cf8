// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=CODE

// What no cache keeps: the next rows are fetched while these are reduced, and results whose rows begin at cache lines go
// past the caches. Both sums walk the row once, although the first could be had before the second's shift is known.
// CHECK-LABEL: tessera_target.kernel @centre
// CHECK: %[[LOW:.*]] = llvm.and
// CHECK: %[[ALIGNED:.*]] = llvm.icmp "eq" %[[LOW]]
// CHECK: llvm.intr.prefetch
// CHECK: scf.if %[[ALIGNED]]
// CHECK-NEXT: llvm.store {{.*}}alignment = 64 : i64{{.*}}nontemporal
// CHECK: llvm.fence seq_cst
// CODE: prefetcht0
// CODE: vmovntps
!v = !tile.view<?x1024xf32, strides = [?, 1]>
!c = !tile.view<?xf32, strides = [?]>
tile.kernel @centre(%x: !v, %first: !c, %y: !v) grid 1 tuning <cache_stores = 0> {
  %c0 = arith.constant 0 : index
  %i = tile.program_id 0
  %t = tile.load %x[%i, %c0] dims [0, 1] : !v -> tensor<2x1024xf32>
  %sum = tile.reduce sum %t dims [1] : tensor<2x1024xf32> -> tensor<2xf32>
  %f = tile.load %first[%i] dims [0] : !c -> tensor<2xf32>
  %shift = tile.map mul(%f, %f) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %all = tile.broadcast %shift dims [0] : tensor<2xf32> -> tensor<2x1024xf32>
  %d = tile.map sub(%t, %all) : (tensor<2x1024xf32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
  %rest = tile.reduce max %d dims [1] : tensor<2x1024xf32> -> tensor<2xf32>
  %both = tile.map add(%sum, %rest) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = tile.broadcast %both dims [0] : tensor<2xf32> -> tensor<2x1024xf32>
  %q = tile.map add(%t, %b) : (tensor<2x1024xf32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
  tile.store %q, %y[%i, %c0] dims [0, 1] : tensor<2x1024xf32>, !v
  tile.return
}
