// RUN: %tessera_opt %s -tile-reverse-grid -o %t.mlir --remarks-filter-missed="tile-reverse-grid" --remark-format=emitRemark --remark-policy=all 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=KEPT --input-file=%t.mlir

// KEPT: tile.kernel @clusters
// KEPT-NOT: reverse_grid
// KEPT: tile.kernel @persistent
// KEPT-NOT: reverse_grid
// KEPT: tile.kernel @one_dimension
// KEPT-NOT: reverse_grid
!v = !tile.view<?x?xf32, strides = [4096, 1], divisors = [128, 128]>

// CHECK: remark: {{.*}}InOrder | Category:tile-reverse-grid | Function=clusters{{.*}}the CTAs with the longest loops start last: the CTAs run in clusters
tile.kernel @clusters(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4, cluster_size = 2> {
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

// CHECK: remark: {{.*}}persistent{{.*}}start last: the CTAs are persistent
tile.kernel @persistent(%x: !v, %y: !v, %n: index) grid 1 launch <num_warps = 4, persistent_ctas = 132> {
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

// CHECK: remark: {{.*}}one_dimension{{.*}}start last: one dimension of the launch covers the whole grid
tile.kernel @one_dimension(%x: !v, %y: !v, %n: index) grid 2 launch <num_warps = 4> {
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
