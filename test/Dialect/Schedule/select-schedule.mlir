// RUN: %tessera_opt %s --sched-select-schedule=target=sm_90:ptx | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: %tessera_opt %s --sched-select-schedule=target=sm_90 | FileCheck %s --check-prefixes=CHECK,EITHER
// RUN: %tessera_opt %s --sched-select-schedule='target=x86-64-v4 cores=4' | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: not %tessera_opt %s --sched-select-schedule=target=z80 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expected a CPU or a GPU with its backend as target, got 'z80'

// Tiles that the kernel had before are ignored. The kernel's backend decides which model chooses.
// CHECK-LABEL: func.func @matmul
// HOPPER: dims [parallel i = 4096 tile 128, stream k = 4096 tile 64, parallel j = 4096 tile 256] order [j, i] launch <num_warps = 8, persistent_ctas = 132> tuning <raster_group = 16, num_stages = 4, use_tma = 1, wgmma = 1>
// EITHER: dims [parallel i = 4096 tile 128, stream k = 4096 tile 64, parallel j = 4096 tile 256] order [j, i] launch <num_warps = 8, persistent_ctas = 132> tuning <raster_group = 16>
// AVX512: dims [parallel i = 4096 tile 512, stream k = 4096 tile 256, parallel j = 4096 tile 512] order [j, i]
func.func @matmul(%a: !gir.tensor<4096, 4096, bf16> {gir.contiguous}, %b: !gir.tensor<4096, 4096, bf16> {gir.contiguous}) -> !gir.tensor<4096, 4096, bf16> {
  %0 = sched.kernel @matmul_0(%in = %a : !gir.tensor<4096, 4096, bf16>, %in_0 = %b : !gir.tensor<4096, 4096, bf16>) -> (%out : !gir.tensor<4096, 4096, bf16>)
      dims [parallel i = 4096 tile 7, stream k = 4096 tile 1, parallel j = 4096 tile 1] order [j, i] attributes {sched.backend = "cuda_tile"} {
    %1 = sched.stream over [k] live ["0", "4096"] full ["0", "4096"] lag 0.0 -> !sched.val<[i, j], f32> {
      %3 = sched.load %in["i", "k"] : <4096, 4096, bf16> -> <[i, k], bf16>
      %4 = sched.cast %3 : <[i, k], bf16> -> <[i, k], f32>
      %5 = sched.load %in_0["k", "j"] : <4096, 4096, bf16> -> <[k, j], bf16>
      %6 = sched.cast %5 : <[k, j], bf16> -> <[k, j], f32>
      %7 = sched.accumulate sum(%4, %6) : (!sched.val<[i, k], f32>, !sched.val<[k, j], f32>) -> !sched.val<[i, j], f32>
      sched.yield %7 : !sched.val<[i, j], f32>
    }
    %2 = sched.cast %1 : <[i, j], f32> -> <[i, j], bf16>
    sched.store %2, %out["i", "j"] : <[i, j], bf16>, <4096, 4096, bf16>
  }
  return %0 : !gir.tensor<4096, 4096, bf16>
}

// Short K dimensions fill a block together.
// CHECK-LABEL: func.func @short_k_dims
// HOPPER: inner k1 = 18 tile 16, inner k2 = 3 tile 4, inner k3 = 3 tile 4, stream k = 64 tile 32]
func.func @short_k_dims(%a: !gir.tensor<32, 18, 3, 3, f32> {gir.contiguous}, %b: !gir.tensor<18, 3, 3, 64, f32> {gir.contiguous}) -> !gir.tensor<32, f32> {
  %0 = sched.kernel @short_k_dims_0(%in = %a : !gir.tensor<32, 18, 3, 3, f32>, %in_0 = %b : !gir.tensor<18, 3, 3, 64, f32>) -> (%out : !gir.tensor<32, f32>)
      dims [parallel i = 32 tile 1, inner k1 = 18 tile 1, inner k2 = 3 tile 1, inner k3 = 3 tile 1, stream k = 64 tile 1] order [i] attributes {sched.contracts} {
    %1 = sched.load %in["i", "k1", "k2", "k3"] : <32, 18, 3, 3, f32> -> <[i, k1, k2, k3], f32>
    %2 = sched.stream over [k] live ["0", "64"] full ["0", "64"] lag 0.0 -> !sched.val<[i], f32> {
      %3 = sched.load %in_0["k1", "k2", "k3", "k"] : <18, 3, 3, 64, f32> -> <[k1, k2, k3, k], f32>
      %4 = sched.reduce sum(%1, %3) over [k1, k2, k3] : (!sched.val<[i, k1, k2, k3], f32>, !sched.val<[k1, k2, k3, k], f32>) -> !sched.val<[i, k], f32>
      %5 = sched.accumulate max(%4) : (!sched.val<[i, k], f32>) -> !sched.val<[i], f32>
      sched.yield %5 : !sched.val<[i], f32>
    }
    sched.store %2, %out["i"] : <[i], f32>, <32, f32>
  }
  return %0 : !gir.tensor<32, f32>
}

