// RUN: %tessera_opt %s -split-input-file -print-cuda-tile -o /dev/null | FileCheck %s

// Launch and tuning of a kernel become hints of its entry, its loads and its stores.
// CHECK: entry @copy({{.*}}) hints {default = {num_cta_in_cga = 2 : i32, occupancy = 1 : i32, num_worker_warps_per_cta = 8 : i32}}
// CHECK: load_view_tko {{.*}}allow_tma = false
// CHECK: store_view_tko {{.*}}allow_tma = false
tile.kernel @copy(%x: !tile.view<4096xf32, strides = [1]>, %y: !tile.view<4096xf32, strides = [1]>) grid 1
    launch <num_warps = 8, cluster_size = 2> tuning <min_ctas_per_sm = 1, use_tma = 0> {
  %i = arith.constant 0 : index
  %t = tile.load %x[%i] dims [0] : !tile.view<4096xf32, strides = [1]> -> tensor<256xf32>
  tile.store %t, %y[%i] dims [0] : tensor<256xf32>, !tile.view<4096xf32, strides = [1]>
  tile.return
}

// -----

// A grid is launched as one dimension, with its sizes after all other words. Raster groups have four rows.
// CHECK: entry @grouped({{.*}}, %10: tile<i32>, %11: tile<i32>)
// CHECK: [[NX:%[0-9]+]] = assume %10 {bounded<1, ?>}
// CHECK: [[NY:%[0-9]+]] = assume %11 {bounded<1, ?>}
// CHECK: [[PLACE:%[0-9]+]], {{.*}} = get_tile_block_id
// CHECK: [[FOUR:%[0-9]+]] = constant 4
// CHECK: [[AREA:%[0-9]+]] = muli [[NX]], [[FOUR]]
// CHECK: [[GROUP:%[0-9]+]] = divi [[PLACE]], [[AREA]]
// CHECK: [[FIRST:%[0-9]+]] = muli [[GROUP]], [[FOUR]]
// CHECK: [[LEFT:%[0-9]+]] = subi [[NY]], [[FIRST]]
// CHECK: [[HEIGHT:%[0-9]+]] = mini [[LEFT]], [[FOUR]]
// CHECK: [[INSIDE:%[0-9]+]] = remi [[PLACE]], [[AREA]]
// CHECK: divi [[INSIDE]], [[HEIGHT]]
// CHECK: remi [[INSIDE]], [[HEIGHT]]
tile.kernel @grouped(%x: !tile.view<?x?xf32, strides = [?, 1]>, %y: !tile.view<?x?xf32, strides = [?, 1]>) grid 2
    tuning <raster_group = 4> {
  %i = tile.program_id 0
  %j = tile.program_id 1
  %t = tile.load %x[%j, %i] dims [0, 1] pad 0.0 : f32 : !tile.view<?x?xf32, strides = [?, 1]> -> tensor<16x16xf32>
  tile.store %t, %y[%j, %i] dims [0, 1] bounded : tensor<16x16xf32>, !tile.view<?x?xf32, strides = [?, 1]>
  tile.return
}

// -----

// A persistent kernel gets the sizes of the grid after all other words.
// CHECK: entry @walking({{.*}}, %4: tile<i32>, %5: tile<i32>)
// CHECK: [[NX:%[0-9]+]] = assume %4 {bounded<1, ?>}
// CHECK: [[NY:%[0-9]+]] = assume %5 {bounded<1, ?>}
// CHECK: [[ID:%[0-9]+]], {{.*}} = get_tile_block_id
// CHECK: [[PLACES:%[0-9]+]] = muli [[NX]], [[NY]]
// CHECK: [[COUNT:%[0-9]+]], {{.*}} = get_num_tile_blocks
// CHECK: for lower_bound [[ID]] upper_bound [[PLACES]] step [[COUNT]]
// CHECK: remi {{%[0-9]+}}, [[NX]]
tile.kernel @walking(%y: !tile.view<64xi32, strides = [1]>, %n: index) grid 2 launch <persistent_ctas = 132> {
  %i = tile.program_id 0
  %t = tile.iota %i : tensor<16xi32>
  tile.store %t, %y[%i] dims [0] bounded : tensor<16xi32>, !tile.view<64xi32, strides = [1]>
  tile.return
}

// -----

// Loads in a loop have the latency of num_stages; others have none.
// CHECK: entry @ahead(
// CHECK: load_view_tko
// CHECK-NOT: latency
// CHECK: for lower_bound
// CHECK: load_view_tko {{.*}}latency = 4 : i32
// CHECK: store_view_tko
// CHECK-NOT: latency
tile.kernel @ahead(%x: !tile.view<4096xf32, strides = [1]>, %y: !tile.view<4096xf32, strides = [1]>) grid 1
    tuning <num_stages = 5> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %first = tile.load %x[%c0] dims [0] : !tile.view<4096xf32, strides = [1]> -> tensor<256xf32>
  %sum = scf.for %i = %c1 to %c16 step %c1 iter_args(%acc = %first) -> (tensor<256xf32>) {
    %t = tile.load %x[%i] dims [0] : !tile.view<4096xf32, strides = [1]> -> tensor<256xf32>
    %next = tile.map add(%acc, %t) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
    scf.yield %next : tensor<256xf32>
  }
  tile.store %sum, %y[%c0] dims [0] : tensor<256xf32>, !tile.view<4096xf32, strides = [1]>
  tile.return
}
