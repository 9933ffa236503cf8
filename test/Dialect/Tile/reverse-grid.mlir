// RUN: %tessera_opt %s -tile-reverse-grid | %tessera_opt | FileCheck %s

!v = !tile.view<?x?xf32, strides = [4096, 1], divisors = [128, 128]>

// The loops get longer along the grid.
// CHECK: tile.kernel @longer({{.*}}) grid 1 launch <num_warps = 4> tuning <reverse_grid = 1> {
tile.kernel @longer(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = tile.program_id 0
  %twice = arith.muli %p, %c2 : index
  %more = arith.addi %twice, %c1 : index
  %end = arith.minsi %more, %n : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}

// They are all of one length.
// CHECK: tile.kernel @alike({{.*}}) grid 1 launch <num_warps = 4> {
tile.kernel @alike(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tile.program_id 0
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}

// They get shorter.
// CHECK: tile.kernel @shorter({{.*}}) grid 1 launch <num_warps = 4> {
tile.kernel @shorter(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tile.program_id 0
  %end = arith.subi %n, %p : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}

// They get longer along the second dimension, which the launch has as well.
// CHECK: tile.kernel @second({{.*}}) grid 2 launch <num_warps = 4, launch_rank = 2> {
tile.kernel @second(%x: !v, %y: !v, %n: index) grid 2 launch <num_warps = 4, launch_rank = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = tile.program_id 1
  %twice = arith.muli %p, %c2 : index
  %more = arith.addi %twice, %c1 : index
  %end = arith.minsi %more, %n : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}

// CHECK: tile.kernel @two_dims({{.*}}) grid 2 launch <num_warps = 4, launch_rank = 2> tuning <reverse_grid = 1> {
tile.kernel @two_dims(%x: !v, %y: !v, %n: index) grid 2 launch <num_warps = 4, launch_rank = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = tile.program_id 0
  %twice = arith.muli %p, %c2 : index
  %more = arith.addi %twice, %c1 : index
  %end = arith.minsi %more, %n : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}

// What the schedule says stays.
// CHECK: tile.kernel @given({{.*}}) grid 1 launch <num_warps = 4> tuning <reverse_grid = 0> {
tile.kernel @given(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4> tuning <reverse_grid = 0> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = tile.program_id 0
  %twice = arith.muli %p, %c2 : index
  %more = arith.addi %twice, %c1 : index
  %end = arith.minsi %more, %n : index
  %zero = tile.constant 0.0 : f32 : tensor<128xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<128xf32>) {
    %t = tile.load %x[%i, %c0] dims [1] : !v -> tensor<128xf32>
    %next = tile.map add(%acc, %t) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  }
  tile.store %sum, %y[%p, %c0] dims [1] : tensor<128xf32>, !v
  tile.return
}
