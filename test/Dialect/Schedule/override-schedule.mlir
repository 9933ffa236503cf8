// RUN: %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=tile.i=64,num_warps=2,raster_group=none;kernel=twice_1,tile.i=128,num_stages=3' | FileCheck %s
// RUN: %tessera_opt %s --sched-override-schedule='target=x86-64-v4 schedule=kernel=1,tile.i=100' | FileCheck %s --check-prefix=CPU
// RUN: %tessera_opt %s --sched-override-schedule='target=sm_90 schedule=kernel=1,backend=tileir,tile.i=64 only-backends' | FileCheck %s --check-prefix=BACKEND

// Without a number or name, the first kernel is meant. `none` removes a field. Fields that were
// given before are listed with what they become.
// CHECK: sched.kernel @twice_0
// CHECK-NEXT: dims [parallel i = 4096 tile 64] order [i] launch <num_warps = 2> attributes {sched.changed = ["num_warps 4 -> 2: the user's schedule", "raster_group 8 -> none: the user's schedule"], sched.overridden = ["num_warps"]}
// CHECK: sched.kernel @twice_1
// CHECK-NEXT: dims [parallel i = 4096 tile 128] order [i] tuning <num_stages = 3> attributes {sched.overridden = ["num_stages"]}

// Tiles of CPUs have any size.
// CPU: sched.kernel @twice_0
// CPU-NEXT: dims [parallel i = 4096 tile 512] order [i] launch <num_warps = 4>
// CPU: sched.kernel @twice_1
// CPU-NEXT: dims [parallel i = 4096 tile 100] order [i] {

// The backend decides which model chooses the rest, and comes first.
// BACKEND: sched.kernel @twice_1
// BACKEND-NEXT: dims [parallel i = 4096 tile 512] order [i] attributes {sched.backend = "cuda_tile"}
func.func @twice(%x: !gir.tensor<4096, f32>) -> !gir.tensor<4096, f32> {
  %0 = sched.kernel @twice_0(%in = %x : !gir.tensor<4096, f32>) -> (%out : !gir.tensor<4096, f32>)
      dims [parallel i = 4096 tile 512] order [i] launch <num_warps = 4> tuning <raster_group = 8> {
    %1 = sched.load %in["i"] : <4096, f32> -> <[i], f32>
    sched.store %1, %out["i"] : <[i], f32>, <4096, f32>
  }
  %2 = sched.kernel @twice_1(%in = %0 : !gir.tensor<4096, f32>) -> (%out : !gir.tensor<4096, f32>)
      dims [parallel i = 4096 tile 512] order [i] {
    %3 = sched.load %in["i"] : <4096, f32> -> <[i], f32>
    sched.store %3, %out["i"] : <[i], f32>, <4096, f32>
  }
  return %2 : !gir.tensor<4096, f32>
}
