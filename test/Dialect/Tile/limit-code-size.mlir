// RUN: %tessera_opt %s -tile-limit-code-size | FileCheck %s

!v = !tile.view<?xf32, strides = [1]>

// CHECK: tile.kernel @much({{.*}}) grid 1 launch <num_warps = 8>
// CHECK-SAME: attributes {tile.changed = ["num_warps 4 -> 8: more than 4096 elements per thread"]} {
tile.kernel @much(%x: !v, %y: !v) grid 1 launch <num_warps = 4> {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<1048576xf32>
  %d = tile.map add(%t, %t) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<1048576xf32>, !v
  tile.return
}

// The CTAs of a cluster have a part each.
// CHECK: tile.kernel @shared({{.*}}) grid 1 launch <num_warps = 4, cluster_size = 2> {
tile.kernel @shared(%x: !v, %y: !v) grid 1 launch <num_warps = 4, cluster_size = 2> {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<1048576xf32>
  %d = tile.map add(%t, %t) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<1048576xf32>, !v
  tile.return
}

// CHECK: tile.kernel @little({{.*}}) grid 1 launch <num_warps = 4> {
tile.kernel @little(%x: !v, %y: !v) grid 1 launch <num_warps = 4> {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<1024xf32>
  %d = tile.map add(%t, %t) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  tile.store %d, %y[%i] dims [0] bounded : tensor<1024xf32>, !v
  tile.return
}

// Weights of a softmax count as the three maps that they become.
// CHECK: tile.kernel @weights({{.*}}) grid 1 launch <num_warps = 16>
tile.kernel @weights(%x: !v, %y: !v) grid 1 launch <num_warps = 4> {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<524288xf32>
  %w = tile.online_weigh %t, %t scale 2.0 : tensor<524288xf32>
  tile.store %w, %y[%i] dims [0] bounded : tensor<524288xf32>, !v
  tile.return
}
