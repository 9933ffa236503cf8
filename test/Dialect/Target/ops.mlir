// RUN: %tessera_opt %s | %tessera_opt | FileCheck %s

// CHECK-LABEL: tessera_target.module @m triple "x86_64-unknown-linux-gnu" cpu "x86-64-v3" features "+avx2,+fma"
tessera_target.module @m triple "x86_64-unknown-linux-gnu" cpu "x86-64-v3" features "+avx2,+fma" {
  // CHECK: tessera_target.program @double
  tessera_target.program @double {
    // CHECK: %[[X:.*]] = tessera_target.argument "x" : <S, f32>
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    // CHECK: %[[A:.*]] = tessera_target.argument "a" scalar "float" : <f64>
    %a = tessera_target.argument "a" scalar "float" : !gir.tensor<f64>
    // CHECK: tessera_target.guard "S" "multiple" "8" "expected a multiple of {1}, got {0}"
    tessera_target.guard "S" "multiple" "8" "expected a multiple of {1}, got {0}"
    // CHECK: tessera_target.guard "S" "ge" "1" error "x is empty"
    tessera_target.guard "S" "ge" "1" error "x is empty"
    // CHECK: %[[Y:.*]] = tessera_target.allocate : !gir.tensor<S, f32>
    %y = tessera_target.allocate : !gir.tensor<S, f32>
    // CHECK: tessera_target.launch @k grid ["ceildiv(S, 256)"](%[[X]], %[[Y]], %[[A]])
    // CHECK-SAME: words [#tessera_target.word<"address", 0, "0">, #tessera_target.word<"address", 1, "4*S">,
    // CHECK-SAME: #tessera_target.word<"scalar", 2, "0">, #tessera_target.word<"integer", 0, "S">] grain 4 work "10*S"
    tessera_target.launch @k grid ["ceildiv(S, 256)"] (%x, %y, %a)
      words [#tessera_target.word<"address", 0, "0">, #tessera_target.word<"address", 1, "4*S">,
             #tessera_target.word<"scalar", 2, "0">, #tessera_target.word<"integer", 0, "S">]
      grain 4 work "10*S" : !gir.tensor<S, f32>, !gir.tensor<S, f32>, !gir.tensor<f64>
    // CHECK: tessera_target.print "y", %[[Y]] : <S, f32>
    tessera_target.print "y", %y : !gir.tensor<S, f32>
    // CHECK: tessera_target.result %[[Y]] : <S, f32>
    tessera_target.result %y : !gir.tensor<S, f32>
  }
  // CHECK: tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 1, words = 4, scratch_bytes = 64>
  tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 1, words = 4, scratch_bytes = 64> {
  ^bb0(%args: !llvm.ptr, %begin: i64, %end: i64, %env: !llvm.ptr):
    tessera_target.return
  }
}

// Tensor maps follow the words.
// CHECK-LABEL: tessera_target.program @boxes
tessera_target.module @n triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  tessera_target.program @boxes {
    %x = tessera_target.argument "x" : !gir.tensor<S, 64, bf16>
    // CHECK: tessera_target.launch @k grid ["S"]
    // CHECK-SAME: maps [#tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims[1, 0], boxes[64, 32]>] : !gir.tensor<S, 64, bf16>
    tessera_target.launch @k grid ["S"] (%x)
      words [#tessera_target.word<"address", 0, "0">, #tessera_target.word<"integer", 0, "S">, #tessera_target.word<"integer", 0, "64">,
             #tessera_target.word<"integer", 0, "64">, #tessera_target.word<"integer", 0, "1">]
      maps [#tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 0], boxes [64, 32]>] : !gir.tensor<S, 64, bf16>
  }
}

// A launch may have only a grid.
// CHECK-LABEL: tessera_target.program @bare
tessera_target.module @o triple "t" cpu "c" features "" {
  tessera_target.program @bare {
    // CHECK: tessera_target.launch @k grid ["1"]() words [] grain 1{{$}}
    tessera_target.launch @k grid ["1"] () words [] grain 1
  }
}

// Launch configurations of GPU kernels; defaults are not printed.
// CHECK-LABEL: tessera_target.module @gpu
tessera_target.module @gpu triple "nvptx64-nvidia-cuda" cpu "sm_90" features "ptx" {
  // CHECK: tessera_target.image @image format "ptx" kernels ["a", "b"]
  // CHECK-SAME: configs [#tessera_target.kernel_config<block = [128], shared = 232448>, #tessera_target.kernel_config<grid = [?, 4], block = [16, 4], regs = 64, cluster = [2]>]
  // CHECK-SAME: code dense<47> : tensor<2xui8>
  tessera_target.image @image format "ptx" kernels ["a", "b"]
    configs [#tessera_target.kernel_config<block = [128], shared = 232448>,
             #tessera_target.kernel_config<cluster = [2], regs = 64, block = [16, 4], grid = [?, 4]>]
    code dense<47> : tensor<2xui8>
  // CHECK: tessera_target.image @tiles format "tileir" kernels ["c"] code
  tessera_target.image @tiles format "tileir" kernels ["c"] code dense<47> : tensor<2xui8>
  // CHECK: tessera_target.image @changed format "tileir" kernels ["d", "e"] changed {e = ["num_warps 4 -> 8: why", "min_ctas_per_sm 2 -> none: why"]} code
  tessera_target.image @changed format "tileir" kernels ["d", "e"]
    changed {e = ["num_warps 4 -> 8: why", "min_ctas_per_sm 2 -> none: why"]} code dense<47> : tensor<2xui8>
}
