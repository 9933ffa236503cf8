// RUN: %tessera_opt %s --sched-select-backend=target=sm_90 | FileCheck %s
// RUN: %tessera_opt %s --sched-select-backend=target=sm_90:ptx | FileCheck %s --check-prefix=ONE --implicit-check-not=sched.backend

// What is bound by memory is compiled through PTX; rows of a copy that are padded are not.
// CHECK-LABEL: func.func @negate
// CHECK: attributes {sched.backend = "ptx"}
// ONE-LABEL: func.func @negate
func.func @negate(%x: !gir.tensor<4096, f32> {gir.contiguous}) -> !gir.tensor<4096, f32> {
  %0 = sched.kernel @negate_0(%in = %x : !gir.tensor<4096, f32>) -> (%out : !gir.tensor<4096, f32>) dims [parallel i = 4096 tile 1] order [i] {
    %1 = sched.load %in["i"] : <4096, f32> -> <[i], f32>
    %2 = sched.map neg(%1) : (!sched.val<[i], f32>) -> !sched.val<[i], f32>
    sched.store %2, %out["i"] : <[i], f32>, <4096, f32>
  }
  return %0 : !gir.tensor<4096, f32>
}
// CHECK-LABEL: func.func @copy
// CHECK: attributes {sched.backend = "cuda_tile", sched.pads_rows}
func.func @copy(%x: !gir.tensor<64, 33, bf16> {gir.contiguous}) -> !gir.tensor<64, 40, bf16> {
  %0 = sched.kernel @copy_0(%in = %x : !gir.tensor<64, 33, bf16>) -> (%out : !gir.tensor<64, 40, bf16>)
      dims [parallel i = 64 tile 1, parallel j = 33 tile 1] order [j, i] attributes {sched.pads_rows} {
    %1 = sched.load %in["i", "j"] : <64, 33, bf16> -> <[i, j], bf16>
    sched.store %1, %out["i", "j"] : <[i, j], bf16>, <64, 40, bf16>
  }
  return %0 : !gir.tensor<64, 40, bf16>
}
// A matrix by a vector is bound by memory, too.
// CHECK-LABEL: func.func @dot
// CHECK: attributes {sched.backend = "ptx", sched.contracts}
func.func @dot(%x: !gir.tensor<4096, 4096, bf16> {gir.contiguous}, %y: !gir.tensor<4096, bf16> {gir.contiguous}) -> !gir.tensor<4096, f32> {
  %0 = sched.kernel @dot_0(%in = %x : !gir.tensor<4096, 4096, bf16>, %in_0 = %y : !gir.tensor<4096, bf16>) -> (%out : !gir.tensor<4096, f32>)
      dims [parallel i = 4096 tile 1, stream k = 4096 tile 1] order [i] attributes {sched.contracts} {
    %1 = sched.stream over [k] live ["0", "4096"] full ["0", "4096"] lag 0.0 -> !sched.val<[i], f32> {
      %2 = sched.load %in["i", "k"] : <4096, 4096, bf16> -> <[i, k], bf16>
      %3 = sched.cast %2 : <[i, k], bf16> -> <[i, k], f32>
      %4 = sched.load %in_0["k"] : <4096, bf16> -> <[k], bf16>
      %5 = sched.cast %4 : <[k], bf16> -> <[k], f32>
      %6 = sched.map mul(%3, %5) : (!sched.val<[i, k], f32>, !sched.val<[k], f32>) -> !sched.val<[i, k], f32>
      %7 = sched.accumulate sum(%6) : (!sched.val<[i, k], f32>) -> !sched.val<[i], f32>
      sched.yield %7 : !sched.val<[i], f32>
    }
    sched.store %1, %out["i"] : <[i], f32>, <4096, f32>
  }
  return %0 : !gir.tensor<4096, f32>
}
// A stream that visits a list of blocks: the other backend would visit all between the first and the last one.
// CHECK-LABEL: func.func @listed
// CHECK: attributes {sched.backend = "ptx", sched.contracts}
func.func @listed(%x: !gir.tensor<4096, 4096, bf16> {gir.contiguous}, %w: !gir.tensor<4096, 64, bf16> {gir.contiguous}, %y: !gir.tensor<4096, 64, bf16> {gir.contiguous}, %ids: !gir.tensor<4096, i32>) -> !gir.tensor<4096, 64, f32> {
  %0 = sched.kernel @listed_0(%in = %x : !gir.tensor<4096, 4096, bf16>, %in_0 = %w : !gir.tensor<4096, 64, bf16>, %in_1 = %y : !gir.tensor<4096, 64, bf16>, %in_2 = %ids : !gir.tensor<4096, i32>) -> (%out : !gir.tensor<4096, 64, f32>)
      dims [parallel i = 4096 tile 1, stream k = 4096 tile 1, parallel j = 64 tile 1, inner d = 64 tile 64] order [j, i] attributes {sched.contracts} {
    %zero = sched.constant 0 : i32 : <[], i32>
    %1 = sched.stream over [k] live ["0", "4096"] full ["0", "4096"] lag 0.0 -> !sched.val<[i, j], f32> {
      %id = sched.load %in_2["k"] : <4096, i32> -> <[k], i32>
      %least = sched.bound min %id over [k] : <[k], i32> -> <[], i32>
      %most = sched.bound max %id over [k] : <[k], i32> -> <[], i32>
      %live = sched.map lt(%zero, %most) : (!sched.val<[], i32>, !sched.val<[], i32>) -> !sched.val<[], i1>
      %full = sched.map lt(%zero, %least) : (!sched.val<[], i32>, !sched.val<[], i32>) -> !sched.val<[], i1>
      sched.visit %live full %full as_list : !sched.val<[], i1>, !sched.val<[], i1>
      %2 = sched.load %in_0["i", "d"] : <4096, 64, bf16> -> <[i, d], bf16>
      %3 = sched.cast %2 : <[i, d], bf16> -> <[i, d], f32>
      %4 = sched.load %in_1["k", "d"] : <4096, 64, bf16> -> <[k, d], bf16>
      %5 = sched.cast %4 : <[k, d], bf16> -> <[k, d], f32>
      %6 = sched.reduce sum(%3, %5) over [d] : (!sched.val<[i, d], f32>, !sched.val<[k, d], f32>) -> !sched.val<[i, k], f32>
      %c = sched.map lt(%zero, %id) : (!sched.val<[], i32>, !sched.val<[k], i32>) -> !sched.val<[k], i1>
      %7 = sched.mask %c, %6 else 0.0 : f32 : (!sched.val<[k], i1>, !sched.val<[i, k], f32>) -> !sched.val<[i, k], f32>
      %8 = sched.load %in_1["k", "j"] : <4096, 64, bf16> -> <[k, j], bf16>
      %9 = sched.cast %8 : <[k, j], bf16> -> <[k, j], f32>
      %10 = sched.accumulate sum(%7, %9) : (!sched.val<[i, k], f32>, !sched.val<[k, j], f32>) -> !sched.val<[i, j], f32>
      sched.yield %10 : !sched.val<[i, j], f32>
    }
    sched.store %1, %out["i", "j"] : <[i, j], f32>, <4096, 64, f32>
  }
  return %0 : !gir.tensor<4096, 64, f32>
}
