// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_90 -tile-set-launch-config | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: %tessera_opt %s -tessera-attach-target=chip=sm_80 -tile-set-launch-config | FileCheck %s --check-prefixes=CHECK,AMPERE

!v = !tile.view<?xf32, strides = [1]>

// The number of warps follows from the largest tile where it is not given, which is no change.
// CHECK: tile.kernel @bare(%x: !tile.view<?xf32, strides = [1]>, %y: !tile.view<?xf32, strides = [1]>) grid 1 launch <num_warps = 8> {
tile.kernel @bare(%x: !v, %y: !v) grid 1 {
  %i = tile.program_id 0
  %t = tile.load %x[%i] dims [0] pad 0.0 : f32 : !v -> tensor<8192xf32>
  tile.store %t, %y[%i] dims [0] bounded : tensor<8192xf32>, !v
  tile.return
}

// CHECK: tile.kernel @given() grid 1 launch <num_warps = 2, tiles_per_cta = 4> tuning <num_stages = 3> {
tile.kernel @given() grid 1 launch <num_warps = 2, tiles_per_cta = 4> tuning <num_stages = 3> {
  tile.return
}

// HOPPER: tile.kernel @cluster() grid 1 launch <num_warps = 4, cluster_size = 2, cluster_axis = 1> {
// AMPERE: tile.kernel @cluster() grid 1 launch <num_warps = 4>
// AMPERE-SAME: attributes {tile.changed = ["cluster_size 2 -> none: no clusters on sm_80", "cluster_axis 1 -> none: no clusters on sm_80"]} {
tile.kernel @cluster() grid 1 launch <num_warps = 4, cluster_size = 2, cluster_axis = 1> {
  tile.return
}

// HOPPER: tile.kernel @one() grid 1 launch <num_warps = 4>
// HOPPER-SAME: attributes {tile.changed = ["cluster_size 1 -> none: one CTA is no cluster"]} {
tile.kernel @one() grid 1 launch <num_warps = 4, cluster_size = 1> {
  tile.return
}

// CHECK: tile.kernel @persistent() grid 1 launch <num_warps = 8, persistent_ctas = 132> tuning <wgmma = 1> {
tile.kernel @persistent() grid 1 launch <num_warps = 8, persistent_ctas = 132> tuning <wgmma = 1> {
  tile.return
}

// CHECK: tile.kernel @persistent_without_wgmma() grid 1 launch <num_warps = 8>
// CHECK-SAME: attributes {tile.changed = ["persistent_ctas 132 -> none: no wgmma"]} {
tile.kernel @persistent_without_wgmma() grid 1 launch <num_warps = 8, persistent_ctas = 132> {
  tile.return
}

// HOPPER: tile.kernel @persistent_clusters() grid 1 launch <num_warps = 8, cluster_size = 2> tuning <wgmma = 1>
// HOPPER-SAME: attributes {tile.changed = ["persistent_ctas 132 -> none: a cluster computes each tile"]} {
tile.kernel @persistent_clusters() grid 1 launch <num_warps = 8, cluster_size = 2, persistent_ctas = 132> tuning <wgmma = 1> {
  tile.return
}

// A raster order is one of a launch of one dimension.
// CHECK: tile.kernel @rank() grid 2 launch <num_warps = 4> tuning <raster_group = 8>
// CHECK-SAME: attributes {tile.changed = ["launch_rank 2 -> none: limits and order of the grid"]} {
tile.kernel @rank() grid 2 launch <num_warps = 4, launch_rank = 2> tuning <raster_group = 8> {
  tile.return
}

// CHECK: tile.kernel @grid() grid 2 launch <num_warps = 4, launch_rank = 2> {
tile.kernel @grid() grid 2 launch <num_warps = 4> {
  tile.return
}

// CHECK: tile.kernel @of_cpus() grid 1 launch <num_warps = 4>
// CHECK-SAME: attributes {tile.changed = ["use_amx 0 -> none: of CPUs alone", "cache_stores 0 -> none: of CPUs alone"]} {
tile.kernel @of_cpus() grid 1 launch <num_warps = 4> tuning <use_amx = 0, cache_stores = 0> {
  tile.return
}
