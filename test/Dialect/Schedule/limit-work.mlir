// RUN: %tessera_opt %s --sched-limit-work=target=sm_80:ptx | FileCheck %s --check-prefix=PTX
// RUN: %tessera_opt %s --sched-limit-work=target=sm_90:tileir | FileCheck %s --check-prefix=TILE
// RUN: %tessera_opt %s --sched-limit-work='target=x86-64-v4 cores=2' | FileCheck %s --check-prefix=CPU

// Sines of an operand are dozens of instructions for each element: its tile shrinks along its longest side.
// PTX-LABEL: func.func @sines
// PTX: dims [parallel i = 4096 tile 128, stream k = 4096 tile 64, parallel j = 4096 tile 128]
// A CPU computes tiles in loops.
// CPU-LABEL: func.func @sines
// CPU: dims [parallel i = 4096 tile 256, stream k = 4096 tile 64, parallel j = 4096 tile 128]
func.func @sines(%a: !gir.tensor<4096, 4096, f32> {gir.contiguous}, %b: !gir.tensor<4096, 4096, f32> {gir.contiguous}) -> !gir.tensor<4096, 4096, f32> {
  %0 = sched.kernel @sines_0(%in = %a : !gir.tensor<4096, 4096, f32>, %in_0 = %b : !gir.tensor<4096, 4096, f32>) -> (%out : !gir.tensor<4096, 4096, f32>)
      dims [parallel i = 4096 tile 256, stream k = 4096 tile 64, parallel j = 4096 tile 128] order [j, i] launch <num_warps = 8> {
    %1 = sched.stream over [k] live ["0", "4096"] full ["0", "4096"] lag 0.0 -> !sched.val<[i, j], f32> {
      %2 = sched.load %in["i", "k"] : <4096, 4096, f32> -> <[i, k], f32>
      %3 = sched.map sin(%2) : (!sched.val<[i, k], f32>) -> !sched.val<[i, k], f32>
      %4 = sched.map cos(%3) : (!sched.val<[i, k], f32>) -> !sched.val<[i, k], f32>
      %5 = sched.load %in_0["k", "j"] : <4096, 4096, f32> -> <[k, j], f32>
      %6 = sched.accumulate sum(%4, %5) : (!sched.val<[i, k], f32>, !sched.val<[k, j], f32>) -> !sched.val<[i, j], f32>
      sched.yield %6 : !sched.val<[i, j], f32>
    }
    sched.store %1, %out["i", "j"] : <[i, j], f32>, <4096, 4096, f32>
  }
  return %0 : !gir.tensor<4096, 4096, f32>
}

// A short epilogue fits, and a kernel without contractions is left alone.
// PTX-LABEL: func.func @plain
// PTX: dims [parallel i = 4096 tile 4096]
func.func @plain(%a: !gir.tensor<4096, f32> {gir.contiguous}) -> !gir.tensor<4096, f32> {
  %0 = sched.kernel @plain_0(%in = %a : !gir.tensor<4096, f32>) -> (%out : !gir.tensor<4096, f32>) dims [parallel i = 4096 tile 4096] order [i] launch <num_warps = 1> {
    %1 = sched.load %in["i"] : <4096, f32> -> <[i], f32>
    %2 = sched.map sin(%1) : (!sched.val<[i], f32>) -> !sched.val<[i], f32>
    sched.store %2, %out["i"] : <[i], f32>, <4096, f32>
  }
  return %0 : !gir.tensor<4096, f32>
}

// tileiras converts long code between layouts for minutes, unless a thread has one element.
// TILE-LABEL: func.func @remainders
// TILE: dims [parallel i = 4096 tile 128]
// TILE-SAME: num_warps = 4
// PTX-LABEL: func.func @remainders
// PTX: dims [parallel i = 4096 tile 4096]
func.func @remainders(%a: !gir.tensor<4096, f64> {gir.contiguous}) -> !gir.tensor<4096, f64> {
  %0 = sched.kernel @remainders_0(%in = %a : !gir.tensor<4096, f64>) -> (%out : !gir.tensor<4096, f64>) dims [parallel i = 4096 tile 4096] order [i] launch <num_warps = 4> {
    %1 = sched.load %in["i"] : <4096, f64> -> <[i], f64>
    %2 = sched.map fmod(%1, %1) : (!sched.val<[i], f64>, !sched.val<[i], f64>) -> !sched.val<[i], f64>
    sched.store %2, %out["i"] : <[i], f64>, <4096, f64>
  }
  return %0 : !gir.tensor<4096, f64>
}

// A row that is kept has one tile: it gets more warps, and as many threads on an SM.
// TILE-LABEL: func.func @rows
// TILE: dims [parallel i = 4096 tile 1, stream j = 256 tile 256]
// TILE-SAME: num_warps = 8
// TILE-SAME: min_ctas_per_sm = 4
func.func @rows(%a: !gir.tensor<4096, 256, f64> {gir.contiguous}) -> !gir.tensor<4096, f64> {
  %0 = sched.kernel @rows_0(%in = %a : !gir.tensor<4096, 256, f64>) -> (%out : !gir.tensor<4096, f64>) dims [parallel i = 4096 tile 32, stream j = 256 tile 256] order [i] launch <num_warps = 4> tuning <min_ctas_per_sm = 8> {
    %1 = sched.stream over [j] live ["0", "256"] full ["0", "256"] lag 0.0 -> !sched.val<[i], f64> {
      %2 = sched.load %in["i", "j"] : <4096, 256, f64> -> <[i, j], f64>
      %3 = sched.map fmod(%2, %2) : (!sched.val<[i, j], f64>, !sched.val<[i, j], f64>) -> !sched.val<[i, j], f64>
      %4 = sched.accumulate sum(%3) : (!sched.val<[i, j], f64>) -> !sched.val<[i], f64>
      sched.yield %4 : !sched.val<[i], f64>
    }
    sched.store %1, %out["i"] : <[i], f64>, <4096, f64>
  }
  return %0 : !gir.tensor<4096, f64>
}
