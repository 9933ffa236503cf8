// RUN: %tessera_opt %s -print-cuda-tile -o /dev/null | FileCheck %s

// CHECK-LABEL: entry @reduce
!v = !tile.view<8x16xf32, strides = [16, 1]>
!b = !tile.view<8x16xi1, strides = [16, 1]>
!s = !tile.view<f32>
tile.kernel @reduce(%x: !v, %p: !b, %y: !s, %n: index) grid 1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !v -> tensor<8x16xf32>
  %b = tile.load %p[%c0, %c0] dims [0, 1] : !b -> tensor<8x16xi1>

  // One dimension after the other, the last first.
  // CHECK: [[R:%[0-9]+]] = reduce {{%[0-9]+}} {dim = 1, identities = [1 : f32]} : tile<8xf32> { ([[E:%[0-9]+]]: tile<f32>, [[A:%[0-9]+]]: tile<f32>):
  // CHECK: [[M:%[0-9]+]] = mulf [[E]], [[A]] : tile<f32>
  // CHECK: yield [[M]]
  // CHECK: reduce [[R]] {dim = 0, identities = [1 : f32]} : tile<f32>
  %prod = tile.reduce prod %t dims [0, 1] : tensor<8x16xf32> -> tensor<f32>

  // CHECK: maxf {{%[0-9]+}}, {{%[0-9]+}} {propagate_nan} : tile<f32>
  %max = tile.reduce max %t dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  // CHECK: maxf {{%[0-9]+}}, {{%[0-9]+}} : tile<f32>
  %fast = tile.reduce max %t dims [0, 1] skip_nan : tensor<8x16xf32> -> tensor<f32>

  // Bools are reduced as integers.
  // CHECK: [[W:%[0-9]+]] = exti {{%[0-9]+}} {unsigned} : tile<8x16xi32>
  // CHECK: reduce [[W]] {dim = 1, identities = [1 : i32]}
  // CHECK: mini {{.*}} {signed}
  %all = tile.reduce all %b dims [0, 1] : tensor<8x16xi1> -> tensor<i1>
  %sum = tile.map where(%all, %max, %fast) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>

  // A scalar from one loop to the next is multiplied by 1.
  // CHECK: [[FIRST:%[0-9]+]] = for
  // CHECK: [[SAME:%[0-9]+]] = mulf [[FIRST]], {{%[0-9]+}} : tile<f32>
  // CHECK: for {{.*}} init_values {{\[}}[[SAME]]]
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %sum) -> (tensor<f32>) {
    %q = tile.map mul(%acc, %prod) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %q : tensor<f32>
  }
  %c = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %a) -> (tensor<f32>) {
    %q = tile.map add(%acc, %prod) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %q : tensor<f32>
  }
  tile.store %c, %y[] dims [] : tensor<f32>, !s
  tile.return
}
