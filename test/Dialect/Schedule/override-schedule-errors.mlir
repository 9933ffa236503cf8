// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=tile.j=64' 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: error: schedule of kernel 'f_0': there is no dimension 'j', expected 'i' or 'k'

// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=tile.i=96' 2>&1 | FileCheck %s --check-prefix=POWER
// POWER: error: schedule of kernel 'f_0': expected a power of two as tile.i on a GPU, got 96

// RUN: not %tessera_opt %s --sched-override-schedule='target=aarch64 schedule=tile.i=2000000' 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: schedule of kernel 'f_0': expected tile.i up to 1048576, got 2000000

// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=wraps=4' 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: error: schedule of kernel 'f_0': there is no field 'wraps', expected tile.DIM, 'num_warps', 'cluster_size',

// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=num_stages=99' 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: schedule of kernel 'f_0': expected num_stages from 2 to 11, got 99

// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=kernel=1,tile.i=64' 2>&1 | FileCheck %s --check-prefix=KERNEL
// KERNEL: error: schedule: there is no kernel '1', expected a number below 1, 'f_0'

// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=tile.i' 2>&1 | FileCheck %s --check-prefix=PAIR
// PAIR: error: schedule: expected KEY=VALUE, got 'tile.i'

// RUN: not %tessera_opt %s --sched-override-schedule='target=sm_90:ptx schedule=backend=ptx only-backends' 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: error: schedule of kernel 'f_0': target 'sm_90:ptx' has one backend

// RUN: not %tessera_opt %s --sched-override-schedule='target=z80 schedule=tile.i=64' 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: expected a CPU or a GPU with its backend as target, got 'z80'
func.func @f(%x: !gir.tensor<4096, 64, f32>) -> !gir.tensor<4096, 64, f32> {
  %0 = sched.kernel @f_0(%in = %x : !gir.tensor<4096, 64, f32>) -> (%out : !gir.tensor<4096, 64, f32>)
      dims [parallel i = 4096 tile 512, parallel k = 64 tile 64] order [k, i] {
    %1 = sched.load %in["i", "k"] : <4096, 64, f32> -> <[i, k], f32>
    sched.store %1, %out["i", "k"] : <[i, k], f32>, <4096, 64, f32>
  }
  return %0 : !gir.tensor<4096, 64, f32>
}
