// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-predicate-gathers | FileCheck %s

!v = !tile.view<?x?xf32, strides = [?, 1]>
!t = !tile.view<?xi64, strides = [1]>
!s = !tile.view<?xf32, strides = [1]>

// The sum of the elements at one index: all other iterations keep the carried value.
// CHECK-LABEL: tile.kernel @pick
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK: %[[X:.*]] = tile.load %x
// CHECK: %[[FIRST:.*]] = arith.muli %[[K]], %{{.*}} : index
// CHECK: %[[I:.*]] = tile.iota %[[FIRST]]
// CHECK-NEXT: %[[AT:.*]] = tile.extract %{{.*}} : tensor<i64, {{.*}}> -> index
// CHECK-NEXT: %[[PLACE:.*]] = arith.subi %[[AT]], %[[FIRST]] : index
// CHECK-NEXT: %[[END:.*]] = arith.constant 1024 : index
// CHECK-NEXT: %[[IN:.*]] = arith.cmpi ult, %[[PLACE]], %[[END]] : index
// CHECK-NEXT: %[[NEXT:.*]] = scf.if %[[IN]]
// CHECK-NEXT: %[[IS:.*]] = tile.map eq(%[[I]], %{{.*}})
// CHECK-NEXT: %[[ONE:.*]] = tile.map where(%[[IS]], %[[X]], %{{.*}})
// CHECK-NEXT: %[[ADDED:.*]] = tile.map add(%[[SUM]], %[[ONE]])
// CHECK-NEXT: scf.yield %[[ADDED]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[NEXT]]
tile.kernel @pick(%x: !v, %t: !t, %y: !s, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %p = tile.load %t[%row] dims [] : !t -> tensor<i64>
  %wanted = tile.broadcast %p dims [] : tensor<i64> -> tensor<1024xi64>
  %zero = tile.constant 0.0 : f32 : tensor<1024xf32>
  %all = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<1024xf32>) {
    %a = tile.load %x[%row, %k] dims [1] : !v -> tensor<1024xf32>
    %first = arith.muli %k, %c1024 : index
    %i = tile.iota %first : tensor<1024xi64>
    %is = tile.map eq(%i, %wanted) : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi1>
    %one = tile.map where(%is, %a, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %next = tile.map add(%sum, %one) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  }
  %r = tile.reduce sum %all dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %r, %y[%row] dims [] : tensor<f32>, !s
  tile.return
}

// So is a partial tile: elements beyond the row are zero.
// CHECK-LABEL: tile.kernel @cut
// CHECK: scf.if
// CHECK-NEXT: %[[IS:.*]] = tile.map eq(
// CHECK-NEXT: %[[ONE:.*]] = tile.map where(%[[IS]], %{{.*}}, %{{.*}})
// CHECK-NEXT: %[[CUT:.*]] = tile.map where(%{{.*}}, %[[ONE]], %{{.*}})
// CHECK-NEXT: tile.map add(%{{.*}}, %[[CUT]])
// CHECK: tile.return
tile.kernel @cut(%x: !v, %t: !t, %y: !s, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %p = tile.load %t[%row] dims [] : !t -> tensor<i64>
  %wanted = tile.broadcast %p dims [] : tensor<i64> -> tensor<1024xi64>
  %zero = tile.constant 0.0 : f32 : tensor<1024xf32>
  %end = tile.splat %n : index -> tensor<1024xi64>
  %all = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<1024xf32>) {
    %a = tile.load %x[%row, %k] dims [1] pad 0.0 : f32 : !v -> tensor<1024xf32>
    %first = arith.muli %k, %c1024 : index
    %i = tile.iota %first : tensor<1024xi64>
    %has = tile.map lt(%i, %end) : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi1>
    %is = tile.map eq(%i, %wanted) : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi1>
    %one = tile.map where(%is, %a, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %cut = tile.map where(%has, %one, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %next = tile.map add(%sum, %cut) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  }
  %r = tile.reduce sum %all dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %r, %y[%row] dims [] : tensor<f32>, !s
  tile.return
}

// Not if the other elements are not zero, if the selection has another use, or if the index has few bits.
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT: scf.if
// CHECK: tile.return
tile.kernel @others(%x: !v, %t: !t, %y: !s, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %row = tile.program_id 0
  %p = tile.load %t[%row] dims [] : !t -> tensor<i64>
  %few = tile.cast %p : tensor<i64> -> tensor<i16>
  %wanted = tile.broadcast %p dims [] : tensor<i64> -> tensor<1024xi64>
  %near = tile.broadcast %few dims [] : tensor<i16> -> tensor<1024xi16>
  %zero = tile.constant 0.0 : f32 : tensor<1024xf32>
  %minus = tile.constant -0.0 : f32 : tensor<1024xf32>
  %all:3 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %most = %zero, %less = %zero) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
    %a = tile.load %x[%row, %k] dims [1] : !v -> tensor<1024xf32>
    %first = arith.muli %k, %c1024 : index
    %i = tile.iota %first : tensor<1024xi64>
    %j = tile.iota %first : tensor<1024xi16>
    %is = tile.map eq(%i, %wanted) : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi1>
    %near_is = tile.map eq(%j, %near) : (tensor<1024xi16>, tensor<1024xi16>) -> tensor<1024xi1>
    %one = tile.map where(%is, %a, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %two = tile.map where(%is, %a, %minus) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %three = tile.map where(%near_is, %a, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %both = tile.map maximum(%most, %one) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %added = tile.map add(%sum, %one) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %further = tile.map add(%added, %two) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %last = tile.map add(%less, %three) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %further, %both, %last : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  %r = tile.reduce sum %all#0 dims [0] : tensor<1024xf32> -> tensor<f32>
  %q = tile.reduce sum %all#1 dims [0] : tensor<1024xf32> -> tensor<f32>
  %o = tile.reduce sum %all#2 dims [0] : tensor<1024xf32> -> tensor<f32>
  %m = tile.map add(%r, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %l = tile.map add(%m, %o) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  tile.store %l, %y[%row] dims [] : tensor<f32>, !s
  tile.return
}
