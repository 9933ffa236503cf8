// RUN: %tessera_opt %s -tile-cluster-split-k | FileCheck %s

!a = !tile.view<?x?xbf16, strides = [?, 1]>
!s = tensor<64x32xf32>

// CHECK-LABEL: tile.kernel @product
// CHECK-SAME: launch <num_warps = 4, cluster_size = 4>
// CHECK: %[[ZERO:.*]] = tile.constant 0.0{{.*}} : f32 : tensor<4x64x32xf32>
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}}, %[[PARTS:.*]] = %[[ZERO]])
// CHECK: %[[NEXT:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[PARTS]] : (tensor<64x256xbf16>, tensor<256x32xbf16>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
// CHECK: scf.yield %[[OLD]], %[[NEXT]]
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[LOOP]]#1 dims [0] : tensor<4x64x32xf32> -> tensor<64x32xf32>
// CHECK: tile.store %[[SUM]]
tile.kernel @product(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>, %n: index) grid 1 launch <num_warps = 4, cluster_size = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : !s
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}

// The initial accumulator is added after the loop, and a chain of MMAs has one accumulator.
// CHECK-LABEL: tile.kernel @chain
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[PARTS:.*]] = %{{.*}})
// CHECK: %[[ONE:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[PARTS]]
// CHECK: %[[TWO:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[ONE]]
// CHECK: scf.yield %{{.*}}, %[[TWO]]
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[LOOP]]#1 dims [0]
// CHECK: tile.map add(%[[LOOP]]#0, %[[SUM]])
tile.kernel @chain(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>, %n: index) grid 1 launch <num_warps = 4, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = tile.constant 1.0 : f32 : !s
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %one) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %half = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    %next = tile.mma %x, %w, %half : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}

// A loop over the rest continues with the partial accumulators of the loop before it; one reduction follows.
// CHECK-LABEL: tile.kernel @rest
// CHECK: %[[ZERO:.*]] = tile.constant 0.0{{.*}} : f32 : tensor<4x64x32xf32>
// CHECK: %[[WHOLE:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[PARTS:.*]] = %[[ZERO]])
// CHECK: tile.mma %{{.*}}, %{{.*}}, %[[PARTS]] : {{.*}} -> tensor<4x64x32xf32>
// CHECK-NOT: tile.reduce
// CHECK: %[[REST:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[MORE:.*]] = %[[WHOLE]]#1)
// CHECK: tile.mma %{{.*}}, %{{.*}}, %[[MORE]] : {{.*}} -> tensor<4x64x32xf32>
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[REST]]#1 dims [0]
// CHECK-NEXT: tile.store %[[SUM]]
tile.kernel @rest(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>, %n: index, %m: index) grid 1 launch <num_warps = 4, cluster_size = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : !s
  %whole = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  %sum = scf.for %k = %n to %m step %c1 iter_args(%acc = %whole) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}

// Without a loop.
// CHECK-LABEL: tile.kernel @once
// CHECK: %[[ZERO:.*]] = tile.constant 0.0{{.*}} : f32 : tensor<2x64x32xf32>
// CHECK: %[[PARTS:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[ZERO]]
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[PARTS]] dims [0]
// CHECK-NEXT: tile.store %[[SUM]]
tile.kernel @once(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>) grid 1 launch <num_warps = 4, cluster_size = 2> {
  %c0 = arith.constant 0 : index
  %zero = tile.constant 0.0 : f32 : !s
  %x = tile.load %a[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
  %w = tile.load %b[%c0, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
  %sum = tile.mma %x, %w, %zero : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}

// Each CTA needs a k-step of tensor cores, and nothing else may read the accumulator: otherwise the kernel has no
// cluster.
// CHECK-LABEL: tile.kernel @short
// CHECK-SAME: launch <num_warps = 4> attributes {tile.changed = ["cluster_size 4 -> none: the CTAs of a cluster cannot split K"]}
// CHECK: tile.mma {{.*}} -> tensor<64x32xf32>
tile.kernel @short(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>, %n: index) grid 1 launch <num_warps = 4, cluster_size = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : !s
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x32xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<32x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x32xbf16>, tensor<32x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}

// CHECK-LABEL: tile.kernel @seen
// CHECK-SAME: launch <num_warps = 4> attributes {tile.changed = ["cluster_size 4 -> none: the CTAs of a cluster cannot split K"]}
// CHECK: tile.mma {{.*}} -> tensor<64x32xf32>
tile.kernel @seen(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>, %n: index) grid 1 launch <num_warps = 4, cluster_size = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : !s
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    tile.store %next, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
    scf.yield %next : !s
  }
  tile.return
}

// Two loops with separate accumulators are two contractions.
// CHECK-LABEL: tile.kernel @apart
// CHECK-SAME: launch <num_warps = 4> attributes {tile.changed = ["cluster_size 4 -> none: the CTAs of a cluster cannot split K"]}
// CHECK-COUNT-2: tile.mma {{.*}} -> tensor<64x32xf32>
tile.kernel @apart(%a: !a, %b: !a, %y: !tile.view<?x?xf32, strides = [?, 1]>, %n: index, %m: index) grid 1 launch <num_warps = 4, cluster_size = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tile.constant 0.0 : f32 : !s
  %one = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  %two = scf.for %k = %n to %m step %c1 iter_args(%acc = %zero) -> (!s) {
    %x = tile.load %a[%c0, %k] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<64x256xbf16>
    %w = tile.load %b[%k, %c0] dims [0, 1] pad 0.0 : bf16 : !a -> tensor<256x32xbf16>
    %next = tile.mma %x, %w, %acc : (tensor<64x256xbf16>, tensor<256x32xbf16>, !s) -> !s
    scf.yield %next : !s
  }
  %sum = tile.map add(%one, %two) : (!s, !s) -> !s
  tile.store %sum, %y[%c0, %c0] dims [0, 1] bounded : !s, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}