// f32 that may be rounded to tf32: a k-step of 128 bytes, if both operands lie along K.
// CHECK-LABEL: func.func @words
// HOPPER: dims [parallel i = 12544 tile {{64|128|256}}, parallel j = 256 tile {{64|128|256}}, stream k = 576 tile 32] {{.*}} use_tma = 1, wgmma = 1>
func.func @words(%a: !gir.tensor<12544, 576, f32> {gir.contiguous}, %b: !gir.tensor<256, 576, f32> {gir.contiguous}) -> !gir.tensor<12544, 256, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = sched.kernel @words_0(%in = %a : !gir.tensor<12544, 576, f32>, %in_0 = %b : !gir.tensor<256, 576, f32>) -> (%out : !gir.tensor<12544, 256, f32>)
      dims [parallel i = 12544 tile 1, parallel j = 256 tile 1, stream k = 576 tile 1] order [j, i] {
    %1 = sched.stream over [k] live ["0", "576"] full ["0", "576"] lag 0.0 -> !sched.val<[i, j], f32> {
      %3 = sched.load %in["i", "k"] : <12544, 576, f32> -> <[i, k], f32>
      %5 = sched.load %in_0["j", "k"] : <256, 576, f32> -> <[j, k], f32>
      %7 = sched.accumulate sum(%3, %5) : (!sched.val<[i, k], f32>, !sched.val<[j, k], f32>) -> !sched.val<[i, j], f32>
      sched.yield %7 : !sched.val<[i, j], f32>
    }
    sched.store %1, %out["i", "j"] : <[i, j], f32>, <12544, 256, f32>
  }
  return %0 : !gir.tensor<12544, 256, f32>
}

// One operand lies along the columns.
// CHECK-LABEL: func.func @words_across
// HOPPER: tuning <use_tma = 0>
func.func @words_across(%a: !gir.tensor<12544, 576, f32> {gir.contiguous}, %b: !gir.tensor<576, 256, f32> {gir.contiguous}) -> !gir.tensor<12544, 256, f32> attributes {gir.numerics = {matmul = "tf32"}} {
  %0 = sched.kernel @words_across_0(%in = %a : !gir.tensor<12544, 576, f32>, %in_0 = %b : !gir.tensor<576, 256, f32>) -> (%out : !gir.tensor<12544, 256, f32>)
      dims [parallel i = 12544 tile 1, stream k = 576 tile 1, parallel j = 256 tile 1] order [j, i] {
    %1 = sched.stream over [k] live ["0", "576"] full ["0", "576"] lag 0.0 -> !sched.val<[i, j], f32> {
      %3 = sched.load %in["i", "k"] : <12544, 576, f32> -> <[i, k], f32>
      %5 = sched.load %in_0["k", "j"] : <576, 256, f32> -> <[k, j], f32>
      %7 = sched.accumulate sum(%3, %5) : (!sched.val<[i, k], f32>, !sched.val<[k, j], f32>) -> !sched.val<[i, j], f32>
      sched.yield %7 : !sched.val<[i, j], f32>
    }
    sched.store %1, %out["i", "j"] : <[i, j], f32>, <12544, 256, f32>
  }
  return %0 : !gir.tensor<12544, 256, f32>
}

// Nor without the policy.
// CHECK-LABEL: func.func @words_exact
// HOPPER: tuning <use_tma = 0>
func.func @words_exact(%a: !gir.tensor<12544, 576, f32> {gir.contiguous}, %b: !gir.tensor<256, 576, f32> {gir.contiguous}) -> !gir.tensor<12544, 256, f32> {
  %0 = sched.kernel @words_exact_0(%in = %a : !gir.tensor<12544, 576, f32>, %in_0 = %b : !gir.tensor<256, 576, f32>) -> (%out : !gir.tensor<12544, 256, f32>)
      dims [parallel i = 12544 tile 1, parallel j = 256 tile 1, stream k = 576 tile 1] order [j, i] {
    %1 = sched.stream over [k] live ["0", "576"] full ["0", "576"] lag 0.0 -> !sched.val<[i, j], f32> {
      %3 = sched.load %in["i", "k"] : <12544, 576, f32> -> <[i, k], f32>
      %5 = sched.load %in_0["j", "k"] : <256, 576, f32> -> <[j, k], f32>
      %7 = sched.accumulate sum(%3, %5) : (!sched.val<[i, k], f32>, !sched.val<[j, k], f32>) -> !sched.val<[i, j], f32>
      sched.yield %7 : !sched.val<[i, j], f32>
    }
    sched.store %1, %out["i", "j"] : <[i, j], f32>, <12544, 256, f32>
  }
  return %0 : !gir.tensor<12544, 256, f32>
}

// Runs of a window's 3 elements fill no sector of memory: a CTA has several neighbouring windows.
// CHECK-LABEL: func.func @windows
// HOPPER: dims [parallel x = 56 tile 8, parallel c = 2048 tile 8, parallel r = 3 tile 4, parallel s = 3 tile 4]
func.func @windows(%a: !gir.tensor<2048, 58, 58, f32> {gir.contiguous}) -> !gir.tensor<56, 2048, 3, 3, f32> {
  %0 = sched.kernel @windows_0(%in = %a : !gir.tensor<2048, 58, 58, f32>) -> (%out : !gir.tensor<56, 2048, 3, 3, f32>)
      dims [parallel x = 56 tile 1, parallel c = 2048 tile 1, parallel r = 3 tile 1, parallel s = 3 tile 1] order [s, r, c, x] {
    %2 = sched.index "s + x" : <[x, s], i64>
    %1 = sched.load %in["c", "r", "#0"] at(%2 : !sched.val<[x, s], i64>) below ["58"] : <2048, 58, 58, f32> -> <[x, c, r, s], f32>
    sched.store %1, %out["x", "c", "r", "s"] : <[x, c, r, s], f32>, <56, 2048, 3, 3, f32>
  }
  return %0 : !gir.tensor<56, 2048, 3, 3, f32>
}
