// RUN: %tessera_opt %s | FileCheck %s
// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s
// RUN: %tessera_opt %s -mlir-print-op-generic | %tessera_opt | FileCheck %s

// Kernels keep the names of their arguments, and loads are named after their views.
// CHECK-LABEL: tile.kernel @double(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>) grid 1 {
tile.kernel @double(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>) grid 1 {
  // CHECK: %pid0 = tile.program_id 0
  %i = tile.program_id 0
  // CHECK: %x_tile = tile.load %x[%pid0] dims [0] pad 0.000000e+00 : f32 : <?xf32, strides = [1]> -> tensor<256xf32>
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !tile.view<?xf32, strides = [1]> -> tensor<256xf32>
  // CHECK: tile.map add(%x_tile, %x_tile) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %d = tile.map add(%t, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  // CHECK: tile.store %{{.*}}, %y[%pid0] dims [0] bounded : tensor<256xf32>, <?xf32, strides = [1]>
  tile.store %d, %y[%i] dims [0] bounded : tensor<256xf32>, !tile.view<?xf32, strides = [1]>
  // CHECK: tile.return
  tile.return
}

// Views: static and run-time sizes, divisors only where they say more than the sizes, rank 0.
// CHECK-LABEL: tile.kernel @views(
// CHECK-SAME: %a: !tile.view<?x?x64xf32, strides = [?, ?, 1], divisors = [1, 16, 64]>
// CHECK-SAME: %b: !tile.view<4x8xbf16, strides = [-8, 1]>
// CHECK-SAME: %c: !tile.view<i1>
// CHECK-SAME: %n: index, %s: f32) grid 3 attributes {tuned} {
tile.kernel @views(%a: !tile.view<?x?x64xf32, strides = [?, ?, 1], divisors = [1, 16, 64]>,
                   %b: !tile.view<4x8xbf16, strides = [-8, 1], divisors = [4, 8]>,
                   %c: !tile.view<i1>, %n: index, %s: f32) grid 3 attributes {tuned} {
  // CHECK: tile.dim %a, 1 : <?x?x64xf32, strides = [?, ?, 1], divisors = [1, 16, 64]>
  %0 = tile.dim %a, 1 : !tile.view<?x?x64xf32, strides = [?, ?, 1], divisors = [1, 16, 64]>
  // CHECK: tile.load %c[] dims [] : <i1> -> tensor<i1>
  %1 = tile.load %c[] dims [] : !tile.view<i1> -> tensor<i1>
  // CHECK: tile.load %a[%n, %n, %{{.*}}] dims [2, 1] pad 0xFF800000 : f32
  %2 = tile.load %a[%n, %n, %0] dims [2, 1] pad 0xFF800000 : f32
     : !tile.view<?x?x64xf32, strides = [?, ?, 1], divisors = [1, 16, 64]> -> tensor<64x16xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @tiles(
tile.kernel @tiles(%n: index, %s: f32) grid 1 {
  // CHECK: tile.constant 1.500000e+00 : f64 : tensor<64xf64>
  %0 = tile.constant 1.5 : f64 : tensor<64xf64>
  // CHECK: tile.constant true : tensor<i1>
  %1 = tile.constant true : tensor<i1>
  // CHECK: tile.constant 7 : ui8 : tensor<2xui8>
  %2 = tile.constant 7 : ui8 : tensor<2xui8>
  // CHECK: tile.splat %s : f32 -> tensor<8x64xf32>
  %3 = tile.splat %s : f32 -> tensor<8x64xf32>
  // CHECK: tile.splat %n : index -> tensor<i64>
  %4 = tile.splat %n : index -> tensor<i64>
  // CHECK: tile.iota %n : tensor<64xi32>
  %5 = tile.iota %n : tensor<64xi32>
  // CHECK: tile.extract %{{.*}} : tensor<i64> -> index
  %6 = tile.extract %4 : tensor<i64> -> index
  // CHECK: tile.element %{{.*}}[%n] : tensor<64xi32>
  %element = tile.element %5[%n] : tensor<64xi32>
  // CHECK: tile.cast %{{.*}} : tensor<64xi32> -> tensor<64xf32>
  %7 = tile.cast %5 : tensor<64xi32> -> tensor<64xf32>
  // CHECK: tile.bitcast %{{.*}} : tensor<64xf32> -> tensor<64xi32>
  %8 = tile.bitcast %7 : tensor<64xf32> -> tensor<64xi32>
  // CHECK: tile.broadcast %{{.*}} dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %9 = tile.broadcast %7 dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  // CHECK: tile.transpose %{{.*}} perm [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %10 = tile.transpose %9 perm [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  // CHECK: tile.slice %{{.*}} at [32, 4] : tensor<64x8xf32> -> tensor<16x4xf32>
  %slice = tile.slice %10 at [32, 4] : tensor<64x8xf32> -> tensor<16x4xf32>
  // CHECK: tile.reshape %{{.*}} : tensor<64x8xf32> -> tensor<512xf32>
  %11 = tile.reshape %10 : tensor<64x8xf32> -> tensor<512xf32>
  // CHECK: tile.reduce max %{{.*}} dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %12 = tile.reduce max %9 dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  // CHECK: tile.map lt(%{{.*}}, %{{.*}}) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xi1>
  %13 = tile.map lt(%9, %3) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xi1>
  // CHECK: tile.map where(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8x64xi1>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %14 = tile.map where(%13, %9, %3) : (tensor<8x64xi1>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  // CHECK: tile.reduce max %{{.*}} dims [1] skip_nan : tensor<8x64xf32> -> tensor<8xf32>
  %skip = tile.reduce max %9 dims [1] skip_nan : tensor<8x64xf32> -> tensor<8xf32>
  // CHECK: tile.reduce any %{{.*}} dims [0, 1] : tensor<8x64xi1> -> tensor<i1>
  %15 = tile.reduce any %13 dims [0, 1] : tensor<8x64xi1> -> tensor<i1>
  %16 = tile.constant 0.0 : f32 : tensor<8x8xf32>
  // CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x64xf32>, tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %17 = tile.mma %14, %10, %16 : (tensor<8x64xf32>, tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %parts = tile.constant 0.0 : f32 : tensor<4x8x8xf32>
  // CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x64xf32>, tensor<64x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %18 = tile.mma %14, %10, %parts : (tensor<8x64xf32>, tensor<64x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  tile.return
}

tile.kernel @scale(%x: !tile.view<?x?xf32, strides = [1, ?]>, %y: !tile.view<?x?xf32, strides = [?, 1]>,
                   %n: index, %s: f32) grid 2 {
  tile.return
}

// CHECK: tile.kernel @configured() grid 2 launch <num_warps = 8, cluster_size = 2, persistent_ctas = 132> tuning <min_ctas_per_sm = 1, raster_group = 8, num_stages = 3, use_tma = 1> {
tile.kernel @configured() grid 2 launch <num_warps = 8, cluster_size = 2, persistent_ctas = 132> tuning <min_ctas_per_sm = 1, raster_group = 8, num_stages = 3, use_tma = 1> {
  tile.return
}

// Each alone, in any order of the fields, and beside other attributes.
// CHECK: tile.kernel @launched() grid 1 launch <num_warps = 8, cluster_size = 2, cluster_axis = 0> {
tile.kernel @launched() grid 1 launch <cluster_axis = 0, num_warps = 8, cluster_size = 2> {
  tile.return
}

// CHECK: tile.kernel @tuned() grid 1 tuning <wgmma = 1, l2_evict_last = 1, use_amx = 0, cache_stores = 0>
// CHECK-SAME: attributes {tile.changed = ["num_stages 5 -> 4: shared memory"]} {
tile.kernel @tuned() grid 1 tuning <wgmma = 1, l2_evict_last = 1, use_amx = 0, cache_stores = 0>
    attributes {tile.changed = ["num_stages 5 -> 4: shared memory"]} {
  tile.return
}

// CHECK: func.func private @attributes()
// CHECK-SAME: #tile.launch<num_warps = 32, persistent_ctas = 132>, #tile.launch<tiles_per_cta = 3, launch_rank = 2>, #tile.tuning<min_ctas_per_sm = 2>, #tile.launch<>
func.func private @attributes() attributes {configs = [#tile.launch<num_warps = 32, persistent_ctas = 132>,
    #tile.launch<tiles_per_cta = 3, launch_rank = 2>, #tile.tuning<min_ctas_per_sm = 2>, #tile.launch<>]}

// CHECK-LABEL: func.func @host(
func.func @host(%x: !gir.tensor<S, D, f32>, %s: !gir.tensor<f32>) -> !gir.tensor<D, S, f32> {
  // CHECK: tile.empty : <D, S, f32>
  %0 = tile.empty : !gir.tensor<D, S, f32>
  // CHECK: tile.launch @scale grid ["ceildiv(S, 64)", "D"](%{{.*}}, %{{.*}}) views
  // CHECK-SAME: #tile.operand<offset "0", sizes ["D", "S"], strides ["$1", "$0"]>
  // CHECK-SAME: sizes ["S"] scalars(%{{.*}} : !gir.tensor<f32>) : !gir.tensor<S, D, f32>, !gir.tensor<D, S, f32>
  tile.launch @scale grid ["ceildiv(S, 64)", "D"] (%x, %0)
    views [#tile.operand<offset "0", sizes ["D", "S"], strides ["$1", "$0"]>,
           #tile.operand<offset "0", sizes ["D", "S"], strides ["S", "1"]>]
    sizes ["S"] scalars (%s : !gir.tensor<f32>) : !gir.tensor<S, D, f32>, !gir.tensor<D, S, f32>
  return %0 : !gir.tensor<D, S, f32>
}

// A launch with a grid only.
// CHECK-LABEL: func.func @bare(
func.func @bare() {
  // CHECK: tile.launch @configured grid ["1", "2"]() views [] sizes []{{$}}
  tile.launch @configured grid ["1", "2"] () views [] sizes []
  return
}

// CHECK-LABEL: tile.kernel @gather(
tile.kernel @gather(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index, %i: index) grid 1 {
  %0 = tile.splat %i : index -> tensor<4x8xi64>
  // CHECK: %x_tile = tile.gather %x[%c] at(%{{.*}}) dims [-1, 0] pad 0.000000e+00 : f32 : <?x?xf32, strides = [1, ?]>, tensor<4x8xi64> -> tensor<4x8xf32>
  %1 = tile.gather %x[%c] at (%0) dims [-1, 0] pad 0.0 : f32
     : !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64> -> tensor<4x8xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @sums(
tile.kernel @sums(%x: !tile.view<?x?xf32, strides = [1, ?]>, %c: index, %i: index) grid 1 {
  %0 = tile.splat %i : index -> tensor<4x8xi64>
  %1 = tile.constant 1.0 : f32 : tensor<4x8xf32>
  // CHECK: tile.scatter %{{.*}}, %x[%c] at(%{{.*}}) dims [-1, 0] bounded sum : tensor<4x8xf32>, <?x?xf32, strides = [1, ?]>, tensor<4x8xi64>
  tile.scatter %1, %x[%c] at (%0) dims [-1, 0] bounded sum
    : tensor<4x8xf32>, !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64>
  // CHECK: tile.scatter %{{.*}}, %x[%c] at(%{{.*}}) dims [-1, 0] sum unordered : tensor<4x8xf32>, <?x?xf32, strides = [1, ?]>, tensor<4x8xi64>
  tile.scatter %1, %x[%c] at (%0) dims [-1, 0] sum unordered
    : tensor<4x8xf32>, !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64>
  // CHECK: tile.scatter %{{.*}}, %x[%c] at(%{{.*}}) dims [-1, 0] : tensor<4x8xf32>, <?x?xf32, strides = [1, ?]>, tensor<4x8xi64>
  tile.scatter %1, %x[%c] at (%0) dims [-1, 0]
    : tensor<4x8xf32>, !tile.view<?x?xf32, strides = [1, ?]>, tensor<4x8xi64>
  tile.return
}

// CHECK-LABEL: func.func @online
func.func @online(%m: tensor<8xf32>, %g: tensor<8xf32>, %x: tensor<8x64xf64>) {
  // CHECK: %{{.*}}, %[[R:.*]], %[[S:.*]], %{{.*}} = tile.online_update %{{.*}} from %{{.*}} scale 1.800000e-01 guarded prescaled adaptive : tensor<8xf32>
  %n, %r, %s, %f = tile.online_update %m from %g scale 0.18 guarded prescaled adaptive : tensor<8xf32>
  // CHECK: tile.online_update %{{.*}} from %{{.*}} scale 1.44{{.*}} lag 8.000000e+00 : tensor<8xf32>
  %n1, %r1, %s1, %f1 = tile.online_update %m from %g scale 1.4426950408889634 lag 8.0 : tensor<8xf32>
  // CHECK: tile.online_update %{{.*}} scale 1.000000e+00 prescaled : tensor<8xf32>
  %n2, %r2, %s2, %f2 = tile.online_update %m scale 1.0 prescaled : tensor<8xf32>
  // CHECK: tile.online_weigh %{{.*}}, %[[R]] by %[[S]] : tensor<8xf32>
  %w = tile.online_weigh %m, %r by %s : tensor<8xf32>
  // CHECK: tile.online_weigh %{{.*}}, %[[R]] by %[[S]] rounded : tensor<8xf32>
  %v = tile.online_weigh %g, %r by %s rounded : tensor<8xf32>
  // CHECK: tile.online_update %{{.*}} scale 1.000000e+00 expanded : tensor<8xf32>
  %n3, %r3, %s3, %f3 = tile.online_update %m scale 1.0 expanded : tensor<8xf32>
  // CHECK: tile.online_weigh %{{.*}}, %{{.*}} scale 1.4426950408889634 expanded : tensor<8x64xf64>
  %u = tile.online_weigh %x, %x scale 1.4426950408889634 expanded : tensor<8x64xf64>
  return
}

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<4x8xi64>) -> tensor<4x8xi64> {
  // CHECK: tile.sort %{{.*}} dim 1 : tensor<4x8xi64>
  %y = tile.sort %x dim 1 : tensor<4x8xi64>
  return %y : tensor<4x8xi64>
}

// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<4x8xf32>, %c: tensor<4xf32>) -> tensor<4x8xf32> {
  // CHECK: tile.scan sum %{{.*}} from %{{.*}} dim 1 : tensor<4x8xf32>, tensor<4xf32>
  %y, %t = tile.scan sum %x from %c dim 1 : tensor<4x8xf32>, tensor<4xf32>
  %k = tile.constant 3 : i32 : tensor<4x8xi32>
  %j = tile.constant 0.0 : f32 : tensor<4x16xf32>
  // CHECK: tile.scan sum %{{.*}} from %{{.*}} dim 1 by(%{{.*}} : tensor<4x8xi32>) : tensor<4x8xf32>, tensor<4x16xf32>
  %w, %v = tile.scan sum %x from %j dim 1 by (%k : tensor<4x8xi32>) : tensor<4x8xf32>, tensor<4x16xf32>
  // CHECK: tile.scan max %{{.*}} from %{{.*}} dim 0 : tensor<4xf32>, tensor<f32>
  %s = tile.constant 0.0 : f32 : tensor<f32>
  %z, %u = tile.scan max %t from %s dim 0 : tensor<4xf32>, tensor<f32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: tile.kernel @checked(
tile.kernel @checked(%c: i1, %v: i64) grid 1 {
  // CHECK: tile.check %{{.*}}, %{{.*}} else <kind = "index", message = "no {0} of {1}", sizes = ["V"]>
  tile.check %c, %v else <kind = "index", message = "no {0} of {1}", sizes = ["V"]>
  tile.return
}
