// RUN: %tessera_opt %s -split-input-file -verify-diagnostics

tessera_target.module @m triple "t" cpu "c" features "" {
  // expected-error @below {{expected block arguments (!llvm.ptr, i64, i64, !llvm.ptr), got ('!llvm.ptr')}}
  tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 1, words = 0, scratch_bytes = 0> {
  ^bb0(%args: !llvm.ptr):
    tessera_target.return
  }
}

// -----

// expected-error @+1 {{attribute 'sym_name' failed to satisfy constraint: string attribute that is not empty}}
"tessera_target.module"() <{cpu = "c", features = "", sym_name = "", triple = "t"}> ({
^bb0:
}) : () -> ()

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @f {
    // expected-error @+1 {{attribute 'kernel' failed to satisfy constraint: flat symbol reference attribute with a name}}
    tessera_target.launch @"" grid ["1"] () words []
  }
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  // expected-error @below {{expected a grid rank of 1 to 3, got 4}}
  tessera_target.kernel @k config #tessera_target.range_config<grid_rank = 4, words = 0, scratch_bytes = 0> {
  ^bb0(%args: !llvm.ptr, %begin: i64, %end: i64, %env: !llvm.ptr):
    tessera_target.return
  }
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @p {
    // expected-error @below {{expected a scalar of kind int, float or bool, got 'complex'}}
    %a = tessera_target.argument "a" scalar "complex" : !gir.tensor<f64>
  }
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @p {
    // expected-error @below {{expected one of eq ne lt le gt ge multiple, got 'near'}}
    tessera_target.guard "S" "near" "8" "no"
  }
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @p {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    // expected-error @below {{has 1 operands, but a word refers to operand 3}}
    tessera_target.launch @k grid ["S"] (%x) words [#tessera_target.word<"address", 3, "0">] : !gir.tensor<S, f32>
  }
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @p {
    %x = tessera_target.argument "x" : !gir.tensor<S, f32>
    // expected-error @below {{expected the memory of a tessera_target.allocate}}
    tessera_target.result %x : !gir.tensor<S, f32>
  }
}

// -----

tessera_target.module @m triple "t" cpu "sm_90" features "tileir" {
  // expected-error @below {{has changed fields of 'b', which is none of its kernels}}
  tessera_target.image @i format "tileir" kernels ["a"] changed {b = []} code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_90" features "tileir" {
  // expected-error @below {{expected a list of strings as the changed fields of 'a', got [8]}}
  tessera_target.image @i format "tileir" kernels ["a"] changed {a = [8]} code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_90" features "ptx" {
  // expected-error @below {{has 2 kernels, but 1 configurations}}
  tessera_target.image @i format "ptx" kernels ["a", "b"] configs [#tessera_target.kernel_config<block = [128]>] code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a block of 1 to 1024 threads, got 2048}}
  tessera_target.image @i format "ptx" kernels ["a"] configs [#tessera_target.kernel_config<block = [64, 32]>] code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected non-negative bytes of shared memory, got -1}}
  tessera_target.image @i format "ptx" kernels ["a"] configs [#tessera_target.kernel_config<shared = -1>] code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_90" features "ptx" {
  // expected-error @below {{expected a cluster of 1 to 16 CTAs, got 17}}
  tessera_target.image @i format "ptx" kernels ["a"] configs [#tessera_target.kernel_config<cluster = [17]>] code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_86" features "ptx" {
  // expected-error @below {{kernel 'a' requests 131072 bytes of shared memory, a CTA of sm_86 has 101376}}
  tessera_target.image @i format "ptx" kernels ["a"] configs [#tessera_target.kernel_config<shared = 131072>] code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "sm_89" features "ptx" {
  // expected-error @below {{kernel 'a' requests a cluster of 2 CTAs, sm_89 has none}}
  tessera_target.image @i format "ptx" kernels ["a"] configs [#tessera_target.kernel_config<cluster = [2]>] code dense<0> : tensor<1xui8>
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @f {
    "tessera_target.launch"() <{grain = 1 : i64, grid = ["1"], kernel = @k, words = []}> : () -> ()
  }
  // expected-error @below {{requires attribute 'config'}}
  "tessera_target.kernel"() <{sym_name = "k"}> ({
  ^bb0(%args: !llvm.ptr, %begin: i64, %end: i64, %env: !llvm.ptr):
    "tessera_target.return"() : () -> ()
  }) : () -> ()
}

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @f {
    // expected-error @below {{expected a non-negative operand number, got -1}}
    "tessera_target.launch"() <{grain = 1 : i64, grid = ["1"], kernel = @k, words = [#tessera_target.word<"address", -1, "0">]}> : () -> ()
  }
}

// -----

// expected-error @below {{expected a non-negative word number, got -1}}
#map = #tessera_target.tensor_map<word -1, bytes 2, span 128 by 1, dims [1, 0], boxes [64, 32]>

// -----

// expected-error @below {{expected elements of 1, 2, 4 or 8 bytes, got 3}}
#map = #tessera_target.tensor_map<word 0, bytes 3, span 128 by 1, dims [1, 0], boxes [64, 32]>

// -----

// expected-error @below {{expected spans of 16, 32, 64 or 128 bytes, got 256}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 256 by 1, dims [1, 0], boxes [128, 32]>

// -----

// expected-error @below {{expected 1 to 5 dims and as many boxes, got 2 and 1}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 0], boxes [64]>

// -----

// expected-error @below {{expected each dim of the view once}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 1], boxes [64, 32]>

// -----

// expected-error @below {{expected boxes of 1 to 256 elements in each dim, got 512}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 0], boxes [64, 512]>

// -----

// expected-error @below {{expected 1 to 256 spans, of a view of less than 5 dims if several, got 2}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 128 by 2, dims [4, 3, 2, 1, 0], boxes [64, 32, 1, 1, 1]>

// -----

// expected-error @below {{expected elements of 4 bytes rounded to tf32, got 2 bytes rounded to 'tf32'}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 0], boxes [64, 32], rounded to tf32>

// -----

// expected-error @below {{expected elements of 4 bytes rounded to tf32, got 4 bytes rounded to 'bf16'}}
#map = #tessera_target.tensor_map<word 0, bytes 4, span 128 by 1, dims [1, 0], boxes [32, 32], rounded to bf16>

// -----

// expected-error @below {{expected boxes of one span, 128 bytes, along the first dim, got 64}}
#map = #tessera_target.tensor_map<word 0, bytes 2, span 128 by 1, dims [1, 0], boxes [32, 32]>

// -----

tessera_target.module @m triple "t" cpu "c" features "" {
  tessera_target.program @f {
    %x = tessera_target.argument "x" : !gir.tensor<S, 64, bf16>
    // expected-error @below {{expected the words of a view from word 1 on, which a tensor map refers to}}
    tessera_target.launch @k grid ["S"] (%x)
      words [#tessera_target.word<"address", 0, "0">, #tessera_target.word<"integer", 0, "S">, #tessera_target.word<"integer", 0, "64">,
             #tessera_target.word<"integer", 0, "64">, #tessera_target.word<"integer", 0, "1">]
      maps [#tessera_target.tensor_map<word 1, bytes 2, span 128 by 1, dims [1, 0], boxes [64, 32]>] : !gir.tensor<S, 64, bf16>
  }
}
