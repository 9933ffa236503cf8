// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 | FileCheck %s
// RUN: %tessera_opt %s -convert-tile-to-cpu=target=x86-64-v4 -print-cpu-code -o /dev/null | FileCheck %s --check-prefix=CODE

// Rows that one index chooses: the index is brought into range and moves the address of whole vectors.
// CHECK-LABEL: tessera_target.kernel @rows
// CHECK: %[[LOW:.*]] = llvm.intr.smin(%{{.*}}, %{{.*}}) : (i64, i64) -> i64
// CHECK: llvm.intr.smax(%[[LOW]], %{{.*}}) : (i64, i64) -> i64
// CHECK-NOT: masked.gather
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CODE-LABEL: rows
// CODE: vmovups {{.*}}zmm
// CODE-NOT: vgather
!table = !tile.view<1024x?xf32, strides = [1, ?]>
tile.kernel @rows(%i: !tile.view<?xi64, strides = [1]>, %w: !table, %o: !tile.view<?x1024xf32, strides = [1024, 1]>) grid 1 {
  %c0 = arith.constant 0 : index
  %pid = tile.program_id 0
  %n = tile.load %i[%pid] dims [] : !tile.view<?xi64, strides = [1]> -> tensor<i64>
  %at = tile.broadcast %n dims [] : tensor<i64> -> tensor<1024xi64>
  %row = tile.gather %w[%c0] at (%at) dims [0] : !table, tensor<1024xi64> -> tensor<1024xf32>
  tile.store %row, %o[%pid, %c0] dims [1] : tensor<1024xf32>, !tile.view<?x1024xf32, strides = [1024, 1]>
  tile.return
}

// An index for each lane: all addresses of a vector at once.
// CHECK-LABEL: tessera_target.kernel @lanes
// CHECK: %[[LOW:.*]] = llvm.intr.smin(%{{.*}}, %{{.*}}) : (vector<16xi64>, vector<16xi64>) -> vector<16xi64>
// CHECK: llvm.intr.smax(%[[LOW]],
// CHECK: llvm.intr.masked.gather
// CODE-LABEL: lanes
// CODE: vgatherqps
!v = !tile.view<?xf32, strides = [1]>
tile.kernel @lanes(%i: !tile.view<?xi64, strides = [1]>, %x: !v, %o: !v) grid 1 {
  %pid = tile.program_id 0
  %at = tile.load %i[%pid] dims [0] pad 0 : i64 : !tile.view<?xi64, strides = [1]> -> tensor<64xi64>
  %t = tile.gather %x[] at (%at) dims [-1] : !v, tensor<64xi64> -> tensor<64xf32>
  tile.store %t, %o[%pid] dims [0] bounded : tensor<64xf32>, !v
  tile.return
}

// Rows are added as rows where they are sent, if that is inside.
// CHECK-LABEL: tessera_target.kernel @sums
// CHECK: %[[IN:.*]] = llvm.icmp "ule"
// CHECK: scf.if %[[IN]]
// CHECK: %[[OWN:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[NEW:.*]] = llvm.fadd %[[OLD]],
// CHECK: llvm.store %[[NEW]],
tile.kernel @sums(%i: !tile.view<?xi64, strides = [1]>, %s: !tile.view<?x1024xf32, strides = [1024, 1]>, %o: !table) grid 1 {
  %c0 = arith.constant 0 : index
  %pid = tile.program_id 0
  %n = tile.load %i[%pid] dims [] : !tile.view<?xi64, strides = [1]> -> tensor<i64>
  %at = tile.broadcast %n dims [] : tensor<i64> -> tensor<1024xi64>
  %row = tile.load %s[%pid, %c0] dims [1] : !tile.view<?x1024xf32, strides = [1024, 1]> -> tensor<1024xf32>
  tile.scatter %row, %o[%c0] at (%at) dims [0] sum : tensor<1024xf32>, !table, tensor<1024xi64>
  tile.return
}

// Elements with places of their own are put there many at a time.
// CHECK-LABEL: tessera_target.kernel @put
// CHECK: %[[IN:.*]] = llvm.icmp "ule"
// CHECK: llvm.intr.masked.scatter %{{.*}}, %{{.*}}, %[[IN]]
tile.kernel @put(%i: !tile.view<?xi64, strides = [1]>, %x: !v, %o: !v) grid 1 {
  %pid = tile.program_id 0
  %at = tile.load %i[%pid] dims [0] pad -1 : i64 : !tile.view<?xi64, strides = [1]> -> tensor<64xi64>
  %t = tile.load %x[%pid] dims [0] pad 0.0 : f32 : !v -> tensor<64xf32>
  tile.scatter %t, %o[] at (%at) dims [-1] : tensor<64xf32>, !v, tensor<64xi64>
  tile.return
}

// A running count for every key: one load, one addition and two stores per element; a loop's table stays where it is.
// CHECK-LABEL: tessera_target.kernel @rank
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[IN:.*]] = llvm.icmp "ule"
// CHECK: llvm.select %[[IN]],
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[NEW:.*]] = llvm.add %[[OLD]],
// CHECK: llvm.store %[[NEW]],
// CHECK: llvm.store %[[NEW]],
!k = !tile.view<?xi32, strides = [1]>
tile.kernel @rank(%x: !k, %o: !k) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %one = tile.constant 1 : i32 : tensor<64xi32>
  %none = tile.constant 0 : i32 : tensor<256xi32>
  %all = scf.for %i = %c0 to %c9 step %c1 iter_args(%table = %none) -> (tensor<256xi32>) {
    %key = tile.load %x[%i] dims [0] pad 0 : i32 : !k -> tensor<64xi32>
    %n, %next = tile.scan sum %one from %table dim 0 by (%key : tensor<64xi32>) : tensor<64xi32>, tensor<256xi32>
    tile.store %n, %o[%i] dims [0] bounded : tensor<64xi32>, !k
    scf.yield %next : tensor<256xi32>
  }
  tile.return
}
