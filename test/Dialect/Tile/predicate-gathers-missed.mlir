// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90 -tile-assign-layouts -tile-predicate-gathers -o /dev/null --remarks-filter-missed="tile-predicate-gathers" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s

!v = !tile.view<?x?xf32, strides = [?, 1]>
!t = !tile.view<?xi64, strides = [1]>
!s = !tile.view<?xf32, strides = [1]>

// CHECK-NOT: Function=pick
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

// Each row has an index of its own.
// CHECK: remark: [Missed] SeveralIndices | Category:tile-predicate-gathers | Function=rows
// CHECK-SAME: the elements are selected by more than one index, and a CTA tests the range of one
tile.kernel @rows(%x: !v, %t: !t, %y: !s, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %row = tile.program_id 0
  %p = tile.load %t[%row] dims [0] : !t -> tensor<4xi64>
  %wanted = tile.broadcast %p dims [0] : tensor<4xi64> -> tensor<4x256xi64>
  %zero = tile.constant 0.0 : f32 : tensor<4x256xf32>
  %all = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<4x256xf32>) {
    %a = tile.load %x[%row, %k] dims [0, 1] : !v -> tensor<4x256xf32>
    %first = arith.muli %k, %c256 : index
    %i = tile.iota %first : tensor<256xi64>
    %j = tile.broadcast %i dims [1] : tensor<256xi64> -> tensor<4x256xi64>
    %is = tile.map eq(%j, %wanted) : (tensor<4x256xi64>, tensor<4x256xi64>) -> tensor<4x256xi1>
    %one = tile.map where(%is, %a, %zero) : (tensor<4x256xi1>, tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
    %next = tile.map add(%sum, %one) : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
    scf.yield %next : tensor<4x256xf32>
  }
  %r = tile.reduce sum %all dims [1] : tensor<4x256xf32> -> tensor<4xf32>
  tile.store %r, %y[%row] dims [0] : tensor<4xf32>, !s
  tile.return
}

// CHECK: [Missed] SeveralUses{{.*}}Function=others
// CHECK-SAME: other operations use the selected elements as well
// CHECK: [Missed] NarrowIndex{{.*}}Function=others
// CHECK-SAME: the index has 16 bits, and is compared with the range of a tile in 32
// CHECK-NOT: [Missed]
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
  %all:3 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %most = %zero, %less = %zero) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
    %a = tile.load %x[%row, %k] dims [1] : !v -> tensor<1024xf32>
    %first = arith.muli %k, %c1024 : index
    %i = tile.iota %first : tensor<1024xi64>
    %j = tile.iota %first : tensor<1024xi16>
    %is = tile.map eq(%i, %wanted) : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi1>
    %near_is = tile.map eq(%j, %near) : (tensor<1024xi16>, tensor<1024xi16>) -> tensor<1024xi1>
    %one = tile.map where(%is, %a, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %two = tile.map where(%near_is, %a, %zero) : (tensor<1024xi1>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %both = tile.map maximum(%most, %one) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %added = tile.map add(%sum, %one) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %last = tile.map add(%less, %two) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    scf.yield %added, %both, %last : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  %m = tile.map add(%all#0, %all#1) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %l = tile.map add(%m, %all#2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %r = tile.reduce sum %l dims [0] : tensor<1024xf32> -> tensor<f32>
  tile.store %r, %y[%row] dims [] : tensor<f32>, !s
  tile.return
}
